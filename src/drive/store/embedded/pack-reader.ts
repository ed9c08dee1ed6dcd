// Reads chunks from pack files.

import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import type { ReadLease } from "../read-lease.js";
import { storeDamaged } from "../store-error.js";
import type { Place } from "../tables.js";

export const packFile = (folder: string, pack: number): string =>
  join(folder, "packs", `${pack.toString(16).padStart(8, "0")}.pack`);

/** Maximum packs kept open. */
const MAX_OPEN = 32;
/** Maximum bytes of one read; places in one pack that are closer together than the gap are read at once. */
const MAX_READ_BYTES = 1 << 20;
const MAX_GAP_BYTES = 16_384;
/** Buffers kept for reads under a lease, and the fewest bytes of such a read. */
const MAX_SPARE = 4;
const MIN_LEASED_BYTES = 65_536;

interface OpenPack {
  readonly handle: Promise<FileHandle>;
  users: number;
  isDropped: boolean;
}

/** Reads places in packs and keeps recently used packs open. */
export class PackReader {
  readonly #folder: string;
  /** Least recently used first. */
  readonly #open = new Map<number, OpenPack>();
  /** Buffers of {@link MAX_READ_BYTES} that nothing uses. */
  readonly #spare: Buffer[] = [];

  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * In the given order.
   *
   * @param lease if present, what is returned may be overwritten once it is released
   * @throws ENOENT if a pack is gone, STORE_DAMAGED if it is too short
   */
  async readMany(places: readonly Place[], lease?: ReadLease): Promise<Buffer[]> {
    const found = new Map<Place, Buffer>();
    for (const run of runsOf(places)) {
      const [first, last] = [run[0], run.at(-1)];
      if (first === undefined || last === undefined) continue;
      const bytes = await this.#read({ ...first, length: last.offset + last.length - first.offset }, lease);
      for (const place of run) {
        const at = place.offset - first.offset;
        found.set(place, bytes.subarray(at, at + place.length));
      }
    }
    return places.map((place) => found.get(place) ?? Buffer.alloc(0));
  }

  async #read({ pack, offset, length }: Place, lease?: ReadLease): Promise<Buffer> {
    const entry = this.#take(pack);
    try {
      const handle = await entry.handle;
      const target = this.#bufferOf(length, lease);
      const { bytesRead } = await handle.read(target, 0, length, offset);
      if (bytesRead !== length) throw storeDamaged("a pack is too short");
      return target;
    } finally {
      entry.users -= 1;
      closeUnused(entry);
    }
  }

  #bufferOf(length: number, lease: ReadLease | undefined): Buffer {
    if (lease === undefined || length < MIN_LEASED_BYTES || length > MAX_READ_BYTES) {
      return Buffer.allocUnsafeSlow(length);
    }
    const buffer = this.#spare.pop() ?? Buffer.allocUnsafeSlow(MAX_READ_BYTES);
    lease.add(() => {
      if (this.#spare.length < MAX_SPARE) this.#spare.push(buffer);
    });
    return buffer.subarray(0, length);
  }

  #take(pack: number): OpenPack {
    const entry = this.#open.get(pack) ?? {
      handle: open(packFile(this.#folder, pack), "r"),
      users: 0,
      isDropped: false,
    };
    entry.users += 1;
    entry.handle.catch(() => this.drop(pack));
    this.#open.delete(pack);
    this.#open.set(pack, entry);
    const [oldest] = this.#open.keys();
    if (this.#open.size > MAX_OPEN && oldest !== undefined) this.drop(oldest);
    return entry;
  }

  /** Closes a pack as soon as no read uses it. */
  drop(pack: number): void {
    const entry = this.#open.get(pack);
    this.#open.delete(pack);
    if (entry === undefined) return;
    entry.isDropped = true;
    closeUnused(entry);
  }

  close(): void {
    for (const pack of [...this.#open.keys()]) this.drop(pack);
  }
}

function closeUnused(entry: OpenPack): void {
  if (!entry.isDropped || entry.users > 0) return;
  entry.handle.then((handle) => handle.close()).catch(() => undefined);
}

/** Groups of places that are read together, each ordered by offset. */
function runsOf(places: readonly Place[]): Place[][] {
  const sorted = [...places].sort((one, other) => one.pack - other.pack || one.offset - other.offset);
  const runs: Place[][] = [];
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
