import { cellOf } from "../../cad3/encoding/cell.js";
import { hashOfRef, isBranch, refOf, sameBytes } from "../../cad3/ref.js";
import type { NodeLimits } from "../../dlfs/check-node.js";
import { mergeSteps } from "../../dlfs/merge.js";
import { isDriveName } from "../../dlfs/name.js";
import { notANode } from "../../dlfs/node.js";
import { driveError } from "../../error.js";
import type { CellLedger } from "../cell-ledger.js";
import { reach } from "../cells.js";
import { quotaExceeded } from "../fault.js";
import { drivesIn, type Found, findDrives, type NamedDrive } from "../found-drives.js";
import { type Draft, type EngineParts, type OwnerQueue, REPEATABLE } from "../owner-queue.js";
import { createTurn } from "../turns.js";
import { type PutBytes, putTo } from "../write-set.js";
import { readCellStream, type StreamCount } from "./cell-stream.js";
import { checkCells } from "./check-cells.js";
import { checkTree, type PlainTree } from "./check-tree.js";
import { createImportCells, type ImportCells } from "./import-cells.js";
import { createIntake } from "./intake.js";

export interface ImportOptions {
  /** Where one drive goes, which may be new; needed for a drive without a signature and for those of another owner. */
  readonly drive?: string;
  /** The one drive of several that is imported; left out, all of them or the only one. */
  readonly from?: string;
  /** Written by the reference software, where overwriting a file does not change its time. */
  readonly source?: "reference";
  /** How far in the future times may lie, in milliseconds. */
  readonly futureSkewMs?: number;
}

export interface ImportReport {
  /** That something was imported into. */
  readonly drives: readonly string[];
  readonly bytes: number;
  readonly cells: number;
  /** Entries that were left out, since their signature is not good. */
  readonly refused: number;
}

const DEFAULT_SKEW_MS = 600_000;

/**
 * Imports files of cells: all or nothing. Cells go into the store while they come, and are checked there, one after the other,
 * before the drives are touched; those of an import that fails are collected some time.
 *
 * @param files all parts of one export, in their order; told that no more is read of them, however it ends
 * @throws BAD_FORMAT, UNSUPPORTED_CELL, MISSING_CELL, LIMIT, INVALID_PATH, FUTURE_TIME, TOO_LARGE, KEY_REQUIRED
 * @throws NOT_FOUND when the drive to be imported is not there; QUOTA_EXCEEDED, CONFLICT, READ_ONLY_ROOT
 */
export async function importFiles(
  files: readonly AsyncIterable<Uint8Array>[],
  options: ImportOptions,
  { did, queue, parts }: { readonly did: string; readonly queue: OwnerQueue; readonly parts: EngineParts },
): Promise<ImportReport> {
  const batch = parts.store.batch();
  const put = putTo(batch);
  const count = { bytes: 0, cells: 0 };
  const { top, ledger } = await readFiles(files, { put, parts, count });
  if (isBranch(refOf(top))) await put(hashOfRef(refOf(top)), top);
  await reach(() => batch.flush());
  const cells = createImportCells(parts.store, withTop(ledger, top));
  await checkCells(top, cells, parts.limits);
  const found = await findDrives(top, cells);
  const chosen = await choose(found, options, { cells, accounts: await parts.keys.accounts(did) });
  const incoming: Incoming[] = [];
  for (const { name, root } of chosen) {
    if (!isDriveName(name)) throw driveError("INVALID_PATH", "A drive that is imported has a name that is none");
    incoming.push({ name, ...(await checkTree(root, { cells, put, limits: limitsFor(options, parts) })) });
  }
  // Those that have been made anew, without metadata.
  await reach(() => batch.flush());
  const names = new Set(incoming.map(({ name }) => name));
  const [first = ""] = names;
  await queue.change(options.drive ?? first, async (draft) => {
    await mergeAll(draft, incoming, { options, parts });
    return REPEATABLE;
  });
  return { drives: [...names], ...count, refused: found.refused };
}

/** A drive that came and has been checked, and where it goes; drives of several keys may have one name. */
interface Incoming extends PlainTree {
  readonly name: string;
}

interface Reading {
  readonly put: PutBytes;
  readonly parts: EngineParts;
  readonly count: StreamCount;
}

interface Read {
  readonly top: Uint8Array;
  readonly ledger: Pick<CellLedger, "lengthOf">;
}

