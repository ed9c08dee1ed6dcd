// Undoes the groups that dead processes left half done.

import { CallScope } from "../../../core/call/scope.js";
import { systemClock } from "../../../core/clock.js";
import { FileAdapterError } from "../../../core/errors/errors.js";
import type { Io } from "../../../core/io.js";
import { below, identity, type Pinned, release } from "../../../jail/handles.js";
import type { Jail } from "../../../jail/jail.js";
import { flushDirectories } from "../../../jail/staging/flush.js";
import type { Stage } from "../../../jail/staging/lock-file.js";
import { INTENT_KIND } from "../../../jail/staging/staging.js";
import { errnoOf, quietly } from "../../../jail/sys.js";
import { relPath } from "../../../path/grammar.js";
import { withLockFile } from "../guard.js";
import { readIntent } from "./found-intent.js";
import { ASIDE_KIND, moveAside, type RealPath, recordName, type StepRecord } from "./intent.js";
import type { IntentRegister } from "./register.js";
import { type Opened, rollBack } from "./roll-back.js";

/** Time (ms) for undoing a group, which no caller waits for. */
const PATIENCE_MS = 600_000;
/** Age (ms) after which a process of another container counts as dead: twice the maximum deadline of a call. */
const FOREIGN_STALE_MS = 120_000;
/** Most intents looked at in one go: a repository may bring any number. */
const MOST = 100;
/** Errors of a walk that say that a path no longer leads where it did. */
const LED_ASTRAY: ReadonlySet<string> = new Set(["SYMLINK_ESCAPE", "INVALID_PATH", "OTHER_DEVICE"]);

/** Outcome for the intent of a dead process, or of a group that failed. */
export interface RecoveryReport {
  /**
   * `undone`: everything is as before the group. `interrupted`: except for `paths`, which others had changed since, or
   * which are denied or protected. `foreign`: not an intent of this venue; it was moved aside. `failed`: by a system
   * error, to be tried again at the next start. `raced`: a group of this process failed, and `paths` could not be put back.
   */
  readonly outcome: "undone" | "interrupted" | "foreign" | "failed" | "raced";
  readonly paths: readonly RealPath[];
}

export interface RecoveryRules {
  readonly durable: boolean;
  readonly register?: IntentRegister | undefined;
  /** Whether the operator denies or protects a path. */
  isRefused(path: RealPath): boolean;
  report?(report: RecoveryReport): void;
}

interface Found {
  readonly stage: Stage;
  readonly name: string;
  /** Name that it was made under. */
  readonly id: string;
  readonly isAside: boolean;
}

/**
 * Undoes the groups of dead processes, under the root's lock file.
 * @param isLocked the caller holds the lock file, and the locks of its own change
 */
export function* recoverGroups(jail: Jail, rules: RecoveryRules, isLocked = false): Io<void> {
  if (!(yield* forEachLeftover(jail, rules, function* () {}))) return;
  const recover = (): Io<boolean> => forEachLeftover(jail, rules, (found) => recoverOne(jail, rules, found));
  if (isLocked) {
    yield* recover();
    return;
  }
  // Every change of this process shares this lock.
  const turn = yield* jail.locks.hold({ shared: [], exclusive: [identity(jail.top)] });
  try {
    const scope = new CallScope({ clock: systemClock, timeoutMs: PATIENCE_MS });
    yield* withLockFile(jail, { parent: jail.top, scope, recovers: false }, recover);
  } finally {
    turn.release();
  }
}

/** @returns whether there are any */
function* forEachLeftover(jail: Jail, { register }: RecoveryRules, work: (found: Found) => Io<void>): Io<boolean> {
  let isAny = false;
  // Another venue on the same root may have moved one of ours aside.
  for (const kind of register === undefined ? [INTENT_KIND] : [INTENT_KIND, ASIDE_KIND]) {
    const isAside = kind === ASIDE_KIND;
    const leftovers = yield* quietly(jail.staging.findLeftovers(kind));
    if (leftovers === undefined) continue;
    const { stage, left } = leftovers;
    try {
      for (const { name, isSure } of left.slice(0, MOST)) {
        if (!isSure && !(yield* isOld(jail, stage, name))) continue;
        const id = `${INTENT_KIND}${name.slice(kind.length)}`;
        if (isAside && register?.hashesOf(id).length === 0) continue;
        isAny = true;
        yield* work({ stage, name, id, isAside });
      }
    } finally {
      stage.release();
    }
  }
  return isAny;
}

function* isOld(jail: Jail, stage: Stage, name: string): Io<boolean> {
  const stat = yield* quietly(jail.sys.lstat(below(stage.directory, name)));
  return stat !== undefined && Date.now() - stat.changedMs > FOREIGN_STALE_MS;
}

function* recoverOne(jail: Jail, rules: RecoveryRules, found: Found): Io<void> {
  const { stage, name, id } = found;
  const folder = yield* quietly(jail.handles.enter(stage.directory, name));
  if (folder === undefined || typeof folder === "string") return;
  let paths: RealPath[] = [];
  try {
    const intent = yield* readIntent(jail, folder, { id, register: rules.register });
    if (intent === "foreign") {
      if (!found.isAside) yield* moveAside(jail, stage.directory, name);
      rules.report?.({ outcome: "foreign", paths });
      return;
    }
    if (intent !== "done") paths = intent.flatMap(pathsOf);
    const left = intent === "done" ? [] : yield* undo(jail, rules, { stage, folder, steps: intent });
    rules.register?.remove(id);
    if (left.length === 0) yield* jail.staging.purge(stage, name);
    else if (!found.isAside) yield* moveAside(jail, stage.directory, name);
    if (intent === "done") return;
    rules.report?.(left.length > 0 ? { outcome: "interrupted", paths: left } : { outcome: "undone", paths });
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    rules.report?.({ outcome: "failed", paths });
  } finally {
    release(folder);
  }
}

function* undo(
  jail: Jail,
  { durable, isRefused }: RecoveryRules,
  { stage, folder, steps }: { stage: Stage; folder: Pinned; steps: readonly StepRecord[] },
): Io<RealPath[]> {
  const directoryOf = directoryFinder(jail, isRefused);
  const left = yield* rollBack({ jail, durable, folder, stage: stage.directory, directoryOf }, steps);
  yield* jail.sys.unlink(below(folder, recordName(0)));
  if (durable) yield* flushDirectories(jail, [folder]);
  return left;
}

/** Paths that a step puts, takes, or moves something to. */
export const pathsOf = ({ put, taken, moved }: StepRecord): RealPath[] =>
  [put?.path, taken?.path, moved?.to].filter((path) => path !== undefined);

/** Walks to the directories of real paths, through no link. */
export function directoryFinder(
  jail: Jail,
  isRefused: RecoveryRules["isRefused"] = () => false,
): (path: RealPath) => Io<Opened | undefined> {
  const scope = new CallScope({ clock: systemClock, timeoutMs: PATIENCE_MS });
  return function* (path) {
    if (path.length === 0 || isRefused(path)) return undefined;
    const place = { root: "", path: path.join("/") };
    const walk = jail.walk(relPath(path.slice(0, -1)), { place, scope, followLast: false, links: "refuse" });
    let isFound = false;
    try {
      const found = yield* walk.run();
      if (found.state !== "found" || !found.object.stat.isDirectory()) return undefined;
      isFound = true;
      return { directory: found.object, close: () => walk.close() };
    } catch (error) {
      if (error instanceof FileAdapterError && LED_ASTRAY.has(error.code)) return undefined;
      throw error;
    } finally {
      if (!isFound) walk.close();
    }
  };
}
