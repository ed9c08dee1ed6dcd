// Swaps of the shared root (head) by conditional puts.

import { randomBytes } from "node:crypto";
import { sameBytes } from "../../../cad3/ref.js";
import type { RootRecord } from "../../cell-store.js";
import type { HashText } from "../../mark.js";
import { storeUnavailable } from "../../store-error.js";
import { createTurns } from "../client/parallel.js";
import type { PutIfResult, S3Client } from "../client/s3-client.js";
import { PackBuilder } from "../packs/builder.js";
import { encodeManifest, manifestId, newSalt, type PackInfo } from "../packs/manifest.js";
import type { Uploads } from "../packs/uploads.js";
import { type Contention, createContention } from "./contention.js";
import type { OwnerHeads } from "./owner-heads.js";
import {
  carriedBytes,
  encodeRootObject,
  type HeadPart,
  MAX_CARRIED_BYTES,
  MAX_MERGED,
  MAX_PUTS,
  mergedId,
  type RootObject,
} from "./root-object.js";
import { type LoadedRoot, loadedRoot, manifestKey, rootKey } from "./root-reader.js";
import { type RootChange, type RootSwap, union } from "./root-swap.js";
import { HEAD_ID, isHead } from "./writer-id.js";

interface HeadSwapParts {
  readonly client: S3Client;
  readonly roots: OwnerHeads;
  readonly uploads: Uploads;
  readonly now: () => number;
  readonly contention?: Contention;
}

/** The new content of a head, and the head it replaces. */
interface NextHead {
  readonly before: LoadedRoot | undefined;
  readonly bytes: Uint8Array;
  readonly log: Uint8Array | undefined;
  readonly carried: RootObject["carried"];
  readonly packs: readonly PackInfo[];
  /** Roots of single writers included in it. */
  readonly merged: readonly LoadedRoot[];
}

/** Maximum times that a compaction may intervene by relocating the cells of a root. */
const MAX_MOVES = 4;
/** How long a manifest can be used after it was put; far less than any collection waits. */
const UNUSED_MS = 30_000;

/**
 * Swaps an owner's single root with conditional puts. Every put has a number that later heads retain. If a response is
 * lost, the current head therefore tells whether the put succeeded, even if others have swapped since.
 */
