import { type FileHandle, lstat, open, realpath, rename, unlink } from "node:fs/promises";
import type { AuditRecord, AuditSink } from "./record.js";

export interface AuditFileOptions {
  /** Most bytes of one file; only a single record longer than that is longer. Default 64 MiB. */
  readonly maxBytes?: number;
  /** Old files kept beside it, `<name>.1` the newest. `0`: none. Default 5. */
  readonly keep?: number;
  /** Most bytes that wait for a slow disk; records beyond are lost. Default 16 MiB. */
  readonly maxWaitingBytes?: number;
  /** How long after a failure it is tried again, in milliseconds. Default 1000. */
  readonly retryMs?: number;
}

/** Audit records in a file that is renamed when it is full. */
export interface AuditFile extends AuditSink {
  /** Records that were given up since it was opened. */
  readonly lost: number;
  /** Writes what waits, for a while at most; what cannot be written then is lost. */
  close(): Promise<void>;
}

/** So that no inode number is rounded. */
const EXACT = { bigint: true } as const;

const DEFAULTS = { maxBytes: 67_108_864, keep: 5, maxWaitingBytes: 16_777_216, retryMs: 1000 } as const;

/** So much is handed to the system at once. */
const BATCH_BYTES = 65_536;

/** How long {@link AuditFile.close} waits: a write may hang for as long as a disk does. */
const CLOSE_PATIENCE_MS = 5000;

/** Mode of a file that is made; one that is there keeps its own. */
const MODE = 0o600;

/**
 * Appends records to a file as JSON lines. When it is full it becomes `<name>.1`, the old `.1` becomes `.2`, and so on.
 *
 * A record stands whole in one file. What cannot be written waits and is tried again, up to a limit; then the newest
 * records are lost and counted. Two processes may write to one file; whichever finds it full renames it, the other goes
 * on in the new one when its turn comes. A device, a pipe or anything below `/dev` and `/proc` is never renamed.
 *
 * @param onError told of the first failure of every series; records are lost at worst, calls are not
 * @throws the system's error when the file cannot be opened
 */
