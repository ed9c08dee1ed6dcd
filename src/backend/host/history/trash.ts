// The trash folder of a host root, and the entries around it, by the handles of its jail.

import { FileAdapterError } from "../../../core/errors/errors.js";
import { type Awaitable, type Io, runIo } from "../../../core/io.js";
import type { KeptState } from "../../../core/ports/changes/journal.js";
import type { Part, Present, TrashFolder, TrashItem } from "../../../core/ports/changes/journal-writer.js";
import type { OpenFile } from "../../../core/ports/open-file.js";
import { examine, nameOf } from "../../../jail/directory.js";
import { below, type Pinned, READ, release, withOpen, withPinned } from "../../../jail/handles.js";
import type { Jail } from "../../../jail/jail.js";
import { finishWithReserve } from "../../../jail/reserve.js";
import { type FolderUse, hasFolder, TRASH } from "../../../jail/staging/folder.js";
import { moveBelow } from "../../../jail/staging/rename.js";
import { errnoOf, quietly } from "../../../jail/sys.js";
import type { Amount } from "../../quota.js";
import { kindOf, stateOf } from "../changes/report.js";
import { findBelow } from "../group/intent.js";
import { directoryFinder } from "../group/recovery.js";
import { HostFile, hashOpen } from "../open.js";
import { countTree, freedBy } from "../quota.js";

/**
 * Errors that say that something cannot be kept although it can go: no room, nothing of the kind on this file system, or it is
 * gone already. With any other a change is refused.
 */
const UNKEEPABLE = new Set(["ENOSPC", "EDQUOT", "EFBIG", "EMLINK", "EXDEV", "ENOSYS", "ENOTSUP", "EOPNOTSUPP"]);
const GONE = new Set(["ENOENT", "ESTALE"]);

export const isUnkeepable = (error: unknown): boolean => UNKEEPABLE.has(errnoOf(error) ?? "");

/** @throws all errors but those by which something cannot be kept */
export function* unlessUnkeepable<T>(keep: Io<T>): Io<T | "unkeepable"> {
  try {
    return yield* keep;
  } catch (error) {
    if (isUnkeepable(error) || GONE.has(errnoOf(error) ?? "")) return "unkeepable";
    throw error;
  }
}

/**
 * Puts something into the trash, in a folder that stays open for a while.
 * @returns the folder, for the caller to release; `undefined`: this root can have none
 * @throws the error of `put`, or one that may pass, such as too many open files
 */
export function* putInTrash<T>(
  jail: Jail,
  put: (trash: FolderUse) => Io<T>,
): Io<(FolderUse & { readonly result: T }) | undefined> {
  for (let attempt = 1; ; attempt++) {
    const trash = yield* unlessUnkeepable(jail.staging.heldFolder(TRASH, attempt > 1));
    if (trash === undefined || trash === "unkeepable") return undefined;
    try {
      return { ...trash, result: yield* put(trash) };
    } catch (error) {
      trash.release();
      // Another process removes the folder where it is empty.
      if (errnoOf(error) !== "ENOENT" || attempt > 1) throw error;
    }
  }
}

/** The trash of a root over time. @param current the jail of the root now */
export class HostTrash implements TrashFolder {
  readonly folder = [TRASH];
  readonly #current: () => Jail;

  constructor(current: () => Jail) {
    this.#current = current;
  }

