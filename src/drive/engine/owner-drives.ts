// The drives of one owner: reading, changing, import and export, through the owner's queue.

import { adapterError } from "../../core/errors/errors.js";
import { isPending } from "../../core/io.js";
import type { DriveMaker } from "../../core/ports/changes/change.js";
import type { DriveCheck, DriveImported } from "../../core/ports/drive-shelf.js";
import { cellOf } from "../cad3/encoding/cell.js";
import type { CadMap } from "../cad3/maps/hash-map.js";
import { createDrive, isDeletedDrive } from "../dlfs/lifetime.js";
import { compareNames } from "../dlfs/name.js";
import { exportInHex } from "../keys/owner-keys.js";
import { type CellPool, type CellScope, createScope } from "./cells.js";
import { DriveEdit } from "./change.js";
import { entriesAt, fetchFiles, readAt, statAt, type Tree } from "./content/tree-read.js";
import type { DriveChange, DriveReader, StagedContent } from "./drives.js";
import { type Clamped, clampTimes } from "./exchange/clamp-times.js";
import { type ExportOptions, type ExportPiece, exportPieces } from "./exchange/export.js";
import { type ImportOptions, importFiles } from "./exchange/import.js";
import { type VerifyReport, verifyDrive } from "./exchange/verify.js";
import { explain, isDamage, withExplainedErrors } from "./fault.js";
import { createOwnerLog, type DriveLog } from "./log/owner-log.js";
import { checkDrive, createOne, deleteOne, isLive, putRoot } from "./owner/lifetime.js";
import { resolveNote } from "./owner/resolve-note.js";
import type { Draft, EngineParts, OwnerQueue } from "./owner-queue.js";
import { stageContent } from "./stage-content.js";
import { drivesOf, overlayOf, type PinnedState, withState } from "./state.js";

/**
 * The drives of one owner. Every method throws STORE_UNAVAILABLE and STORE_DAMAGED, every change also READ_ONLY_ROOT
 * and CONFLICT.
 */
export interface OwnerDrives {
  /** Names ordered by their bytes, without deleted drives. */
  list(): Promise<readonly string[]>;
  /** @returns false if it exists @throws INVALID_PATH, QUOTA_EXCEEDED */
  create(drive: string, maker?: DriveMaker): Promise<boolean>;
  /** @returns false if it does not exist @throws INVALID_PATH */
  delete(drive: string, maker?: DriveMaker): Promise<boolean>;
  /** A snapshot of the drive, held until released. @throws INVALID_PATH */
  read(drive: string): Promise<DriveReader>;
  /**
   * Makes one atomic change, durable when resolved; nothing is kept if `work` throws. A drive that does not exist is
   * created with its first entry. Changes of one owner run in sequence and would wait for content that is still
   * arriving: {@link stage} that first. If another process was faster, `work` runs again.
   */
  change<T>(drive: string, work: (drive: DriveChange) => Promise<T>): Promise<T>;
  /**
   * Stores content for a later change. Content that never becomes part of a drive is garbage-collected.
   *
   * @throws TOO_LARGE, and errors of the content stream
   */
  stage(content: AsyncIterable<Uint8Array>): Promise<StagedContent>;
  /** Exports the drives as files of cells, produced while they are read. @throws NOT_FOUND, LIMIT */
  exportDrive(options?: ExportOptions): AsyncIterable<ExportPiece>;
  /**
   * Merges an export into the drives, all or nothing.
   *
   * @param files all parts of one export, in order
   * @param maker of this change, for the log; absent: it has no entry
   * @throws as {@link importFiles}
   */
  importDrive(
    files: readonly AsyncIterable<Uint8Array>[],
    options?: ImportOptions,
    maker?: DriveMaker,
  ): Promise<DriveImported>;
  /** The changes made in the drives, and the content they keep. */
  readonly log: DriveLog;
  /** The key that signs the drives, in hex. @throws NOT_FOUND, READ_ONLY_ROOT */
  exportKey(): Promise<{ readonly publicKey: string; readonly seed: string }>;
  /**
   * Reads a whole drive, and what its log keeps, and reports damage.
   * @param onStep called before each part is read; throwing ends the verification
   * @throws INVALID_PATH
   */
  verify(drive: string, onStep?: (seen: VerifyReport) => void): Promise<DriveCheck>;
  /** Sets times that lie ahead of the clock to now, as one change. @param drive absent: all @throws INVALID_PATH */
  clampTimes(drive?: string): Promise<Clamped>;
}

/** Maximum run time of one change's work, since later changes wait for it. */
const MAX_WORK_MS = 600_000;

