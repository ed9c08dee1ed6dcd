import type { Rendering } from "../core/adapter.js";
import type { ReadBytes, ReadRange } from "../core/backend.js";
import { type Awaitable, after } from "../core/io.js";
import type { ReadBudget } from "../core/limits.js";
import type { Operation, PathCall } from "../core/operation.js";
import { LOOKS } from "../core/operation.js";
import { invalidInput, notJson, notText, type Place, tooLargeToRead } from "../core/texts.js";
import { parsePath } from "../path/grammar.js";
import type { ReadInput, ReadOutput } from "../schema/types.js";
import { jsonFault } from "./json-fault.js";
import { bySignature, mimeOf } from "./mime.js";
import { isText, NUL_WINDOW, type TextSlice, wholeCodePoints, wholeLines } from "./text.js";

type Mode = "auto" | "text" | "bytes" | "json";

/** Bytes fetched around a range of text, so that its ends can be moved to whole code points. */
const MARGIN = 4;
const NOTHING = Buffer.alloc(0);
const IMAGES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/** The content of a file, or a range of it. */
export const read: Operation<ReadInput, ReadOutput> = {
  name: "read",
  on: "path",
  ability: "crud/read",
  changes: false,
  annotations: LOOKS,
  check(input) {
    if (input.mode === "json" && hasRange(input)) {
      throw invalidInput(
        "'mode' must be one of: auto, text, bytes when a range is given",
        "/mode",
        "auto, text, bytes",
      );
    }
  },
  run(input, call) {
    const mode: Mode = input.mode === undefined || input.mode === "" ? "auto" : input.mode;
    if (hasRange(input)) return readRange(input, mode, call);
    return call.budget === undefined || mode === "json" ? readWhole(mode, call) : readBudgeted(mode, call, call.budget);
  },
  bytes: (output) =>
    output.length ?? (output.encoding === "base64" ? Buffer.byteLength(output.content ?? "", "base64") : output.size),
  render,
};

const hasRange = (input: ReadInput): boolean => input.offset !== undefined || input.length !== undefined;

const maxBytesOf = ({ budget, limits }: PathCall): number =>
  Math.min(budget?.maxBytes ?? limits.maxReadBytes, limits.maxReadBytes);

/** The whole file, up to the limit; the size that the system reports is not believed. */
function fetchWhole(call: PathCall, advice: string): Awaitable<ReadBytes> {
  const limit = maxBytesOf(call);
  const plan = (size: number): ReadRange => {
    if (size > limit) throw tooLargeToRead(call.access.place, size, limit, advice);
    return { offset: 0, length: limit + 1 };
  };
  return after(call.root.backend.read(call.path, plan, call.access), (found) => {
    if (found.bytes.length > limit) throw tooLargeToRead(call.access.place, found.bytes.length, limit, advice);
    return found;
  });
}

function readWhole(mode: Mode, call: PathCall): Awaitable<ReadOutput> {
  const found = fetchWhole(call, mode === "json" ? "" : "Use offset and length");
  return consumed(found, ({ bytes, size }) => {
    if (mode === "json")
      return { value: parseJson(bytes, call.access.place), size, mime: mime(call, bytes, () => true) };
    return encode(mode, call, { bytes, size });
  });
}

/** What is made of the bytes that were read. It must hold no part of them: they are given back. */
const consumed = <T>(found: Awaitable<ReadBytes>, make: (found: ReadBytes) => T): Awaitable<T> =>
  after(found, (bytes) => {
    try {
      return make(bytes);
    } finally {
      bytes.release?.();
    }
  });

/** Text is cut at the budget; images and other bytes come whole or not at all. */
function readBudgeted(mode: Mode, call: PathCall, budget: ReadBudget): Awaitable<ReadOutput> {
  const most = Math.min(budget.defaultBytes, maxBytesOf(call));
  // Enough to see a NUL wherever it counts, so that a small budget does not change what is text.
  const plan = (): ReadRange => ({ offset: 0, length: Math.max(most + MARGIN, NUL_WINDOW) });
  const head = call.root.backend.read(call.path, plan, call.access);
  return after(head, (found) => cutToBudget(found, { mode, call, maxBytes: most, maxLines: budget.defaultLines }));
}

function cutToBudget(
  { bytes, size }: ReadBytes,
  options: { mode: Mode; call: PathCall; maxBytes: number; maxLines: number },
): Awaitable<ReadOutput> {
  const { mode, call, maxBytes, maxLines } = options;
  const slice =
    mode === "bytes" ? undefined : wholeLines(bytes, { size, maxBytes, maxLines, allowNul: mode === "text" });
  if (slice === undefined) {
    if (mode === "text") throw notText(call.access.place);
    const complete = size <= Math.min(bytes.length, maxBytesOf(call));
    const whole = complete ? { bytes, size } : fetchWhole(call, "Use offset and length");
    return after(whole, (found) => encode(mode, call, found));
  }
  const cut = slice.bytes.length < size;
  return {
    content: slice.bytes.toString("utf8"),
    encoding: "utf-8",
    size,
    mime: mime(call, bytes, () => true),
    ...(cut ? { offset: 0, length: slice.bytes.length, eof: false } : {}),
  };
}

