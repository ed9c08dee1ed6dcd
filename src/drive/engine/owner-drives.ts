import { adapterError } from "../../core/errors/errors.js";
import { escapeText } from "../../core/errors/texts.js";
import { cellOf } from "../cad3/encoding/cell.js";
import type { CadMap } from "../cad3/maps/hash-map.js";
import type { Value } from "../cad3/value.js";
import { createDrive, deleteDrive, isDeletedDrive } from "../dlfs/lifetime.js";
import { compareNames, isDriveName } from "../dlfs/name.js";
import { directoryOf } from "../dlfs/node.js";
import { driveError } from "../error.js";
import { exportInHex } from "../keys/owner-keys.js";
import { type CellScope, createScope, loadIndex, type Overlay } from "./cells.js";
import { DriveEdit } from "./change.js";
import { entriesAt, readAt, statAt, type Tree } from "./content/tree-read.js";
import type { DriveChange, DriveSnapshot, StagedContent } from "./drives.js";
import { type ExportOptions, type ExportPiece, exportPieces } from "./exchange/export.js";
import { type ImportOptions, type ImportReport, importFiles } from "./exchange/import.js";
import { type VerifyReport, verifyTree } from "./exchange/verify.js";
import { explained, guarded, isDamage, quotaExceeded } from "./fault.js";
import { type Draft, type EngineParts, type OwnerQueue, REPEATABLE } from "./owner-queue.js";
import { stageContent } from "./stage.js";
import { drivesOf, type PinnedState } from "./state.js";

/** The drives of one user. Every method throws STORE_UNAVAILABLE, STORE_DAMAGED; every change READ_ONLY_ROOT, CONFLICT. */
export interface OwnerDrives {
  /** By the bytes of the names, without deleted ones. */
  list(): Promise<readonly string[]>;
  /** @returns false when it is there @throws INVALID_PATH, QUOTA_EXCEEDED */
  create(drive: string): Promise<boolean>;
  /** @returns false when it is not there @throws INVALID_PATH */
  delete(drive: string): Promise<boolean>;
  /** The drive as it is now, kept until released. @throws INVALID_PATH */
  read(drive: string): Promise<DriveSnapshot>;
  /**
   * Makes one change: all that `work` does, at once, durable when resolved; a drive that is not there is created with
   * the first thing put in it. Nothing is kept when `work` throws. Changes of one owner are made one after the other, so those
   * behind it wait for content that is still on its way: {@link stage} it before. `work` is run again where another process
   * was faster, unless it has used up a stream: then the two are merged.
   */
  change<T>(drive: string, work: (drive: DriveChange) => Promise<T>): Promise<T>;
  /**
   * Takes in content before the change that it is for. It is no part of any drive yet, and is collected when it never becomes one.
   *
   * @throws TOO_LARGE, and what the content throws
   */
  stage(content: AsyncIterable<Uint8Array>): Promise<StagedContent>;
  /** The drives as files of cells, while they are read. @throws NOT_FOUND, LIMIT */
  exportDrive(options?: ExportOptions): AsyncIterable<ExportPiece>;
  /**
   * Merges what an export holds into the drives; all or nothing.
   *
   * @param files all parts of one export, in their order
   * @throws what {@link importFiles} does
   */
  importDrive(files: readonly AsyncIterable<Uint8Array>[], options?: ImportOptions): Promise<ImportReport>;
  /** The key that signs the drives, in hex. @throws NOT_FOUND, READ_ONLY_ROOT */
  exportKey(): Promise<{ readonly publicKey: string; readonly seed: string }>;
  /**
   * Reads a whole drive and says what is damaged. @throws INVALID_PATH
   * @param onStep called before each part that is read; what it throws ends the reading
   */
  verify(drive: string, onStep?: (seen: VerifyReport) => void): Promise<VerifyReport>;
}

/** Longest run of the work of one change: those behind it wait. */
const MAX_WORK_MS = 600_000;