/** @param queue returns the owner's current queue; called each time, since queues are not kept */
export function createOwnerDrives(did: string, queue: () => OwnerQueue, parts: EngineParts): OwnerDrives {
  return {
    list: async () =>
      withExplainedErrors(NO_SPOT, () =>
        withState(queue(), parts.pool, async (state, scope) => listLive(await drivesOf(state, scope), scope)),
      ),
    create: async (drive, maker) => createOne(drive, { queue: queue(), parts, maker }),
    delete: async (drive, maker) => deleteOne(drive, { queue: queue(), parts, maker }),
    read: async (drive) => readOne(drive, queue(), parts),
    log: createOwnerLog(queue, parts),
    exportDrive: (options = {}) => exportAll(did, options, { queue, parts }),
    importDrive: async (files, options = {}, maker = undefined) =>
      importFiles(files, options, { did, queue: queue(), parts, maker }),
    exportKey: () => withExplainedErrors(NO_SPOT, () => exportInHex(did, parts.keys)),
    verify: async (drive, onStep) => verifyOne(drive, { queue: queue(), parts, onStep }),
    async clampTimes(drive) {
      if (drive !== undefined) checkDrive(drive);
      return clampTimes(drive, { queue: queue(), parts });
    },
    stage: (content) => stageContent(content, parts),
    async change(drive, work) {
      checkDrive(drive);
      return queue().change(drive, (draft) => changeOne(drive, draft, { parts, work }));
    },
  };
}

const NO_SPOT = { drive: "", path: [] };

/** A drive with a damaged root is listed; reading it reports the damage. */
async function listLive(drives: CadMap, scope: CellScope): Promise<string[]> {
  const names: string[] = [];
  for (const [name, root] of drives) {
    if (typeof name !== "string") continue;
    try {
      if (!(await scope.run(() => isLive(root)))) continue;
    } catch (error) {
      if (!isDamage(error)) throw error;
    }
    names.push(name);
  }
  return names.sort(compareNames);
}

interface Work<T> {
  readonly parts: EngineParts;
  readonly work: (drive: DriveChange) => Promise<T>;
}

async function changeOne<T>(drive: string, draft: Draft, { parts: { limits }, work }: Work<T>): Promise<T> {
  const { scope, writes, at, drives } = draft;
  const previous = drives.get(drive) ?? null;
  const isDeleted = await scope.run(() => previous !== null && isDeletedDrive(previous));
  const edit = new DriveEdit({ drive, at, scope, limits, previous, isDeleted, put: writes.put });
  const before = edit.root;
  try {
    const value = await withDeadline(work(edit), MAX_WORK_MS);
    if (edit.root !== undefined && edit.root !== before) {
      putRoot(draft, drive, { root: edit.root, maxDrives: limits.maxDrives });
      draft.addedBytes = edit.addedBytes;
      // Encoded once: from then on its directories know the Refs of what they hold.
      cellOf(edit.root);
      const ends = [before, edit.root];
      for (const moment of edit.noted) {
        const resolving = resolveNote(moment, { drive, draft, ends });
        draft.notes.push(isPending(resolving) ? await resolving : resolving);
      }
    }
    return value;
  } finally {
    edit.release();
  }
}

async function withDeadline<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(adapterError("TIMEOUT", "The change of the drive took too long")), ms);
    timer.unref();
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function* exportAll(
  did: string,
  options: ExportOptions,
  { queue, parts }: { readonly queue: () => OwnerQueue; readonly parts: EngineParts },
): AsyncGenerator<ExportPiece> {
  const { state, release } = await queue().load({ mayBeStale: false });
  try {
    yield* exportPieces({ did, state, parts }, options);
  } catch (error) {
    throw explain(error, { drive: options.drive ?? "", path: [] });
  } finally {
    release();
  }
}

interface Verifying {
  readonly queue: OwnerQueue;
  readonly parts: EngineParts;
  readonly onStep: ((seen: VerifyReport) => void) | undefined;
}

async function verifyOne(drive: string, { queue, parts, onStep }: Verifying): Promise<DriveCheck> {
  checkDrive(drive);
  const { store, pool } = parts;
  return withExplainedErrors({ drive, path: [] }, () =>
    withState(queue, pool, async (state, scope, overlay) => {
      const root = (await drivesOf(state, scope)).get(drive);
      const { ref } = cellOf((await scope.run(() => isLive(root))) && root ? root : createDrive(null, { at: 0 }));
      return verifyDrive(drive, ref, { store, overlay, roots: [...state.roots.values()], onStep });
    }),
  );
}

async function readOne(drive: string, queue: OwnerQueue, parts: EngineParts): Promise<DriveReader> {
  checkDrive(drive);
  return withExplainedErrors({ drive, path: [] }, async () => {
    const pinned = await queue.load({ mayBeStale: true });
    try {
      return await snapshotOf(drive, pinned, parts);
    } catch (error) {
      pinned.release();
      throw error;
    }
  });
}

/** Most cells that the reads of one snapshot keep for each other; what they load is in the pool too, which is bounded. */
const MAX_KEPT_CELLS = 512;

/** @param pinned released with the snapshot */
async function snapshotOf(
  drive: string,
  { state, release }: PinnedState,
  { pool }: { readonly pool: CellPool },
): Promise<DriveReader> {
  const overlay = state.merged.size === 0 ? undefined : overlayOf(state);
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
