// Reads chunks from pack files.

import { closeSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { storeDamaged } from "../store-error.js";
import type { Place } from "../tables.js";

export const packFile = (folder: string, pack: number): string =>
  join(folder, "packs", `${pack.toString(16).padStart(8, "0")}.pack`);

/** Maximum packs kept open. */
const MAX_OPEN = 32;
/** Maximum bytes of one read: 64 chunks. Places in one pack that are closer together than the gap are read at once. */
const MAX_READ_BYTES = 64 * 4160;
const MAX_GAP_BYTES = 16_384;

/**
 * Reads places in packs and keeps recently used packs open. It reads on the calling thread, as LMDB does with the tables: the
 * store is on a local disk, and the thread pool takes longer to answer than the disk cache takes to give a piece.
 */
export class PackReader {
  readonly #folder: string;
  /** Descriptors by pack, the least recently used first. */
  readonly #open = new Map<number, number>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Every place with its bytes, in the order of the disk. A piece of a pack is read when its first place is asked for.
   *
   * @throws ENOENT if a pack is gone, STORE_DAMAGED if it is too short
   */
  *read<P extends Place>(places: readonly P[]): Generator<readonly [place: P, bytes: Buffer]> {
    for (const run of runsOf(places)) {
      const [first, last] = [run[0], run.at(-1)];
      if (first === undefined || last === undefined) continue;
      const { pack, offset } = first;
      const piece = this.#read({ pack, offset, length: last.offset + last.length - offset });
      for (const place of run) {
        const at = place.offset - offset;
        yield [place, piece.subarray(at, at + place.length)];
      }
    }
  }

  #read({ pack, offset, length }: Place): Buffer {
    const target = Buffer.allocUnsafeSlow(length);
    const bytesRead = readSync(this.#descriptorOf(pack), target, 0, length, offset);
    if (bytesRead !== length) throw storeDamaged("a pack is too short");
    return target;
  }

  #descriptorOf(pack: number): number {
    const fd = this.#open.get(pack) ?? openSync(packFile(this.#folder, pack), "r");
    this.#open.delete(pack);
    this.#open.set(pack, fd);
    const [oldest] = this.#open.keys();
    if (this.#open.size > MAX_OPEN && oldest !== undefined) this.drop(oldest);
    return fd;
  }

  drop(pack: number): void {
    const fd = this.#open.get(pack);
    this.#open.delete(pack);
    if (fd !== undefined) closeSync(fd);
  }

  close(): void {
    for (const pack of [...this.#open.keys()]) this.drop(pack);
  }
}

/** Groups of places that are read together, each ordered by offset. */
function runsOf<P extends Place>(places: readonly P[]): P[][] {
  const sorted = [...places].sort((one, other) => one.pack - other.pack || one.offset - other.offset);
  const runs: P[][] = [];
  for (const place of sorted) {
    const run = runs.at(-1);
    const [first, last] = [run?.[0], run?.at(-1)];
    const isNear =
      first !== undefined &&
      last?.pack === place.pack &&
      place.offset - last.offset - last.length <= MAX_GAP_BYTES &&
      place.offset + place.length - first.offset <= MAX_READ_BYTES;
    if (isNear) run?.push(place);
    else runs.push([place]);
  }
  return runs;
}
