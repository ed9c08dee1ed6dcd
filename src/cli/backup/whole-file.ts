// A new file that is whole and on disk, or not there at all.

import { type FileHandle, link, lstat, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { codeOf } from "../context.js";

/** Link is not supported by every file system. */
const NO_LINKS = /^(EPERM|ENOSYS|ENOTSUP|EOPNOTSUPP)$/;
/** Not every system can flush a directory. */
const NO_FLUSH = /^(EINVAL|EPERM|EISDIR|EACCES)$/;

/**
 * Writes a file of mode 0600. Until all of it is on disk it is `<file>.part`, which a killed process leaves and the next one to write
 * this file removes.
 *
 * @throws the system's error; `EEXIST` if the file is there, or another process is writing it
 */
export async function writeWholeFile<T>(file: string, write: (handle: FileHandle) => Promise<T>): Promise<T> {
  const part = `${file}.part`;
  await rm(part, { force: true });
  if ((await inodeOf(file)) !== undefined) throw inTheWay();
  const handle = await open(part, "wx", 0o600);
  const { ino } = await handle.stat({ bigint: true });
  try {
    const result = await write(handle);
    await handle.sync();
    // Otherwise another process has begun to write the same file, and what has the name is its own.
    if ((await inodeOf(part)) !== ino) throw inTheWay();
    await giveName(part, file);
    return result;
  } finally {
    await handle.close();
    if ((await inodeOf(part)) === ino) await rm(part);
  }
}

const inTheWay = (): Error => Object.assign(new Error("The file is there already"), { code: "EEXIST" });

async function inodeOf(path: string): Promise<bigint | undefined> {
  try {
    return (await lstat(path, { bigint: true })).ino;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Gives a name that nothing has, where the file system can tell. */
async function giveName(part: string, file: string): Promise<void> {
  try {
    await link(part, file);
  } catch (error) {
    if (!NO_LINKS.test(codeOf(error))) throw error;
    await rename(part, file);
  }
  try {
    const folder = await open(dirname(file), "r");
    await folder.sync().finally(() => folder.close());
  } catch (error) {
    if (!NO_FLUSH.test(codeOf(error))) throw error;
  }
}
