// A drive as it was at one moment, to be read.

import { cellOf } from "../../cad3/encoding/cell.js";
import { type CellPool, type CellScope, createScope } from "../cells.js";
import { entriesAt, fetchFiles, readAt, statAt, type Tree } from "../content/tree-read.js";
import type { DriveReader } from "../drives.js";
import { withExplainedErrors } from "../fault.js";
import { drivesOf, type PinnedState } from "../state.js";
import { isLive } from "./lifetime.js";

/** Most cells that the reads of one snapshot keep for each other; what they load is in the pool too, which is bounded. */
const MAX_KEPT_CELLS = 512;

/** @param pinned released with the snapshot */
export async function snapshotOf(
  drive: string,
  { state, release }: PinnedState,
  { pool }: { readonly pool: CellPool },
): Promise<DriveReader> {
  const overlay = state.merged.size === 0 ? undefined : { find: (hash: string) => state.merged.get(hash) };
  const newScope = (): CellScope => createScope(pool, overlay);
  const scope = newScope();
  const root = (await drivesOf(state, scope)).get(drive);
  const ref = (await scope.run(() => isLive(root))) && root !== undefined ? cellOf(root).ref : undefined;
  let isOpen = true;
  let tree: Tree | undefined;
  const opened = async (): Promise<Tree> => {
    if (tree === undefined || tree.scope.size > MAX_KEPT_CELLS) {
      const own = newScope();
      tree = { root: ref === undefined ? undefined : await own.open(ref), scope: own };
    }
    return tree;
  };
  const at = <T>(path: readonly string[], read: (tree: Tree) => Promise<T>): Promise<T> =>
    withExplainedErrors({ drive, path }, async () => {
      if (!isOpen) throw new TypeError("The snapshot of the drive has been released");
      return read(await opened());
    });
  return {
    stat: (path) => at(path, (tree) => statAt(tree, path)),
    entries: (path) => at(path, (tree) => entriesAt(tree, path)),
    // Errors are those of the reads that follow.
    fetch: (paths) => at([], (tree) => fetchFiles(tree, paths)).catch(() => undefined),
    readFile: (path, offset, length, into) => at(path, (tree) => readAt(tree, path, { offset, length, into })),
    release() {
      isOpen = false;
      release();
    },
  };
}
