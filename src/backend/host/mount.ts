// Mounts a directory of the host for commands, and cleans up after them.

import { notSupportedByRoot } from "../../core/errors/texts.js";
import { COMMAND_RAN } from "../../core/errors/undo-texts.js";
import { type Io, isPending, runIo, wait } from "../../core/io.js";
import type { Access } from "../../core/ports/backend.js";
import type { MountedDirectory, MountOptions, Settled } from "../../core/ports/sandbox.js";
import { entryPath, type Pinned, renew } from "../../jail/handles.js";
import type { Jail } from "../../jail/jail.js";
import { finishWithReserve } from "../../jail/reserve.js";
import type { StagedFile } from "../../jail/staging/staging.js";
import { closeNow, errnoOf, quietly, succeeds } from "../../jail/sys.js";
import type { Walk } from "../../jail/walk/walk.js";
import { RESERVED_NAME } from "../../path/grammar.js";
import { findMasks } from "./masks.js";
import { countTree } from "./quota.js";
import { type Arrival, directoryOf, mapErrors } from "./root.js";
import { forEachBelow } from "./runs/each-below.js";
import { Look } from "./runs/give-back.js";
import { MadeDenied, NOTHING_CLEARED } from "./runs/made-denied.js";
import { markIn } from "./runs/recorded-changes.js";
import { RunChanges } from "./runs/run-changes.js";
import { CLOCK_GRAIN_MS, clearSetIds, leaveRunMark, placeRunMark, type RunMark } from "./runs/run-mark.js";
import { scanTree } from "./runs/scan.js";
import type { WriteRules } from "./target.js";

/** The directory to mount. */
export interface Mounting {
  readonly enter: () => Io<Arrival>;
  readonly rules: WriteRules;
  readonly access: Access;
}

/** Opens a directory for commands and holds it until closed. */
export async function mountDirectory(mounting: Mounting, options: MountOptions): Promise<MountedDirectory> {
  const { place, scope } = mounting.access;
  const opening = runIo(mapErrors(place, mount(mounting, options)));
  if (!isPending(opening)) return opening;
  try {
    return await scope.race(opening);
  } catch (error) {
    // The open may still succeed although the call has ended; the result is released then.
    opening.then(
      (late) => late.close(),
      () => {},
    );
    throw error;
  }
}

function* mount(mounting: Mounting, options: MountOptions): Io<MountedDirectory> {
  const { rules, access } = mounting;
  access.scope.checkpoint();
  const { jail, walk, found } = yield* mounting.enter();
  let stage: StagedFile | undefined;
  let changes: RunChanges | undefined;
  try {
    if (rules.usage?.counting !== undefined) yield rules.usage.counting;
    if (jail.top.fd < 0) throw notSupportedByRoot(access.place, "commands on this platform");
    yield* renew(jail.sys, jail.top);
    yield* lendToUser(jail, rules, options);
    stage = options.keepsStage ? yield* holdStage(jail) : undefined;
    const { uid, gid } = jail.top.stat;
    const common = { jail, walk, stage, path: jail.realPath, uid, gid };
    if (found.state !== "found") return new Mounted(mounting, { ...common, masks: [] });
    const directory = directoryOf(found, access);
    const path = [jail.realPath, ...found.real].join("/");
    const journal = options.writable ? yield* wait(rules.openJournal?.()) : undefined;
    const since = journal && markIn(journal, Date.now());
    const run = { jail, directory, real: [...found.real], access };
    const isScanned = options.writable && (journal ?? access.policy) !== undefined;
    const before = isScanned ? yield* scanTree(jail, directory, access) : undefined;
    const search = { isWritable: options.writable, scan: before };
    const { masks, tooManyProtected } = yield* findMasks(jail, directory, access, search);
    if (!options.writable) return new Mounted(mounting, { ...common, path, masks, directory });
    if (tooManyProtected !== undefined)
      return new Mounted(mounting, { ...common, path, masks, directory, tooManyProtected });
    if (journal !== undefined && since !== undefined && before !== undefined) {
      const start = { before, since, keeps: options.keepsTree === true };
      changes = yield* RunChanges.begin({ ...run, journal }, start);
    }
    const look = access.policy && before && new Look(before, found.real);
    const mark = yield* placeRunMark(jail, found.real);
    const ground = { ...run, rules, journal, user: options.user.uid };
    const made = mark && look && MadeDenied.begin({ ...ground, mark, look });
    return new Mounted(mounting, { ...common, path, masks, directory, mark, changes, made });
  } catch (error) {
    if (changes !== undefined) yield* changes.end();
    yield* dropStage(jail, stage);
    walk.close();
    throw error;
  }
}

