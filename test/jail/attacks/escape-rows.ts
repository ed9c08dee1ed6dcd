import { closeSync, mkdirSync, openSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join, relative, resolve } from "node:path";
import { type Arena, CANARY } from "../arena.js";
import type { AttemptName } from "./attempts.js";
import {
  type Answers,
  aFile,
  aFullDirectory,
  belowFile,
  linkToDirectory,
  noParent,
  nothingThere,
  refused,
  refusedButDeleted,
  theRoot,
} from "./escape-answers.js";

/**
 * What plain `node:fs` does with the same path: it gets out (sees or changes the outside), it reaches the inside, it
 * destroys the root, or it fails with this errno.
 */
export type PlainResult = "gets out" | "reaches the inside" | "destroys the root" | `E${string}`;

export interface EscapeRow {
  readonly name: string;
  /** Makes what the path needs. A function in answer is what has to be undone besides removing the arena. */
  readonly plant?: (arena: Arena) => unknown;
  readonly path: string | ((arena: Arena) => string);
  readonly answers: Answers;
  /** The control. */
  readonly plain: Partial<Record<AttemptName, PlainResult>>;
  /** The host path that a naive implementation makes of the requested one. Default: root, slash, path. */
  readonly plainPath?: (arena: Arena, path: string) => string;
}

const out = (...names: AttemptName[]): EscapeRow["plain"] =>
  Object.fromEntries(names.map((name) => [name, "gets out" as const]));

const USES = ["read", "stat", "write", "write, parents", "append", "append, parents"] as const;
const CREATES = ["write", "write, parents", "append", "append, parents"] as const;
const CREATES_PARENTS = ["write, parents", "append, parents", "mkdir, parents"] as const;

/** What a link may lead to outside, the way on from it, and what plain `node:fs` can do there. */
const LEADS = {
  file: { rest: "", answers: refusedButDeleted("SYMLINK_ESCAPE"), plain: out(...USES) },
  directory: { rest: "", answers: refusedButDeleted("SYMLINK_ESCAPE"), plain: out("list", "tree", "stat") },
  nothing: { rest: "", answers: refusedButDeleted("SYMLINK_ESCAPE"), plain: out(...CREATES) },
  "file below": {
    rest: "/secret.txt",
    answers: refused("SYMLINK_ESCAPE"),
    plain: out(...USES, "delete", "delete, recursive"),
  },
  "directory below": {
    rest: "/inner",
    answers: refused("SYMLINK_ESCAPE"),
    plain: out("list", "tree", "stat", "delete, recursive"),
  },
  "nothing below": {
    rest: "/new",
    answers: refused("SYMLINK_ESCAPE"),
    plain: out(...CREATES, "mkdir", "mkdir, parents"),
  },
  "nothing far below": { rest: "/new/deep", answers: refused("SYMLINK_ESCAPE"), plain: out(...CREATES_PARENTS) },
} as const;

type Lead = keyof typeof LEADS;

/** A link at `from` whose text leads outside; one row for each thing it leads to. */
function leading(name: string, from: string, text: (arena: Arena) => string, leads: readonly Lead[]): EscapeRow[] {
  return leads.map((lead) => ({
    name: `${name}, to a ${lead}`,
    plant: (arena) => arena.link(from, text(arena)),
    path: from + LEADS[lead].rest,
    answers: LEADS[lead].answers,
    plain: LEADS[lead].plain,
  }));
}

const VAULT = ["directory", "file below", "directory below", "nothing below", "nothing far below"] as const;

const LINKS_OUT: readonly EscapeRow[] = [
  ...leading("absolute link", "link", ({ outside }) => `${outside}/vault`, VAULT),
  ...leading("relative link", "link", () => "../outside/vault", VAULT),
  ...leading("absolute link to a single thing", "link", ({ outside }) => `${outside}/canary.txt`, ["file"]),
  ...leading("relative link to a single thing", "link", () => "../outside/canary.txt", ["file"]),
  ...leading("absolute link that dangles", "link", ({ outside }) => `${outside}/missing`, ["nothing"]),
  ...leading("relative link that dangles", "link", () => "../outside/missing", ["nothing"]),
  ...leading("link further down", "dir/inner/link", () => "../../../outside/vault", VAULT),
  ...leading("link with a trailing slash", "link", () => "../outside/vault/", ["directory", "file below"]),
  ...leading("link with many slashes", "link", () => "..///outside//vault///", ["directory", "file below"]),
  ...leading("link with dots", "link", () => "./.././outside/./vault/.", ["directory", "file below", "nothing below"]),
  ...leading("link that climbs after going down", "link", () => "dir/inner/../../../outside/vault", [
    "directory",
    "file below",
    "nothing below",
  ]),
  ...leading("absolute link that climbs out of the root again", "link", ({ root }) => `${root}/../outside/vault`, [
    "directory",
    "file below",
    "nothing below",
  ]),
  ...leading("absolute link that climbs from inside", "link", ({ root }) => `${root}/dir/../../outside/vault`, [
    "directory",
    "file below",
  ]),
  ...leading("absolute link with a doubled slash in front", "link", ({ outside }) => `/${outside}/vault`, [
    "directory",
    "file below",
  ]),
  ...leading("magic link to the system's root", "link", ({ outside }) => `/proc/self/root${outside}/vault`, VAULT),
  ...leading(
    "magic link by the working directory",
    "link",
    ({ outside }) => `/proc/self/cwd/${relative(process.cwd(), outside)}/vault`,
    ["directory", "file below", "nothing below"],
  ),
];

