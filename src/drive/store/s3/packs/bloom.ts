// Bloom filters over cell hashes.

const BITS_PER_CELL = 10;
const PROBES = 7;

export const bloomBytes = (count: number): number => Math.ceil((Math.max(1, count) * BITS_PER_CELL) / 8);

/** A Bloom filter of some hashes: no false negatives, about 1 % false positives. */
export function bloomOf(hashes: Iterable<Uint8Array>, count: number): Buffer {
  const filter = Buffer.alloc(bloomBytes(count));
  const bits = filter.length * 8;
  for (const hash of hashes) {
    const [first, step] = [wordOf(hash, 0), wordOf(hash, 4) | 1];
    for (let probe = 0; probe < PROBES; probe += 1) {
      const bit = (first + probe * (step >>> 0)) % bits;
      filter[bit >>> 3] = (filter[bit >>> 3] ?? 0) | (1 << (bit & 7));
    }
  }
  return filter;
}

export function mayHold(filter: Uint8Array, hash: Uint8Array): boolean {
  const bits = filter.length * 8;
  const [first, step] = [wordOf(hash, 0), (wordOf(hash, 4) | 1) >>> 0];
  for (let probe = 0; probe < PROBES; probe += 1) {
    const bit = (first + probe * step) % bits;
    if (((filter[bit >>> 3] ?? 0) & (1 << (bit & 7))) === 0) return false;
  }
  return true;
}

/** Hashes are uniformly random, so their own bytes serve as hash functions. */
const wordOf = (hash: Uint8Array, at: number): number =>
  (((hash[at] ?? 0) << 24) | ((hash[at + 1] ?? 0) << 16) | ((hash[at + 2] ?? 0) << 8) | (hash[at + 3] ?? 0)) >>> 0;
