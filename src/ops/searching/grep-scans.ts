// Passes files to a line scanner in batches, and adds the results to the answer in the order of the walk.

import { isUtf8 } from "node:buffer";
import type { LineScanner, Scan, ScanJob } from "../../core/call/scan.js";
import { FileAdapterError } from "../../core/errors/errors.js";
import { isPending } from "../../core/io.js";
import type { WalkContent } from "../../core/ports/backend.js";
import type { Patience } from "../../search/entry-filter.js";
import { searchableText } from "../content/encoding.js";
import type { GrepAnswer, ScannedFile } from "./grep-answer.js";

/** Size of a batch: a message to the worker for each small file would take longer than scanning it. */
const BATCH_BYTES = 1_048_576;
const BATCH_FILES = 128;
/** Time to scan files that have already been read when the time is up. */
const LAST_MS = 200;

interface Batch {
  readonly files: readonly ScannedFile[];
  readonly scans: Promise<readonly Scan[]>;
}

interface FileScansParts {
  readonly answer: GrepAnswer;
  readonly patience: Patience;
  /** Encoding of the files, where it is not the one they declare. */
  readonly encoding: string | undefined;
  /** Whether the pattern has characters that no file in another encoding matches. */
  readonly isForeign: boolean;
}

/** Batches files for the scanner, and collects the results in the same order. */
export class FileScans {
  readonly #scanner: LineScanner;
  readonly #parts: FileScansParts;
  /** There was text in an encoding that is not known, where the pattern may be in it. */
  hasOthers = false;
  #files: ScannedFile[] = [];
  #jobs: ScanJob[] = [];
  #bytes = 0;
  /** The batch being scanned; meanwhile the next files are read. */
  #away: Batch | undefined;

  constructor(scanner: LineScanner, parts: FileScansParts) {
    this.#scanner = scanner;
    this.#parts = parts;
  }

  #note(text: Uint8Array): void {
    const { isForeign, encoding } = this.#parts;
    if (isForeign && encoding === undefined) this.hasOthers ||= !isUtf8(text) && !text.includes(0);
  }

  async #collect(): Promise<"on" | "stop"> {
    const away = this.#away;
    if (away === undefined) return "on";
    this.#away = undefined;
    let scans: readonly Scan[];
    try {
      scans = await away.scans;
    } catch (error) {
      this.#stop(error);
      return "stop";
    }
    away.files.forEach((file, at) => {
      this.#parts.answer.add(file, scans[at] ?? "binary");
    });
    return "on";
  }

  /** @returns a promise only if a scan has to be awaited */
  take(found: ScannedFile, content: WalkContent): "on" | "stop" | Promise<"on" | "stop"> {
    if (typeof content === "string") {
      this.#parts.answer.leaveOut(found, content === "too large" ? "tooLarge" : "unreadable");
      return "on";
    }
    const { path, afterLine } = found;
    const file = { path, afterLine, bytes: content.length };
    const text = searchableText(content, this.#parts.encoding);
    this.#note(text);
    if (this.#scanner.isInline) return this.#takeHere(file, this.#parts.answer.jobFor(text, afterLine));
    this.#files.push(file);
    this.#jobs.push(this.#parts.answer.jobFor(Uint8Array.from(text), afterLine));
    this.#bytes += content.length;
    return this.#bytes >= BATCH_BYTES || this.#files.length >= BATCH_FILES ? this.#send() : "on";
  }

  #takeHere(file: ScannedFile, job: ScanJob): "on" | Promise<"on" | "stop"> {
    const scans = this.#scanner.scan([job], this.#withinMs);
    if (isPending(scans)) {
      this.#away = { files: [file], scans };
      return this.#collect();
    }
    this.#parts.answer.add(file, scans[0] ?? "binary");
    return "on";
  }

  /** Scans a piece at once. @returns `undefined` if the search has ended */
  async one(job: ScanJob): Promise<Scan | undefined> {
    this.#note(job.bytes);
    const own = this.#scanner.isInline ? job : { ...job, bytes: Uint8Array.from(job.bytes) };
    try {
      const [scan] = await this.#scanner.scan([own], this.#withinMs);
      return scan;
    } catch (error) {
      this.#stop(error);
      return undefined;
    }
  }

  #stop(error: unknown): void {
    if (!(error instanceof FileAdapterError)) throw error;
    this.#parts.answer.stop(error.code === "TIMEOUT" ? "timeout" : "error");
  }

  get #withinMs(): number {
    return Math.max(LAST_MS, this.#parts.patience.remainingMs);
  }

  async finish(): Promise<void> {
    if ((await this.#send()) === "on") await this.#collect();
  }

  async #send(): Promise<"on" | "stop"> {
    if ((await this.#collect()) === "stop") return "stop";
    if (this.#files.length === 0) return "on";
    const scans = Promise.resolve(this.#scanner.scan(this.#jobs, this.#withinMs));
    // `#collect` handles a rejection later; until then this avoids an unhandled rejection.
    scans.catch(() => {});
    this.#away = { files: this.#files, scans };
    this.#files = [];
    this.#jobs = [];
    this.#bytes = 0;
    return "on";
  }
}