const LINKS_OUT_SPECIAL: readonly EscapeRow[] = [
  {
    name: "link to a directory whose path starts like the root's",
    plant: ({ root, link }) => {
      mkdirSync(`${root}-twin`);
      writeFileSync(`${root}-twin/secret.txt`, CANARY);
      link("link", `${root}-twin`);
    },
    path: "link/secret.txt",
    answers: refused("SYMLINK_ESCAPE"),
    plain: { read: "gets out" },
  },
  {
    name: "link to the system's root, and down again from there",
    plant: ({ link }) => link("link", "/"),
    path: ({ outside }) => `link${outside}/vault/secret.txt`,
    answers: refused("SYMLINK_ESCAPE"),
    plain: out(...USES, "delete", "delete, recursive"),
  },
  {
    name: "link to the parent of the root",
    plant: ({ link }) => link("link", ".."),
    path: "link/outside/vault/secret.txt",
    answers: refused("SYMLINK_ESCAPE"),
    plain: out(...USES, "delete", "delete, recursive"),
  },
  {
    name: "link far above the system's root",
    plant: ({ link }) => link("link", `${"../".repeat(40)}`),
    path: ({ outside }) => `link${outside}/canary.txt`,
    answers: refused("SYMLINK_ESCAPE"),
    plain: out(...USES, "delete", "delete, recursive"),
  },
  {
    name: "magic link of an open descriptor",
    plant: ({ outside, link }) => {
      const fd = openSync(`${outside}/vault`, "r");
      link("link", `/proc/self/fd/${fd}`);
      return () => closeSync(fd);
    },
    path: "link/secret.txt",
    answers: refused("SYMLINK_ESCAPE"),
    plain: out(...USES, "delete", "delete, recursive"),
  },
  {
    name: "chain of links, the last of which leaves",
    plant: ({ link }) => {
      link("link", "second");
      link("second", "dir/third");
      link("dir/third", "../fourth/");
      link("fourth", "../outside/vault");
    },
    path: "link/secret.txt",
    answers: refused("SYMLINK_ESCAPE"),
    plain: out(...USES, "delete", "delete, recursive"),
  },
  {
    name: "link to a directory by a link in it",
    plant: ({ link }) => {
      link("link", "dir/back/../outside/vault");
      link("dir/back", "..");
    },
    path: "link/secret.txt",
    answers: refused("SYMLINK_ESCAPE"),
    plain: out(...USES, "delete", "delete, recursive"),
  },
  {
    name: "link that leaves the root and comes back in",
    plant: ({ root, link }) => link("link", `../${basename(root)}/file.txt`),
    path: "link",
    answers: refusedButDeleted("SYMLINK_ESCAPE"),
    plain: { read: "reaches the inside" },
  },
  {
    name: "link that comes back in by another name of the root",
    plant: ({ base, root, link }) => {
      symlinkSync(root, join(base, "alias"));
      link("link", join(base, "alias", "file.txt"));
    },
    path: "link",
    answers: refusedButDeleted("SYMLINK_ESCAPE"),
    plain: { read: "reaches the inside" },
  },
  {
    name: "absolute link that spells the root with dots",
    plant: ({ base, link }) => link("link", `${base}/./root/file.txt`),
    path: "link",
    answers: refusedButDeleted("SYMLINK_ESCAPE"),
    plain: { read: "reaches the inside" },
  },
  {
    name: "magic link that comes back in",
    plant: ({ root, link }) => link("link", `/proc/self/root${root}/file.txt`),
    path: "link",
    answers: refusedButDeleted("SYMLINK_ESCAPE"),
    plain: { read: "reaches the inside" },
  },
];

