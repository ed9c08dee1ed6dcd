// Stores assets in memory.

import type { ByteRange } from "../../core/ports/asset.js";
import type { AssetRecord, AssetStore } from "./store.js";

/** Block sizes for content in bytes: blocks double from the first to the last. */
const FIRST_BLOCK_BYTES = 4096;
const LAST_BLOCK_BYTES = 262_144;

interface StoredBlocks {
  readonly blocks: readonly Buffer[];
  readonly size: number;
}

/** Keeps assets in memory; they end with the process. */
export class AssetMemory implements AssetStore {
  readonly #contents = new Map<string, StoredBlocks>();
  readonly #records = new Map<string, AssetRecord>();
  #totalBytes = 0;

  get totalBytes(): number {
    return this.#totalBytes;
  }

  size(sha256: string): number | undefined {
    return this.#contents.get(sha256)?.size;
  }

  async put(hash: () => string, body: AsyncIterable<Uint8Array>): Promise<void> {
    const stored = await collect(body);
    const sha256 = hash();
    if (this.#contents.has(sha256)) return;
    this.#contents.set(sha256, stored);
    this.#totalBytes += stored.size;
  }

  async *open(sha256: string, range?: ByteRange): AsyncGenerator<Uint8Array> {
    const stored = this.#contents.get(sha256);
    if (stored === undefined) throw new Error("Cannot read content: it is not stored");
    const { start, end } = range ?? { start: 0, end: stored.size };
    let at = 0;
    for (const block of stored.blocks) {
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
async function collect(body: AsyncIterable<Uint8Array>): Promise<StoredBlocks> {
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
