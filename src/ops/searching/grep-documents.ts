// Searches the text of documents, whose lines are counted in each page, slide or sheet.

import type { DocumentKind, DocumentSession, DocumentText } from "../../core/call/documents.js";
import type { WalkContent } from "../../core/ports/backend.js";
import { HEAD_BYTES, isBinaryKind, kindByName, shownAsDocument } from "../../documents/kinds.js";
import type { Patience } from "../../search/entry-filter.js";
import type { GrepAnswer, ScannedFile } from "./grep-answer.js";
import type { FileScans } from "./grep-scans.js";

/** Maximum time (ms) for one file, and for the start of the process beside the first one. */
const FILE_MS = 5_000;
const START_MS = 5_000;
/** Documents that one call reads. */
const MAX_FILES = 200;
/** Characters of a document that are searched. */
const MAX_CHARS = 2_000_000;

interface GrepDocumentsParts {
  readonly session: DocumentSession;
  readonly scans: FileScans;
  readonly answer: GrepAnswer;
  readonly patience: Patience;
}

/** Reads the documents among files, and passes their text to the scanner. */
export class GrepDocuments {
  readonly #parts: GrepDocumentsParts;
  #files = 0;

  constructor(parts: GrepDocumentsParts) {
    this.#parts = parts;
  }

  /** @returns `undefined`: the file is to be searched as it is */
  take(file: ScannedFile, content: WalkContent): Promise<"on" | "stop" | undefined> | undefined {
    if (typeof content === "string") return undefined;
    const name = file.path.at(-1) ?? "";
    const shown = shownAsDocument(name, content.subarray(0, HEAD_BYTES));
    const kind = shown === undefined ? kindByName(name) : shown.kind;
    return shown === undefined && kind === undefined ? undefined : this.#search(file, content, kind);
  }

  async #search(
    file: ScannedFile,
    content: Buffer,
    kind: DocumentKind | undefined,
  ): Promise<"on" | "stop" | undefined> {
    const { session, scans, answer, patience } = this.#parts;
    if (++this.#files > MAX_FILES) {
      answer.stop("limit");
      return "stop";
    }
    // Files come in order.
    await scans.finish();
    const found = await session.read({
      ...{ source: [content], size: content.length, kind, maxChars: MAX_CHARS },
      withinMs: Math.min(this.#files === 1 ? START_MS + FILE_MS : FILE_MS, Math.max(1, patience.remainingMs)),
    });
    if (!("fault" in found)) return this.#scan(file, found);
    // Notebooks and web pages are text in themselves.
    if (kind !== undefined && !isBinaryKind(kind)) return undefined;
    if (patience.isOver || found.fault === "busy") {
      answer.stop("timeout");
      return "stop";
    }
    answer.leaveOut(file, "unreadable");
    return "on";
  }

  async #scan({ path, afterLine }: ScannedFile, { parts, ends }: DocumentText): Promise<"on" | "stop"> {
    const { scans, answer } = this.#parts;
    let before = 0;
    answer.scanned++;
    for (const { unit, text } of parts) {
      const job = { ...answer.jobFor(Buffer.from(text), Math.max(0, afterLine - before)), form: "text" as const };
      const scan = await scans.one(job);
      if (scan === undefined || scan === "binary") return "stop";
      answer.addPart(path, scan, { unit, before });
      if (scan.count > 0 && job.firstOnly) break;
      before += text.split("\n").length;
    }
    answer.endPieces(path);
    // Not all of it has been searched.
    if (ends !== undefined) answer.leaveOut({ path, afterLine: 0 }, "unreadable");
    return "on";
  }
}
