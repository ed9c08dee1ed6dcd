// Marks of running commands in the staging directory, so that the next start can clean up after a killed process: of the set-user-id and
// set-group-id bits that commands leave behind.

import type { Io } from "../../../core/io.js";
import { below, CREATE, enterBelow, type Pinned, READ, release, withPinned } from "../../../jail/handles.js";
import type { Jail } from "../../../jail/jail.js";
import { flushDirectories } from "../../../jail/staging/flush.js";
import type { Stage } from "../../../jail/staging/lock-file.js";
import type { Stat } from "../../../jail/stat.js";
import { closeNow, errnoOf, quietly } from "../../../jail/sys.js";
import { forEachBelow, type Meant, type Work } from "./each-below.js";
import { type Scan, SET_ID_BITS } from "./scan.js";

/** Prefix of mark names in the staging directory. */
const KIND = "run";
/**
 * A mark of a dead container cannot be told from one that still runs: for this many ms it is cleaned up at each start.
 */
const UNSURE_MS = 86_400_000;
const MAX_BYTES = 65_536;
/** Passes over a tree that changes while set-id bits are cleared. */
const ROUNDS = 3;
/** File times can lag behind the clock by this many ms. */
export const CLOCK_GRAIN_MS = 2_000;

/**
 * A file in the staging directory that says that commands may be changing a directory. The file survives a killed process.
 */
export interface RunMark {
  readonly name: string;
  readonly stage: Stage;
}

/**
 * Creates a mark, flushed to disk.
 * @param real names of the directory below the root
 * @returns `undefined` if the staging directory cannot be used
 */
export function* placeRunMark(jail: Jail, real: readonly string[]): Io<RunMark | undefined> {
  const { staging, sys, top } = jail;
  const stage = yield* staging.open(top);
  if (stage.directory === top) return undefined;
  const name = `${KIND}-${staging.newName(stage)}`;
  try {
    const fd = yield* sys.open(below(stage.directory, name), CREATE, 0o600);
    try {
      yield* sys.writeAll(fd, Buffer.from(JSON.stringify(real)));
      yield* sys.fsync(fd);
    } finally {
      closeNow(fd);
    }
    yield* quietly(flushDirectories(jail, [stage.directory]));
    return { name, stage };
  } catch (error) {
    yield* quietly(sys.unlink(below(stage.directory, name)));
    stage.release();
    throw error;
  }
}

/**
 * Ends a run.
 * @param isClean whether nothing is left to clean up at the next start
 */
export function* leaveRunMark(jail: Jail, { name, stage }: RunMark, isClean: boolean): Io<void> {
  if (isClean) yield* quietly(jail.sys.unlink(below(stage.directory, name)));
  stage.release();
}

/**
 * Whether there are marks of other processes, which may run commands in the root as well.
 * @param own names of the marks of this process
 */
export function* hasOtherMarks(jail: Jail, { stage }: RunMark, own: ReadonlySet<string>): Io<boolean> {
  const names = yield* jail.sys.names(stage.directory);
  return names.some(({ name }) => name.startsWith(`${KIND}-`) && !own.has(name));
}

/** Cleans up after runs whose process was killed. Without marks, only the staging directory is read. */
export function* sweepRuns(jail: Jail): Io<void> {
  const found = yield* quietly(jail.staging.findLeftovers(KIND));
  if (found === undefined) return;
  const { stage, left } = found;
  try {
    for (const { name, isSure } of left) {
      yield* withPinned(quietly(jail.handles.pin(stage.directory, name)), function* (file) {
        if (!file.stat.isFile()) return;
        const since = file.stat.modifiedMs;
        const clear = (directory: Pinned): Io<number> => clearSetIds(jail, directory, since - CLOCK_GRAIN_MS);
        yield* cleanBelow(jail, yield* readNames(jail, file), clear);
        if (isSure || Date.now() - since > UNSURE_MS) yield* quietly(jail.sys.unlink(below(stage.directory, name)));
      });
    }
  } finally {
    stage.release();
  }
}

/** If the directory has been moved since, the whole root is cleaned. */
function* cleanBelow(jail: Jail, names: readonly string[], clean: (directory: Pinned) => Io<unknown>): Io<void> {
  const { top } = jail;
  const at = (yield* quietly(enterBelow(jail, top, names))) ?? top;
  try {
    yield* clean(at);
  } finally {
    if (at !== top) release(at);
  }
}

/** Empty if the file was not written completely. */
function* readNames(jail: Jail, file: Pinned): Io<readonly string[]> {
  const fd = yield* jail.handles.reopen(file, READ);
  try {
    const buffer = Buffer.alloc(MAX_BYTES);
    const names: unknown = JSON.parse(buffer.toString("utf8", 0, yield* jail.sys.read(fd, buffer, 0, 0)));
    const isPath =
      Array.isArray(names) && names.every((name) => typeof name === "string" && !/^\.{0,2}$|\//.test(name));
    return isPath ? names : [];
  } catch (error) {
    if (error instanceof SyntaxError || errnoOf(error) !== undefined) return [];
    throw error;
  } finally {
    closeNow(fd);
  }
}

/**
 * Clears set-user-id and set-group-id on files changed since a time.
 * @param seen a scan that saw no such file: then it can only be where that did not look
 * @returns how many had them
 */
export function* clearSetIds(jail: Jail, top: Pinned, since: number, seen?: Scan): Io<number> {
  const { sys, handles } = jail;
  let found = 0;
  const isMeant = (stat: Stat): boolean => stat.isFile() && (stat.mode & SET_ID_BITS) !== 0 && stat.changedMs >= since;
  const clear = function* ({ stat, path }: Pinned): Io<void> {
    if (!isMeant(stat)) return;
    found++;
    yield* quietly(sys.chmod(path, stat.mode & 0o1777));
  };
  const work: Work = (directory, name, stat) =>
    isMeant(stat) ? withPinned(handles.pin(directory, name), clear) : undefined;
  if (seen !== undefined) {
    const left = new Set(seen.closed);
    const meant: Meant = (path) => (left.delete(path) ? "all" : seen.isMarked(path) ? "some" : "none");
    if ((yield* forEachBelow(jail, top, work, meant)) && left.size === 0) return found;
  }
  for (let round = 1; round <= ROUNDS; round++) if (yield* forEachBelow(jail, top, work)) return found;
  throw Object.assign(new Error("not seen whole"), { code: "EAGAIN", syscall: "open" });
}