/** The top, which the last file begins with; what belongs to it has been put. */
async function readFiles(files: readonly AsyncIterable<Uint8Array>[], reading: Reading): Promise<Read> {
  const { put, parts, count } = reading;
  const intake = createIntake(put);
  const turn = createTurn();
  const streams = files.map((file) => readCellStream(file, parts.limits, count));
  let top: Uint8Array | undefined;
  try {
    // The last one first: so that it is known what is wanted of the others.
    for (const stream of streams.toReversed()) {
      if (top === undefined) {
        top = await stream.top();
        count.cells += 1;
        await intake.begin(top);
      }
      for (let cell = await stream.next(); cell !== undefined; cell = await stream.next()) {
        await intake.add(cell);
        // A source that has everything at hand never waits.
        await turn();
      }
    }
  } finally {
    await Promise.allSettled(streams.map((stream) => stream.end()));
  }
  if (top === undefined) throw notANode("there is no file to import");
  intake.end();
  return { top, ledger: intake.ledger };
}

/** The top has come too. */
function withTop(ledger: Read["ledger"], top: Uint8Array): Read["ledger"] {
  const hash = hashOfRef(refOf(top));
  return { lengthOf: (wanted) => ledger.lengthOf(wanted) ?? (sameBytes(wanted, hash) ? 0 : undefined) };
}

interface Choosing {
  readonly cells: ImportCells;
  /** Keys of the owner. */
  readonly accounts: readonly string[];
}

/** Drives of the owner keep their names; of another owner one is copied, to where the caller says. */
async function choose(found: Found, { drive, from }: ImportOptions, choosing: Choosing): Promise<NamedDrive[]> {
  const { cells, accounts } = choosing;
  if (found.root !== undefined) {
    if (drive === undefined)
      throw driveError("KEY_REQUIRED", "A drive without a signature is imported into a named drive");
    return [{ name: drive, root: found.root }];
  }
  const own = found.signed.filter(({ account }) => accounts.includes(account));
  if (drive === undefined && own.length === 0) {
    throw driveError("KEY_REQUIRED", "The drives are signed by another key than those of their owner here");
  }
  const all = await drivesIn(own.length > 0 ? own : found.signed, cells);
  if (drive === undefined && from === undefined) return all;
  const wanted = from ?? (all.length === 1 ? all[0]?.name : drive);
  const one = all.find(({ name }) => name === wanted);
  if (one === undefined) throw driveError("NOT_FOUND", "There is no such drive to import");
  return [{ name: drive ?? one.name, root: one.root }];
}

function limitsFor({ futureSkewMs = DEFAULT_SKEW_MS }: ImportOptions, { limits, clock }: EngineParts): NodeLimits {
  const { maxFileBytes, maxEntries, maxPathDepth, maxImportEntries, maxImportLogicalBytes } = limits;
  const latestUtime = clock.nowMs() + futureSkewMs;
  return { maxFileBytes, maxEntries, maxPathDepth, maxImportEntries, maxImportLogicalBytes, latestUtime };
}

interface Merging {
  readonly options: ImportOptions;
  readonly parts: EngineParts;
}

async function mergeAll(draft: Draft, incoming: readonly Incoming[], merging: Merging): Promise<void> {
  const { options, parts } = merging;
  const importRule = options.source === "reference" ? "parent-time" : undefined;
  const before = draft.drives;
  let [isAllNew, newBytes] = [true, 0];
  for (const { name, ref, extent } of incoming) {
    const [ours, theirs] = [draft.drives.get(name) ?? null, await draft.scope.open(ref)];
    const root =
      ours === null ? theirs : await draft.scope.runSteps(mergeSteps(ours, theirs, { ties: "hash", importRule }));
    const [used, limit] = [draft.drives.size, parts.limits.maxDrives];
    if (ours === null && used >= limit) throw quotaExceeded(name, { used, limit, requested: 1, unit: "drives" });
    if (ours === null || !sameBytes(cellOf(root).ref, cellOf(ours).ref)) draft.drives = draft.drives.with(name, root);
    isAllNew &&= ours === null;
    newBytes += extent.bytes;
  }
  // Has been counted, and would have to be read once more.
  if (isAllNew) parts.usage.learn(draft.drives, newBytes + (await parts.usage.bytesIn(before, draft.overlay)));
}