export async function openAuditFile(
  path: string,
  onError: (error: unknown) => void,
  options: AuditFileOptions = {},
): Promise<AuditFile> {
  // Opened here, so that a wrong path is a start-up error and not a surprise at the first call.
  const handle = await open(path, "a", MODE);
  try {
    const stats = await handle.stat();
    // A link is followed once: what it names is renamed then, not the link itself.
    const rotates = stats.isFile() && !/^\/(?:dev|proc)\//.test(path);
    const name = rotates ? await realpath(path) : path;
    const file = { handle, size: stats.size };
    // Of a process that died while it wrote: the next record must not be taken for the rest of that one.
    if (rotates && (await endsWithinLine(name, stats.size))) file.size += (await handle.write("\n")).bytesWritten;
    return new RotatingFile({ ...DEFAULTS, ...options, name, rotates, onError }, file);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

interface Settings extends Required<AuditFileOptions> {
  readonly name: string;
  readonly rotates: boolean;
  readonly onError: (error: unknown) => void;
}

/** Records that are written together, and never to two files. */
interface Batch {
  text: string;
  bytes: number;
  records: number;
}

/** A batch on its way: the bytes of it that the file does not have yet. */
interface Sending {
  rest: Uint8Array;
  readonly records: number;
}

class RotatingFile implements AuditFile {
  readonly #settings: Settings;
  readonly #batchBytes: number;
  #handle: FileHandle;
  #size: number;
  /** Size at which the file is full. After a rotation that failed it is allowed to grow further. */
  #fullAt: number;
  readonly #waiting: Batch[] = [];
  #waitingBytes = 0;
  #sending: Sending | undefined;
  #running: Promise<void> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #failing = false;
  #dropping = false;
  #closing: Promise<void> | undefined;
  #lost = 0;

  constructor(settings: Settings, file: { handle: FileHandle; size: number }) {
    this.#settings = settings;
    this.#batchBytes = Math.min(BATCH_BYTES, settings.maxBytes);
    this.#fullAt = settings.maxBytes;
    this.#handle = file.handle;
    this.#size = file.size;
  }

  get lost(): number {
    return this.#lost;
  }

  write(record: AuditRecord): void {
    const line = `${JSON.stringify(record)}\n`;
    const bytes = Buffer.byteLength(line);
    if (this.#closing !== undefined) {
      this.#lost++;
      return;
    }
    if (this.#waitingBytes + bytes > this.#settings.maxWaitingBytes) {
      this.#drop();
      return;
    }
    this.#waitingBytes += bytes;
    const last = this.#waiting.at(-1);
    if (last === undefined || last.bytes + bytes > this.#batchBytes) {
      this.#waiting.push({ text: line, bytes, records: 1 });
    } else {
      last.text += line;
      last.bytes += bytes;
      last.records++;
    }
    if (this.#retry === undefined) this.#start();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #start(): void {
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    // One turn later, so that what is written in this one goes together.
    await Promise.resolve();
    try {
      while (this.#sending !== undefined || this.#waiting.length > 0) {
        this.#sending ??= await this.#next();
        await this.#send(this.#sending);
        this.#sending = undefined;
        this.#failing = false;
      }
      this.#dropping = false;
    } catch (error) {
      this.#tell(error);
      if (this.#closing === undefined) this.#retry = setTimeout(() => this.#tryAgain(), this.#settings.retryMs).unref();
    }
    // In the same turn in which nothing was left: a record that comes later must find nobody at work.
    this.#running = undefined;
  }

  #tryAgain(): void {
    this.#retry = undefined;
    this.#start();
  }

  /** Takes the next batch, after making room for it. */
  async #next(): Promise<Sending> {
    const { bytes: most = 0 } = this.#waiting[0] ?? {};
    if (this.#settings.rotates && this.#size > 0 && this.#size + most > this.#fullAt) await this.#rotate();
    const { text = "", records = 0 } = this.#waiting.shift() ?? {};
    return { rest: Buffer.from(text), records };
  }

  async #send(sending: Sending): Promise<void> {
    while (sending.rest.length > 0) {
      const { bytesWritten } = await this.#handle.write(sending.rest);
      sending.rest = sending.rest.subarray(bytesWritten);
      this.#size += bytesWritten;
      this.#waitingBytes -= bytesWritten;
    }
  }

  /** Renames the full file and opens a new one; when that fails the full one is written on. */
  async #rotate(): Promise<void> {
    const { name, keep, maxBytes } = this.#settings;
    try {
      if (await this.#isStillNamed()) await shift(name, keep);
      const next = await open(name, "a", MODE);
      const full = this.#handle;
      this.#handle = next;
      this.#size = 0;
      this.#fullAt = maxBytes;
      await full.close();
      // Of another process, which was the first to rename.
      this.#size = (await next.stat()).size;
    } catch (error) {
      this.#fullAt = this.#size + maxBytes;
      this.#tell(error);
    }
  }

  /** Whether the name stands for the file that is open; another process may have renamed that. */
  async #isStillNamed(): Promise<boolean> {
    const named = lstat(this.#settings.name, EXACT).catch(() => undefined);
    const [own, now] = await Promise.all([this.#handle.stat(EXACT), named]);
    return now !== undefined && now.ino === own.ino && now.dev === own.dev;
  }

  #drop(): void {
    this.#lost++;
    if (this.#dropping) return;
    this.#dropping = true;
    this.#settings.onError(new Error("Audit records are being lost: the disk does not keep up"));
  }

  #tell(error: unknown): void {
    if (this.#failing) return;
    this.#failing = true;
    this.#settings.onError(error);
  }

  async #close(): Promise<void> {
    clearTimeout(this.#retry);
    let patience: NodeJS.Timeout | undefined;
    const hangs = new Promise<void>((resolve) => {
      patience = setTimeout(resolve, CLOSE_PATIENCE_MS);
    });
    await Promise.race([hangs, this.#finish()]);
    clearTimeout(patience);
    this.#lost +=
      (this.#sending?.records ?? 0) + this.#waiting.splice(0).reduce((sum, batch) => sum + batch.records, 0);
    this.#sending = undefined;
  }

  async #finish(): Promise<void> {
    await this.#running;
    // What waits for another try gets it now.
    this.#start();
    await this.#running;
    await this.#handle.close().catch((error: unknown) => this.#tell(error));
  }
}

/** Whether the last line of a file has no end. A file that may be written but not read is taken to be whole. */
async function endsWithinLine(name: string, size: number): Promise<boolean> {
  const handle = size === 0 ? undefined : await open(name, "r").catch(() => undefined);
  try {
    const last = await handle?.read({ buffer: new Uint8Array(1), position: size - 1 });
    return last !== undefined && last.bytesRead === 1 && last.buffer[0] !== 0x0a;
  } finally {
    await handle?.close();
  }
}

/** `<name>.1` becomes `.2` and so on; the oldest goes, and `name` becomes `.1`. */
async function shift(name: string, keep: number): Promise<void> {
  if (keep === 0) await unlink(name).catch(unlessMissing);
  for (let age = keep; age > 0; age--) {
    await rename(age === 1 ? name : `${name}.${age - 1}`, `${name}.${age}`).catch(unlessMissing);
  }
}

function unlessMissing(error: unknown): void {
  if (typeof error === "object" && error !== null && "code" in error && error.code === "ENOENT") return;
  throw error;
}
