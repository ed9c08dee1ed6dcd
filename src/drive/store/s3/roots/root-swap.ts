// Swaps of the root that all venues share, by conditional puts.

import { randomBytes } from "node:crypto";
import { Turns } from "../../../../core/turns.js";
import { sameBytes } from "../../../cad3/ref.js";
import type { RootRecord } from "../../cell-store.js";
import { storeUnavailable } from "../../checks.js";
import type { HashText } from "../../mark.js";
import type { PutIfResult, S3Client } from "../client/s3-client.js";
import { PackBuilder } from "../packs/builder.js";
import { encodeManifest, manifestId, type PackInfo } from "../packs/manifest.js";
import type { Uploads } from "../packs/uploads.js";
import { type Contention, createContention } from "./contention.js";
import { type LoadedRoot, loadedRoot, manifestKey, type OwnerRoots } from "./owner-roots.js";
import {
  carriedBytes,
  encodeRootObject,
  MAX_CARRIED_BYTES,
  MAX_PUTS,
  type RootObject,
  rootKey,
} from "./root-object.js";

/** A new root with the cells it needs beyond those of the one it replaces. */
export interface RootChange {
  readonly bytes: Uint8Array;
  /** Absent: the log stays as it is. */
  readonly log?: Uint8Array | undefined;
  readonly packs: readonly PackInfo[];
  /** Cells in no pack. */
  readonly cells: ReadonlyMap<HashText, Uint8Array>;
}

export type RootSwap = ReturnType<typeof createRootSwap>;

interface SwapParts {
  readonly client: S3Client;
  readonly roots: OwnerRoots;
  readonly uploads: Uploads;
  readonly now: () => number;
  readonly contention?: Contention;
}

/** The new content of a root, and the root it replaces. */
interface NextRoot extends Pick<RootObject, "bytes" | "log" | "carried"> {
  readonly before: LoadedRoot | undefined;
  readonly packs: readonly PackInfo[];
}

/** Maximum times that a compaction may intervene by relocating the cells of a root. */
const MAX_MOVES = 4;
/** How long a manifest can be used after it was put; far less than any collection waits. */
const UNUSED_MS = 30_000;

/**
 * Every put has a number that later roots retain. If a response is lost, the current root therefore tells whether the put
 * succeeded, even if others have swapped since.
 */