/** @param queue of the owner, asked for with every call since it is not kept for ever */
export function createOwnerDrives(did: string, queue: () => OwnerQueue, parts: EngineParts): OwnerDrives {
  return {
    list: async () => guarded(NO_SPOT, () => withDrives(queue(), parts, listLive)),
    create: async (drive) => createOne(drive, queue(), parts),
    delete: async (drive) => deleteOne(drive, queue()),
    read: async (drive) => readOne(drive, queue(), parts),
    exportDrive: (options = {}) => exportAll(did, options, { queue, parts }),
    importDrive: async (files, options = {}) => importFiles(files, options, { did, queue: queue(), parts }),
    exportKey: () => guarded(NO_SPOT, () => exportInHex(did, parts.keys)),
    verify: async (drive, onStep) => verifyOne(drive, { queue: queue(), parts, onStep }),
    stage: (content) => stageContent(content, parts),
    async change<T>(drive: string, work: (drive: DriveChange) => Promise<T>) {
      checkDrive(drive);
      // In a box, since what it returns may be anything.
      const box: { result?: { readonly value: T } } = {};
      await queue().change(drive, async (draft) => {
        const { value, isRepeatable } = await changeOne(drive, draft, { parts, work });
        box.result = { value };
        return { isRepeatable };
      });
      if (box.result === undefined) throw new TypeError("A change that was made has a result");
      return box.result.value;
    },
  };
}

const NO_SPOT = { drive: "", path: [] };

function checkDrive(drive: string): void {
  if (!isDriveName(drive)) throw driveError("INVALID_PATH", `Invalid drive name '${escapeText(drive)}'`);
}

/** Whether there is a drive: one that is deleted and one that is nil are not. Synchronous, so to be run by the scope. */
const isLive = (root: Value | undefined): root is NonNullable<Value> =>
  root !== undefined && root !== null && !isDeletedDrive(root);

async function withDrives<T>(
  queue: OwnerQueue,
  { pool }: EngineParts,
  use: (drives: CadMap, scope: CellScope, overlay: Overlay) => Promise<T>,
): Promise<T> {
  const { state, release } = await queue.load({ mayBeStale: true });
  try {
    const overlay = { find: (hash: string) => state.merged.get(hash) };
    const scope = createScope(pool, overlay);
    return await use(await drivesOf(state, scope), scope, overlay);
  } finally {
    release();
  }
}

/** A drive whose root is damaged is listed: it is there, and reading it says what is wrong. */
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

async function createOne(drive: string, queue: OwnerQueue, { limits }: EngineParts): Promise<boolean> {
  checkDrive(drive);
  let created = false;
  await queue.change(drive, async (draft) => {
    const previous = draft.drives.get(drive) ?? null;
    created = false;
    if (await draft.scope.run(() => isLive(previous))) return REPEATABLE;
    await loadRoot(previous, draft.scope);
    const root = await draft.scope.run(() => createDrive(previous, draft));
    putRoot(draft, drive, { root, maxDrives: limits.maxDrives });
    created = true;
    return REPEATABLE;
  });
  return created;
}

async function deleteOne(drive: string, queue: OwnerQueue): Promise<boolean> {
  checkDrive(drive);
  let deleted = false;
  await queue.change(drive, async (draft) => {
    const previous = draft.drives.get(drive) ?? null;
    deleted = false;
    if (!(await draft.scope.run(() => isLive(previous)))) return REPEATABLE;
    await loadRoot(previous, draft.scope);
    draft.drives = draft.drives.with(drive, await draft.scope.run(() => deleteDrive(previous, draft)));
    deleted = true;
    return REPEATABLE;
  });
  return deleted;
}

/** Everything right below a root, which is gone through. */
async function loadRoot(root: Value, scope: CellScope): Promise<void> {
  if (root !== null) await loadIndex((await scope.run(() => directoryOf(root))).entries, scope);
}

