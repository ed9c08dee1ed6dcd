// Private folders inside the staging directory, such as the trash, which stay open for a while for changes that follow each other;
// and how version control is kept away from all of it.

import type { Io } from "../../core/io.js";
import { RESERVED_NAME } from "../../path/grammar.js";
import { below, CREATE, type Pinned, release } from "../handles.js";
import { closeNow, quietly, type Sys, succeeds } from "../sys.js";
import type { WalkRoot } from "../walk/walk-options.js";

/** Folder of what was deleted or replaced, for those who keep it. */
export const TRASH = "trash";
/** Git ignores all in the staging directory, and this file too. */
const GIT_RULES = ".gitignore";
/** Mercurial takes a directory that holds one for another repository. Git and people see an empty directory. */
const HG_MARK = ".hg";

type FolderRoot = Pick<WalkRoot, "handles" | "sys" | "top">;

/** Whether a directory belongs to the user of this process. */
export const isOurs = (directory: Pinned): boolean =>
  directory.stat.uid === (process.geteuid?.() ?? directory.stat.uid);

/** Enters a folder of the staging directory, or makes it. `undefined`: there is none, or it is not genuine. */
export function* enterFolder(
  { handles, sys, top }: FolderRoot,
  stage: Pinned,
  { name, create }: { readonly name: string; readonly create: boolean },
): Io<Pinned | undefined> {
  let folder = yield* handles.enter(stage, name);
  if (folder === "missing" && create) {
    yield* quietly(sys.mkdir(below(stage, name), 0o700));
    folder = yield* handles.enter(stage, name);
  }
  if (typeof folder === "string") return undefined;
  const isGenuine = isOurs(folder) && folder.stat.device === top.stat.device;
  if (isGenuine && (yield* isPrivate(sys, folder))) return folder;
  release(folder);
  return undefined;
}

/** Whether a folder of the staging directory is there and genuine, or could be made. Makes nothing. */
export function* hasFolder({ handles, sys, top }: FolderRoot, name: string): Io<boolean> {
  let parent: Pinned = top;
  try {
    for (const one of [RESERVED_NAME, name]) {
      const folder = yield* handles.enter(parent, one);
      if (folder === "missing") return yield* sys.mayWrite(parent);
      if (folder === "not a directory") return false;
      if (parent !== top) release(parent);
      parent = folder;
      if (!isOurs(folder) || folder.stat.device !== top.stat.device) return false;
    }
    return true;
  } finally {
    if (parent !== top) release(parent);
  }
}

/**
 * Hides the staging directory from version control. One look where it is hidden already; a full disk or a crash can leave
 * the rules empty.
 */
export function* hideFromVersions(sys: Sys, stage: Pinned): Io<void> {
  const path = below(stage, GIT_RULES);
  const there = yield* sys.lstat(path);
  if (there !== undefined && there.size !== 0) return;
  if (there !== undefined) yield* sys.unlink(path);
  const fd = yield* sys.open(path, CREATE, 0o600);
  try {
    yield* sys.writeAll(fd, Buffer.from("*\n"));
  } catch (error) {
    yield* quietly(sys.unlink(path));
    throw error;
  } finally {
    closeNow(fd);
  }
  yield* quietly(sys.mkdir(below(stage, HG_MARK), 0o700));
}

/** Removes what hides the staging directory, and then the directory itself, if nothing else is in it. */
export function* removeStage({ sys, top }: FolderRoot, stage: Pinned): Io<void> {
  const names = (yield* quietly(sys.names(stage))) ?? [];
  if (names.some(({ name }) => name !== GIT_RULES && name !== HG_MARK)) return;
  yield* quietly(sys.rmdir(below(stage, HG_MARK)));
  yield* quietly(sys.unlink(below(stage, GIT_RULES)));
  if (!(yield* succeeds(sys.rmdir(below(top, RESERVED_NAME))))) yield* hideFromVersions(sys, stage);
}

/** Others must not read what lies in it; a folder that came with a repository may let them. */
function* isPrivate(sys: Sys, { path, stat }: Pinned): Io<boolean> {
  return (stat.mode & 0o077) === 0 || (yield* succeeds(sys.chmod(path, 0o700)));
}

/** After this time (ms) a folder is looked for and judged again. */
const FRESH_MS = 1000;

export interface FolderUse {
  readonly directory: Pinned;
  release(): void;
}

export class HeldFolders {
  readonly #held = new Map<string, HeldFolder>();

  /** @param open looks for the folder @param isAnew even if one is open, since that seems to be gone */
  *use(name: string, open: () => Io<Pinned | undefined>, isAnew: boolean): Io<FolderUse | undefined> {
    const held = this.#held.get(name);
    if (held?.isFresh === true && !isAnew) return held.use();
    this.retire(name);
    const directory = yield* open();
    if (directory === undefined) return undefined;
    const made = new HeldFolder(directory);
    const use = made.use();
    // A path, unlike a handle, may lead elsewhere by the next time; and another call may have opened the folder meanwhile.
    if (directory.fd < 0 || this.#held.has(name)) made.retire();
    else this.#hold(name, made);
    return use;
  }

  #hold(name: string, made: HeldFolder): void {
    this.#held.set(name, made);
    setTimeout(() => {
      if (this.#held.get(name) === made) this.retire(name);
    }, FRESH_MS).unref();
  }

  /** Closes a folder once nobody uses it. */
  retire(name: string): void {
    this.#held.get(name)?.retire();
    this.#held.delete(name);
  }
}

class HeldFolder {
  readonly #directory: Pinned;
  readonly #openedMs = performance.now();
  #users = 0;
  #isRetired = false;

  constructor(directory: Pinned) {
    this.#directory = directory;
  }

  get isFresh(): boolean {
    return performance.now() - this.#openedMs < FRESH_MS;
  }

  use(): FolderUse {
    this.#users += 1;
    let isUsed = true;
    return {
      directory: this.#directory,
      release: () => {
        if (!isUsed) return;
        isUsed = false;
        this.#users -= 1;
        this.#closeUnused();
      },
    };
  }

  retire(): void {
    this.#isRetired = true;
    this.#closeUnused();
  }

  #closeUnused(): void {
    if (this.#isRetired && this.#users === 0) release(this.#directory);
  }
}
