// The text of a document at a place: read by a process, and put together with marks of its pages, slides or sheets.

import { createHash } from "node:crypto";
import type {
  DocumentFault,
  DocumentKind,
  DocumentSession,
  DocumentText,
  DocumentUnit,
  PageRange,
} from "../../core/call/documents.js";
import type { OpenFile } from "../../core/ports/open-file.js";
import type { FileCall } from "../../core/ports/operation.js";
import { KINDS, markOf } from "../../documents/kinds.js";
import type { ReadOutput } from "../../schema/types.js";
import { versionOf } from "../content/file-etag.js";
import { bySignature, mimeByName } from "../content/mime.js";
import { piecesOf } from "../content/pieces.js";

/** Larger documents are not read. */
export const MAX_DOCUMENT_BYTES = 33_554_432;
/** Maximum time (ms) for one file, waiting for a process included… */
const MAX_MS = 20_000;
/** …and the part of the call's remaining time that it may take, so that the file can be described instead. */
const SHARE_OF_TIME = 0.7;
const SIGNATURE_BYTES = 64;

interface Wish {
  readonly kind: DocumentKind | undefined;
  readonly pages?: PageRange | undefined;
  readonly maxChars: number;
}

/** Text of a document, and what an answer tells beside it. */
interface ReadDocument {
  readonly found: DocumentText;
  readonly facts: Pick<ReadOutput, "size" | "mime" | "etag" | "hash">;
}

/** Reads an open document. @throws as reading the file does; ABORTED */
export async function readDocument(file: OpenFile, wish: Wish, call: FileCall): Promise<ReadDocument | DocumentFault> {
  const { documents, root, path, caller, versions } = call;
  const { scope } = call.access;
  const session: DocumentSession | undefined = documents?.open({ signal: scope.signal, caller });
  if (session === undefined) return { fault: "unsupported" };
  const digest = createHash("sha256");
  try {
    const found = await session.read({
      ...{ ...wish, source: piecesOf(file, { seen: (bytes) => digest.update(bytes) }), size: file.size },
      withinMs: Math.min(MAX_MS, scope.remainingMs() * SHARE_OF_TIME),
    });
    await scope.pause();
    if ("fault" in found) return found;
    const sha256 = digest.digest("hex");
    versions.put(root.name, file.stamp, sha256);
    const known = mimeByName(path.segments.at(-1) ?? "") ?? bySignature(await file.read(0, SIGNATURE_BYTES));
    return { found, facts: { size: file.size, mime: known ?? KINDS[found.kind].mime, ...versionOf(sha256, call) } };
  } finally {
    session.close();
  }
}

/** A document as one text, and where its parts begin in it. */
export interface MarkedText {
  readonly text: string;
  readonly starts: readonly { readonly at: number; readonly unit: DocumentUnit | undefined }[];
}

/** Each part below a line that names it. */
export function markedText({ parts }: Pick<DocumentText, "parts">): MarkedText {
  const starts: { at: number; unit: DocumentUnit | undefined }[] = [];
  let text = "";
  for (const { unit, text: part } of parts) {
    if (text !== "") text += "\n\n";
    starts.push({ at: text.length, unit });
    text += unit === undefined ? part : `${markOf(unit)}${part === "" ? "" : `\n${part}`}`;
  }
  return { text, starts };
}

/** Cuts before a character that does not fit. @param maxBytes of UTF-8 */
export function cutText(text: string, maxChars: number, maxBytes: number): string {
  const most = Math.min(text.length, maxChars);
  const { read } = new TextEncoder().encodeInto(text.slice(0, most), new Uint8Array(Math.min(maxBytes, most * 3)));
  const isSplit = read > 0 && read < text.length && /[\ud800-\udbff]/.test(text.charAt(read - 1));
  return text.slice(0, isSplit ? read - 1 : read);
}
