// Local files and directories named on the command line.

import { isUtf8 } from "node:buffer";
import { createReadStream } from "node:fs";
import { open, readdir, stat } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { ConfigError } from "../../config/errors.js";
import { escapeText } from "../../core/errors/texts.js";
import { errnoOf } from "../../jail/sys.js";
import { decodeText, isEncodingName } from "../../ops/content/encoding.js";
import { type CommandContext, EXIT, STREAM } from "../context.js";
import { HeldFolder } from "../output/held-folder.js";
import { writeNewFile } from "../output/new-file.js";

const MAX_TEXT_BYTES = 64 * 2 ** 20;
const READ_BYTES = 2 ** 20;

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "no such file or directory",
  EISDIR: "it is a directory",
  ENOTDIR: "not a directory",
  EACCES: "permission denied",
  EEXIST: "there is one already; say -f to replace it",
  ENOSPC: "no space left",
};

const toConfigError = (what: string, name: string, error: unknown): unknown => {
  const code = errnoOf(error);
  if (code === undefined) return error;
  return new ConfigError([`Cannot ${what} "${escapeText(name)}": ${REASONS[code] ?? code}`], EXIT.noInput);
};

/** Reads a text file, or standard input, as a whole. @param encoding where it is not UTF-8 @throws ConfigError */
export async function textOfFile(name: string, context: CommandContext, encoding?: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of contentOfFile(name, context)) {
    length += chunk.length;
    if (length > MAX_TEXT_BYTES) throw new ConfigError([`"${escapeText(name)}" is too large`], EXIT.noInput);
    chunks.push(chunk);
  }
  const bytes = Buffer.concat(chunks);
  const isOther = encoding !== undefined && isEncodingName(encoding) && !isUtf8(bytes);
  return (isOther ? decodeText(bytes, encoding)?.text : undefined) ?? bytes.toString("utf8");
}

/** Streams a local file or standard input. @throws ConfigError */
export async function* contentOfFile(
  name: string,
  { cwd, stdin }: Pick<CommandContext, "cwd" | "stdin">,
): AsyncGenerator<Uint8Array> {
  if (name === STREAM) {
    for await (const chunk of stdin) yield Buffer.from(chunk);
    return;
  }
  try {
    yield* createReadStream(resolve(cwd, name), { highWaterMark: READ_BYTES });
  } catch (error) {
    throw toConfigError("read", name, error);
  }
}

/** Checks that a local file is readable, before anything is sent. @throws ConfigError */
export async function checkFile(name: string, { cwd }: Pick<CommandContext, "cwd">): Promise<void> {
  if (name === STREAM) return;
  try {
    const handle = await open(resolve(cwd, name), "r");
    try {
      if ((await handle.stat()).isDirectory()) throw isDirectoryHere(name);
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw toConfigError("read", name, error);
  }
}

const isDirectoryHere = (name: string): ConfigError =>
  new ConfigError([`Cannot read "${escapeText(name)}": it is a directory; say -r to copy it`], EXIT.noInput);

/** Whether a local name is a directory. */
export const isLocalDirectory = (name: string, { cwd }: Pick<CommandContext, "cwd">): Promise<boolean> =>
  stat(resolve(cwd, name)).then(
    (found) => found.isDirectory(),
    () => false,
  );

/** The entries of a local directory in order of their names, each by what it is itself. @throws ConfigError */
export async function localEntries(
  name: string,
  { cwd }: Pick<CommandContext, "cwd">,
): Promise<readonly { readonly name: string; readonly type: "file" | "directory" | "other" }[]> {
  try {
    const entries = await readdir(resolve(cwd, name), { withFileTypes: true });
    return entries
      .map((entry) => ({
        name: entry.name,
        type: entry.isDirectory() ? ("directory" as const) : entry.isFile() ? ("file" as const) : ("other" as const),
      }))
      .sort((one, other) => (one.name < other.name ? -1 : 1));
  } catch (error) {
    throw toConfigError("read", name, error);
  }
}

/** Opens the existing directory that gets a tree. @throws ConfigError */
export function openLocalDirectory(name: string, { cwd }: Pick<CommandContext, "cwd">): HeldFolder {
  try {
    return HeldFolder.open(resolve(cwd, name), name);
  } catch (error) {
    throw toConfigError("write", name, error);
  }
}

/** Enters a directory, which is made where there is none and must not be a link. @throws ConfigError */
export async function makeLocalDirectory(parent: HeldFolder, name: string): Promise<HeldFolder> {
  try {
    const made = await parent.enter(name, true);
    if (made !== undefined) return made;
    throw Object.assign(new Error("gone meanwhile"), { code: "ENOENT", syscall: "open" });
  } catch (error) {
    throw toConfigError("write", join(parent.shown, name), error);
  }
}

/** The local path for a file of a root; in an existing directory it keeps its own name. */
export async function localTarget(name: string, path: string, { cwd }: Pick<CommandContext, "cwd">): Promise<string> {
  const isDirectory = await isLocalDirectory(name, { cwd });
  return isDirectory ? join(name, basename(path)) : name;
}

/**
 * Writes a local file whole or not at all.
 * @param name as the user knows it
 * @param replace whether to replace an existing file
 * @throws ConfigError, and whatever `content` throws
 */
export async function saveFile(
  name: string,
  content: AsyncIterable<Uint8Array>,
  { path, replace }: { readonly path: string; readonly replace: boolean },
): Promise<void> {
  try {
    await writeNewFile(path, { mode: 0o666, replaces: replace, durable: false }, async (handle) => {
      for await (const piece of content) await handle.writeFile(piece);
    });
  } catch (error) {
    throw toConfigError("write", name, error);
  }
}
