import { venueUri } from "../core/call/venue-uri.js";
import { attachedContent } from "../core/content-bytes.js";
import { counted } from "../core/errors/wording.js";
import type { Rendering } from "../core/ports/adapter.js";
import { type Operation, READS } from "../core/ports/operation.js";
import { parsePath } from "../path/grammar.js";
import type { ReadInput, ReadOutput } from "../schema/types.js";
import { readFile } from "./content/read-file.js";
import { checkRequest } from "./content/reading.js";
import { atVersion, withContent } from "./history/version.js";
import { parsePages } from "./rendering/extract.js";
import { isImageType, lookAtImage } from "./rendering/image.js";

/** `read`: the content of a file, or a range of it. */
export const read: Operation<ReadInput, ReadOutput> = {
  name: "read",
  on: "path",
  ...READS,
  looksInArchives: true,
  check: (input) => {
    checkRequest(input);
    parsePages(input.pages);
  },
  run(input, call) {
    if (input.version !== undefined) return atVersion(call, input.version).then((past) => readFile(input, past));
    const unsaved = call.terms?.unsaved;
    return readFile(input, unsaved === undefined ? call : withContent(call, unsaved));
  },
  givesBytes: true,
  bytes: (output) => (output.description !== undefined ? 0 : (output.length ?? lengthOf(output))),
  render,
};

function lengthOf(output: ReadOutput): number {
  if (output.encoding !== "base64") return output.size;
  return attachedContent(output)?.bytes.length ?? Buffer.byteLength(output.content ?? "", "base64");
}

function render(output: ReadOutput, input: ReadInput): Rendering {
  // One block for the text of a document, and one for all else.
  if (output.text !== undefined) {
    const { text, ...facts } = output;
    return { kind: "text", text, rest: facts, note: JSON.stringify(facts) };
  }
  const { content: text = "", value, ...rest } = output;
  const content = attachedContent(output) ?? text;
  const note = noteOf(output, input);
  const notePart = note === undefined ? {} : { note };
  if (output.description !== undefined) {
    const { description, ...facts } = rest;
    return { kind: "text", text: output.description, rest: facts, ...notePart };
  }
  if (output.encoding === undefined) return { kind: "json", value, rest, ...notePart };
  if (output.encoding !== "base64") return { kind: "text", text: content, rest, ...notePart };
  return { kind: "blob", base64: content, mime: blobMime(output), uri: uriOf(input), rest, ...notePart };
}

/** Images are recognised by content, whatever their name. One that hosts cannot display must not be taken for one. */
function blobMime(output: ReadOutput): string {
  const { content = "", mime, offset = 0, eof = true } = output;
  const bytes = attachedContent(output)?.bytes ?? Buffer.from(content, "base64");
  const image = offset > 0 || !eof ? undefined : lookAtImage(bytes);
  if (image !== undefined && image.fault === undefined) return image.mime;
  return image !== undefined || isImageType(mime) ? "application/octet-stream" : mime;
}

/** A reference is its own URI. */
const uriOf = ({ root, path }: Partial<Pick<ReadInput, "root">> & ReadInput): string =>
  root === undefined
    ? path.replace(/^dlfs\//, "dlfs://")
    : venueUri({ root, segments: parsePath(root, path).segments, isDirectory: false });

/** The note for models beside the body: what is missing of the requested range, and the etag. */
function noteOf(output: ReadOutput, input: ReadInput): string | undefined {
  const parts = [
    cutNote(output, input) ?? emptyNote(output, input),
    output.etag === undefined ? undefined : `etag ${output.etag}`,
  ];
  return parts.filter((part) => part !== undefined).join(". ") || undefined;
}

/** Why there is no text: an empty file, or a start behind the end, which it tells. */
function emptyNote({ content, offset, size, totalLines }: ReadOutput, input: ReadInput): string | undefined {
  if (content !== "") return undefined;
  if (size === 0) return "Empty file";
  if (offset === undefined || offset < size || (input.line === undefined && input.offset === undefined)) {
    return "Nothing was asked for";
  }
  const end =
    input.line === undefined || totalLines === undefined ? counted(size, "byte") : counted(totalLines, "line");
  return `Past the end: the file has ${end}`;
}

function cutNote(output: ReadOutput, input: ReadInput): string | undefined {
  const { complete, offset = 0, length = 0, size, startLine, endLine, nextLine, nextOffset, omitted } = output;
  if (complete !== false) return undefined;
  if (output.hint !== undefined) return `Cut. ${output.hint}`;
  const bytes = `Cut: bytes ${offset}-${offset + length} of ${size}`;
  if (omitted !== undefined) return `${bytes}. Before them: offset: ${offset - omitted}, length: ${omitted}`;
  if (nextLine === undefined)
    return `${bytes}. Go on with offset: ${nextOffset}${restOf(length, input.length, "length")}`;
  const lines = restOf(nextLine - (startLine ?? 0), input.limit ?? input.head, "limit");
  return `Cut: lines ${startLine}-${endLine}. Go on with line: ${nextLine}${lines}`;
}

/** The field for the rest of a range. */
const restOf = (got: number, asked: number | undefined, field: string): string =>
  asked === undefined || asked <= got ? "" : `, ${field}: ${asked - got}`;