export function createHeadSwap(parts: HeadSwapParts): RootSwap {
  const { client, roots, uploads, now, contention = createContention({ client, now }) } = parts;
  const self = randomBytes(16).toString("hex");
  const alone = createTurns();
  let puts = 0;
  /** By owner, the manifest put last that no root has: a change that is tried again often lists the same packs. */
  const unused = new Map<string, { readonly id: string; readonly packs: readonly PackInfo[]; readonly at: number }>();

  /** Whether this store has put the head that it knows. */
  const isOurs = (owner: string): boolean => {
    const puts = roots.known(owner)?.find(isHead)?.object.head?.puts;
    return puts !== undefined && [...puts.keys()].at(-1) === self;
  };
  const nextPart = ({ before, merged }: NextHead): HeadPart => {
    const known = before?.object.head;
    puts += 1;
    const all = new Map(known?.puts);
    all.delete(self);
    all.set(self, puts);
    const ids = [...(known?.merged ?? []), ...merged.map(({ record }) => mergedId(record))];
    const isLate = before !== undefined && merged.length > 0;
    return {
      puts: new Map([...all].slice(-MAX_PUTS)),
      merged: new Set(ids.slice(-MAX_MERGED)),
      lateAt: isLate ? now() : (known?.lateAt ?? 0),
    };
  };
  /** @returns false if another root is in place, so that this put has not taken and never will take effect */
  const put = async (owner: string, root: LoadedRoot, before: LoadedRoot | undefined): Promise<boolean> => {
    let result: PutIfResult | undefined;
    let failure: unknown;
    try {
      result = await client.putIf(rootKey(owner, HEAD_ID), encodeRootObject(root.object), before?.etag ?? null);
    } catch (error) {
      failure = error;
    }
    if (result?.isDone === true && result.etag !== "") {
      roots.put(owner, { ...root, etag: result.etag });
      return true;
    }
    const found = await roots.head(owner);
    const number = root.object.head?.puts.get(self) ?? 0;
    const seen = found?.object.head?.puts;
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
    const encoded = encodeManifest(packs, newSalt());
    const id = manifestId(encoded);
    const at = now();
    await client.put(manifestKey(id), encoded);
    unused.set(owner, { id, packs, at });
    return id;
  };
  const publish = async (owner: string, next: NextHead): Promise<LoadedRoot | undefined> => {
    const { before, packs, bytes, log, carried } = next;
    const manifest = await manifestFor(owner, packs, before);
    const root = loadedRoot(HEAD_ID, "", { bytes, manifest, carried, log, head: nextPart(next) }, packs);
    if (!(await put(owner, root, before))) return undefined;
    unused.delete(owner);
    return root;
  };
  /** Moves cells into a pack if they are too large to be carried in the root object. */
  const packed = async (next: NextHead): Promise<NextHead> => {
    if (carriedBytes(next.carried) <= MAX_CARRIED_BYTES) return next;
    const builder = new PackBuilder();
    for (const [text, cell] of next.carried) builder.add(text, cell);
    const pack = await uploads.one(builder.build("mixed"));
    return { ...next, carried: new Map<HashText, Uint8Array>(), packs: union([next.packs, [pack]]) };
  };
  const swapNow = async (
    owner: string,
    expected: RootRecord | null,
    { bytes, log: newLog, packs, cells, includes = [] }: RootChange,
  ): Promise<RootRecord | "conflict"> => {
    for (let moves = 0; moves < MAX_MOVES; moves += 1) {
      const all = roots.known(owner) ?? (await roots.load(owner));
      const before = all.find(isHead);
      if (before?.record.version !== expected?.version) return "conflict";
      const merged = all.filter((root) => !isHead(root) && includes.some(isRecord(root.record)));
      // A merged root has been replaced, or removed by another process that also merged it.
      if (merged.length < includes.length) return "conflict";
      const isNew = newLog !== undefined || packs.length > 0 || cells.size > 0 || merged.length > 0;
      if (before !== undefined && !isNew && sameBytes(before.record.bytes, bytes)) return before.record;
      const from = before === undefined ? merged : [before, ...merged];
      const listed = union([...from.map((root) => root.packs), packs]);
      const carried = new Map([...from.flatMap((root) => [...root.carried]), ...cells]);
      const log = newLog === undefined ? before?.object.log : Uint8Array.from(newLog);
      const next = await packed({ before, bytes: Uint8Array.from(bytes), log, carried, packs: listed, merged });
      const root = await publish(owner, next);
      if (root !== undefined) return root.record;
    }
    return "conflict";
  };
  return {
    async swap(owner, expected, change) {
      const result = await alone(owner, async () => {
        const hasWaited = await contention.giveWay(owner, isOurs(owner));
        if (hasWaited && (await roots.head(owner))?.record.version !== expected?.version) return "left";
        const from = now();
        const [record] = await Promise.all([swapNow(owner, expected, change), contention.look(owner)]);
        return { record, ms: now() - from };
      });
      // Another has used its turn.
      if (result === "left") return "conflict";
      await contention.settle(owner, result.record === "conflict", result.ms);
      return result.record;
    },
    move: (owner, from, packs) =>
      alone(owner, async () => {
        const before = roots.known(owner)?.find(isHead);
        if (before === undefined || before !== from) return false;
        const { bytes, carried, log } = before.object;
        return (await publish(owner, { before, bytes, log, carried, packs, merged: [] })) !== undefined;
      }),
  };
}

function listsSame(some: readonly PackInfo[], others: readonly PackInfo[]): boolean {
  const listed = new Set(some.map(({ id }) => id));
  return listed.size === others.length && others.every(({ id }) => listed.has(id));
}

const isRecord =
  ({ writer, version }: RootRecord) =>
  (other: RootRecord): boolean =>
    other.writer === writer && other.version === version;

const isSurelyRefused = (result: PutIfResult | undefined): boolean => result?.isDone === false && result.isSure;

const unknownFate = (): Error =>
  storeUnavailable("the object storage does not say whether it has kept a root: try again later");
