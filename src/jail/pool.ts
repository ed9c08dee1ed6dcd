// System calls in the thread pool of Node.

import fs, { type BigIntStats, type Dirent, type Stats } from "node:fs";
import { promisify } from "node:util";
import { isExact } from "../core/identity.js";
import { EXACT, Stat } from "./stat.js";

export const pool = {
  open: promisify(fs.open),
  close: promisify(fs.close),
  fstat: promisify(fs.fstat) as (fd: number, options?: typeof EXACT) => Promise<Stats | BigIntStats>,
  lstat: promisify(fs.lstat) as (path: string | Buffer, options?: typeof EXACT) => Promise<Stats | BigIntStats>,
  readlink: promisify(fs.readlink) as (path: string) => Promise<string>,
  names: promisify(fs.readdir) as unknown as (path: string, options: NameOptions) => Promise<Dirent[]>,
  opendir: promisify(fs.opendir),
  read: promisify(fs.read),
  write: promisify(fs.write),
  mkdir: promisify(fs.mkdir) as (path: string | Buffer, mode: number) => Promise<void>,
  unlink: promisify(fs.unlink),
  rmdir: promisify(fs.rmdir),
  rename: promisify(fs.rename),
  link: promisify(fs.link),
  symlink: promisify(fs.symlink) as (target: string, path: string) => Promise<void>,
  copyFile: promisify(fs.copyFile),
  fsync: promisify(fs.fsync),
  ftruncate: promisify(fs.ftruncate),
  fchmod: promisify(fs.fchmod),
  fchown: promisify(fs.fchown),
  chmod: promisify(fs.chmod),
  chown: promisify(fs.chown),
  lchown: promisify(fs.lchown),
  access: promisify(fs.access),
};

export interface NameOptions {
  withFileTypes: true;
  encoding: "latin1";
}

/** Like {@link statOfOpen}. */
export async function pooledStat(ask: (options?: typeof EXACT) => Promise<Stats | BigIntStats>): Promise<Stat> {
  const stat = await ask();
  return new Stat(isExact(stat) ? stat : await ask(EXACT));
}
