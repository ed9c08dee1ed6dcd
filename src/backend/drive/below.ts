// A directory of a drive as the top of a root. Paths in the log of the drive stay those of the drive.

import { FileAdapterError } from "../../core/errors/errors.js";
import { notFound } from "../../core/errors/texts.js";
import type { ChangeRecord } from "../../core/ports/changes/change.js";
import type { DriveChange, DriveSnapshot, OwnerDrives } from "../../drive/engine/engine.js";

type Own = Pick<OwnerDrives, "read" | "change" | "stage" | "log">;
type Path = readonly string[];

/** Drives whose paths begin at a directory. The first change makes it. */
export function drivesBelow(own: Own, top: Path): Own {
  return {
    async read(drive) {
      const reader = await own.read(drive);
      return {
        ...snapshotBelow(reader, top),
        fetch: (paths) => reader.fetch(paths.map((path) => [...top, ...path])),
      };
    },
    change: (drive, work) => own.change(drive, (tree) => work(changeBelow(tree, top))),
    stage: (content) => own.stage(content),
    log: own.log,
  };
}

/** A drive for who is not its owner, and makes none: names of owners cost nothing, and each has a quota. @param root its name there */
export function driveOfAnother(own: OwnerDrives, drive: string, root: string): Own {
  const checkThere = async () => {
    if (!(await own.list()).includes(drive)) throw notFound({ root, path: "" });
  };
  return {
    read: (name) => own.read(name),
    async change(name, work) {
      await checkThere();
      return own.change(name, work);
    },
    async stage(content) {
      await checkThere();
      return own.stage(content);
    },
    log: own.log,
  };
}

/** A change with paths of the drive, where those of a directory are given. */
export function fromBelow<T extends Partial<Pick<ChangeRecord, "path" | "from" | "fromRoot" | "made">>>(
  change: T,
  top: Path,
): T {
  const { path, from, fromRoot, made } = change;
  const whole = (below: Path): Path => [...top, ...below];
  return {
    ...change,
    ...(path === undefined ? {} : { path: whole(path) }),
    ...(from === undefined || fromRoot !== undefined ? {} : { from: whole(from) }),
    ...(made === undefined ? {} : { made: made.map(whole) }),
  };
}

/** A path of the drive as one in the directory. @returns `undefined`: it is not in it */
export const pathBelow = (path: Path, top: Path): Path | undefined =>
  path.length > top.length && top.every((name, index) => name === path[index]) ? path.slice(top.length) : undefined;

const snapshotBelow = (tree: DriveSnapshot, top: Path): DriveSnapshot => ({
  stat: (path) => tree.stat([...top, ...path]),
  async entries(path) {
    try {
      return await tree.entries([...top, ...path]);
    } catch (error) {
      // Until the first change there is no such directory.
      const isMissing = error instanceof FileAdapterError && error.code === "NOT_FOUND";
      if (isMissing && path.length === 0) return [];
      throw error;
    }
  },
  readFile: (path, ...part) => tree.readFile([...top, ...path], ...part),
  release: () => tree.release(),
});

function changeBelow(tree: DriveChange, top: Path): DriveChange {
  const at = (path: Path): Path => [...top, ...path];
  let isThere = false;
  const makeTop = async (): Promise<void> => {
    if (isThere) return;
    for (let depth = 1; depth <= top.length; depth++) await tree.makeDirectory(top.slice(0, depth));
    isThere = true;
  };
  return {
    ...snapshotBelow(tree, top),
    before: () => snapshotBelow(tree.before(), top),
    async writeFile(path, content, modified) {
      await makeTop();
      await tree.writeFile(at(path), content, modified);
    },
    setTime: (path, modified) => tree.setTime(at(path), modified),
    async appendFile(path, content) {
      await makeTop();
      await tree.appendFile(at(path), content);
    },
    async makeDirectory(path) {
      await makeTop();
      return tree.makeDirectory(at(path));
    },
    remove: (path, options) => tree.remove(at(path), options),
    move: (from, to) => tree.move(at(from), at(to)),
    async restore(path, ref) {
      await makeTop();
      await tree.restore(at(path), ref);
    },
    holdsContentOf: (ref) => tree.holdsContentOf(ref),
    putBack(ref) {
      isThere = false;
      return tree.putBack(ref);
    },
    moment: () => tree.moment(),
    note: (note, ...moments) => tree.note(fromBelow(note, top), ...moments),
  };
}