export function createRootSwap(parts: SwapParts) {
  const { client, roots, uploads, now, contention = createContention({ client, now }) } = parts;
  const self = randomBytes(16).toString("hex");
  const alone = new Turns();
  let puts = 0;
  /** By owner, the manifest put last that no root has: a change that is tried again often lists the same packs. */
  const unused = new Map<string, { readonly id: string; readonly packs: readonly PackInfo[]; readonly at: number }>();

  /** Whether this store has put the root that it knows. */
  const isOurs = (owner: string): boolean => [...(roots.known(owner)?.object.puts.keys() ?? [])].at(-1) === self;
  const nextPuts = (before: LoadedRoot | undefined): RootObject["puts"] => {
    puts += 1;
    const all = new Map(before?.object.puts);
    all.delete(self);
    all.set(self, puts);
    return new Map([...all].slice(-MAX_PUTS));
  };
  /** @returns false if another root is in place, so that this put has not taken and never will take effect */
  const put = async (owner: string, root: LoadedRoot, before: LoadedRoot | undefined): Promise<boolean> => {
    let result: PutIfResult | undefined;
    let failure: unknown;
    try {
      result = await client.putIf(rootKey(owner), encodeRootObject(root.object), before?.etag ?? null);
    } catch (error) {
      failure = error;
    }
    if (result?.isDone === true && result.etag !== "") {
      roots.put(owner, { ...root, etag: result.etag });
      return true;
    }
    const found = await roots.load(owner);
    const number = root.object.puts.get(self) ?? 0;
    const seen = found?.object.puts;
    if ((seen?.get(self) ?? 0) >= number) return true;
    if (found?.etag === before?.etag && failure !== undefined) throw failure;
    if (seen !== undefined && seen.size >= MAX_PUTS && !seen.has(self) && !isSurelyRefused(result)) throw unknownFate();
    return false;
  };
  /** The currently listed manifest is safe from collection, and so is one put so recently; any other is put anew. */
  const manifestFor = async (
    owner: string,
    packs: readonly PackInfo[],
    before: LoadedRoot | undefined,
  ): Promise<string> => {
    if (before !== undefined && listsSame(before.packs, packs)) return before.object.manifest;
    const last = unused.get(owner);
    if (last !== undefined && now() - last.at < UNUSED_MS && listsSame(last.packs, packs)) return last.id;
    const encoded = encodeManifest(packs);
    const id = manifestId(encoded);
    const at = now();
    await client.put(manifestKey(id), encoded);
    unused.set(owner, { id, packs, at });
    return id;
  };
  const publish = async (owner: string, next: NextRoot): Promise<LoadedRoot | undefined> => {
    const { before, packs, bytes, log, carried } = next;
    const manifest = await manifestFor(owner, packs, before);
    const history = { puts: nextPuts(before), merged: before?.object.merged ?? new Set<string>() };
    const root = loadedRoot("", { bytes, manifest, ...history, carried, log }, packs);
    if (!(await put(owner, root, before))) return undefined;
    unused.delete(owner);
    return root;
  };
  /** Moves cells into a pack if they are too large to be carried in the root object. */
  const packed = async (next: NextRoot): Promise<NextRoot> => {
    if (carriedBytes(next.carried) <= MAX_CARRIED_BYTES) return next;
    const builder = new PackBuilder();
    for (const [text, cell] of next.carried) builder.add(text, cell);
    const pack = await uploads.one(builder.build("mixed"));
    return { ...next, carried: new Map<HashText, Uint8Array>(), packs: union([next.packs, [pack]]) };
  };
  const swapNow = async (
    owner: string,
    expected: RootRecord | null,
    { bytes, log: newLog, packs, cells }: RootChange,
  ): Promise<RootRecord | "conflict"> => {
    for (let moves = 0; moves < MAX_MOVES; moves += 1) {
      const before = roots.known(owner) ?? (await roots.load(owner));
      if (before?.record.version !== expected?.version) return "conflict";
      const isNew = newLog !== undefined || packs.length > 0 || cells.size > 0;
      if (before !== undefined && !isNew && sameBytes(before.record.bytes, bytes)) return before.record;
      const listed = union([before?.packs ?? [], packs]);
      const carried = new Map([...(before?.carried ?? []), ...cells]);
      const log = newLog === undefined ? before?.object.log : Uint8Array.from(newLog);
      const next = await packed({ before, bytes: Uint8Array.from(bytes), log, carried, packs: listed });
      const root = await publish(owner, next);
      if (root !== undefined) return root.record;
    }
    return "conflict";
  };
  return {
    async swap(owner: string, expected: RootRecord | null, change: RootChange): Promise<RootRecord | "conflict"> {
      const result = await alone.run(owner, async () => {
        const hasWaited = await contention.giveWay(owner, isOurs(owner));
        if (hasWaited && (await roots.load(owner))?.record.version !== expected?.version) return "left";
        const from = now();
        const [record] = await Promise.all([swapNow(owner, expected, change), contention.look(owner)]);
        return { record, ms: now() - from };
      });
      // Another has used its turn.
      if (result === "left") return "conflict";
      await contention.settle(owner, result.record === "conflict", result.ms);
      return result.record;
    },
    /** Updates the location of a root's cells. @returns whether `from` was still in place */
    move: (owner: string, from: LoadedRoot, packs: readonly PackInfo[]): Promise<boolean> =>
      alone.run(owner, async () => {
        if (roots.known(owner) !== from) return false;
        const { bytes, carried, log } = from.object;
        return (await publish(owner, { before: from, bytes, log, carried, packs })) !== undefined;
      }),
  };
}

function union(lists: readonly (readonly PackInfo[])[]): PackInfo[] {
  const all = new Map<string, PackInfo>();
  for (const list of lists) for (const pack of list) all.set(pack.id, pack);
  return [...all.values()];
}

function listsSame(some: readonly PackInfo[], others: readonly PackInfo[]): boolean {
  const listed = new Set(some.map(({ id }) => id));
  return listed.size === others.length && others.every(({ id }) => listed.has(id));
}

const isSurelyRefused = (result: PutIfResult | undefined): boolean => result?.isDone === false && result.isSure;

const unknownFate = (): Error =>
  storeUnavailable("the object storage does not say whether it has kept a root: try again later");
