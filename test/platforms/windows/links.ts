// Symbolic links as Windows has them, for programs under Wine, which makes none: loaded before the program, it has node:fs take small
// files of a certain beginning for links. Their text has backslashes, they are followed where Windows follows them, and what
// looks at a name (lstat, readlink, the types in a list) sees a link.
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { win32 } from "node:path";
import { fileURLToPath } from "node:url";
import { makeLink, markedTarget } from "./link-files.js";

type Call = (...args: unknown[]) => unknown;
type Fields = Record<string, Call>;
const { S_IFMT, S_IFLNK, O_CREAT, O_EXCL } = fs.constants;
const MAX_LINKS = 63;

const real = { ...fs } as unknown as Fields;
const lookAt = fs.lstatSync;
const callbacks = fs as unknown as Fields;
const promises = fs.promises as unknown as Fields;

function targetOf(path: string): string | undefined {
  return markedTarget(path, real as unknown as typeof fs);
}

const failed = (code: string, syscall: string, path: string): Error =>
  Object.assign(new Error(`${code}: ${syscall} '${path}'`), { code, syscall, path, errno: -1 });

/** The path that the system would come to. */
function resolved(path: string, followsLast: boolean, links = 0): string {
  if (links > MAX_LINKS) throw failed("ELOOP", "open", path);
  const full = win32.resolve(path);
  const { root } = win32.parse(full);
  const names = full.slice(root.length).split("\\").filter(Boolean);
  let at = root;
  for (const [index, name] of names.entries()) {
    const next = win32.join(at, name);
    const isLast = index === names.length - 1;
    const target = isLast && !followsLast ? undefined : targetOf(next);
    if (target !== undefined) {
      const rest = names.slice(index + 1);
      return resolved(win32.resolve(at, target.replace(/^\\\\\?\\/, ""), ...rest), followsLast, links + 1);
    }
    at = next;
  }
  return at;
}

const isPath = (value: unknown): value is string | Buffer | URL =>
  typeof value === "string" || Buffer.isBuffer(value) || value instanceof URL;

/** Whether no link stands in the way: what stands for one is a file, so that nothing is below it. */
function isDirect(path: string, followsLast: boolean): boolean {
  try {
    const parent = lookAt(win32.dirname(path), { throwIfNoEntry: false });
    return parent?.isDirectory() === true && (!followsLast || targetOf(path) === undefined);
  } catch {
    return false;
  }
}

function mapped(value: unknown, followsLast: boolean): unknown {
  if (!isPath(value)) return value;
  const text = win32.resolve((value instanceof URL ? fileURLToPath(value) : String(value)).replace(/^\\\\\?\\/, ""));
  // Only the drive of the tests has links.
  if (!/^d:\\(?!node_modules)/i.test(text) || isDirect(text, followsLast)) return value;
  const to = resolved(text, followsLast);
  return to.toLowerCase() === text.toLowerCase() ? value : to;
}

/** Replaces a call in its three forms. */
function replace(name: string, wrap: (call: Call, isSync: boolean) => Call): void {
  const sync = callbacks[`${name}Sync`];
  if (sync !== undefined) callbacks[`${name}Sync`] = Object.assign(wrap(sync, true), sync);
  const inCallbacks = callbacks[name];
  if (inCallbacks !== undefined) callbacks[name] = Object.assign(wrap(inCallbacks, false), inCallbacks);
  const promised = promises[name];
  if (promised !== undefined) promises[name] = wrap(promised, false);
}

/** Changes what a call answers, in whichever form. */
function answering(call: Call, args: unknown[], change: (answer: unknown) => unknown): unknown {
  const last = args.at(-1);
  if (typeof last === "function") {
    const done = last as (error: unknown, answer?: unknown) => void;
    return call(...args.slice(0, -1), (error: unknown, answer: unknown) =>
      error === null || error === undefined ? done(error, change(answer)) : done(error),
    );
  }
  const answer = call(...args);
  return answer instanceof Promise ? answer.then(change) : change(answer);
}

