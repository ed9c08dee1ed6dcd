// Lets Node's calls on paths behave as on macOS, where names below one folder lie on APFS as it comes: it folds case and
// normalisation, keeps names as they were given, and gives a renamed entry the new spelling. Beside that, what macOS does
// otherwise than Linux: no /proc, `link` follows a symbolic link, `unlink` of a directory is EPERM, and `realpath` of Node keeps
// the spelling it was given, while that of the system has the stored one.
//
// Only names are emulated: each call is made with the spelling that is stored. What goes by a descriptor is as ever.
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { basename, dirname, join, resolve as normalised } from "node:path";
import { fileURLToPath } from "node:url";

const MAX_LINKS = 32;
const NO_PROCFS = "/no-procfs";

/** Simple folding, a character at a time: `ß` stays, and so does the dotless i. */
const foldChar = (char) => {
  const upper = char === "ı" ? char : char.toUpperCase();
  return (upper.length === char.length ? upper : char).toLowerCase();
};
export const foldLikeApfs = (name) => (/^[\0-\x7f]*$/.test(name) ? name.toLowerCase() : foldUnicode(name));
const foldUnicode = (name) => Array.from(name.normalize("NFD"), foldChar).join("").normalize("NFD");

/** Where a call finds the name: in the argument, the link itself or what it leads to. */
const ENTRY = "entry";
const TARGET = "target";
const OPEN = "open";
/** As {@link TARGET}, where the system of these tests would take the link itself. */
const FOLLOWED = "followed";
const CALLS = {
  ...{ access: [TARGET], appendFile: [TARGET], chmod: [TARGET], chown: [TARGET], copyFile: [TARGET, TARGET] },
  ...{
    cp: [ENTRY, ENTRY],
    lchmod: [ENTRY],
    lchown: [ENTRY],
    link: [FOLLOWED, ENTRY],
    lstat: [ENTRY],
    lutimes: [ENTRY],
  },
  ...{ mkdir: [ENTRY], mkdtemp: [ENTRY], open: [OPEN], opendir: [TARGET], readdir: [TARGET], readFile: [TARGET] },
  ...{ readlink: [ENTRY], rm: [ENTRY], rmdir: [ENTRY], stat: [TARGET], statfs: [TARGET], symlink: [undefined, ENTRY] },
  ...{ truncate: [TARGET], unlink: [ENTRY], utimes: [TARGET], writeFile: [TARGET] },
};
const SYNC_ONLY = { existsSync: [TARGET], watch: [TARGET], createReadStream: [TARGET], createWriteStream: [TARGET] };

