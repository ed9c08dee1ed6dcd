import { lstatSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Arena, CANARY, INSIDE } from "../arena.js";
import { MARK } from "../attacks/attempts.js";
import type { Files, Output } from "../files.js";

/** What stands in every file outside. Its length is its own too, so that a size gives it away. */
export const OUTSIDE = `${CANARY}, three times as long ${"*".repeat(40)}`;

/** How many entries there are to delete; more calls than this are not made in a round that deletes. */
const SUPPLY = 1500;

/** One kind of call, made again and again while something on its path is exchanged with a link to the outside. */
export interface Round {
  readonly name: string;
  /** Makes what the calls need. The exchanged entries are `pivot` and `spare` in the root. */
  readonly plant: (arena: Arena) => void;
  readonly call: (files: Files, n: number) => Promise<Output>;
  /** Whether an answer shows something of the outside. Changes of the outside are found by looking at it. */
  readonly shows?: (output: Output) => boolean;
  readonly maxCalls?: number;
  /** The calls meet the link only as an entry, or as what they remove, which is no reason to refuse them. */
  readonly neverRefused?: true;
  /** Puts back what a call may have taken away from the exchange. */
  readonly repair?: (arena: Arena) => void;
}

const showsCanary = (output: Output): boolean => JSON.stringify(output).includes("canary");

/** `pivot` a directory, `spare` a link to a directory outside that looks the same. */
function directories(arena: Arena): void {
  const inside = join(arena.root, "pivot");
  const outside = join(arena.outside, "pivot");
  for (const [top, content] of [
    [inside, INSIDE],
    [outside, OUTSIDE],
  ] as const) {
    mkdirSync(join(top, "sub"), { recursive: true });
    writeFileSync(join(top, "file"), content);
  }
  writeFileSync(join(outside, "canary"), OUTSIDE);
  writeFileSync(join(outside, "sub/canary"), OUTSIDE);
  symlinkSync(outside, join(arena.root, "spare"));
}

function supplied(make: (path: string) => void): (arena: Arena) => void {
  return (arena) => {
    directories(arena);
    for (let n = 0; n < SUPPLY; n++) {
      make(join(arena.root, `pivot/gone${n}`));
      make(join(arena.outside, `pivot/gone${n}`));
    }
  };
}

/** `pivot` a file, `spare` a link to a file outside. */
function plainFiles(arena: Arena): void {
  writeFileSync(join(arena.root, "pivot"), INSIDE);
  writeFileSync(join(arena.outside, "file"), OUTSIDE);
  symlinkSync(join(arena.outside, "file"), join(arena.root, "spare"));
}

/**
 * A call on `pivot` itself may remove it, or put a file in place of the link. The two are exchanged while they are looked
 * at, so one look may miss what is there; and what is put back by mistake is put right the next time.
 */
function repairFiles({ root, outside }: Arena): void {
  const seen = new Set<string>();
  for (let look = 0; look < 20 && seen.size < 2; look++) {
    for (const name of ["pivot", "spare"]) {
      const stat = lstatSync(join(root, name), { throwIfNoEntry: false });
      if (stat !== undefined) seen.add(stat.isSymbolicLink() ? "link" : "file");
    }
  }
  const made = join(root, "made");
  if (!seen.has("file")) {
    writeFileSync(made, INSIDE);
    renameSync(made, join(root, "pivot"));
  }
  if (!seen.has("link")) {
    symlinkSync(join(outside, "file"), made);
    renameSync(made, join(root, "spare"));
  }
}

/** Two links, one to a directory inside and one to the same outside. */
function links(arena: Arena): void {
  directories(arena);
  mkdirSync(join(arena.root, "target/sub"), { recursive: true });
  writeFileSync(join(arena.root, "target/file"), INSIDE);
  symlinkSync("target", join(arena.root, "near"));
}