// Wine says that temporary files lie on C:.
process.env["TEMP"] = process.env["TMP"] = "D:\\tmp";

const FOLLOWING = [
  ...["access", "appendFile", "chmod", "chown", "copyFile", "exists", "readFile", "realpath", "stat", "statfs"],
  ...["truncate", "utimes", "writeFile"],
];
const OF_NAMES = ["link", "lchown", "lutimes", "mkdir", "mkdtemp", "rename", "rmdir", "unlink", "rm"];

for (const name of [...FOLLOWING, ...OF_NAMES]) {
  const follows = FOLLOWING.includes(name);
  replace(name, (call) => {
    const wrapped = (...args: unknown[]) => call(...args.map((arg, index) => (index < 2 ? mapped(arg, follows) : arg)));
    return name === "writeFile" || name === "appendFile" || name === "mkdtemp"
      ? (path, ...rest) => call(mapped(path, follows), ...rest)
      : wrapped;
  });
}

replace("open", (call) => (path, flags, ...rest) => {
  const isNew = typeof flags === "number" && (flags & (O_CREAT | O_EXCL)) === (O_CREAT | O_EXCL);
  return call(mapped(path, !isNew), flags, ...rest);
});

function asLink(stats: unknown, target: string): unknown {
  const found = stats as { mode: number | bigint; size: number | bigint };
  const isBig = typeof found.mode === "bigint";
  const mode = (Number(found.mode) & ~S_IFMT) | S_IFLNK;
  found.mode = isBig ? BigInt(mode) : mode;
  found.size = isBig ? BigInt(target.length) : target.length;
  return found;
}

replace("lstat", (call) => (path, ...rest) => {
  const at = mapped(path, false);
  const target = targetOf(String(at));
  return answering(call, [at, ...rest], (stats) => (target === undefined || !stats ? stats : asLink(stats, target)));
});

replace("readlink", (call, isSync) => (path, ...rest) => {
  const at = String(mapped(path, false));
  const target = targetOf(at);
  if (target === undefined) return call(at, ...rest);
  if (isSync) return target;
  const done = rest.at(-1);
  if (typeof done !== "function") return Promise.resolve(target);
  queueMicrotask(() => (done as Call)(null, target));
  return undefined;
});

/** Makes one; those of directories are not told apart from those of files. */
replace("symlink", (_call, isSync) => (target, path, ...rest) => {
  makeLink(String(target), String(mapped(path, false)), real as unknown as typeof fs);
  if (isSync) return undefined;
  const done = rest.at(-1);
  if (typeof done !== "function") return Promise.resolve();
  queueMicrotask(() => (done as Call)(null));
  return undefined;
});

/** Types of entries in a list. */
function withLinks(entry: unknown, folder: string): unknown {
  const found = entry as fs.Dirent | null;
  if (found === null || typeof found !== "object") return found;
  if (typeof found.isFile !== "function") return found;
  const name = Buffer.from(found.name, "latin1").toString();
  const isLink = found.isFile() && targetOf(win32.join(folder, name)) !== undefined;
  if (isLink) Object.assign(found, { isFile: () => false, isSymbolicLink: () => true });
  return found;
}

replace("readdir", (call) => (path, ...rest) => {
  const at = mapped(path, true);
  return answering(call, [at, ...rest], (names) => (names as unknown[]).map((entry) => withLinks(entry, String(at))));
});

replace("opendir", (call) => (path, ...rest) => {
  const at = mapped(path, true);
  return answering(call, [at, ...rest], (opened) => {
    const dir = opened as unknown as Fields;
    const { readSync, read } = dir;
    if (readSync !== undefined) dir["readSync"] = () => withLinks(readSync.call(dir), String(at));
    if (read !== undefined)
      dir["read"] = (...args) => answering(read.bind(dir), args, (entry) => withLinks(entry, String(at)));
    return dir;
  });
});

syncBuiltinESMExports();
