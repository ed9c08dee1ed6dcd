// Appends lines to a file in batches and rotates it by size. Slow or failing disks never fail or delay the caller.

import { type FileHandle, lstat, open, realpath } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { endsWithinLine, rotate } from "./rotation.js";

export interface RotationOptions {
  /** Maximum bytes per file; only a single longer line exceeds it. Default 64 MiB. */
  readonly maxBytes?: number;
  /** Rotated files kept beside it, `<name>.1` the newest; `0` keeps none. Default 5. */
  readonly keep?: number;
  /** Maximum bytes queued for a slow disk; further lines have no room. Default 16 MiB. */
  readonly maxWaitingBytes?: number;
  /** Delay before a failed write is retried, in milliseconds. Default 1000. */
  readonly retryMs?: number;
  /** How often it is looked whether the path still names the file, in milliseconds. Default 1000. */
  readonly lookMs?: number;
}

/** bigint stats: inode numbers can exceed 2^53. */
const EXACT = { bigint: true } as const;

const DEFAULTS = { maxBytes: 67_108_864, keep: 5, maxWaitingBytes: 16_777_216, retryMs: 1000, lookMs: 1000 } as const;

/** Maximum bytes per write call. */
const BATCH_BYTES = 65_536;

/** Time limit of {@link RotatingFile.close} in milliseconds: a write to a hung disk may never return. */
const CLOSE_PATIENCE_MS = 5000;

/** Mode of a newly created file; an existing file keeps its own. */
const MODE = 0o600;

/**
 * Opens a file for appending. A full file is renamed to `<name>.1`, the old `.1` to `.2`, and so on.
 *
 * A line is never split between two files. Lines that cannot be written are queued and retried. Where the path names
 * another file, or none, it is opened anew: another process that shares it, or logrotate, has renamed or removed it.
 * Devices, pipes and anything below `/dev` or `/proc` are never renamed, but files in `/dev/shm` are: it is a file
 * system.
 *
 * @param onError called with the first failure of every series
 * @throws the system's error when the file cannot be opened
 */
