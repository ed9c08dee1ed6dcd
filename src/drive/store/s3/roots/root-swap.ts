// Swaps of a process's own root, in buckets without conditional puts.

import { setTimeout as delay } from "node:timers/promises";
import { sameBytes } from "../../../cad3/ref.js";
import type { RootRecord } from "../../cell-store.js";
import type { HashText } from "../../mark.js";
import { storeUnavailable } from "../../store-error.js";
import { createTurns } from "../client/parallel.js";
import type { S3Client } from "../client/s3-client.js";
import { PackBuilder } from "../packs/builder.js";
import { encodeManifest, manifestId, type PackInfo } from "../packs/manifest.js";
import type { Uploads } from "../packs/uploads.js";
import type { OwnerRoots } from "./owner-roots.js";
import {
  carriedBytes,
  encodeRootObject,
  MAX_CARRIED_BYTES,
  MAX_ROOT_OBJECT_BYTES,
  type RootObject,
} from "./root-object.js";
import { type LoadedRoot, loadedRoot, manifestKey, rootKey } from "./root-reader.js";
import type { WriterId } from "./writer-id.js";

/** A new root with the cells it needs beyond the owner's other roots. */
export interface RootChange {
  readonly bytes: Uint8Array;
  /** Absent: the log stays as it is. */
  readonly log?: Uint8Array | undefined;
  readonly packs: readonly PackInfo[];
  /** Cells in no pack. */
  readonly cells: ReadonlyMap<HashText, Uint8Array>;
  /** Roots of other writers that it includes. */
  readonly includes?: readonly RootRecord[] | undefined;
}

export interface SwapParts {
  readonly client: S3Client;
  readonly roots: OwnerRoots;
  readonly uploads: Uploads;
  readonly writer: WriterId;
}

export interface RootSwap {
  swap(owner: string, expected: RootRecord | null, change: RootChange): Promise<RootRecord | "conflict">;
  /**
   * Updates the location of a root's cells.
   *
   * @param from the root to be replaced, ours or not
   * @returns whether `from` was still in place
   */
  move(owner: string, from: LoadedRoot, packs: readonly PackInfo[]): Promise<boolean>;
}

interface Published {
  readonly object: Omit<RootObject, "manifest">;
  readonly packs: readonly PackInfo[];
  readonly includes: LoadedRoot["includes"];
}

/** Maximum names tried for a root. */
const MAX_NAMES = 3;
const READ_BACK_MS = 200;

export function createRootSwap({ client, roots, uploads, writer }: SwapParts): RootSwap {
  const alone = createTurns();

  /** Puts a root under this process's name. A name with a put possibly still in flight is never used again. */
  const putRoot = async (owner: string, object: RootObject): Promise<{ name: string; etag: string }> => {
    const bytes = encodeRootObject(object);
    for (let names = 0; names < MAX_NAMES; names += 1) {
      const name = await writer.ready();
      const put = await client.putOnce(rootKey(owner, name), bytes);
      if (put !== "unknown") return { name, etag: put.etag };
      writer.change();
      await delay(READ_BACK_MS * Math.random());
      const found = await client.get(rootKey(owner, name), MAX_ROOT_OBJECT_BYTES);
      if (found !== undefined && sameBytes(found.bytes, bytes)) return { name, etag: found.etag };
    }
    throw storeUnavailable("the object storage does not say whether it has kept a root: try again later");
  };
  const publish = async (owner: string, { object, packs, includes }: Published): Promise<LoadedRoot> => {
    const manifest = encodeManifest(packs);
    const id = manifestId(manifest);
    const isThere = (roots.known(owner) ?? []).some((root) => root.object.manifest === id);
    if (!isThere) await client.put(manifestKey(id), manifest);
    const whole = { ...object, manifest: id };
    const { name, etag } = await putRoot(owner, whole);
    const root = { ...loadedRoot(name, etag, whole, packs), includes };
    roots.put(owner, root);
    return root;
  };
  const swapNow = async (
    owner: string,
    expected: RootRecord | null,
    { bytes, log: newLog, packs, cells }: RootChange,
  ): Promise<RootRecord | "conflict"> => {
    const all = roots.known(owner) ?? (await roots.load(owner));
    const name = expected !== null && writer.isFormer(expected.writer) ? expected.writer : writer.current();
    const own = all.find(({ record }) => record.writer === name);
    if (own?.record.version !== expected?.version) return "conflict";
    const isNew = newLog !== undefined || packs.length > 0 || cells.size > 0;
    if (own !== undefined && sameBytes(own.record.bytes, bytes) && !isNew) return own.record;
    // Roots on which our own was based are already included in it.
    const fresh = all.filter((root) => root === own || own?.includes?.get(root.record.writer) !== root.etag);
    const includes = new Map(all.map((root) => [root.record.writer, root.etag]));
    const listed = union([...fresh.map((root) => root.packs), packs]);
    const carried = new Map([...fresh.flatMap((root) => [...root.carried]), ...cells]);
    const log = newLog === undefined ? own?.object.log : Uint8Array.from(newLog);
    const object = { bytes: Uint8Array.from(bytes), carried, log };
    if (carriedBytes(carried) <= MAX_CARRIED_BYTES)
      return (await publish(owner, { object, packs: listed, includes })).record;
    const builder = new PackBuilder();
    for (const [text, cell] of carried) builder.add(text, cell);
    const pack = await uploads.one(builder.build("mixed"));
    const packed = { ...object, carried: new Map<HashText, Uint8Array>() };
    return (await publish(owner, { object: packed, packs: union([listed, [pack]]), includes })).record;
  };
  return {
    swap: (owner, expected, change) => alone(owner, () => swapNow(owner, expected, change)),
    move: (owner, from, packs) =>
      alone(owner, async () => {
        const all = roots.known(owner) ?? [];
        const own = all.find(({ record }) => record.writer === writer.current());
        if (!all.includes(from) || (own !== undefined && own.record.version !== from.record.version)) return false;
        const includes = new Map(own?.includes).set(from.record.writer, from.etag);
        const log = own === undefined ? from.object.log : own.object.log;
        await publish(owner, { object: { ...from.object, log }, packs, includes });
        return true;
      }),
  };
}

export function union(lists: readonly (readonly PackInfo[])[]): PackInfo[] {
  const all = new Map<string, PackInfo>();
  for (const list of lists) for (const pack of list) all.set(pack.id, pack);
  return [...all.values()];
}