  isUsable(): Awaitable<boolean> {
    return runIo(isUsable(this.#current()));
  }

  list(prefix: string, isWanted: (name: string) => boolean = () => true): Awaitable<readonly TrashItem[]> {
    const isListed = (name: string): boolean => name.startsWith(prefix) && isWanted(name);
    return this.#inTrash((jail, folder) => listItems(jail, folder, isListed), []);
  }

  open(
    name: string,
    version: string | undefined,
    below: readonly string[] = [],
  ): Awaitable<OpenFile | "missing" | "altered"> {
    return this.#inTrash<OpenFile | "missing" | "altered">(
      (jail, folder) => openItem(jail, folder, { names: [name, ...below], version }),
      "missing",
    );
  }

  look(name: string, below: readonly string[]): Awaitable<KeptState | undefined> {
    return this.#inTrash<KeptState | undefined>((jail, folder) => lookAt(jail, folder, [name, ...below]), undefined);
  }

  measure(name: string, onlyFreed = false): Awaitable<Amount> {
    return this.#inTrash((jail, folder) => measureItem(jail, folder, { name, onlyFreed }), { bytes: 0, files: 0 });
  }

  remove(names: readonly string[]): Awaitable<void> {
    return runIo(removeItems(this.#current(), names));
  }

  async recover(): Promise<void> {
    const jail = this.#current();
    await jail.recovering;
    if (!jail.readOnly) await runIo(jail.recover(false));
  }

  present(path: readonly string[], part?: Part): Awaitable<Present | "missing" | "unknown"> {
    const jail = this.#current();
    return runIo(lookAtPresent(jail, path, part));
  }

  #inTrash<T>(work: (jail: Jail, folder: Pinned) => Io<T>, missing: T): Awaitable<T> {
    return runIo(readTrash(this.#current(), work, missing));
  }
}

function* isUsable(jail: Jail): Io<boolean> {
  return (yield* quietly(hasFolder(jail, TRASH))) === true;
}

function* removeItems(jail: Jail, names: readonly string[]): Io<void> {
  const removeEach = function* (_: Jail, folder: Pinned): Io<void> {
    // An item that is gone or cannot be removed does not stop the others.
    for (const name of names) yield* quietly(removeItem(jail, folder, name));
  };
  yield* readTrash(jail, removeEach, undefined);
  yield* jail.staging.removeFolder(TRASH);
}

/** Runs work in the trash; where there is none, or it cannot be reached, it counts as empty. */
function* readTrash<T>(jail: Jail, work: (jail: Jail, folder: Pinned) => Io<T>, missing: T): Io<T> {
  if (jail.isClosing) return missing;
  const folder = yield* quietly(jail.staging.folder(TRASH, false));
  if (folder === undefined) return missing;
  try {
    return (yield* quietly(finishWithReserve(work(jail, folder)))) ?? missing;
  } finally {
    release(folder);
  }
}

function* listItems(jail: Jail, folder: Pinned, isListed: (name: string) => boolean): Io<TrashItem[]> {
  const items: TrashItem[] = [];
  for (const entry of yield* jail.sys.names(folder)) {
    const name = nameOf(entry);
    if (!isListed(name.name)) continue;
    const stat = yield* examine(jail.sys, folder, name);
    if (stat === undefined) continue;
    const size = stat.isFile() ? stat.size : 0;
    items.push({ name: name.name, kind: kindOf(stat), size, changed: stat.changedMs });
  }
  return items;
}

function* openItem(
  jail: Jail,
  folder: Pinned,
  { names, version }: { readonly names: readonly string[]; readonly version: string | undefined },
): Io<OpenFile | "missing" | "altered"> {
  const found = yield* findBelow(jail, folder, names);
  if (found === undefined) return "missing";
  const { object } = found;
  try {
    if (!object.stat.isFile() || (version !== undefined && object.stat.version !== version)) return "altered";
    const fd = yield* jail.handles.reopen(object, READ);
    return new HostFile(jail, { fd, stat: object.stat });
  } finally {
    found.close();
  }
}

function* lookAt(jail: Jail, folder: Pinned, names: readonly string[]): Io<KeptState | undefined> {
  const found = yield* findBelow(jail, folder, names);
  if (found === undefined) return undefined;
  const { object } = found;
  try {
    const state = { ...stateOf(object.stat), kind: kindOf(object.stat) };
    if (!object.stat.isDirectory()) return state;
    return { ...state, names: (yield* jail.sys.names(object)).map((entry) => nameOf(entry).name) };
  } finally {
    found.close();
  }
}

function* measureItem(
  jail: Jail,
  folder: Pinned,
  { name, onlyFreed }: { readonly name: string; readonly onlyFreed: boolean },
): Io<Amount> {
  const item = yield* jail.handles.enter(folder, name);
  if (typeof item === "string") {
    const stat = yield* jail.sys.lstat(below(folder, name));
    return onlyFreed ? freedBy(stat) : { bytes: stat?.size ?? 0, files: 1 };
  }
  try {
    return yield* countTree(jail, item, onlyFreed);
  } finally {
    release(item);
  }
}

/** Removes an item by way of the staging directory: if this process dies meanwhile, a sweep removes the rest. */
export function* removeItem(jail: Jail, folder: Pinned, name: string): Io<void> {
  const stage = yield* jail.staging.open(jail.top);
  try {
    const free = jail.staging.newName(stage);
    yield* moveBelow(jail, { directory: folder, name }, { directory: stage.directory, name: free });
    yield* jail.staging.purge(stage, free);
  } finally {
    stage.release();
  }
}

/** Looks at a path. @throws ABORTED if the jail is closing: the next start then completes the journal entry */
function* lookAtPresent(
  jail: Jail,
  path: readonly string[],
  part: Part | undefined,
): Io<Present | "missing" | "unknown"> {
  try {
    return yield* finishWithReserve(presentAt(jail, path, part));
  } catch (error) {
    const isRefused = errnoOf(error) !== undefined || error instanceof FileAdapterError;
    if (jail.isClosing || !isRefused) throw error;
    return "unknown";
  }
}

function* presentAt(jail: Jail, path: readonly string[], part: Part | undefined): Io<Present | "missing"> {
  if (path.length === 0) return { kind: "directory", state: stateOf(jail.top.stat) };
  const opened = yield* directoryFinder(jail)(path);
  if (opened === undefined) return "missing";
  try {
    const name = path.at(-1) ?? "";
    return (
      (yield* withPinned(jail.handles.pin(opened.directory, name), (object) => describe(jail, object, part))) ??
      "missing"
    );
  } finally {
    opened.close();
  }
}

function* describe({ handles, sys }: Jail, object: Pinned, part: Part | undefined): Io<Present> {
  const found = { kind: kindOf(object.stat), state: stateOf(object.stat) };
  if (part === undefined || !object.stat.isFile()) return found;
  const partSha256 = yield* withOpen(handles.reopen(object, READ), (fd) => hashOpen(sys, fd, part));
  return { ...found, partSha256 };
}