const LINKS_INSIDE: readonly EscapeRow[] = [
  {
    name: "relative link to a file",
    plant: ({ link }) => link("dir/link", "../file.txt"),
    path: "dir/link",
    answers: aFile,
    plain: { read: "reaches the inside" },
  },
  {
    name: "absolute link to a file",
    plant: ({ root, link }) => link("link", `${root}/dir/file.txt`),
    path: "link",
    answers: aFile,
    plain: { read: "reaches the inside" },
  },
  {
    name: "absolute link with dots and doubled slashes after the root's path",
    plant: ({ root, link }) => link("link", `${root}//dir/./inner/..//file.txt`),
    path: "link",
    answers: aFile,
    plain: { read: "reaches the inside" },
  },
  {
    name: "link to a directory",
    plant: ({ link }) => link("link", "dir"),
    path: "link",
    answers: linkToDirectory,
    plain: { list: "reaches the inside" },
  },
  {
    name: "link to a directory with a trailing slash",
    plant: ({ link }) => link("link", "dir/"),
    path: "link",
    answers: linkToDirectory,
    plain: { list: "reaches the inside" },
  },
  {
    name: "link to a directory, with a trailing slash in the path",
    plant: ({ link }) => link("link", "dir"),
    path: "link/",
    answers: linkToDirectory,
    plain: { list: "reaches the inside" },
  },
  {
    name: "file below a link to a directory that is climbed to",
    plant: ({ link }) => link("dir/inner/link", "../../dir/./"),
    path: "dir/inner/link/file.txt",
    answers: aFile,
    plain: { read: "reaches the inside" },
  },
  {
    name: "full directory below a link",
    plant: ({ link }) => link("link", "dir"),
    path: "link/inner",
    answers: aFullDirectory,
    plain: { list: "reaches the inside" },
  },
  {
    name: "nothing below a link",
    plant: ({ link }) => link("link", "dir"),
    path: "link/new",
    answers: nothingThere,
    plain: { read: "ENOENT" },
  },
  {
    name: "nothing far below a link",
    plant: ({ link }) => link("link", "dir"),
    path: "link/new/deep",
    answers: noParent,
    plain: { read: "ENOENT" },
  },
  {
    name: "absolute link to the root itself",
    plant: ({ root, link }) => link("link", root),
    path: "link",
    answers: linkToDirectory,
    plain: { list: "reaches the inside" },
  },
  {
    name: "link to the directory it stands in, which is the root",
    plant: ({ link }) => link("link", "."),
    path: "link/link/link/file.txt",
    answers: aFile,
    plain: { read: "reaches the inside" },
  },
  {
    name: "link that climbs to the root exactly",
    plant: ({ link }) => link("dir/inner/link", "../.."),
    path: "dir/inner/link/file.txt",
    answers: aFile,
    plain: { read: "reaches the inside" },
  },
  {
    name: "`..` after a link, which is dropped as text",
    plant: ({ outside, link }) => link("link", `${outside}/vault`),
    path: "link/../canary.txt",
    answers: nothingThere,
    plain: out(...USES, "delete", "delete, recursive"),
  },
  {
    name: "`..` after a link to a directory inside, which is dropped as text",
    plant: ({ link }) => link("link", "dir/inner"),
    path: "link/../file.txt",
    answers: aFile,
    plain: { read: "reaches the inside" },
  },
  {
    name: "forty links, as many as are allowed",
    plant: (arena) => chain(arena, 40),
    path: "link1",
    answers: aFile,
    plain: { read: "reaches the inside" },
  },
];

