// The Everruns tools that write, list, delete, stat and search files.

import { isoTime } from "../../core/clock.js";
import { adapterError } from "../../core/errors/errors.js";
import type { JsonObject, Rendering } from "../../core/ports/adapter.js";
import { bySignature } from "../../ops/content/mime.js";
import { lookAtImage } from "../../ops/rendering/image.js";
import type { StatOutput } from "../../schema/types.js";
import { changeOptions, hashIn, LOOKING, type SessionCall } from "./session-call.js";
import { pathMatcher } from "./session-path.js";
import { toolFault } from "./tool-fault.js";
import { truncationOf } from "./windows.js";

/** Entries per page, and maximum pages per answer. */
const PAGE = 10_000;
const MAX_PAGES = 10;

export async function writeFile(
  path: string,
  content: { readonly content: string } | { readonly bytes: string },
  call: SessionCall,
): Promise<JsonObject> {
  const done = await call.root.invoke("file:write", { path, ...content, parents: true }, changeOptions(call));
  const { written, created } = done;
  return { path: call.paths.show(path), size_bytes: written, created, content_hash: hashIn(done) };
}

interface Listed {
  readonly name: string;
  readonly path: string;
  readonly is_directory: boolean;
  readonly size_bytes: number;
  readonly is_readonly: boolean;
}

export async function listDirectory(path: string, call: SessionCall): Promise<JsonObject> {
  const { entries, isCut } = await entriesOf(path, call);
  const answer = { path: call.paths.show(path), entries, count: entries.length };
  return isCut ? { ...answer, truncated: true } : answer;
}

/** A page of a directory, as the 0.50 tool answers it. */
export async function listPage(
  path: string,
  { offset, limit }: { readonly offset: number; readonly limit: number },
  call: SessionCall,
): Promise<JsonObject> {
  const { entries: all, isCut } = await entriesOf(path, call);
  const entries = all.slice(offset, offset + limit);
  const end = offset + entries.length;
  const next =
    end < all.length && entries.length > 0 ? { tool: "list_directory", offset: end, item: "item" as const } : undefined;
  const isShort = isCut || next !== undefined;
  return {
    ...{ path: call.paths.show(path), entries, count: entries.length, total_count: all.length, offset, limit },
    truncation: truncationOf(
      Buffer.byteLength(JSON.stringify(entries)),
      isShort ? { reason: "item_cap", next } : undefined,
    ),
  };
}

/** All entries by path. Symlinks are omitted, and so are entries whose names cannot appear in a path. */
async function entriesOf(
  path: string,
  call: SessionCall,
): Promise<{ readonly entries: readonly Listed[]; readonly isCut: boolean }> {
  const entries: Listed[] = [];
  const { readOnly } = call.root;
  let isCut = true;
  let after: string | undefined;
  for (let page = 0; page < MAX_PAGES && isCut; page++) {
    const found = await call.root.invoke("file:list", { path, limit: PAGE, ...(after !== undefined && { after }) });
    isCut = found.truncated;
    after = found.entries.at(-1)?.name;
    for (const { name, type, size, unreachable } of found.entries) {
      if (type === "symlink" || unreachable === true) continue;
      const own = path === "/" ? `/${name}` : `${path}/${name}`;
      entries.push({
        name,
        path: call.paths.show(own),
        is_directory: type === "directory",
        size_bytes: type === "file" ? size : 0,
        is_readonly: readOnly || call.files.has(own),
      });
    }
  }
  return { entries: isAscending(entries) ? entries : sortedOnce(entries), isCut };
}

const isAscending = (entries: readonly Listed[]): boolean =>
  entries.every(({ path }, at) => at === 0 || path > (entries[at - 1]?.path ?? path));

/** Pages of a directory that changes meanwhile can repeat an entry. */
const sortedOnce = (entries: readonly Listed[]): readonly Listed[] =>
  entries
    .toSorted((left, right) => order(left.path, right.path))
    .filter((entry, at, sorted) => entry.path !== sorted[at - 1]?.path);

export async function deleteFile(path: string, recursive: boolean, call: SessionCall): Promise<JsonObject> {
  if (path === "/") throw toolFault("ROOT_DELETE", "cannot delete workspace root");
  const { existed } = await call.root.invoke("file:delete", { path, recursive }, changeOptions(call));
  if (!existed) throw adapterError("NOT_FOUND", "NOT_FOUND", { path: path.slice(1) });
  return { path: call.paths.show(path), deleted: true };
}

export async function statFile(path: string, call: SessionCall): Promise<JsonObject> {
  const found = await call.root.invoke("file:stat", { path }, LOOKING);
  const shown = call.paths.show(path);
  if (!found.exists) return { path: shown, exists: false };
  const { type, size = 0, modified = 0, created = modified }: StatOutput & { readonly created?: number } = found;
  const isDirectory = type === "directory";
  return {
    path: shown,
    name: path === "/" ? "/" : path.slice(path.lastIndexOf("/") + 1),
    exists: true,
    type: isDirectory ? "directory" : "file",
    is_directory: isDirectory,
    is_readonly: call.root.readOnly || call.files.has(path),
    size_bytes: isDirectory ? 0 : size,
    created_at: isoTime(created),
    updated_at: isoTime(modified),
  };
}

// The `read_file` tool.

