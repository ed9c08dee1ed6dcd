// The 0.50 tools that read files: `read_file` and `read_many_files`.

import { FileAdapterError } from "../../core/errors/errors.js";
import type { JsonObject } from "../../core/ports/adapter.js";
import { bySignature } from "../../ops/content/mime.js";
import { isImageType, lookAtImage } from "../../ops/rendering/image.js";
import { outlineOf } from "./outline.js";
import { hashIn, LOOKING, type SessionCall } from "./session-call.js";
import { PATHS_FAULT, textOf } from "./texts.js";
import { toolFault } from "./tool-fault.js";
import { MAX_WINDOW_BYTES, truncationOf, windowOf } from "./windows.js";

/** Arguments of a read beside its paths. */
export interface ReadWish {
  readonly offset: number | undefined;
  readonly limit: number | undefined;
}

/** How files with some names are read unless the call says otherwise. */
interface Manner {
  readonly limit: number;
  readonly type?: "log" | "csv" | "minified";
}

const USUAL: Manner = { limit: 2000 };
const MINIFIED: Manner = { limit: 20, type: "minified" };
const LOG: Manner = { limit: 500, type: "log" };
const TABLE: Manner = { limit: 100, type: "csv" };
const MANNERS: ReadonlyMap<string, Manner> = new Map([
  ["log", LOG],
  ["out", LOG],
  ["csv", TABLE],
  ["tsv", TABLE],
]);
/** Extensions of files that are not shown as text, whatever they hold. */
const BINARY: ReadonlySet<string> = new Set(
  (
    "wasm zip tar gz bz2 xz zst 7z rar exe dll so dylib bin dat o a pyc class woff woff2 ttf otf eot " +
    "ico bmp tiff tif psd mp3 mp4 avi mov flv wmv pdf"
  ).split(" "),
);

const extensionOf = (path: string): string => path.slice(path.lastIndexOf(".") + 1).toLowerCase();

function mannerOf(path: string): Manner {
  const extension = extensionOf(path);
  const isScript = extension === "js" || extension === "css";
  if (isScript && /\.min\.\w+$/i.test(path)) return MINIFIED;
  return MANNERS.get(extension) ?? USUAL;
}

const PDF = "application/pdf";
const PDF_MARK = "%PDF-";

/** Facts in every answer of a read. */
interface Facts {
  readonly path: string;
  readonly size: number;
  readonly hash: string | undefined;
}

/** @param path session path */
export async function readWindow(path: string, wish: ReadWish, { root, paths }: SessionCall): Promise<JsonObject> {
  const found = await root.invoke("file:read", { path, encoding: "utf-8" }, LOOKING);
  const { content = "", encoding, size } = found;
  const facts = { path: paths.show(path), size, hash: hashIn(found) };
  const isText = encoding !== "base64";
  const mime = nativeType(content, isText);
  if (mime !== undefined) return nativeAnswer(isText ? Buffer.from(content).toString("base64") : content, mime, facts);
  if (isText && !BINARY.has(extensionOf(path))) return textAnswer(content, wish, facts);
  return {
    ...{ path: facts.path, content_type: "binary", encoding: isText ? "binary" : "base64", size_bytes: size },
    ...{ note: "Binary file: its content is not shown", content_hash: facts.hash },
    truncation: { ...truncationOf(0), bytes_total: size },
  };
}

