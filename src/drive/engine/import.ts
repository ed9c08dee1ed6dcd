import { cellOf } from "../cell.js";
import { checkNode } from "../check-node.js";
import { decode } from "../decode.js";
import { driveError } from "../error.js";
import { CadMap } from "../hash-map.js";
import { CadIndex } from "../index-map.js";
import { keyword } from "../keyword.js";
import { LazyValue } from "../lazy.js";
import { merge } from "../merge-nodes.js";
import { isDriveName } from "../name.js";
import { directoryNode, fileNode, notANode, opened, tombstone, viewOf } from "../node.js";
import { sameBytes, toHex } from "../ref.js";
import { Signed, verify } from "../signed.js";
import type { Value } from "../value.js";
import { readCellStream } from "./cell-stream.js";
import { createScope } from "./cells.js";
import { quotaExceeded } from "./fault.js";
import { createIntake } from "./intake.js";
import { newCells } from "./new-cells.js";
import { type Draft, type EngineParts, type OwnerQueue, REPEATABLE } from "./owner-queue.js";
import { createWriteSet, type WriteSet } from "./write-set.js";

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

/** A drive that came, and where it goes. */
interface Incoming {
  readonly name: string;
  readonly root: Value;
}

/** Signed maps that came, by the hex digits of the key that has signed them. */
interface Found {
  readonly signed: readonly { readonly account: string; readonly drives: CadMap }[];
  readonly root: Value | undefined;
  readonly refused: number;
}

/**
 * Imports files of cells: all or nothing. Every cell is checked before the drives are touched.
 *
 * @param files all parts of one export, in their order
 * @throws BAD_FORMAT, UNSUPPORTED_CELL, MISSING_CELL, LIMIT, INVALID_PATH, FUTURE_TIME, TOO_LARGE, KEY_REQUIRED
 * @throws NOT_FOUND when the drive to be imported is not there; QUOTA_EXCEEDED, CONFLICT, READ_ONLY_ROOT
 */
export async function importFiles(
  files: readonly AsyncIterable<Uint8Array>[],
  options: ImportOptions,
  { did, queue, parts }: { readonly did: string; readonly queue: OwnerQueue; readonly parts: EngineParts },
): Promise<ImportReport> {
  const writes = createWriteSet(parts.store);
  const count = { bytes: 0, cells: 0 };
  const value = await readFiles(files, { writes, parts, count });
  const found = findDrives(value);
  const incoming = choose(found, options, await parts.keys.accounts(did)).map(({ name, root }) => {
    if (!isDriveName(name)) throw driveError("INVALID_PATH", "A drive that is imported has a name that is none");
    check(root, options, parts);
    return { name, root: withoutMetadata(root) };
  });
  const refs = new Map<string, Uint8Array>();
  for (const { name, root } of incoming) {
    await writes.putTree(newCells(root, () => false));
    refs.set(name, cellOf(root).ref);
  }
  await writes.flush();
  const [first = ""] = refs.keys();
  await queue.change(options.drive ?? first, async (draft) => {
    await mergeAll(draft, refs, { options, parts });
    return REPEATABLE;
  });
  return { drives: [...refs.keys()], ...count, refused: found.refused };
}

interface Reading {
  readonly writes: WriteSet;
  readonly parts: EngineParts;
  readonly count: { bytes: number; cells: number };
}

/** The value of the last file; its blobs beyond their top cells are in the store, everything else is at hand. */
async function readFiles(files: readonly AsyncIterable<Uint8Array>[], reading: Reading): Promise<Value> {
  const { writes, parts, count } = reading;
  const intake = createIntake(writes.put);
  let top: Uint8Array | undefined;
  // The last one first: it has the top, so that of no more than one file cells wait for who wants them.
  for (const file of files.toReversed()) {
    const stream = readCellStream(file, parts.limits, count);
    if (top === undefined) {
      top = await stream.top();
      count.cells += 1;
      await intake.begin(top);
    }
    for (let cell = await stream.next(); cell !== undefined; cell = await stream.next()) await intake.add(cell);
  }
  if (top === undefined) throw notANode("there is no file to import");
  const scope = createScope(parts.pool, writes.overlay);
  const kept = await intake.finish(async (hash) => (await scope.peek([hash]))[0]);
  for (const [hash, bytes] of kept) await writes.put(hash, bytes);
  return decode(top, (hash) => kept.get(hash), parts.limits);
}