const LINKS_ASTRAY: readonly EscapeRow[] = [
  {
    name: "forty-one links",
    plant: (arena) => chain(arena, 41),
    path: "link1",
    answers: refusedButDeleted("INVALID_PATH"),
    plain: { read: "ELOOP" },
  },
  {
    name: "link to itself",
    plant: ({ link }) => link("link", "link"),
    path: "link",
    answers: refusedButDeleted("INVALID_PATH"),
    plain: { read: "ELOOP" },
  },
  {
    name: "two links to each other, further down",
    plant: ({ link }) => {
      link("link", "dir/other");
      link("dir/other", "../link");
    },
    path: "link/below",
    answers: refused("INVALID_PATH"),
    plain: { read: "ELOOP" },
  },
  {
    name: "link whose text grows each time it is followed",
    plant: ({ link }) => link("link", "link/link/../link"),
    path: "link",
    answers: refusedButDeleted("INVALID_PATH"),
    plain: { read: "ELOOP" },
  },
  {
    name: "link that dangles inside",
    plant: ({ link }) => link("link", "dir/missing"),
    path: "link",
    answers: refusedButDeleted("DANGLING_SYMLINK"),
    plain: { read: "ENOENT", mkdir: "EEXIST" },
  },
  {
    name: "absolute link that dangles inside",
    plant: ({ root, link }) => link("link", `${root}/missing`),
    path: "link/below",
    answers: refused("DANGLING_SYMLINK"),
    plain: { read: "ENOENT", write: "ENOENT" },
  },
  {
    name: "link that dangles and climbs back to something that exists",
    plant: ({ link }) => link("link", "missing/../file.txt"),
    path: "link",
    answers: refusedButDeleted("DANGLING_SYMLINK"),
    plain: { read: "ENOENT" },
  },
  {
    name: "link to a link that dangles",
    plant: ({ link }) => {
      link("link", "dir/other");
      link("dir/other", "missing");
    },
    path: "link",
    answers: refusedButDeleted("DANGLING_SYMLINK"),
    plain: { read: "ENOENT" },
  },
  {
    name: "link to a file, used as a directory",
    plant: ({ link }) => link("link", "file.txt"),
    path: "link/below",
    answers: belowFile,
    plain: { read: "ENOTDIR" },
  },
  {
    name: "link through a file",
    plant: ({ link }) => link("link", "file.txt/below"),
    path: "link",
    answers: refusedButDeleted("DANGLING_SYMLINK"),
    plain: { read: "ENOTDIR" },
  },
  {
    name: "link to a file with a trailing slash",
    plant: ({ link }) => link("link", "file.txt/"),
    path: "link",
    answers: refusedButDeleted("DANGLING_SYMLINK"),
    plain: { read: "ENOTDIR" },
  },
  {
    name: "link with a segment that is too long",
    plant: ({ link }) => link("link", "x".repeat(300)),
    path: "link",
    answers: refusedButDeleted("INVALID_PATH"),
    plain: { read: "ENAMETOOLONG" },
  },
  {
    name: "link to the staging directory",
    plant: ({ root, link }) => {
      mkdirSync(join(root, ".venue-files"));
      writeFileSync(join(root, ".venue-files/secret.txt"), CANARY);
      link("link", ".venue-files");
    },
    path: "link/secret.txt",
    answers: refused("INVALID_PATH"),
    plain: { read: "gets out" },
  },
  {
    name: "staging directory by way of a link to the root",
    plant: ({ root, link }) => {
      mkdirSync(join(root, ".venue-files"));
      writeFileSync(join(root, ".venue-files/secret.txt"), CANARY);
      link("dir/link", "..");
    },
    path: "dir/link/.venue-files/secret.txt",
    answers: refused("INVALID_PATH"),
    plain: { read: "gets out" },
  },
  {
    name: "something staged beside its target, by a link",
    plant: ({ root, link }) => {
      writeFileSync(join(root, "dir/.venue-files-00000000-1-1-1-0000000000000000"), CANARY);
      link("link", "dir/.venue-files-00000000-1-1-1-0000000000000000");
    },
    path: "link",
    answers: refusedButDeleted("INVALID_PATH"),
    plain: { read: "gets out" },
  },
];

function chain({ link }: Arena, length: number): void {
  for (let n = 1; n < length; n++) link(`link${n}`, `link${n + 1}`);
  link(`link${length}`, "file.txt");
}

const raw = (_arena: Arena, path: string): string => path;

function lexical(path: string, code: string, plain: EscapeRow["plain"]): EscapeRow {
  return { name: `path ${JSON.stringify(path)}`, path, answers: refused(code), plain };
}

/** A path that some code takes for another one; here it means what it says, and nothing has that name. */
function literal(path: string, read: (path: string) => string, answers = nothingThere): EscapeRow {
  return {
    name: `path ${JSON.stringify(path)}, taken literally`,
    path,
    answers,
    plain: { read: "gets out" },
    plainPath: ({ root }, given) => `${root}/${read(given)}`,
  };
}

/** One name to Linux: an entry of it could be removed, and there is none. */
const REMOVABLE = { ...refused("INVALID_PATH"), delete: "ok", "delete, recursive": "ok" } as const;

