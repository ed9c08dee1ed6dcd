// A clone of a mounted tree in the trash of its root: the source of entries that a command replaces or deletes.
//
// The clone is made from what a scan has seen, so nothing denied is in it. After the command each file or tree that is to be
// kept is renamed out of it, under the name that the journal gives it; the rest is removed.

import type { Io } from "../../../core/io.js";
import type { NotUndoable } from "../../../core/ports/changes/journal.js";
import type { Kept } from "../../../core/ports/changes/journal-writer.js";
import { below, enterBelow, type Pinned, release } from "../../../jail/handles.js";
import type { Jail } from "../../../jail/jail.js";
import { TRASH } from "../../../jail/staging/folder.js";
import { quietly } from "../../../jail/sys.js";
import { setTime } from "../../../jail/times.js";
import { describeKept } from "../history/keep.js";
import { putInTrash, removeItem } from "../history/trash.js";
import { cloneTree } from "./clone-tree.js";
import { isIn, nameOf, parentOf, type RunPlace, type Scan } from "./scan.js";

/** Limits of a snapshot where blocks of files can be shared (reflink), and where they have to be copied. */
const SNAPSHOT_LIMITS = { sharedFiles: 20_000, copiedFiles: 2_000, copiedBytes: 67_108_864 } as const;

const ALL_BITS = 0o7777;
const OWN_ALL = 0o700;

/** @returns why there is none, if there is none @throws ABORTED, TIMEOUT */
export function* takeSnapshot(place: RunPlace, scan: Scan): Io<TreeSnapshot | NotUndoable> {
  const { jail, journal } = place;
  if (journal.mode === "metadata") return "off";
  if (!scan.isComplete) return "visited";
  let [files, bytes] = [0, 0];
  for (const { kind, size } of scan.entries.values()) {
    if (kind !== "file") continue;
    files += 1;
    bytes += size;
  }
  if (files > SNAPSHOT_LIMITS.sharedFiles) return "too_large";
  if (!journal.hasRoom(bytes)) return "quota";
  const isSmall = files <= SNAPSHOT_LIMITS.copiedFiles && bytes <= SNAPSHOT_LIMITS.copiedBytes;
  const name = journal.trashName(journal.newId());
  const snapshot = new TreeSnapshot(jail, { name, scan });
  let isMade = false;
  try {
    const trash = yield* quietly(putInTrash(jail, (use) => snapshot.fill(place, use.directory, isSmall)));
    trash?.release();
    isMade = trash?.result === true;
    if (trash === undefined) return "not_kept";
    return isMade ? snapshot : "too_large";
  } finally {
    if (!isMade) yield* snapshot.drop();
  }
}

/** The clone in the trash. */
export class TreeSnapshot {
  readonly name: string;
  readonly scan: Scan;
  readonly #jail: Jail;
  /** Paths that are not in it. */
  #missing: ReadonlySet<string> = new Set();

  constructor(jail: Jail, { name, scan }: { readonly name: string; readonly scan: Scan }) {
    [this.#jail, this.name, this.scan] = [jail, name, scan];
  }

  /** Clones the tree. @returns `false`: it would have to be copied, and is too large for that */
  *fill({ jail, access, directory }: RunPlace, trash: Pinned, mayCopy: boolean): Io<boolean> {
    yield* jail.sys.mkdir(below(trash, this.name), OWN_ALL);
    const parts = { jail, scope: access.scope, scan: this.scan, source: directory, mayCopy };
    const missing = yield* this.#at(trash, [this.name], (top) => cloneTree({ ...parts, top }));
    if (missing === undefined || missing === "too large") return false;
    this.#missing = missing;
    return true;
  }

  /** Takes what a path held out of the snapshot, for good. @param target its name in the trash */
  *take(path: string, target: string): Io<Kept | undefined> {
    if (!this.#isWhole(path)) return undefined;
    const jail = this.#jail;
    const trash = yield* quietly(
      putInTrash(jail, ({ directory }) =>
        this.#at(directory, [this.name, ...namesIn(parentOf(path))], function* (parent) {
          yield* jail.sys.rename(below(parent, nameOf(path)), below(directory, target));
          return true;
        }),
      ),
    );
    if (trash === undefined) return undefined;
    try {
      if (trash.result !== true) return undefined;
      if (this.scan.entries.get(path)?.kind === "directory") yield* this.#finish(trash.directory, { path, target });
      return yield* describeKept(trash.directory, { jail }, { name: target });
    } finally {
      trash.release();
    }
  }

  /** Removes what a path held: it is elsewhere now. */
  *forget(path: string, target: string): Io<void> {
    yield* this.take(path, target);
    yield* this.#remove(target);
  }

  /** Removes the rest. Never fails. */
  *drop(): Io<void> {
    yield* this.#remove(this.name);
  }

  #isWhole(path: string): boolean {
    for (const one of this.#missing) if (isIn(one, path)) return false;
    return true;
  }

  /** Gives the directories of a tree their permissions and times, now that nothing is taken out of them any more. */
  *#finish(trash: Pinned, { path, target }: { readonly path: string; readonly target: string }): Io<void> {
    const jail = this.#jail;
    const below = [...this.scan.entries].filter(([one, { kind }]) => kind === "directory" && isIn(one, path));
    for (const [one, { mode = OWN_ALL, modified }] of below.reverse()) {
      const names = [target, ...namesIn(one.slice(path.length))];
      yield* quietly(
        this.#at(trash, names, function* (directory) {
          yield* jail.sys.chmod(directory.path, mode & ALL_BITS);
          yield* setTime(jail.sys, directory.path, modified);
        }),
      );
    }
  }

  /** Enters a directory by its names. `undefined`: there is none. */
  *#at<T>(trash: Pinned, names: readonly string[], work: (directory: Pinned) => Io<T>): Io<T | undefined> {
    const reached = yield* enterBelow(this.#jail, trash, names);
    if (reached === undefined) return undefined;
    try {
      return yield* work(reached);
    } finally {
      if (reached !== trash) release(reached);
    }
  }

  *#remove(name: string): Io<void> {
    const jail = this.#jail;
    const trash = yield* quietly(jail.staging.folder(TRASH, false));
    if (trash === undefined) return;
    try {
      yield* quietly(removeItem(jail, trash, name));
    } finally {
      release(trash);
    }
    yield* jail.staging.removeFolder(TRASH);
  }
}

const namesIn = (path: string): string[] => path.split("/").filter(Boolean);