export async function openRotatingFile(
  path: string,
  onError: (error: unknown) => void,
  options: RotationOptions = {},
): Promise<RotatingFile> {
  // Opened now, so that a wrong path fails at start and not at the first call.
  const handle = await open(path, "a", MODE);
  try {
    const stats = await handle.stat();
    // Resolved once: rotation renames the target of a symbolic link, not the link.
    const rotates = stats.isFile() && !/^\/(?:dev\/(?!shm\/)|proc\/)/.test(path);
    const name = rotates ? await realpath(path) : path;
    const file = { handle, size: stats.size };
    // A process that died while writing may have left a partial line; the next one must not continue it.
    if (rotates && (await endsWithinLine(name, stats.size))) file.size += (await handle.write("\n")).bytesWritten;
    return new RotatingFile({ ...DEFAULTS, ...options, name, rotates, onError }, file);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

interface Settings extends Required<RotationOptions> {
  readonly name: string;
  readonly rotates: boolean;
  readonly onError: (error: unknown) => void;
}

/** Told once a line is in the file. */
type OnWritten = () => void;

/** Lines that are written together, always to one file. */
interface Batch {
  text: string;
  bytes: number;
  lines: number;
  readonly written: OnWritten[];
}

/** A batch being written, of which so many bytes are in the file. */
interface Sending {
  readonly bytes: Buffer;
  sent: number;
  readonly lines: number;
  readonly written: readonly OnWritten[];
}

/** A file being appended to; see {@link openRotatingFile}. */
export class RotatingFile {
  readonly #settings: Settings;
  readonly #batchBytes: number;
  #handle: FileHandle;
  #size: number;
  /** Size at which the file is rotated; raised after a failed rotation. */
  #fullAt: number;
  readonly #waiting: Batch[] = [];
  #waitingBytes = 0;
  #sending: Sending | undefined;
  #running: Promise<void> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #failing = false;
  #lookedMs = Number.NEGATIVE_INFINITY;
  #closing: Promise<number> | undefined;

  constructor(settings: Settings, file: { handle: FileHandle; size: number }) {
    this.#settings = settings;
    this.#batchBytes = Math.min(BATCH_BYTES, settings.maxBytes);
    this.#fullAt = settings.maxBytes;
    this.#handle = file.handle;
    this.#size = file.size;
  }

  /** Real path of the file; a device as it was named. */
  get name(): string {
    return this.#settings.name;
  }

  /** Whether it is a regular file, which can be read again. */
  get isRegular(): boolean {
    return this.#settings.rotates;
  }

  /** Bytes that may still be queued. */
  get room(): number {
    return this.#settings.maxWaitingBytes - this.#waitingBytes;
  }

  /** Whether nothing is queued. */
  get idle(): boolean {
    return this.#waitingBytes === 0;
  }

  /** Waits until what is queued now was written, or could not be. */
  async settled(): Promise<void> {
    await this.#running;
  }

  /** Queues a line, whether or not there is room. @param onWritten called once it is in the file */
  append(line: string, onWritten?: OnWritten): void {
    const bytes = Buffer.byteLength(line);
    this.#waitingBytes += bytes;
    let last = this.#waiting.at(-1);
    if (last === undefined || last.bytes + bytes > this.#batchBytes) {
      last = { text: "", bytes: 0, lines: 0, written: [] };
      this.#waiting.push(last);
    }
    last.text += line;
    last.bytes += bytes;
    last.lines++;
    if (onWritten !== undefined) last.written.push(onWritten);
    if (this.#retry === undefined && this.#closing === undefined) this.#start();
  }

  /** Has it looked before the next write whether the path still names the file. */
  look(): void {
    this.#lookedMs = Number.NEGATIVE_INFINITY;
  }

  /** Writes the queued lines, waiting five seconds at most. @returns number of lines that are lost */
  close(): Promise<number> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #start(): void {
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    // Deferred by a microtask, so that lines written in the same turn share a batch.
    await Promise.resolve();
    try {
      while (this.#sending !== undefined || this.#waiting.length > 0) {
        await this.#follow();
        this.#sending ??= await this.#next();
        await this.#send(this.#sending);
        for (const onWritten of this.#sending.written) onWritten();
        this.#sending = undefined;
        this.#failing = false;
      }
    } catch (error) {
      this.#tell(error);
      this.look();
      if (this.#closing === undefined) this.#retry = setTimeout(() => this.#tryAgain(), this.#settings.retryMs).unref();
    }
    // Reset in the turn that found the queue empty: a line added later must start a new run.
    this.#running = undefined;
  }

  #tryAgain(): void {
    this.#retry = undefined;
    this.#start();
  }

  /** Takes the next batch, rotating first if it would not fit. */
  async #next(): Promise<Sending> {
    const { bytes: most = 0 } = this.#waiting[0] ?? {};
    if (this.#settings.rotates && this.#size > 0 && this.#size + most > this.#fullAt) await this.#rotate();
    const { text = "", lines = 0, written = [] } = this.#waiting.shift() ?? {};
    return { bytes: Buffer.from(text), sent: 0, lines, written };
  }

  async #send(sending: Sending): Promise<void> {
    while (sending.sent < sending.bytes.length) {
      const { bytesWritten } = await this.#handle.write(sending.bytes, sending.sent);
      sending.sent += bytesWritten;
      this.#size += bytesWritten;
      this.#waitingBytes -= bytesWritten;
    }
  }

  /** Opens the path anew where it does not name the file any more. @throws the system's error; then lines wait */
  async #follow(): Promise<void> {
    const { rotates, lookMs } = this.#settings;
    const nowMs = performance.now();
    if (!rotates || nowMs - this.#lookedMs < lookMs) return;
    this.#lookedMs = nowMs;
    if (!(await this.#isStillNamed())) await this.#openAnew();
  }

  /** Renames the full file and opens a new one; on failure the full file stays in use. */
  async #rotate(): Promise<void> {
    const { name, keep, maxBytes } = this.#settings;
    try {
      // Another process that holds the lock for long is left alone: records go on into the full file.
      if ((await this.#isStillNamed()) && !(await rotate(name, keep, () => this.#isStillNamed()))) return;
      await this.#openAnew();
    } catch (error) {
      this.#fullAt = this.#size + maxBytes;
      this.#tell(error);
    }
  }

  async #openAnew(): Promise<void> {
    const { name, keep, maxBytes } = this.#settings;
    const next = await open(name, "a", MODE);
    const old = this.#handle;
    this.#handle = next;
    this.#size = 0;
    this.#fullAt = maxBytes;
    const sending = this.#sending;
    if (sending !== undefined) {
      // A line that broke off in the old file begins anew.
      const whole = sending.bytes.subarray(0, sending.sent).lastIndexOf("\n") + 1;
      this.#waitingBytes += sending.sent - whole;
      sending.sent = whole;
    }
    const isGone = (await old.stat()).nlink === 0;
    await old.close();
    if (isGone && keep > 0) this.#tell(new Error("The audit file was removed, perhaps with new records"));
    // Not 0 if another process has written to it already.
    this.#size = (await next.stat()).size;
  }

  /** Whether the path still names the open file; another process may have renamed it. */
  async #isStillNamed(): Promise<boolean> {
    const named = lstat(this.#settings.name, EXACT).catch(() => undefined);
    const [own, now] = await Promise.all([this.#handle.stat(EXACT), named]);
    return now !== undefined && now.ino === own.ino && now.dev === own.dev;
  }

  #tell(error: unknown): void {
    if (this.#failing) return;
    this.#failing = true;
    this.#settings.onError(error);
  }

  async #close(): Promise<number> {
    clearTimeout(this.#retry);
    this.look();
    const finished = new AbortController();
    const patience = pause(CLOSE_PATIENCE_MS, undefined, { signal: finished.signal }).catch(() => {});
    await Promise.race([patience, this.#finish()]);
    finished.abort();
    const left = [...(this.#sending === undefined ? [] : [this.#sending]), ...this.#waiting.splice(0)];
    this.#sending = undefined;
    return left.reduce((sum, { lines }) => sum + lines, 0);
  }

  async #finish(): Promise<void> {
    await this.#running;
    // Retries at once what waited for the retry timer.
    this.#start();
    await this.#running;
    await this.#handle.close().catch((error: unknown) => this.#tell(error));
  }
}