interface Held extends Pick<MountedDirectory, "path" | "uid" | "gid" | "masks" | "tooManyProtected"> {
  readonly jail: Jail;
  readonly walk: Walk;
  readonly stage: StagedFile | undefined;
  /** Present until the directory is known to be free of leftovers of commands. */
  readonly mark?: RunMark | undefined;
  readonly directory?: Pinned;
  /** Present if changes of commands are recorded. */
  readonly changes?: RunChanges | undefined;
  /** Present if commands can make entries that are denied. */
  readonly made?: MadeDenied | undefined;
}

class Mounted implements MountedDirectory {
  readonly descriptor?: number;
  readonly path: string;
  readonly uid: number;
  readonly gid: number;
  readonly masks: MountedDirectory["masks"];
  readonly tooManyProtected?: number;
  readonly #mounting: Mounting;
  readonly #held: Held;
  readonly #since = Date.now() - CLOCK_GRAIN_MS;
  #isClean = true;

  constructor(mounting: Mounting, held: Held) {
    [this.path, this.uid, this.gid, this.masks] = [held.path, held.uid, held.gid, held.masks];
    if (held.directory !== undefined) this.descriptor = held.directory.fd;
    if (held.tooManyProtected !== undefined) this.tooManyProtected = held.tooManyProtected;
    this.#mounting = mounting;
    this.#held = held;
  }

  async settle(): Promise<Settled> {
    const { rules, access } = this.#mounting;
    const { jail, directory, changes, made } = this.#held;
    this.#isClean = directory === undefined;
    const seen = changes && (await runIo(finishWithReserve(quietly(changes.look()))));
    const clean = seen?.isThorough === true && !seen.hasSetId ? seen : undefined;
    const clearing = directory && clearSetIds(jail, directory, this.#since, clean);
    const bits = clearing === undefined ? 0 : await runIo(finishWithReserve(quietly(clearing)));
    this.#isClean = bits !== undefined;
    const cleared = made && (await runIo(finishWithReserve(quietly(made.settle(seen)))));
    const returned = cleared?.returned ?? new Set();
    const settled = { removed: cleared?.removed ?? 0, returned: returned.size };
    const isAsSeen = bits === 0 && (made === undefined || cleared === NOTHING_CLEARED);
    const record = changes?.record(isAsSeen ? seen : undefined, returned);
    if (record !== undefined && !(await runIo(finishWithReserve(succeeds(record))))) {
      changes?.addPlace();
      access.behind?.(COMMAND_RAN);
    }
    // If the root has been deleted and recreated, it has been counted since.
    if (rules.usage === undefined || jail.isClosing) return settled;
    rules.usage.recount((async () => runIo(countTree(jail, jail.top, false)))());
    await rules.usage.counting?.catch(() => {});
    return settled;
  }

  async close(): Promise<void> {
    const { jail, walk, stage, mark, changes, made } = this.#held;
    made?.leave();
    if (changes !== undefined) await runIo(finishWithReserve(changes.end()));
    if (mark !== undefined) await runIo(finishWithReserve(leaveRunMark(jail, mark, this.#isClean)));
    await runIo(dropStage(jail, stage));
    walk.close();
  }
}

/**
 * Keeps the staging directory in place while something is mounted over it. Where there is no usable one, nothing needs
 * to be kept.
 */
function* holdStage(jail: Jail): Io<StagedFile | undefined> {
  const stage = yield* jail.staging.open(jail.top);
  if (stage.directory === jail.top) return undefined;
  try {
    return yield* jail.staging.createIn(stage, 0o600);
  } catch (error) {
    stage.release();
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}

function* dropStage(jail: Jail, file: StagedFile | undefined): Io<void> {
  if (file === undefined || file.fd < 0) return;
  closeNow(file.fd);
  file.fd = -1;
  yield* quietly(jail.sys.unlink(file.path));
  file.stage.release();
}

/**
 * Gives a temp root that this process created as root to the unprivileged user of commands, with all its contents but the
 * staging directory: in one that is not ours there is no trash, and no group of changes.
 */
function* lendToUser(jail: Jail, rules: WriteRules, { user }: MountOptions): Io<void> {
  if (rules.lend === undefined || process.geteuid?.() !== 0) return;
  rules.lend();
  if (jail.top.stat.uid !== 0) return;
  const { sys } = jail;
  yield* forEachBelow(
    jail,
    jail.top,
    function* (directory, name) {
      yield* quietly(sys.lchown(entryPath(directory, name), user.uid, user.gid));
    },
    (path) => (path === RESERVED_NAME ? "none" : "all"),
  );
  yield* sys.chown(jail.top.path, user.uid, user.gid);
  yield* renew(sys, jail.top);
}
