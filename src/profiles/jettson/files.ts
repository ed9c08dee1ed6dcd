// The four file tools of the Jettson profile, and their paths: `/workspace/…` or relative to the workspace.

import { adapterError, type ErrorCode, FileAdapterError } from "../../core/errors/errors.js";
import { invalidInput } from "../../core/errors/texts.js";
import type { JsonObject } from "../../core/ports/adapter.js";
import { READS } from "../../core/ports/operation.js";
import { loadOperationSchema } from "../../schema/load.js";
import { type BoundRoot, type ProfileTool, renderJson, ToolError } from "../profile.js";

/** Maximum bytes of content returned by a read. */
const MAX_READ_BYTES = 1_048_576;
const MAX_WRITTEN_BYTES = 5 * 1_048_576;
const MAX_ENTRIES = 10_000;

export const fileTools = (): readonly ProfileTool[] => [
  {
    ...describeTool("jettson_files_read"),
    ...READS,
    render: renderJson,
    run: (args, root) => read(parseFilePath(textIn(args, "path")), root),
  },
  {
    ...describeTool("jettson_files_write"),
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    ...{ ability: "crud/write", changes: true, hidden: ["content"] },
    run: (args, root) => write(parseFilePath(textIn(args, "path")), textIn(args, "content"), root),
  },
  {
    ...describeTool("jettson_files_list"),
    ...READS,
    render: renderJson,
    run: (args, root) => list(parseWorkspacePath(args["path"] === undefined ? "." : textIn(args, "path")), root),
  },
  {
    ...describeTool("jettson_files_delete"),
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
    ...{ ability: "crud/delete", changes: true },
    run: (args, root) => remove(parseFilePath(textIn(args, "path")), root),
  },
];

/** Name, texts and schemas of a tool. */
export function describeTool(name: string): Pick<ProfileTool, "name" | "title" | "description" | "input" | "output"> {
  return { name, ...loadOperationSchema(name, "profiles/jettson") };
}

const textIn = (args: JsonObject, field: string): string => String(args[field]);

/** The encoding is given explicitly, so that only UTF-8 counts as text whatever the root's default encoding is. */
async function read(path: string, root: BoundRoot): Promise<JsonObject> {
  const range = { offset: 0, length: MAX_READ_BYTES };
  const found = await root.invoke("file:read", { path, encoding: "utf-8", ...range });
  const { content = "", encoding, size, complete, length = 0 } = found;
  const isCut = length < size;
  // A cut inside a character is acceptable only where the read stopped before the end; a file that ends so is not text.
  const isTorn = isCut && size <= MAX_READ_BYTES && complete !== false;
  if (encoding !== "utf-8" || isTorn) throw toolError("NOT_TEXT", path);
  return { path, content, size_bytes: size, truncated: isCut };
}

async function write(path: string, content: string, root: BoundRoot): Promise<JsonObject> {
  if (!content.isWellFormed()) throw invalidInput("'content' is not well-formed Unicode", "/content", "Unicode text");
  if (Buffer.byteLength(content) > MAX_WRITTEN_BYTES) throw toolError("TOO_LARGE", path);
  const { written } = await root.invoke("file:write", { path, content, parents: true }, { terms: { isUtf8: true } });
  return { path, bytes_written: written };
}

interface Entry {
  readonly name: string;
  readonly size_bytes: number;
  readonly is_dir: boolean;
}

async function list(path: string, root: BoundRoot): Promise<JsonObject> {
  const { entries, truncated } = await root.invoke("file:list", { path, limit: MAX_ENTRIES });
  const shown: Entry[] = [];
  for (const { name, type, size } of entries) {
    const entry = type === "symlink" ? await linkTarget(path, name, root) : entryOf(name, type, size);
    if (entry !== undefined) shown.push(entry);
  }
  shown.sort((a, b) => (a.name < b.name ? -1 : 1));
  return { path: path === "" ? "." : path, entries: shown, ...(truncated ? { truncated: true } : {}) };
}

const entryOf = (name: string, type: string | undefined, size: number): Entry => ({
  name,
  size_bytes: type === "file" ? size : 0,
  is_dir: type === "directory",
});

/** `undefined` if the symlink leads to nothing that the caller may see. */
async function linkTarget(directory: string, name: string, root: BoundRoot): Promise<Entry | undefined> {
  try {
    const found = await root.invoke("file:stat", { path: directory === "" ? name : `${directory}/${name}` });
    return found.exists ? entryOf(name, found.type, found.size ?? 0) : undefined;
  } catch (error) {
    if (error instanceof FileAdapterError && HIDDEN.has(error.code)) return undefined;
    throw error;
  }
}

/** Error codes for which a symlink is omitted from a listing. */
const HIDDEN: ReadonlySet<string> = new Set([
  ...["SYMLINK_ESCAPE", "DANGLING_SYMLINK", "OTHER_DEVICE", "INVALID_PATH", "NOT_A_DIRECTORY", "NOT_FOUND"],
  ...["CAPABILITY_DENIED", "DENIED_BY_POLICY", "PERMISSION_DENIED", "IO_ERROR"],
]);

const toolError = (code: ErrorCode, path: string): FileAdapterError => adapterError(code, code, { path });

async function remove(path: string, root: BoundRoot): Promise<JsonObject> {
  const { existed } = await root.invoke("file:delete", { path }, { removesFilesOnly: true });
  if (!existed) throw toolError("NOT_FOUND", path);
  return { path, deleted: true };
}

const WORKSPACE = "workspace";
/** Windows drive letters and shares. */
const DRIVE_OR_SHARE = /^(?:[A-Za-z]:|\\|\/\/)/;

/** Error text for every path outside the workspace. */
export const ESCAPES = "path escapes /workspace or is empty.";

/**
 * Parses a tool's path to a canonical path relative to the workspace, lexically (the disk is not consulted).
 * @returns `""` for the workspace itself
 * @throws ToolError
 */
function parseWorkspacePath(text: string): string {
  if (text.trim() === "" || text === "/" || text.includes("\0") || DRIVE_OR_SHARE.test(text)) throw escapes();
  const [first, ...rest] = text.split("/").filter((segment) => segment !== "" && segment !== ".");
  const isAbsolute = text.startsWith("/");
  if (isAbsolute && first !== WORKSPACE) throw escapes();
  const segments = isAbsolute || first === undefined ? rest : [first, ...rest];
  if (segments.includes("..")) throw escapes();
  return segments.join("/");
}

/** Like {@link parseWorkspacePath}, but rejects the workspace itself. @throws ToolError */
function parseFilePath(text: string): string {
  const path = parseWorkspacePath(text);
  if (path === "") throw escapes();
  return path;
}

const escapes = (): ToolError => new ToolError("PATH_ESCAPES_ROOT", ESCAPES);