const LEXICAL: readonly EscapeRow[] = [
  lexical("../outside/vault/secret.txt", "PATH_ESCAPES_ROOT", out(...USES, "delete", "delete, recursive")),
  lexical("../outside/vault/", "PATH_ESCAPES_ROOT", out("list", "tree", "stat", "delete, recursive")),
  lexical("..", "PATH_ESCAPES_ROOT", { list: "gets out", tree: "gets out", "delete, recursive": "destroys the root" }),
  lexical("/../outside/vault/secret.txt", "PATH_ESCAPES_ROOT", out(...USES)),
  lexical("dir/../../outside/vault/secret.txt", "PATH_ESCAPES_ROOT", out(...USES)),
  lexical("./dir/.././../outside/./vault//secret.txt", "PATH_ESCAPES_ROOT", out(...USES)),
  lexical("../root/file.txt", "PATH_ESCAPES_ROOT", { read: "reaches the inside" }),
  lexical("dir/../../root/file.txt", "PATH_ESCAPES_ROOT", { read: "reaches the inside" }),
  lexical("../outside/new", "PATH_ESCAPES_ROOT", out(...CREATES, "mkdir", "mkdir, parents")),
  {
    name: "absolute path of something outside, taken as relative to the root",
    path: ({ outside }) => `${outside}/canary.txt`,
    answers: noParent,
    plain: out(...USES, "delete", "delete, recursive"),
    plainPath: ({ root }, path) => resolve(root, path),
  },
  {
    name: "absolute path with two slashes",
    path: ({ outside }) => `/${outside}/canary.txt`,
    answers: refused("PATH_NOT_RELATIVE"),
    plain: out(...USES),
    plainPath: raw,
  },
  {
    name: "drive-rooted path",
    path: "C:/../../outside/canary.txt",
    answers: refused("PATH_NOT_RELATIVE"),
    plain: { read: "gets out" },
    plainPath: ({ root }, path) => `${root}/dir/../${path.replace("C:/", "dir/")}`,
  },
  {
    name: "backslashes",
    path: "..\\outside\\canary.txt",
    answers: REMOVABLE,
    plain: { read: "gets out" },
    plainPath: ({ root }, path) => `${root}/${path.replaceAll("\\", "/")}`,
  },
  {
    name: "NUL in the path",
    path: "../outside/canary.txt\0.png",
    answers: refused("INVALID_PATH"),
    plain: { read: "gets out" },
    plainPath: ({ root }, path) => `${root}/${path.split("\0")[0]}`,
  },
  { ...lexical("file.txt\n", "INVALID_PATH", { read: "ENOENT" }), name: "line break in the path", answers: REMOVABLE },
  { ...lexical("\ud800", "INVALID_PATH", { read: "ENOENT" }), name: "lone surrogate in the path" },
  { ...lexical("x".repeat(256), "INVALID_PATH", { read: "ENAMETOOLONG" }), name: "segment of 256 bytes" },
  { ...lexical("a/".repeat(513), "INVALID_PATH", { read: "ENOENT" }), name: "path of 513 segments" },
  lexical(".venue-files", "INVALID_PATH", { read: "ENOENT" }),
  lexical("dir/../.venue-files/x", "INVALID_PATH", { read: "ENOENT" }),
  lexical("dir/.venue-files-x", "INVALID_PATH", { read: "ENOENT" }),
  literal("..%2foutside%2fcanary.txt", decodeURIComponent),
  literal("%2e%2e/outside/canary.txt", decodeURIComponent, noParent),
  literal("\uff0e\uff0e/outside/canary.txt", (path) => path.normalize("NFKC"), noParent),
  literal("..\u2215outside\u2215canary.txt", (path) => path.replaceAll("\u2215", "/")),
  literal(".. /outside/canary.txt", (path) => path.replace(" ", ""), noParent),
  literal("..../outside/canary.txt", (path) => path.replace("....", ".."), noParent),
  literal("....//outside/canary.txt", (path) => path.replace("../", "/").replace("../", "../"), noParent),
  ...["", "/", ".", "./", "dir/..", "dir/inner/../../"].map(
    (path): EscapeRow => ({
      name: `root itself as ${JSON.stringify(path)}`,
      path,
      answers: theRoot,
      plain: { "delete, recursive": "destroys the root" },
      plainPath: ({ root }, given) => join(root, given),
    }),
  ),
];

export const ESCAPES: Readonly<Record<string, readonly EscapeRow[]>> = {
  "links that leave the root": [...LINKS_OUT, ...LINKS_OUT_SPECIAL],
  "links that stay inside": LINKS_INSIDE,
  "links that lead nowhere": LINKS_ASTRAY,
  "paths as text": LEXICAL,
};