/** Tells the four kinds of top apart by their shape. */
function findDrives(value: Value): Found {
  const top = opened(value);
  if (Array.isArray(top)) return { signed: [], root: value, refused: 0 };
  if (top instanceof Signed) return { signed: [signedIn(value, top)], root: undefined, refused: 0 };
  if (top instanceof CadMap) return inOwners(top);
  if (!(top instanceof CadIndex)) throw notANode("it is neither a drive nor drives");
  const regions = ["dlfs", "fs"].map((name) => opened(top.get(keyword(name)) ?? null));
  const found = regions.map((owners) => (owners instanceof CadMap ? inOwners(owners) : undefined));
  if (found.every((region) => region === undefined)) throw notANode("a region holds owners");
  return {
    signed: found.flatMap((region) => region?.signed ?? []),
    root: undefined,
    refused: found.reduce((sum, region) => sum + (region?.refused ?? 0), 0),
  };
}

function inOwners(owners: CadMap): Found {
  const signed: Found["signed"][number][] = [];
  let refused = 0;
  for (const [key, value] of owners) {
    try {
      const entry = opened(value);
      if (!(key instanceof Uint8Array && entry instanceof Signed && sameBytes(entry.publicKey, key))) throw notSigned();
      signed.push(signedIn(value, entry));
    } catch {
      refused += 1;
    }
  }
  return { signed, root: undefined, refused };
}

const notSigned = (): Error => driveError("BAD_FORMAT", "The signature of the drives is not good");

function signedIn(value: Value, signed: Signed): Found["signed"][number] {
  if (!verify(value instanceof LazyValue ? value : signed)) throw notSigned();
  const drives = opened(signed.value);
  if (!(drives instanceof CadMap)) throw notANode("drives are a map");
  return { account: toHex(signed.publicKey), drives };
}

/** Drives of the owner keep their names; of another owner one is copied, to where the caller says. */
function choose(found: Found, { drive, from }: ImportOptions, accounts: readonly string[]): Incoming[] {
  if (found.root !== undefined) {
    if (drive === undefined)
      throw driveError("KEY_REQUIRED", "A drive without a signature is imported into a named drive");
    return [{ name: drive, root: found.root }];
  }
  const own = found.signed.filter(({ account }) => accounts.includes(account));
  if (drive === undefined && from === undefined && own.length > 0)
    return own.flatMap(({ drives }) => [...live(drives)]);
  if (drive === undefined && own.length === 0) {
    throw driveError("KEY_REQUIRED", "The drives are signed by another key than those of their owner here");
  }
  const all = (own.length > 0 ? own : found.signed).flatMap(({ drives }) => [...live(drives)]);
  const wanted = from ?? (all.length === 1 ? all[0]?.name : drive);
  const one = all.find(({ name }) => name === wanted);
  if (one === undefined) throw driveError("NOT_FOUND", "There is no such drive to import");
  return [{ name: drive ?? one.name, root: one.root }];
}

function* live(drives: CadMap): Generator<Incoming> {
  for (const [name, root] of drives) {
    if (typeof name !== "string") throw notANode("names of drives are strings");
    if (root !== null) yield { name, root };
  }
}

function check(root: Value, { futureSkewMs = DEFAULT_SKEW_MS }: ImportOptions, { limits, clock }: EngineParts): void {
  const { maxFileBytes, maxEntries, maxPathDepth, maxImportEntries, maxImportLogicalBytes } = limits;
  const latestUtime = clock.nowMs() + futureSkewMs;
  checkNode(root, { maxFileBytes, maxEntries, maxPathDepth, maxImportEntries, maxImportLogicalBytes, latestUtime });
}

/** The same tree as we write it; the value itself where there is no metadata. Paths have been checked to be short. */
function withoutMetadata(node: Value): Value {
  const view = viewOf(node);
  if (view.kind === "tombstone") return view.metadata === null ? node : tombstone(view.utime);
  if (view.kind === "file") return view.metadata === null ? node : fileNode(view.data, view.utime);
  let { entries } = view;
  for (const [key, value] of view.entries) {
    const plain = withoutMetadata(value);
    if (plain !== value) entries = entries.with(key, plain);
  }
  return entries === view.entries && view.metadata === null ? node : directoryNode(entries, view.utime);
}

interface Merging {
  readonly options: ImportOptions;
  readonly parts: EngineParts;
}

async function mergeAll(draft: Draft, refs: ReadonlyMap<string, Uint8Array>, merging: Merging): Promise<void> {
  const { options, parts } = merging;
  const importRule = options.source === "reference" ? "parent-time" : undefined;
  for (const [name, ref] of refs) {
    const [ours, theirs] = [draft.drives.get(name) ?? null, await draft.scope.open(ref)];
    const root =
      ours === null ? theirs : await draft.scope.run(() => merge(ours, theirs, { ties: "hash", importRule }));
    const [used, limit] = [draft.drives.size, parts.limits.maxDrives];
    if (ours === null && used >= limit) throw quotaExceeded(name, { used, limit, requested: 1, unit: "drives" });
    if (ours === null || !sameBytes(cellOf(root).ref, cellOf(ours).ref)) draft.drives = draft.drives.with(name, root);
  }
}
