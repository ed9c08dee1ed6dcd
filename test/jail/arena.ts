import {
  type BigIntStats,
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect } from "@jest/globals";
import { stagedIn } from "../staged.js";
import { PATIENCE_MS } from "../until.js";

/** How the path of every arena begins. */
const BASES = join(realpathSync(tmpdir()), "venue-files-test-");

/** Stands in every file outside; whoever sees it has got out. */
export const CANARY = "canary of the outside";
/** Stands in every file inside. */
export const INSIDE = "content of the inside";

/** A root and, beside it, a directory that no call on the root may read, change or tell anything about. */
export interface Arena {
  /** Canonical path of the directory that holds both. */
  readonly base: string;
  readonly root: string;
  readonly outside: string;
  /** Puts a file into the root, with the directories above it. */
  file(path: string, content?: string | Buffer): void;
  directory(path: string): void;
  link(path: string, target: string): void;
  /** What the outside looks like, down to times and inodes. */
  outsideNow(): Snapshot;
  /** The root's entries and their content, without times and without the staging directory. */
  insideNow(): Snapshot;
  /** Puts everything back as it was made, in the same two directories. */
  reset(): void;
  remove(): void;
}

export type Snapshot = Readonly<Record<string, string>>;

/**
 * Makes an arena in a fresh directory: `root/` with `file.txt`, `dir/file.txt` and `dir/inner/deep.txt`, and `outside/`
 * with `canary.txt`, `vault/secret.txt` and `vault/inner/hidden.txt`.
 */
export function makeArena(): Arena {
  const base = realpathSync(mkdtempSync(BASES));
  const root = join(base, "root");
  const outside = join(base, "outside");
  fill(root, outside);
  return {
    base,
    root,
    outside,
    file: (path, content = INSIDE) => put(join(root, path), content),
    directory: (path) => {
      mkdirSync(join(root, path), { recursive: true });
    },
    link: (path, target) => {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      symlinkSync(target, join(root, path));
    },
    outsideNow: () => snapshot(outside, { exact: true }),
    insideNow: () => snapshot(root, { exact: false }),
    reset() {
      for (const name of readdirSync(base)) {
        const path = join(base, name);
        if (path === root || path === outside) for (const entry of readdirSync(path)) erase(join(path, entry));
        else erase(path);
      }
      fill(root, outside);
    },
    remove: () => erase(base),
  };
}

function fill(root: string, outside: string): void {
  for (const file of ["canary.txt", "vault/secret.txt", "vault/inner/hidden.txt"]) put(join(outside, file), CANARY);
  for (const file of ["file.txt", "dir/file.txt", "dir/inner/deep.txt"]) put(join(root, file), INSIDE);
  for (const path of ["vault/inner", "vault", ""]) utimesSync(join(outside, path), 1_000_000, 1_000_000);
}

const erase = (path: string): void => rmSync(path, { recursive: true, force: true });

/** Runs `work` in an arena that is gone afterwards. */
export async function inArena<T>(work: (arena: Arena) => Promise<T> | T): Promise<T> {
  const arena = makeArena();
  try {
    return await work(arena);
  } finally {
    arena.remove();
  }
}

function put(path: string, content: string | Buffer): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

/** Every entry below `top` by its path. Bytes of names are kept one to one. */
export function snapshot(top: string, options: { exact: boolean }): Snapshot {
  const found: Record<string, string> = { ".": describe(Buffer.from(top), options.exact) };
  const visit = (directory: Buffer, shown: string): void => {
    for (const name of readdirSync(directory, { encoding: "buffer" })) {
      const path = Buffer.concat([directory, Buffer.from("/"), name]);
      const key = `${shown}${name.toString("latin1")}`;
      if (!options.exact && key === ".venue-files") continue;
      found[key] = describe(path, options.exact);
      if (lstatSync(path).isDirectory()) visit(path, `${key}/`);
    }
  };
  visit(Buffer.from(top), "");
  return found;
}

function describe(path: Buffer, exact: boolean): string {
  const stat = lstatSync(path, { bigint: true });
  return `${content(path, stat)} mode ${(Number(stat.mode) & 0o7777).toString(8)}${exact ? ` ${identity(stat)}` : ""}`;
}

function content(path: Buffer, stat: BigIntStats): string {
  if (stat.isSymbolicLink()) return `link to ${readlinkSync(path)}`;
  if (stat.isDirectory()) return "directory";
  return stat.isFile() ? `file ${readFileSync(path, "latin1")}` : "special";
}

const identity = (stat: BigIntStats): string =>
  `inode ${stat.ino} links ${stat.nlink} owner ${stat.uid}:${stat.gid} modified ${stat.mtimeNs}`;

/** Files in the staging directory of a root; `undefined` when there is no such directory. */
export function staged(root: string): string[] | undefined {
  return stagedIn(root);
}

/** Makes a directory and everything in it accessible again, so that it can be removed. */
export function unlock(path: string): void {
  chmodSync(path, 0o700);
}

/** What this process holds open of any arena, by path; the test runner has descriptors of its own, which come and go. */
export function openDescriptors(): string[] {
  return readdirSync("/proc/self/fd")
    .map(targetOf)
    .filter((target) => target.startsWith(BASES))
    .sort();
}

/** Waits until nothing is open but `before`: the work behind an answer goes on until its next check. */
export async function expectClosedSoon(before: readonly string[]): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  let now = openDescriptors();
  while (now.length > before.length && performance.now() < end) {
    // A turn of the event loop would ask the kernel for every descriptor thousands of times a second.
    await new Promise((resolve) => setTimeout(resolve, 2));
    // What a thread still reads for calls that are over comes and goes: one look decides.
    now = openDescriptors();
  }
  expect(now).toEqual(before);
}

function targetOf(fd: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    // Closed meanwhile: the directory was listed by a descriptor of its own.
    return "";
  }
}
