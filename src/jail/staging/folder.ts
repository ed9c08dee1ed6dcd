// Private folders inside the staging directory, such as the trash.

import type { Io } from "../../core/io.js";
import { RESERVED_NAME } from "../../path/grammar.js";
import { below, CREATE, type Pinned, release } from "../handles.js";
import { closeNow, quietly, type Sys, succeeds } from "../sys.js";
import type { WalkRoot } from "../walk/walk-options.js";

/** Folder of what was deleted or replaced, for those who keep it. */
export const TRASH = "trash";
/** Keeps the staging directory out of what Git adds. */
const GIT_RULES = ".gitignore";

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
    if (yield* succeeds(sys.mkdir(below(stage, name), 0o700))) yield* quietly(hideFromGit(sys, stage));
    folder = yield* handles.enter(stage, name);
  } else if (create) {
    yield* quietly(mendGitRules(sys, stage));
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

/** Removes a folder if it is empty. */
export function* removeEmptyFolder({ sys }: FolderRoot, stage: Pinned, name: string): Io<void> {
  if (yield* succeeds(sys.rmdir(below(stage, name)))) yield* quietly(sys.unlink(below(stage, GIT_RULES)));
}

function* hideFromGit(sys: Sys, stage: Pinned): Io<void> {
  const path = below(stage, GIT_RULES);
  const fd = yield* sys.open(path, CREATE, 0o600);
  try {
    yield* sys.writeAll(fd, Buffer.from("*\n"));
  } catch (error) {
    yield* quietly(sys.unlink(path));
    throw error;
  } finally {
    closeNow(fd);
  }
}

/** A full disk, or a crash, can leave it empty. */
function* mendGitRules(sys: Sys, stage: Pinned): Io<void> {
  const path = below(stage, GIT_RULES);
  if ((yield* sys.lstat(path))?.size !== 0) return;
  yield* sys.unlink(path);
  yield* hideFromGit(sys, stage);
}

/** Others must not read what lies in it; a folder that came with a repository may let them. */
function* isPrivate(sys: Sys, { path, stat }: Pinned): Io<boolean> {
  return (stat.mode & 0o077) === 0 || (yield* succeeds(sys.chmod(path, 0o700)));
}
