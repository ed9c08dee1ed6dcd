// Imports drives from files of cells.

import type { DriveImported } from "../../../core/ports/drive-shelf.js";
import { isSameValue } from "../../cad3/encoding/cell.js";
import type { CadMap } from "../../cad3/maps/hash-map.js";
import type { Value } from "../../cad3/value.js";
import type { NodeLimits } from "../../dlfs/check-node.js";
import { mergeSteps } from "../../dlfs/merge.js";
import { notANode } from "../../dlfs/node.js";
import { driveError } from "../../error.js";
import { createTurn } from "../../turn.js";
import { callStore } from "../cells.js";
import { drivesIn, type Found, findDrives, type NamedDrive } from "../exported-drives.js";
import { settleIn } from "../owner/change-results.js";
import {
  checkDrive,
  isLive,
  noteWholes,
  type Owning,
  putRoot,
  tellWholes,
  type WholeChange,
} from "../owner/lifetime.js";
import type { Draft, EngineParts } from "../owner-queue.js";
import { putTo } from "../write-set.js";
import { checkCells } from "./check-cells.js";
import { checkTree, type PlainTree } from "./check-tree.js";
import { type Arrived, cellsOf, createIntake, type Intake, type StreamCount } from "./intake.js";
import { createImportCells, type ImportCells } from "./stored-cells.js";

export interface ImportOptions {
  /** Target drive, which may be new; required for an unsigned drive and for those of another owner. */
  readonly drive?: string;
  /** The one drive to import of several; absent: all, or the only one. */
  readonly from?: string;
  /** Written by the reference implementation, where overwriting a file does not change its time. */
  readonly source?: "reference";
}

/**
 * Imports files of cells, all or nothing. Arriving cells are stored and then checked one by one before any drive is
 * changed; those of a failed import are garbage-collected later.
 *
 * @param files all parts of one export, in order; ended in every case
 * @throws BAD_FORMAT, UNSUPPORTED_CELL, MISSING_CELL, LIMIT, INVALID_PATH, FUTURE_TIME, TOO_LARGE, KEY_REQUIRED
 * @throws NOT_FOUND if the drive to import does not exist; QUOTA_EXCEEDED, CONFLICT, READ_ONLY_ROOT
 */
export async function importFiles(
  files: readonly AsyncIterable<Uint8Array>[],
  options: ImportOptions,
  { did, queue, parts, maker }: Owning & { readonly did: string },
): Promise<DriveImported> {
  const batch = parts.store.batch();
  const put = putTo(batch);
  const count = { bytes: 0, cells: 0 };
  const { top, arrived } = await readFiles(files, {
    intake: createIntake(put, parts.limits.maxImportCells),
    parts,
    count,
  });
  await callStore(() => batch.flush());
  const cells = createImportCells(parts.store, arrived);
  await checkCells(top, cells, parts.limits);
  const found = await findDrives(top, cells);
  const chosen = await choose(found, options, { cells, accounts: await parts.keys.accounts(did) });
  const incoming: Incoming[] = [];
  for (const { name, root } of chosen) {
    checkDrive(name);
    const { format } = parts.store;
    incoming.push({ name, ...(await checkTree(root, { cells, put, limits: limitsFor(parts), format })) });
  }
  // Cells rewritten without metadata.
  await callStore(() => batch.flush());
  const names = new Set(incoming.map(({ name }) => name));
  const [first = ""] = names;
  const noted = await queue.change(options.drive ?? first, async (draft) => {
    const before = draft.drives;
    await mergeAll(draft, incoming, { options, parts });
    return maker && noteWholes(draft, maker, await changesOf(draft, before, names));
  });
  tellWholes(maker, noted);
  return { drives: [...names], ...count, refused: found.refused };
}

/** A checked drive and its target; drives of several keys may share a name. */
interface Incoming extends PlainTree {
  readonly name: string;
}

interface Reading {
  readonly intake: Intake;
  readonly parts: EngineParts;
  readonly count: StreamCount;
}

/** @returns the top cell, with which the last file begins; the cells it needs are stored */
async function readFiles(
  files: readonly AsyncIterable<Uint8Array>[],
  { intake, parts: { limits }, count }: Reading,
): Promise<{ readonly top: Uint8Array; readonly arrived: Arrived }> {
  const turn = createTurn();
  let top: Uint8Array | undefined;
  // The last file first: its top cell tells which cells of the others are needed.
  const waiting = [...files];
  try {
    for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
      for await (const cell of cellsOf(file, top === undefined, { limits, count })) {
        if (top === undefined) {
          top = new Uint8Array(cell);
          await intake.begin(top);
        } else await intake.add(cell);
        // A source that never waits would block others.
        await turn();
      }
    }
  } finally {
    await Promise.allSettled(waiting.map((file) => file[Symbol.asyncIterator]().return?.()));
  }
  if (top === undefined) throw notANode("there is no file to import");
  return { top, arrived: intake.arrived };
}

interface Choosing {
  readonly cells: ImportCells;
  /** Public keys of the owner. */
  readonly accounts: readonly string[];
}

/** The owner's drives keep their names; a drive of another owner is copied to the name given by the caller. */
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

const limitsFor = ({ limits, clock, futureSkewMs }: EngineParts): NodeLimits => ({
  ...limits,
  ...{ latestUtime: clock.nowMs(), futureSkewMs },
});

/** The changes of an import, one for each drive. */
async function changesOf(draft: Draft, former: CadMap, names: ReadonlySet<string>): Promise<WholeChange[]> {
  const { scope, drives } = draft;
  const changes: WholeChange[] = [];
  for (const drive of names) {
    const roots: (Value | undefined)[] = [];
    for (const root of [former.get(drive), drives.get(drive)]) {
      roots.push((await scope.run(() => isLive(root))) ? root : undefined);
    }
    const [before, after] = roots;
    if (before !== undefined && after !== undefined && isSameValue(before, after)) continue;
    if (before !== undefined || after !== undefined) changes.push({ drive, before, after });
  }
  return changes;
}

async function mergeAll(
  draft: Draft,
  incoming: readonly Incoming[],
  merging: { readonly options: ImportOptions; readonly parts: EngineParts },
): Promise<void> {
  const { options, parts } = merging;
  const importRule = options.source === "reference" ? "parent-time" : undefined;
  const before = draft.drives;
  let [isAllNew, newBytes] = [true, 0];
  for (const { name, ref, extent } of incoming) {
    const [ours, theirs] = [draft.drives.get(name) ?? null, await draft.scope.open(ref)];
    const rules = { ties: "hash", importRule, settle: settleIn(draft) } as const;
    const root = ours === null ? theirs : await draft.scope.runSteps(mergeSteps(ours, theirs, rules));
    if (ours === null || !isSameValue(root, ours)) putRoot(draft, name, { root, maxDrives: parts.limits.maxDrives });
    isAllNew &&= ours === null;
    newBytes += extent.bytes;
  }
  // Already counted; counting it again would read it again.
  if (isAllNew) parts.usage.learn(draft.drives, newBytes + (await parts.usage.bytesIn(before, draft.overlay)));
}
