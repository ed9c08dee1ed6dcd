// Stores assets in memory.

import type { ByteRange } from "../../core/ports/asset.js";
import { type AssetRecord, type AssetStore, StoredSizes } from "./store.js";

/** Block sizes for content in bytes: blocks double from the first to the last. */
const FIRST_BLOCK_BYTES = 4096;
const LAST_BLOCK_BYTES = 262_144;

/** Keeps assets in memory; they end with the process. */
export class AssetMemory extends StoredSizes implements AssetStore {
  readonly #contents = new Map<string, readonly Buffer[]>();
  readonly #records = new Map<string, AssetRecord>();

  async put(hash: () => string, body: AsyncIterable<Uint8Array>): Promise<void> {
    const { blocks, size } = await collect(body);
    if (this.size(hash()) === undefined) this.#contents.set(hash(), blocks);
    this.count(hash(), size);
  }

  async *open(sha256: string, range?: ByteRange): AsyncGenerator<Uint8Array> {
    const { start, end } = this.bytesOf(sha256, range);
    let at = 0;
    for (const block of this.#contents.get(sha256) ?? []) {
      const piece = block.subarray(Math.max(0, start - at), Math.max(0, end - at));
      if (piece.length > 0) yield piece;
      at += block.length;
      if (at >= end) return;
    }
  }

  async load(): Promise<readonly AssetRecord[]> {
    return [...this.#records.values()];
  }

  async save(record: AssetRecord): Promise<readonly AssetRecord[]> {
    this.#records.set(record.id, record);
    return [record];
  }

  async close(): Promise<void> {}
}

/** Copies chunks into blocks: a chunk of a few bytes could keep a large socket buffer alive. */
async function collect(
  body: AsyncIterable<Uint8Array>,
): Promise<{ readonly blocks: readonly Buffer[]; readonly size: number }> {
  const blocks: Buffer[] = [];
  let block = Buffer.alloc(0);
  let filled = 0;
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    for (let from = 0; from < chunk.length; ) {
      if (filled === block.length) {
        if (filled > 0) blocks.push(block);
        block = Buffer.allocUnsafeSlow(Math.min(LAST_BLOCK_BYTES, Math.max(FIRST_BLOCK_BYTES, block.length * 2)));
        filled = 0;
      }
      const piece = chunk.subarray(from, from + block.length - filled);
      block.set(piece, filled);
      filled += piece.length;
      from += piece.length;
    }
  }
  // Unused space in the last block is not counted against any limit, so it is trimmed.
  if (filled > 0) blocks.push(exactCopy(block.subarray(0, filled)));
  return { blocks, size };
}

function exactCopy(bytes: Uint8Array): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  copy.set(bytes);
  return copy;
}
