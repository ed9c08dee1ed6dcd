// Files that commands write outside of roots: each is a draft, made by exclusive creation, that gets its name once it is whole.

import { randomBytes } from "node:crypto";
import { type FileHandle, link, lstat, open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { syncDirectory } from "../../database/durable-files.js";
import { NO_LINKS } from "../../jail/staging/rename.js";
import { codeOf } from "../context.js";

export interface NewFileOptions {
  readonly mode: number;
  /** Replaces the file of that name; of a link the link itself, of a hard link this name. Otherwise it must be free. */
  readonly replaces?: boolean;
  /** Whether it has to survive a power failure. Default `true`. */
  readonly durable?: boolean;
  /** Path of the draft, in the same folder, which is removed if a killed process has left it. Default: one that nobody else makes. */
  readonly draft?: string;
}

/** A draft and the name that it is to have. */
export interface NewFile {
  readonly handle: FileHandle;
  /** Gives it its name. @throws the system's error; `EEXIST` if the name is taken, or another process writes this draft */
  publish(): Promise<void>;
  /** Closes it, and removes it unless it has its name. */
  close(): Promise<void>;
}

/** @throws the system's error; `EEXIST` if the name is taken */
export async function openNewFile(path: string, options: NewFileOptions): Promise<NewFile> {
  const { mode, replaces = false, durable = true, draft: shared } = options;
  const draft = shared ?? join(dirname(path), `.${basename(path)}.${randomBytes(6).toString("hex")}.part`);
  if (shared !== undefined) await rm(draft, { force: true });
  if (!replaces && (await inodeOf(path)) !== undefined) throw inTheWay();
  const handle = await open(draft, "wx", mode);
  const made = shared === undefined ? undefined : (await handle.stat({ bigint: true })).ino;
  // Another process that writes the same file takes the name of a shared draft for its own.
  const isOurs = async (): Promise<boolean> => made === undefined || (await inodeOf(draft)) === made;
  return {
    handle,
    async publish() {
      if (durable) await handle.sync();
      if (!(await isOurs())) throw inTheWay();
      if (replaces) await rename(draft, path);
      else await giveName(draft, path);
      if (durable) await syncDirectory(dirname(path));
    },
    async close() {
      await handle.close();
      if (await isOurs()) await rm(draft, { force: true });
    },
  };
}

/** Writes a file whole, or leaves what was there. @throws as {@link openNewFile}, and whatever `write` throws */
export async function writeNewFile<T>(
  path: string,
  options: NewFileOptions,
  write: (handle: FileHandle) => Promise<T>,
): Promise<T> {
  const file = await openNewFile(path, options);
  try {
    const result = await write(file.handle);
    await file.publish();
    return result;
  } finally {
    await file.close();
  }
}

const inTheWay = (): Error =>
  Object.assign(new Error("The file is there already"), { code: "EEXIST", syscall: "open" });

async function inodeOf(path: string): Promise<bigint | undefined> {
  try {
    return (await lstat(path, { bigint: true })).ino;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Gives a name that nothing has, where the file system can tell. */
async function giveName(draft: string, path: string): Promise<void> {
  try {
    await link(draft, path);
  } catch (error) {
    if (!NO_LINKS.has(codeOf(error))) throw error;
    await rename(draft, path);
  }
}
