// PDF files as text for models, page by page.

import { createHash } from "node:crypto";
import type { PdfText } from "../../core/call/pdf.js";
import { counted } from "../../core/errors/wording.js";
import { runIo } from "../../core/io.js";
import type { OpenFile } from "../../core/ports/open-file.js";
import type { ReadOutput } from "../../schema/types.js";
import { versionOf } from "../content/file-etag.js";
import { holdAnswer, mimeAt, type Reading } from "../content/reading.js";
import { renderedOutput } from "./read-rendered.js";

/** Larger files are described. */
const MAX_PDF_BYTES = 33_554_432;
/** Maximum time (ms) for one file, waiting for a process included… */
const MAX_MS = 20_000;
/** …and the part of the call's remaining time that it may take, so that the file can be described instead. */
const SHARE_OF_TIME = 0.7;
/** Bytes read at once. */
const CHUNK = 262_144;

const SPENT = {
  ...{ truncated: true, complete: false, reason: "limit" as const },
  hint: "The last line says why",
};

const SIGNATURE = Buffer.from("%PDF-");

/** Whether a file says that it is a PDF. @param head its first bytes */
export const isPdf = (head: Buffer): boolean => head.subarray(0, SIGNATURE.length).equals(SIGNATURE);

/**
 * The text of a PDF. `undefined`: it has none, or cannot be read, or not by what is installed here.
 * @throws as opening and reading the file does; ABORTED
 */
export async function readPdf(reading: Reading): Promise<ReadOutput | undefined> {
  const { call, mostCut } = reading;
  if (call.pdf === undefined) return undefined;
  holdAnswer(call, mostCut);
  const file = await call.root.backend.open(call.path, call.access);
  try {
    const { size } = file;
    if (size > MAX_PDF_BYTES) return undefined;
    const digest = createHash("sha256");
    const { scope } = call.access;
    const text = await call.pdf.read({
      source: bytesOf(file, (bytes) => digest.update(bytes)),
      ...{ size, maxBytes: mostCut },
      withinMs: Math.min(MAX_MS, scope.remainingMs() * SHARE_OF_TIME),
      ...{ signal: call.cancellation?.signal, caller: call.caller },
    });
    await runIo(scope.breathe(), scope);
    if (text === undefined || text.pages.every((page) => page === "")) return undefined;
    const cut = text.isSpent === true ? SPENT : {};
    const facts = { size, mime: mimeAt(reading, SIGNATURE, () => true) };
    return {
      ...cut,
      ...renderedOutput("pdf", { text: textOf(text) }, reading),
      ...facts,
      ...versionOf(digest.digest("hex"), call),
    };
  } finally {
    file.close();
  }
}

/** The bytes of a file up to the size that it had when it was opened. */
async function* bytesOf(file: OpenFile, seen: (bytes: Buffer) => void): AsyncGenerator<Buffer> {
  for (let at = 0; at < file.size; ) {
    const bytes = await file.read(at, Math.min(CHUNK, file.size - at));
    if (bytes.length === 0) return;
    seen(bytes);
    yield bytes;
    at += bytes.length;
  }
}

function textOf({ count, pages, isSpent }: PdfText): string {
  const lines = pages.map((page, index) => `\n[page ${index + 1}]\n${page === "" ? "" : `${page}\n`}`);
  const rest =
    isSpent === true ? [`\n[from page ${pages.length + 1} on: not read, it takes too long or too much memory]\n`] : [];
  const first = `rendered; the text of a PDF of ${counted(count, "page")}; its bytes: mode "bytes"\n`;
  return [first, ...lines, ...rest].join("");
}
