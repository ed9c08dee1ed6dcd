// A batch of the object store.

import type { CellBatch, RootRecord } from "../../cell-store.js";
import { checkCell, checkOwner, checkRoot } from "../../checks.js";
import { type HashText, isLeafBlob, textOfHash } from "../../mark.js";
import { MAX_CARRIED_BYTES } from "../roots/root-object.js";
import type { RootChange } from "../roots/root-swap.js";
import { PACK_CELL_BYTES, PackBuilder } from "./builder.js";
import type { PackInfo, PackKind } from "./manifest.js";
import { SMALL_PACK_BYTES } from "./source.js";
import type { UploadGroup } from "./uploads.js";

/** Leaf blobs of at least this size go to separate packs, so that looking up names reads little. */
const CHUNK_BYTES = 2048 + 3;

type Swap = (owner: string, expected: RootRecord | null, change: RootChange) => Promise<RootRecord | "conflict">;

/**
 * Collects cells in two packs, one for parts of files and one for everything else; each is put as soon as it is full.
 * A commit leaves what is small to the root object, so that another try after a conflict uploads nothing but the root.
 */
export function createObjectBatch(uploads: UploadGroup, swap: Swap): CellBatch {
  let chunks = new PackBuilder();
  let trees = new PackBuilder();
  let hasPacks = false;
  /** Packs that the next root needs: with cells of this batch, or of others. */
  const listed = new Map<string, PackInfo>();
  const list = (packs: Iterable<PackInfo>): void => {
    for (const pack of packs) listed.set(pack.id, pack);
  };

  const upload = (builder: PackBuilder, kind: PackKind): Promise<void> => {
    if (kind !== "chunk") list(uploads.neededBy(cellsIn(builder)));
    hasPacks = true;
    const pack = builder.build(kind);
    list([pack.info]);
    return uploads.begin(pack);
  };
  const uploadChunks = async (): Promise<void> => {
    const rest = chunks;
    chunks = new PackBuilder();
    if (rest.count > 0) await upload(rest, "chunk");
  };
  const uploadRest = async (): Promise<void> => {
    const rest = trees;
    trees = new PackBuilder();
    const isSmall = chunks.bytes + rest.bytes <= SMALL_PACK_BYTES;
    if (isSmall && chunks.count > 0 && rest.count > 0) {
      const mixed = chunks;
      chunks = new PackBuilder();
      for (const [text, cell] of rest.cells()) mixed.add(text, cell);
      return upload(mixed, "mixed");
    }
    await uploadChunks();
    if (rest.count > 0) await upload(rest, "tree");
  };
  /** Uploads what a root object cannot carry. @returns the cells that it carries */
  const uploadLarge = async (): Promise<ReadonlyMap<HashText, Uint8Array>> => {
    if (chunks.bytes + trees.bytes > MAX_CARRIED_BYTES) {
      // One pack for both is no more requests than one for the chunks; beside packs that are there, it would be one more.
      if (hasPacks && trees.bytes <= MAX_CARRIED_BYTES) await uploadChunks();
      else await uploadRest();
    }
    await uploads.settled();
    return new Map([...chunks.cells(), ...trees.cells()]);
  };

  return {
    put(hash, bytes) {
      checkCell(hash, bytes);
      uploads.touch();
      const isChunk = bytes.length >= CHUNK_BYTES && isLeafBlob(bytes);
      const uploaded = uploads.packWith(hash);
      if (uploaded !== undefined) {
        list([uploaded]);
        if (!isChunk) list(uploads.neededBy([bytes]));
        return undefined;
      }
      const builder = isChunk ? chunks : trees;
      builder.add(textOfHash(hash), bytes);
      if (builder.bytes < PACK_CELL_BYTES) return undefined;
      if (isChunk) chunks = new PackBuilder();
      else trees = new PackBuilder();
      return upload(builder, isChunk ? "chunk" : "tree");
    },
    async flush() {
      await uploadRest();
      await uploads.settled();
    },
    async commit(owner, expected, bytes, hint) {
      checkOwner(owner);
      checkRoot(bytes);
      const cells = await uploadLarge();
      const log = hint?.log;
      const tops = log === undefined ? [bytes] : [bytes, log];
      const packs = [...listed.values(), ...uploads.neededBy([...tops, ...cells.values()])];
      const record = await swap(owner, expected, { bytes, log, packs, cells });
      if (record === "conflict") return record;
      chunks = new PackBuilder();
      trees = new PackBuilder();
      hasPacks = false;
      uploads.end();
      return record;
    },
    restart() {
      chunks = new PackBuilder();
      trees = new PackBuilder();
      listed.clear();
    },
  };
}

function* cellsIn(builder: PackBuilder): Generator<Uint8Array> {
  for (const [, cell] of builder.cells()) yield cell;
}
