// Temp roots: private directories that end with the process.

import { randomBytes } from "node:crypto";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { type Awaitable, attempt, type Io, runIo } from "../../core/io.js";
import { isWindows } from "../../core/system.js";
import { fieldsOf } from "../../core/unknown.js";
import { rawName } from "../../jail/directory.js";
import { below, type Handles, type Pinned, ProcHandles, release, withPinned } from "../../jail/handles.js";
import { hasProcHandles } from "../../jail/mounts.js";
import { purge } from "../../jail/staging/purge.js";
import { errnoOf, quietly, Sys } from "../../jail/sys.js";
import { PathHandles } from "../../jail/walk/path-handles.js";
import { isDead, ownIdentity, type ProcessIdentity } from "../../process/identity.js";

interface Emptied {
  readonly sys: Sys;
  readonly handles: Handles;
  readonly directory: Pinned;
}

const RECORD = /^([0-9a-f]{16})\.json$/;

/**
 * The private directory of one adapter's temp roots: `venue-files-<uid>/<instance>/` in the system's temp directory,
 * both mode 0700 and verified to be owned by this user and not links. A record beside the instance names the process.
 */
export class TempHome {
  readonly #home: string;
  readonly #instance = randomBytes(8).toString("hex");
  #made = false;
  #isClosing = false;
  /** Ends when the leftovers of dead processes are gone, or this home is closed. */
  #sweeping: Awaitable<unknown>;

  /** @param parent absolute; of all homes of this user */
  constructor(parent = tmpdir()) {
    this.#home = join(parent, `venue-files-${process.geteuid?.() ?? "user"}`);
  }

  /**
   * Creates a directory for one root.
   * @returns its absolute path
   */
  create(prefix: string): string {
    const instance = join(this.#home, this.#instance);
    if (!this.#made) {
      makePrivate(this.#home);
      this.#sweeping = runIo(quietly(sweep(this.#home, () => this.#isClosing)));
      writeFileSync(`${instance}.json`, JSON.stringify(ownIdentity()), { flag: "wx", mode: 0o600 });
      makePrivate(instance);
      this.#made = true;
    }
    return mkdtempSync(join(instance, prefix));
  }

  /**
   * Lets other system users pass to directories that they own. Such users cannot list the path, so the instance name is a
   * secret.
   */
  lend(): void {
    if (!this.#made) return;
    for (const path of [this.#home, join(this.#home, this.#instance)]) chmodSync(path, 0o711);
  }

  /**
   * Removes one directory created here, yielding to other work. Never fails: what cannot be removed is retried with the
   * rest.
   */
  discard(path: string): Awaitable<void> {
    return runIo(quietly(discardBelow(path)));
  }

  /**
   * Removes every directory created here, yielding to other work. Never fails: what cannot be removed is left to a
   * later start.
   */
  async remove(): Promise<void> {
    if (!this.#made) return;
    this.#made = false;
    this.#isClosing = true;
    await runIo(quietly(removeInstance(this.#home, this.#instance)));
    await this.#sweeping;
  }
}

function makePrivate(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
  }
  const stat = lstatSync(path);
  const foreign = stat.uid !== (process.geteuid?.() ?? stat.uid);
  // A directory made by root may let other users pass.
  const refused = process.geteuid?.() === 0 ? 0o066 : 0o077;
  if (!stat.isDirectory() || foreign || (!isWindows() && (stat.mode & refused) !== 0)) {
    throw new Error(`cannot be made: ${path} is in the way. Remove it, or set TMPDIR to a directory of your own`);
  }
}

/** Removes leftovers of dead processes, yielding to other work; doubtful cases stay. */
function* sweep(home: string, isOver: () => boolean): Io<void> {
  const own = ownIdentity();
  for (const file of readdirSync(home)) {
    if (isOver()) return;
    const [, instance] = RECORD.exec(file) ?? [];
    const left = instance === undefined ? undefined : readRecord(join(home, file));
    if (instance !== undefined && left !== undefined && isDead(left, own)) {
      yield* quietly(removeInstance(home, instance));
    }
  }
}

function readRecord(path: string): ProcessIdentity | undefined {
  const value: unknown = attempt(() => JSON.parse(readFileSync(path, "utf8")));
  const { boot, namespace, pid, start } = fieldsOf(value);
  if (typeof boot !== "string" || typeof namespace !== "number") return undefined;
  return typeof pid === "number" && typeof start === "number" ? { boot, namespace, pid, start } : undefined;
}

/** The record is removed last, and only if nothing is left, so that an interrupted removal is found again. */
function* removeInstance(home: string, instance: string): Io<void> {
  yield* quietly(removeBelow(home, instance));
  if (lstatSync(join(home, instance), { throwIfNoEntry: false }) === undefined) {
    rmSync(join(home, `${instance}.json`), { force: true });
  }
}

/** Removes by handle: users who own a root may still change it, so paths could lead elsewhere a moment later. */
function* removeBelow(home: string, instance: string): Io<void> {
  const { sys, handles } = syncHandles();
  const above = handles.openRoot(home);
  try {
    yield* withPinned(handles.enter(above, instance), (directory) => empty({ sys, handles, directory }, () => true));
    yield* quietly(sys.rmdir(below(above, instance)));
  } finally {
    release(above);
  }
}

function* discardBelow(path: string): Io<void> {
  const { sys, handles } = syncHandles();
  const directory = handles.openRoot(dirname(path));
  try {
    yield* empty({ sys, handles, directory }, (name) => name === basename(path));
  } finally {
    release(directory);
  }
}

function syncHandles(): Pick<Emptied, "sys" | "handles"> {
  const sys = new Sys(false);
  return { sys, handles: hasProcHandles() ? new ProcHandles(sys) : new PathHandles(sys) };
}

/** Purges the entries of a directory that `goes` selects. */
function* empty(place: Emptied, isRemoved: (name: string) => boolean): Io<void> {
  const { sys, handles, directory } = place;
  const room = { directory, freeName: () => randomBytes(16).toString("hex") };
  for (const entry of yield* sys.names(directory)) {
    const name = rawName(entry);
    if (typeof name === "string" && isRemoved(name)) yield* purge({ handles, sys }, room, name);
  }
}