const DIRECTORY_ROUNDS: readonly Round[] = [
  { name: "list", plant: directories, call: (f) => f.invoke("list", { path: "pivot" }), shows: showsCanary },
  { name: "list below", plant: directories, call: (f) => f.invoke("list", { path: "pivot/sub" }), shows: showsCanary },
  {
    name: "tree",
    plant: directories,
    call: (f) => f.invoke("tree", { path: "pivot", info: "size" }),
    shows: showsCanary,
  },
  {
    // From above: the entry itself is exchanged, and must never be entered as a link.
    name: "tree from above",
    plant: directories,
    call: (f) => f.invoke("tree", { path: "", maxDepth: 10 }),
    shows: showsCanary,
    neverRefused: true,
  },
  { name: "read", plant: directories, call: (f) => f.invoke("read", { path: "pivot/file" }), shows: showsCanary },
  {
    name: "glob",
    plant: directories,
    call: (f) => f.invoke("glob", { path: "pivot", pattern: "**", type: "any" }),
    shows: showsCanary,
  },
  {
    name: "grep",
    plant: directories,
    call: (f) => f.invoke("grep", { path: "pivot", pattern: "of the", context: 1 }),
    shows: showsCanary,
  },
  {
    name: "grep from above",
    plant: directories,
    call: (f) => f.invoke("grep", { pattern: "of [a-z]+", ignore: "none" }),
    shows: showsCanary,
    neverRefused: true,
  },
  {
    name: "glob from above",
    plant: directories,
    call: (f) => f.invoke("glob", { pattern: "**", type: "any", ignore: "none" }),
    shows: showsCanary,
    neverRefused: true,
  },
  {
    name: "stat",
    plant: directories,
    call: (f) => f.invoke("stat", { path: "pivot/file" }),
    shows: ({ size }) => size === OUTSIDE.length,
  },
  {
    name: "write",
    plant: directories,
    call: (f, n) => f.invoke("write", { path: `pivot/new${n}`, content: MARK }),
  },
  {
    name: "write over",
    plant: directories,
    call: (f) => f.invoke("write", { path: "pivot/file", content: MARK }),
  },
  {
    name: "write, parents",
    plant: directories,
    call: (f, n) => f.invoke("write", { path: `pivot/sub/${n}/deep/new`, content: MARK, parents: true }),
  },
  {
    name: "append",
    plant: directories,
    call: (f) => f.invoke("append", { path: "pivot/file", content: "+" }),
  },
  {
    name: "append, new file",
    plant: directories,
    call: (f, n) => f.invoke("append", { path: `pivot/new${n}`, content: MARK }),
  },
  { name: "mkdir", plant: directories, call: (f, n) => f.invoke("mkdir", { path: `pivot/new${n}` }) },
  {
    name: "mkdir, parents",
    plant: directories,
    call: (f, n) => f.invoke("mkdir", { path: `pivot/sub/${n}/new`, parents: true }),
  },
  {
    name: "delete",
    plant: supplied((path) => writeFileSync(path, INSIDE)),
    call: (f, n) => f.invoke("delete", { path: `pivot/gone${n}` }),
    maxCalls: SUPPLY,
  },
  {
    name: "delete, recursive",
    plant: supplied((path) => {
      mkdirSync(path);
      writeFileSync(join(path, "file"), INSIDE);
    }),
    call: (f, n) => f.invoke("delete", { path: `pivot/gone${n}`, recursive: true }),
    maxCalls: SUPPLY,
  },
];

const FILE_ROUNDS: readonly Round[] = [
  {
    name: "grep",
    plant: plainFiles,
    call: (f) => f.invoke("grep", { path: "pivot", pattern: "of the" }),
    shows: showsCanary,
  },
  {
    // From above, where the entry that was a file when its name was read is to be a link when it is opened.
    name: "grep from above",
    plant: plainFiles,
    call: (f) => f.invoke("grep", { pattern: "of the", ignore: "none" }),
    shows: showsCanary,
    neverRefused: true,
  },
  { name: "read", plant: plainFiles, call: (f) => f.invoke("read", { path: "pivot" }), shows: showsCanary },
  {
    name: "stat",
    plant: plainFiles,
    call: (f) => f.invoke("stat", { path: "pivot" }),
    shows: ({ size }) => size === OUTSIDE.length,
  },
  {
    name: "append",
    plant: plainFiles,
    call: (f) => f.invoke("append", { path: "pivot", content: "+" }),
  },
  {
    name: "write over",
    plant: plainFiles,
    call: (f) => f.invoke("write", { path: "pivot", content: MARK }),
    repair: repairFiles,
  },
  {
    name: "delete",
    plant: plainFiles,
    call: (f) => f.invoke("delete", { path: "pivot" }),
    repair: repairFiles,
    neverRefused: true,
  },
  {
    name: "delete, recursive",
    plant: plainFiles,
    call: (f) => f.invoke("delete", { path: "pivot", recursive: true }),
    repair: repairFiles,
    neverRefused: true,
  },
];

const LINK_ROUNDS: readonly Round[] = [
  { name: "list", plant: links, call: (f) => f.invoke("list", { path: "near/sub" }), shows: showsCanary },
  {
    name: "grep",
    plant: links,
    call: (f) => f.invoke("grep", { path: "near/sub", pattern: "of the" }),
    shows: showsCanary,
  },
  { name: "read", plant: links, call: (f) => f.invoke("read", { path: "near/file" }), shows: showsCanary },
  { name: "write", plant: links, call: (f, n) => f.invoke("write", { path: `near/new${n}`, content: MARK }) },
  { name: "append", plant: links, call: (f) => f.invoke("append", { path: "near/file", content: "+" }) },
  { name: "mkdir", plant: links, call: (f, n) => f.invoke("mkdir", { path: `near/new${n}` }) },
];

/** The rounds by what is exchanged with a link to the outside, and the name of that. */
export const ROUNDS = {
  directory: { pivot: "pivot", rounds: DIRECTORY_ROUNDS },
  file: { pivot: "pivot", rounds: FILE_ROUNDS },
  link: { pivot: "near", rounds: LINK_ROUNDS },
} as const;

/** Entries of the outside that are not as they were. */
export function changesOf(before: Readonly<Record<string, string>>, now: Readonly<Record<string, string>>): number {
  const paths = new Set([...Object.keys(before), ...Object.keys(now)]);
  return [...paths].filter((path) => before[path] !== now[path]).length;
}