function putRoot(draft: Draft, drive: string, { root, maxDrives }: { root: Value; maxDrives: number }): void {
  const used = draft.drives.size;
  if (draft.drives.get(drive) === undefined && used >= maxDrives) {
    throw quotaExceeded(drive, { used, limit: maxDrives, requested: 1, unit: "drives" });
  }
  draft.drives = draft.drives.with(drive, root);
}

interface Exporting {
  readonly queue: () => OwnerQueue;
  readonly parts: EngineParts;
}

interface Work<T> {
  readonly parts: EngineParts;
  readonly work: (drive: DriveChange) => Promise<T>;
}

async function changeOne<T>(
  drive: string,
  draft: Draft,
  { parts: { limits }, work }: Work<T>,
): Promise<{ value: T; isRepeatable: boolean }> {
  const { scope, writes, at, drives } = draft;
  const previous = drives.get(drive) ?? null;
  const isDeleted = await scope.run(() => previous !== null && isDeletedDrive(previous));
  const edit = new DriveEdit({ drive, at, scope, limits, previous, isDeleted, put: writes.put });
  const before = edit.root;
  try {
    const value = await withDeadline(work(edit), MAX_WORK_MS);
    if (edit.root !== undefined && edit.root !== before) {
      putRoot(draft, drive, { root: edit.root, maxDrives: limits.maxDrives });
    }
    return { value, isRepeatable: edit.isRepeatable };
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
  { queue, parts }: Exporting,
): AsyncGenerator<ExportPiece> {
  const { state, release } = await queue().load({ mayBeStale: false });
  try {
    yield* exportPieces({ did, state, parts }, options);
  } catch (error) {
    throw explained(error, { drive: options.drive ?? "", path: [] });
  } finally {
    release();
  }
}

interface Verifying {
  readonly queue: OwnerQueue;
  readonly parts: EngineParts;
  readonly onStep: ((seen: VerifyReport) => void) | undefined;
}

async function verifyOne(drive: string, { queue, parts, onStep }: Verifying): Promise<VerifyReport> {
  checkDrive(drive);
  return guarded({ drive, path: [] }, () =>
    withDrives(queue, parts, async (drives, _, overlay) => {
      const root = drives.get(drive) ?? null;
      return verifyTree(cellOf(root ?? createDrive(null, { at: 0 })).ref, { store: parts.store, overlay, onStep });
    }),
  );
}

async function readOne(drive: string, queue: OwnerQueue, parts: EngineParts): Promise<DriveSnapshot> {
  checkDrive(drive);
  return guarded({ drive, path: [] }, async () => {
    const pinned = await queue.load({ mayBeStale: true });
    try {
      return await snapshotOf(drive, pinned, parts);
    } catch (error) {
      pinned.release();
      throw error;
    }
  });
}

/** Each read opens the tree anew: what has been looked into is kept in the pool, which has a limit. */
async function snapshotOf(
  drive: string,
  { state, release }: PinnedState,
  { pool }: EngineParts,
): Promise<DriveSnapshot> {
  const newScope = (): CellScope => createScope(pool, { find: (hash) => state.merged.get(hash) });
  const scope = newScope();
  const root = (await drivesOf(state, scope)).get(drive);
  const ref = (await scope.run(() => isLive(root))) && root !== undefined ? cellOf(root).ref : undefined;
  let isOpen = true;
  const at = <T>(path: readonly string[], read: (tree: Tree) => Promise<T>): Promise<T> =>
    guarded({ drive, path }, async () => {
      if (!isOpen) throw new TypeError("The snapshot of the drive has been released");
      const own = newScope();
      return read({ root: ref === undefined ? undefined : await own.open(ref), scope: own });
    });
  return {
    stat: (path) => at(path, (tree) => statAt(tree, path)),
    entries: (path) => at(path, (tree) => entriesAt(tree, path)),
    readFile: (path, offset, length) => at(path, (tree) => readAt(tree, path, { offset, length })),
    release() {
      isOpen = false;
      release();
    },
  };
}