function textAnswer(text: string, { offset, limit }: ReadWish, { path, size, hash }: Facts): JsonObject {
  const { type, limit: usual } = mannerOf(path);
  const isTail = type === "log" && offset === undefined;
  const wanted = isTail ? undefined : (offset ?? 0);
  const window = windowOf(text, { offset: wanted, limit: limit ?? usual, repeatsFirst: type === "csv", size });
  const { content, bytes, start, end, totalLines, cut, next } = window;
  const isWhole = start <= 1 && end === totalLines;
  const outline = isWhole || start === 0 ? "" : outlineOf(text, path, window, MAX_WINDOW_BYTES - bytes);
  // Written out: spreads are slower than the rest of a small call.
  const answer: Record<string, unknown> = {
    path,
    content: content + outline,
    total_lines: totalLines,
    lines_shown: { start, end },
    truncated: cut !== undefined,
    size_bytes: size,
    content_hash: hash,
  };
  if (type !== undefined) answer["content_type"] = type;
  if (isTail) answer["read_mode"] = "tail";
  const onward = next === undefined ? undefined : { tool: "read_file", offset: next, item: "line" as const };
  const account = cut && { reason: cut, total: size, next: onward };
  answer["truncation"] = truncationOf(outline === "" ? bytes : bytes + Buffer.byteLength(outline), account);
  return answer;
}

/** The media type of a file that is shown as it is; `undefined`: it is none. A PDF may be text as a whole. */
function nativeType(content: string, isText: boolean): string | undefined {
  if (isText) return content.startsWith(PDF_MARK) ? PDF : undefined;
  const mime = bySignature(Buffer.from(content.slice(0, 64), "base64"));
  return mime === PDF || (mime !== undefined && isImageType(mime)) ? mime : undefined;
}

/** An image that hosts refuse would spoil the conversation: it is only described. */
function nativeAnswer(base64: string, mime: string, { path, size, hash }: Facts): JsonObject {
  const facts = { path, media_type: mime, size_bytes: size, content_hash: hash };
  const content = { base64, media_type: mime };
  if (mime === PDF) return { ...facts, document: content };
  const fault = lookAtImage(Buffer.from(base64, "base64"))?.fault;
  return fault === undefined ? { ...facts, image: content } : { ...facts, note: `Not shown: ${fault}` };
}

// The `read_many_files` tool.

const MIN_PATHS = 2;
const MAX_PATHS = 10;
const MAX_PATH_BYTES = 4096;
/** Most bytes of the results as JSON. */
const MAX_BATCH_BYTES = 61_440;
/** Bytes of a result that only says why a file is missing. */
const REFUSAL_BYTES = 128;
const ALONE = "because the batch output limit was reached; read this file individually";

/** @throws INVALID_INPUT */
export async function readMany(given: readonly string[], wish: ReadWish, call: SessionCall): Promise<JsonObject> {
  if (given.length < MIN_PATHS || given.length > MAX_PATHS) throw toolFault("INVALID_INPUT", PATHS_FAULT);
  for (const [index, path] of given.entries()) {
    const bytes = Buffer.byteLength(path);
    if (bytes >= 1 && bytes <= MAX_PATH_BYTES) continue;
    throw toolFault(
      "INVALID_INPUT",
      `Parameter \`paths[${index}]\` must contain between 1 and ${MAX_PATH_BYTES} bytes`,
    );
  }
  const results: JsonObject[] = [];
  let left = MAX_BATCH_BYTES - given.length * REFUSAL_BYTES;
  for (const [index, path] of given.entries()) {
    const result = left < 0 ? { index, error: `Not read ${ALONE}` } : await readOne(path, wish, call);
    if (left >= 0) left -= Buffer.byteLength(JSON.stringify(result)) - REFUSAL_BYTES;
    const fits = left >= 0 || "index" in result;
    results.push(fits ? result : { index, error: `Not returned ${ALONE}` });
  }
  return { results, count: results.length };
}

async function readOne(asked: string, wish: ReadWish, call: SessionCall): Promise<JsonObject> {
  let shown = asked;
  try {
    const path = call.paths.parse(asked);
    shown = call.paths.show(path);
    const { image, document, ...answer } = await readWindow(path, wish, call);
    if (answer["media_type"] === undefined) return answer;
    const isShown = image !== undefined || document !== undefined;
    return { ...answer, image_omitted: true, ...(isShown && { hint: "call read_file with this path to see it" }) };
  } catch (error) {
    if (!(error instanceof FileAdapterError) || error.code === "ABORTED") throw error;
    return { path: shown, error: textOf(error, { tool: "read_file", args: { path: asked } }, call.paths) };
  }
}