/** Media types of images, by file extension. */
const IMAGES: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
};

/** The encoding is given explicitly, so that only UTF-8 counts as text whatever the root's default encoding is. */
export async function readFile(path: string, { root, paths }: SessionCall): Promise<JsonObject> {
  const found = await root.invoke("file:read", { path, encoding: "utf-8" }, LOOKING);
  const { content = "", encoding, size } = found;
  const hash = hashIn(found);
  const mediaType = encoding === "base64" ? IMAGES[/\.([a-z]+)$/i.exec(path)?.[1]?.toLowerCase() ?? ""] : undefined;
  const shown = encoding === "base64" ? encoding : "text";
  if (mediaType === undefined) {
    return { path: paths.show(path), content, encoding: shown, size_bytes: size, content_hash: hash };
  }
  const facts = { path: paths.show(path), media_type: mediaType, size_bytes: size, content_hash: hash };
  const { fault, width, height } = lookAtImage(Buffer.from(content, "base64")) ?? {
    fault: "its header cannot be read",
  };
  if (fault === undefined) return { ...facts, image: { base64: content, media_type: mediaType } };
  const sides = width === undefined ? "" : `, ${width}x${height} px`;
  return { ...facts, content: `Image, ${fault}: ${mediaType}${sides}, ${size} bytes`, encoding: "text" };
}

/**
 * Renders an image as an image and a PDF as a PDF: a model cannot read their base64 text. Their type is that of their
 * content: hosts compare.
 */
export function renderRead(result: unknown): Rendering {
  const {
    image,
    document = image,
    ...value
  }: NativeAnswer = typeof result === "object" && result !== null ? result : {};
  if (document === undefined) return { kind: "json", value, rest: {} };
  const { base64, media_type: type } = document;
  const mime = bySignature(Buffer.from(base64.slice(0, 64), "base64")) ?? type;
  const uri = `file://${String(value.path).split("/").map(encodeURIComponent).join("/")}`;
  return { kind: "json", value, rest: {}, blob: { base64, mime, uri } };
}

interface NativeContent {
  readonly base64: string;
  readonly media_type: string;
}

interface NativeAnswer {
  readonly path?: string;
  readonly image?: NativeContent;
  readonly document?: NativeContent;
}

// The `grep_files` tool.

const MAX_PATTERN_CHARS = 1000;
const MAX_FILE_BYTES = 524_288;
const MAX_TOTAL_BYTES = 5_242_880;
/** Patterns without regex metacharacters are searched literally. */
const PLAIN = /^[^\\^$.|?*+()[\]{}]{1,64}$/u;

/** A line that matches; context that a neighbour tells is not repeated. */
export interface LineMatch {
  /** As the caller sees it. */
  readonly path: string;
  readonly line_number: number;
  readonly line: string;
  readonly before: readonly string[];
  readonly after: readonly string[];
}

export interface LineWish {
  readonly pattern: string;
  /** Pattern of paths; empty: every file. */
  readonly glob: string;
  /** Beginning of the text for a glob that is none. */
  readonly globFault?: string | undefined;
  /** Lines of context. */
  readonly before: number;
  readonly after: number;
}

export async function grepFiles(
  path: string,
  { pattern, pathPattern }: { readonly pattern: string; readonly pathPattern: string },
  call: SessionCall,
): Promise<JsonObject> {
  const found = await findLines(path, { pattern, glob: pathPattern, before: 0, after: 0 }, call);
  const matches = found.map(({ path: file, line_number, line }) => ({ path: file, line_number, line }));
  return { pattern, matches, match_count: matches.length };
}

/** All matching lines below a session path, by path and line. */
export async function findLines(
  path: string,
  { pattern, glob, globFault, before, after }: LineWish,
  { root, files, paths }: SessionCall,
): Promise<readonly LineMatch[]> {
  if (pattern.length > MAX_PATTERN_CHARS) throw toolFault("INVALID_PATTERN", "Regex pattern too long");
  const isMeant = pathMatcher(glob, paths.prefix, globFault);
  const wants = (segments: readonly string[]): boolean =>
    !segments.includes(".git") && isMeant(segments.slice(files.depth).join("/"));
  const literal = PLAIN.test(pattern) ? { literal: true } : {};
  const context = before + after === 0 ? {} : { before, after };
  const found = await root.invoke(
    "file:grep",
    { path, pattern, maxFileBytes: MAX_FILE_BYTES, ...literal, ...context },
    { terms: { search: { wants, maxTotalBytes: MAX_TOTAL_BYTES } } },
  );
  if (!found.complete) throw incomplete(found.reason);
  const matches = (found.matches ?? []).map(({ path: file, line, text, before = [], after = [] }) => ({
    ...{ path: paths.show(`/${file}`), line_number: line, line: text, before, after },
  }));
  return matches.sort((left, right) => order(left.path, right.path) || left.line_number - right.line_number);
}

export const order = (left: string, right: string): number => (left < right ? -1 : Number(left > right));

/** A partial result would look complete to the caller. */
function incomplete(reason: string | undefined): Error {
  if (reason === "timeout") return toolFault("TIMEOUT", "Grep scan takes too long. Pass a deeper path");
  return toolFault("TOO_LARGE", "Grep scan exceeds maximum number of files. Pass a deeper path");
}