function readRange(input: ReadInput, mode: Mode, call: PathCall): Awaitable<ReadOutput> {
  const offset = input.offset ?? 0;
  const length = Math.min(input.length ?? Number.MAX_SAFE_INTEGER, maxBytesOf(call));
  const before = mode === "bytes" ? 0 : Math.min(offset, MARGIN);
  const margins = mode === "bytes" ? 0 : before + 2 * MARGIN;
  const plan = (): ReadRange => ({ offset: offset - before, length: length + margins });
  return consumed(call.root.backend.read(call.path, plan, call.access), (found) =>
    cutToRange(found, { mode, call, offset, before, length }),
  );
}

function cutToRange(
  { bytes: window, size }: ReadBytes,
  range: { mode: Mode; call: PathCall; offset: number; before: number; length: number },
): ReadOutput {
  const { mode, call, offset, before, length } = range;
  const slice: TextSlice | undefined =
    mode === "bytes" ? undefined : wholeCodePoints(window, { before, length, allowNul: mode === "text" });
  if (slice === undefined && mode === "text") throw notText(call.access.place);
  const { bytes, skipped } = slice ?? { bytes: window.subarray(before, before + length), skipped: 0 };
  const start = offset + skipped;
  return {
    content: bytes.toString(slice === undefined ? "base64" : "utf8"),
    encoding: slice === undefined ? "base64" : "utf-8",
    size,
    // Only the file's own first bytes tell its type.
    mime: mime(call, offset === 0 ? window : NOTHING, () => slice !== undefined || isText(bytes)),
    offset: start,
    length: bytes.length,
    eof: start + bytes.length >= size,
  };
}

function encode(mode: Mode, call: PathCall, { bytes, size }: ReadBytes): ReadOutput {
  const text = mode !== "bytes" && isText(bytes);
  // `text` promises valid UTF-8 and nothing more: a NUL is valid there.
  if (mode === "text" && !text && !isText(bytes, { allowNul: true })) throw notText(call.access.place);
  const asText = mode === "text" || text;
  return {
    content: bytes.toString(asText ? "utf8" : "base64"),
    encoding: asText ? "utf-8" : "base64",
    size,
    mime: mime(call, bytes, () => asText || isText(bytes)),
  };
}

const mime = (call: PathCall, head: Buffer, text: () => boolean): string =>
  mimeOf(call.path.segments.at(-1) ?? "", { head, isText: text });

function parseJson(bytes: Buffer, place: Place): unknown {
  if (!isText(bytes, { allowNul: true })) throw notText(place);
  const text = bytes.toString("utf8").replace(/^\ufeff/, "");
  try {
    return JSON.parse(text);
  } catch {
    throw notJson(place, jsonFault(text));
  }
}

function render(output: ReadOutput, input: ReadInput): Rendering {
  const { content = "", value, ...rest } = output;
  const note = cutNote(output, input);
  const cut = note === undefined ? {} : { note };
  if (output.encoding === undefined) return { kind: "json", value, rest };
  if (output.encoding === "utf-8") return { kind: "text", text: content, rest, ...cut };
  return { kind: "blob", base64: content, mime: blobMime(output), uri: uriOf(input), rest, ...cut };
}

/** An image is known by its content, whatever its name; a piece of one is no image that anybody could show. */
function blobMime({ content = "", mime, offset = 0, eof = true }: ReadOutput): string {
  if (offset > 0 || !eof) return IMAGES.has(mime) ? "application/octet-stream" : mime;
  const signature = bySignature(Buffer.from(content.slice(0, 32), "base64"));
  return signature !== undefined && IMAGES.has(signature) ? signature : mime;
}

function uriOf(input: ReadInput): string {
  const { segments } = parsePath(input.root, input.path, process.platform === "win32");
  return `file://${[input.root, ...segments].map(encodeURIComponent).join("/")}`;
}

/** Says what is missing of what was asked for. */
function cutNote(output: ReadOutput, input: ReadInput): string | undefined {
  const { offset, length, eof, size } = output;
  if (eof !== false || offset === undefined || length === undefined) return undefined;
  if (input.length !== undefined && length >= input.length) return undefined;
  return `Cut: bytes ${offset}-${offset + length} of ${size}. Go on with offset: ${offset + length}`;
}
