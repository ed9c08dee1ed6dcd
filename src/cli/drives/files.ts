// Reads and writes the files of drive exports.

import { createReadStream } from "node:fs";
import { type FileHandle, open, unlink } from "node:fs/promises";
import { resolve } from "node:path";
import { ConfigError } from "../../config/errors.js";
import { escapeText } from "../../core/errors/texts.js";
import type { ExportPiece } from "../../drive/engine/engine.js";
import { type CommandContext, codeOf, EXIT, STREAM } from "../context.js";

const READ_BYTES = 2 ** 20;
/** Buffer size that combines small writes, in bytes. */
const WRITE_BYTES = 2 ** 20;
const EXTENSION = /(\.[^./\\]*)?$/;

/** Target files of an export. */
export interface ExportFiles {
  write(piece: ExportPiece): Promise<void>;
  /** Durable when resolved. @returns the names as given on the command line */
  finish(): Promise<readonly string[]>;
  /** Removes the files created so far. */
  discard(): Promise<void>;
}

/** Creates new files, mode 0600, never overwriting one. @param inParts whether to number the names */
export function createExportFiles(file: string, inParts: boolean, { cwd }: Pick<CommandContext, "cwd">): ExportFiles {
  const made: { readonly name: string; readonly path: string }[] = [];
  let handle: FileHandle | undefined;
  let part = -1;
  let waiting: Uint8Array[] = [];
  let waitingBytes = 0;
  const flush = async (): Promise<void> => {
    const bytes = Buffer.concat(waiting);
    waiting = [];
    waitingBytes = 0;
    if (bytes.length > 0) await handle?.writeFile(bytes);
  };
  const end = async (): Promise<void> => {
    await flush();
    await handle?.sync();
    await handle?.close();
    handle = undefined;
  };
  const begin = async (next: number): Promise<void> => {
    await end();
    const name = inParts ? numberedName(file, next + 1) : file;
    const path = resolve(cwd, name);
    handle = await withFileErrors(name, "cannot be made", () => open(path, "wx", 0o600));
    made.push({ name, path });
    part = next;
  };
  return {
    async write({ part: next, bytes }) {
      if (next !== part) await begin(next);
      waiting.push(bytes);
      waitingBytes += bytes.length;
      if (waitingBytes >= WRITE_BYTES) await withFileErrors(file, "cannot be written", flush);
    },
    async finish() {
      await withFileErrors(file, "cannot be written", end);
      return made.map(({ name }) => name);
    },
    async discard() {
      await handle?.close().catch(() => undefined);
      for (const { path } of made) await unlink(path).catch(() => undefined);
    },
  };
}

/** `notes.cad3` → `notes.0001.cad3`, so that a shell lists the parts in order. */
const numberedName = (file: string, count: number): string =>
  file.replace(EXTENSION, (extension) => `.${String(count).padStart(4, "0")}${extension}`);

/** Streams a local file or standard input. */
export async function* readFileOf(
  name: string,
  { cwd, stdin }: Pick<CommandContext, "cwd" | "stdin">,
): AsyncGenerator<Uint8Array> {
  if (name === STREAM) {
    for await (const piece of stdin) yield piece instanceof Uint8Array ? piece : Buffer.from(String(piece));
    return;
  }
  const stream = createReadStream(resolve(cwd, name), { highWaterMark: READ_BYTES });
  try {
    for await (const piece of stream) yield piece;
  } catch (error) {
    throw toConfigError(name, "cannot be read", error);
  } finally {
    stream.destroy();
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EEXIST: "something is there already, and is not overwritten",
  ENOENT: "no such file or folder",
  EISDIR: "it is a directory",
  ENOTDIR: "no such folder",
  EACCES: "permission denied",
  ENOSPC: "no space left",
};

async function withFileErrors<T>(name: string, what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toConfigError(name, what, error);
  }
}

/** Converts system errors; other errors pass unchanged. */
function toConfigError(name: string, what: string, error: unknown): unknown {
  const code = codeOf(error);
  if (!/^E[A-Z0-9]+$/.test(code)) return error;
  const status = code === "EEXIST" ? EXIT.config : EXIT.noInput;
  return new ConfigError([`${escapeText(name)} ${what}: ${REASONS[code] ?? code}`], status);
}
