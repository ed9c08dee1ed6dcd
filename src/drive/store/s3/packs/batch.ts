// A batch of the object store.

import { isLeafBlob } from "../../cell-refs.js";
import type { CellBatch, RootRecord } from "../../cell-store.js";
import { checkCell, checkOwner, checkRoot } from "../../checks.js";
import { type HashText, textOfHash } from "../../mark.js";
import { MAX_CARRIED_BYTES } from "../roots/root-object.js";
import type { RootChange } from "../roots/root-swap.js";
import { PACK_CELL_BYTES, PackBuilder } from "./builder.js";
import type { PackInfo, PackKind } from "./manifest.js";
import { SMALL_PACK_BYTES } from "./source.js";
import type { UploadGroup } from "./uploads.js";

/** Leaf blobs of at least this size go to separate packs, so that looking up names reads little. */
const CHUNK_BYTES = 2048 + 3;

export interface BatchParts {
  readonly uploads: UploadGroup;
  swap(owner: string, expected: RootRecord | null, change: RootChange): Promise<RootRecord | "conflict">;
  /** @throws STORE_UNAVAILABLE if the store is closed */
  checkOpen(): void;
}

/**
 * Collects cells in two packs, one for parts of files and one for everything else; each is put as soon as it is full.
 */
export function createObjectBatch({ uploads, swap, checkOpen }: BatchParts): CellBatch {
  let chunks = new PackBuilder();
  let trees = new PackBuilder();
  const needed: PackInfo[] = [];
  let hasPacks = false;

  const upload = (builder: PackBuilder, kind: PackKind): Promise<void> => {
    hasPacks = true;
    if (kind !== "chunk") needed.push(...uploads.neededBy(cellsIn(builder)));
    return uploads.begin(builder.build(kind));
  };
  const uploadRest = async (): Promise<void> => {
    const [restChunks, restTrees] = [chunks, trees];
    chunks = new PackBuilder();
    trees = new PackBuilder();
    const isSmall = restChunks.bytes + restTrees.bytes <= SMALL_PACK_BYTES;
    if (isSmall && restChunks.count > 0 && restTrees.count > 0) {
      for (const [text, cell] of restTrees.cells()) restChunks.add(text, cell);
      await upload(restChunks, "mixed");
      return;
    }
    if (restChunks.count > 0) await upload(restChunks, "chunk");
    if (restTrees.count > 0) await upload(restTrees, "tree");
  };
  const flush = async (): Promise<readonly PackInfo[]> => {
    await uploadRest();
    return uploads.settled();
  };

  return {
    put(hash, bytes) {
      checkOpen();
      checkCell(hash, bytes);
      uploads.touch();
      const isChunk = bytes.length >= CHUNK_BYTES && isLeafBlob(bytes);
      const builder = isChunk ? chunks : trees;
      builder.add(textOfHash(hash), bytes);
      if (builder.bytes < PACK_CELL_BYTES) return undefined;
      if (isChunk) chunks = new PackBuilder();
      else trees = new PackBuilder();
      return upload(builder, isChunk ? "chunk" : "tree");
    },
    async flush() {
      checkOpen();
      await flush();
    },
    async commit(owner, expected, bytes, hint) {
      checkOpen();
      checkOwner(owner);
      checkRoot(bytes);
      if (!hasPacks && chunks.bytes + trees.bytes <= MAX_CARRIED_BYTES) {
        const cells = new Map<HashText, Uint8Array>([...chunks.cells(), ...trees.cells()]);
        const others = [...needed, ...uploads.neededBy([bytes, ...cells.values()])];
        const record = await swap(owner, expected, { bytes, packs: others, cells, includes: hint?.includes });
        if (record !== "conflict") {
          chunks = new PackBuilder();
          trees = new PackBuilder();
          uploads.end();
          return record;
        }
      }
      // Also after a conflict: the cells are then in place for the retry.
      const own = await flush();
      const packs = [...own, ...needed, ...uploads.neededBy([bytes])];
      const record = await swap(owner, expected, { bytes, packs, cells: new Map(), includes: hint?.includes });
      if (record !== "conflict") uploads.end();
      return record;
    },
  };
}

function* cellsIn(builder: PackBuilder): Generator<Uint8Array> {
  for (const [, cell] of builder.cells()) yield cell;
}