/** @param top canonical folder below which names are folded @returns puts everything back */
export function emulateMacOs(top) {
  const real = { ...fs };
  const realPromises = { ...fs.promises };
  const isInside = (path) => path === top || path.startsWith(`${top}/`);

  const storedName = (directory, name) => {
    try {
      if (real.lstatSync(join(directory, name), { throwIfNoEntry: false }) !== undefined) return name;
      const key = foldLikeApfs(name);
      return real.readdirSync(directory).find((one) => foldLikeApfs(one) === key);
    } catch {
      return undefined;
    }
  };

  /** `found`: the path as it is stored; `shown`: as it was given, with links resolved. */
  const walk = (path, follows) => {
    let rest = path.slice(top.length).split("/");
    let [found, shown] = [top, top];
    let isFolder = false;
    for (let links = 0; rest.length > 0; ) {
      const name = rest.shift();
      if (name === "" || name === ".") continue;
      if (name === "..") {
        [found, shown] = [dirname(found), dirname(shown)];
        if (!isInside(found)) return { found: join(found, ...rest), shown: join(shown, ...rest) };
        continue;
      }
      const stored = storedName(found, name);
      const next = join(found, stored ?? name);
      // What is below nothing, the system tells.
      if (stored === undefined && rest.includes("..")) return { found: path, shown: path };
      const isLast = rest.every((one) => one === "" || one === ".");
      const stat = stored === undefined ? undefined : real.lstatSync(next, { throwIfNoEntry: false });
      if (stat?.isSymbolicLink() && (follows || !isLast || path.endsWith("/"))) {
        const target = real.readlinkSync(next);
        if (++links > MAX_LINKS) return { found: path, shown: path };
        isFolder = target.endsWith("/");
        if (target.startsWith("/")) {
          if (!isInside(target)) return { found: join(target, ...rest), shown: join(target, ...rest) };
          [found, shown] = [top, top];
        }
        rest = [...(target.startsWith("/") ? target.slice(top.length) : target).split("/"), ...rest];
        continue;
      }
      [found, shown] = [next, join(shown, name)];
    }
    if (isFolder) found = `${found}/`;
    return path.endsWith("/.") ? { found: `${found}/.`, shown } : { found, shown };
  };

  /** The path as text, if it is one that is emulated. */
  const textOf = (path) => {
    if (path instanceof URL) return textOf(fileURLToPath(path));
    const text = Buffer.isBuffer(path) ? path.toString("utf8") : path;
    if (typeof text !== "string" || (Buffer.isBuffer(path) && !Buffer.from(text).equals(path))) return undefined;
    return isInside(text) ? text : undefined;
  };
  const stored = (path, kind, flags) => {
    if (kind === undefined) return path;
    if (typeof path === "string" && /^\/proc(\/|$)/.test(path)) return NO_PROCFS + path;
    const text = textOf(path);
    if (text === undefined) return path;
    if (kind === FOLLOWED) return walk(text, true).found;
    const isFollowed = kind === OPEN ? !((flags ?? 0) & fs.constants.O_NOFOLLOW) : kind === TARGET;
    const look = isFollowed ? real.statSync : real.lstatSync;
    try {
      if (look(text, { throwIfNoEntry: false }) !== undefined) return path;
    } catch {
      // The walk below finds what the system does not.
    }
    return walk(text, isFollowed).found;
  };
  const withStored = (kinds, given) =>
    given.map((one, at) => (kinds[at] === undefined ? one : stored(one, kinds[at], given[1])));

  const failed = (code, syscall, path) =>
    Object.assign(new Error(`${code}: operation not permitted, ${syscall} '${path}'`), {
      errno: -1,
      code,
      syscall,
      path,
    });
  const refuseDirectory = (name, path) => {
    if (name === "unlink" && real.lstatSync(path, { throwIfNoEntry: false })?.isDirectory())
      throw failed("EPERM", "unlink", path);
  };
  /** The entry has the spelling that was given for it, whatever was stored before. */
  const renameSync = (from, to) => {
    const [source, target] = [stored(from, ENTRY), stored(to, ENTRY)];
    const asGiven = join(dirname(String(target)), basename(String(to)));
    if (source !== target) real.renameSync(source, target);
    if (String(target) !== asGiven || source === target) real.renameSync(target, asGiven);
  };
  const realpathOf = (native) => (path, options) => {
    const given = typeof path === "string" ? normalised(path) : path;
    if (typeof given === "string" && /^\/proc(\/|$)/.test(given)) return real.realpathSync(NO_PROCFS + given, options);
    if (textOf(given) === undefined) return real.realpathSync(path, options);
    const { found, shown } = walk(textOf(given), true);
    const resolved = real.realpathSync(found, options);
    return native || !isInside(String(resolved)) ? resolved : isInside(shown) ? shown : resolved;
  };

  const replace = (name, work) => {
    for (const [key, value] of Object.entries(Object.getOwnPropertyDescriptors(real[name])))
      if (!["length", "name", "prototype"].includes(key)) Object.defineProperty(work, key, value);
    fs[name] = work;
  };
  const called =
    (work) =>
    (...given) => {
      const done = given.pop();
      let result;
      try {
        result = work(...given);
      } catch (error) {
        return void process.nextTick(done, error);
      }
      process.nextTick(done, null, result);
    };
  const promised =
    (work) =>
    async (...given) =>
      work(...given);

  for (const [name, kinds] of Object.entries(CALLS)) {
    const prepared = (given) => {
      const args = withStored(kinds, given);
      refuseDirectory(name, args[0]);
      return args;
    };
    if (real[`${name}Sync`]) replace(`${name}Sync`, (...given) => real[`${name}Sync`](...prepared(given)));
    if (real[name])
      replace(name, (...given) => {
        let args;
        try {
          args = prepared(given);
        } catch (error) {
          return void process.nextTick(given.at(-1), error);
        }
        return real[name](...args);
      });
    if (realPromises[name]) fs.promises[name] = async (...given) => realPromises[name](...prepared(given));
  }
  for (const [name, kinds] of Object.entries(SYNC_ONLY))
    replace(name, (...given) => real[name](...withStored(kinds, given)));
  replace("renameSync", renameSync);
  replace("rename", called(renameSync));
  fs.promises.rename = promised(renameSync);
  for (const [name, wrap] of [
    ["realpathSync", (work) => work],
    ["realpath", called],
  ]) {
    replace(name, wrap(realpathOf(false)));
    fs[name].native = wrap(realpathOf(true));
  }
  fs.promises.realpath = promised(realpathOf(true));
  syncBuiltinESMExports();
  return () => {
    for (const [now, before] of [
      [fs, real],
      [fs.promises, realPromises],
    ])
      for (const name of Object.keys(before)) if (now[name] !== before[name]) now[name] = before[name];
    syncBuiltinESMExports();
  };
}
