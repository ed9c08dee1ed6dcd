// The in-memory store.

import { sameBytes } from "../cad3/ref.js";
import type {
  CellBatch,
  CellStore,
  CollectOptions,
  CollectReport,
  KeyRecord,
  KeyRecords,
  Pin,
  RootRecord,
} from "./cell-store.js";
import {
  checkCell,
  checkHash,
  checkKeyRecord,
  checkOpen,
  checkOwner,
  checkRoot,
  NEWEST_FORMAT,
  storeUnavailable,
} from "./checks.js";
import { createLiveBatches, createPins } from "./live-batches.js";
import { type HashText, isLeafBlob, type LoadForMark, markRoots, textOfHash } from "./mark.js";

export interface MemoryOptions {
  /** Maximum bytes of cells; further puts are refused. */
  readonly maxBytes?: number;
  readonly now?: () => number;
}

interface MemoryCell {
  readonly bytes: Uint8Array;
  /** Time of the last put. */
  at: number;
}

const DEFAULT_MAX_BYTES = 1 << 30;

/** A store that lasts as long as the process. */
export const createMemoryStore = (options: MemoryOptions = {}): CellStore => new MemoryStore(options);

class MemoryStore implements CellStore {
  readonly format = NEWEST_FORMAT;
  readonly keys = createMemoryKeys();
  readonly #cells = new Map<HashText, MemoryCell>();
  readonly #roots = new Map<string, RootRecord>();
  readonly #pins = createPins();
  readonly #maxBytes: number;
  readonly #now: () => number;
  readonly #batches;
  #usedBytes = 0;
  #swaps = 0;
  #isOpen = true;

  constructor({ maxBytes = DEFAULT_MAX_BYTES, now = Date.now }: MemoryOptions) {
    this.#maxBytes = maxBytes;
    this.#now = now;
    this.#batches = createLiveBatches(now);
  }

  async getMany(hashes: readonly Uint8Array[]): Promise<(Uint8Array | undefined)[]> {
    checkOpen(this.#isOpen);
    hashes.forEach(checkHash);
    return hashes.map((hash) => this.#cells.get(textOfHash(hash))?.bytes);
  }

  batch(): CellBatch {
    checkOpen(this.#isOpen);
    const live = this.#batches.begin();
    const flush = async (): Promise<void> => {
      checkOpen(this.#isOpen);
      live.end();
    };
    return {
      put: (hash, bytes) => {
        checkOpen(this.#isOpen);
        live.touch();
        this.#put(hash, bytes);
      },
      flush,
      commit: async (owner, expected, bytes, hint) => {
        await flush();
        return this.#swap(owner, expected, { ...hint, bytes });
      },
    };
  }

  #put(hash: Uint8Array, bytes: Uint8Array): void {
    checkCell(hash, bytes);
    const text = textOfHash(hash);
    const present = this.#cells.get(text);
    if (present !== undefined) {
      present.at = this.#now();
      return;
    }
    if (this.#usedBytes + bytes.length > this.#maxBytes) throw storeUnavailable("it is full");
    this.#cells.set(text, { bytes: new Uint8Array(bytes), at: this.#now() });
    this.#usedBytes += bytes.length;
  }

  async root(owner: string): Promise<RootRecord | undefined> {
    checkOpen(this.#isOpen);
    checkOwner(owner);
    return this.#roots.get(owner);
  }

  #swap(
    owner: string,
    expected: RootRecord | null,
    { bytes, usedBytes, log }: Omit<RootRecord, "version">,
  ): RootRecord | "conflict" {
    checkOwner(owner);
    checkRoot(bytes);
    const present = this.#roots.get(owner);
    if (present?.version !== expected?.version) return "conflict";
    if (present !== undefined && sameBytes(present.bytes, bytes) && log === undefined) return present;
    this.#swaps += 1;
    const record = {
      ...{ version: String(this.#swaps), bytes: new Uint8Array(bytes), usedBytes },
      log: log === undefined ? present?.log : new Uint8Array(log),
    };
    this.#roots.set(owner, record);
    return record;
  }

  async *owners(): AsyncIterable<string> {
    checkOpen(this.#isOpen);
    yield* [...this.#roots.keys()];
  }

  async pin(owner: string): Promise<Pin> {
    return this.#pins.add(await this.root(owner));
  }

  async collect({ graceMs, dryRun = false }: CollectOptions): Promise<CollectReport> {
    checkOpen(this.#isOpen);
    const marks = new Set<HashText>();
    const before = Math.min(this.#now() - graceMs, this.#batches.oldestStart());
    const load: LoadForMark = (wanted) =>
      new Map(
        [...wanted].flatMap((text) => {
          const bytes = this.#cells.get(text)?.bytes;
          return bytes === undefined ? [] : [[text, isLeafBlob(bytes) ? "leaf" : bytes]];
        }),
      );
    const { live, missing } = await markRoots([...this.#roots.values(), ...this.#pins.roots()], marks, load);
    let [removed, removedBytes] = [0, 0];
    // Runs synchronously to the end, so nothing can be pinned or put meanwhile.
    for (const [hash, { bytes, at }] of this.#cells) {
      if (missing > 0 || marks.has(hash) || at >= before) continue;
      removed += 1;
      removedBytes += bytes.length;
      if (!dryRun) this.#cells.delete(hash);
    }
    if (!dryRun) this.#usedBytes -= removedBytes;
    return { live, removed, removedBytes, packs: 0, missing };
  }

  async close(): Promise<void> {
    this.#isOpen = false;
  }
}

function createMemoryKeys(): KeyRecords {
  const all = new Map<string, Map<string, Uint8Array>>();
  return {
    async list(did) {
      const records = [...(all.get(did) ?? [])].map(([publicKey, bytes]): KeyRecord => ({ publicKey, bytes }));
      return records.sort((one, other) => (one.publicKey < other.publicKey ? -1 : 1));
    },
    async put(did, { publicKey, bytes }, options) {
      checkKeyRecord(did, publicKey, bytes);
      if (options?.onlyFirst === true && all.has(did)) return;
      all.set(did, (all.get(did) ?? new Map<string, Uint8Array>()).set(publicKey, new Uint8Array(bytes)));
    },
    async *dids() {
      yield* [...all.keys()];
    },
  };
}
