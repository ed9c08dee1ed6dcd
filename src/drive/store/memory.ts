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
import { createLiveBatches, createPins, type LiveBatches, type Pins } from "./live-batches.js";
import { type HashText, isLeafBlob, logsOf, markTrees, textOfHash } from "./mark.js";

export interface MemoryOptions {
  /** Maximum bytes of cells; further puts are refused. */
  readonly maxBytes?: number;
  readonly now?: () => number;
}

/** State shared by several in-memory stores. */
export interface Memory {
  readonly cells: Map<HashText, MemoryCell>;
  readonly roots: Map<string, RootRecord>;
  readonly keys: Map<string, Map<string, Uint8Array>>;
  readonly batches: LiveBatches;
  readonly pins: Pins;
  readonly maxBytes: number;
  readonly now: () => number;
  usedBytes: number;
  swaps: number;
}

interface MemoryCell {
  readonly bytes: Uint8Array;
  /** Time of the last put. */
  at: number;
}

const DEFAULT_MAX_BYTES = 1 << 30;

export function createMemory({ maxBytes = DEFAULT_MAX_BYTES, now = Date.now }: MemoryOptions = {}): Memory {
  const [batches, pins] = [createLiveBatches(now), createPins()];
  return { cells: new Map(), roots: new Map(), keys: new Map(), batches, pins, maxBytes, now, usedBytes: 0, swaps: 0 };
}

/** A store that lasts as long as the process. */
export function createMemoryStore(options: MemoryOptions & { memory?: Memory } = {}): CellStore {
  return new MemoryStore(options.memory ?? createMemory(options));
}

class MemoryStore implements CellStore {
  readonly format = NEWEST_FORMAT;
  readonly keys: KeyRecords;
  readonly #memory: Memory;
  #isOpen = true;

  constructor(memory: Memory) {
    this.#memory = memory;
    this.keys = createMemoryKeys(memory.keys);
  }

  async get(hash: Uint8Array): Promise<Uint8Array | undefined> {
    checkOpen(this.#isOpen);
    checkHash(hash);
    return this.#memory.cells.get(textOfHash(hash))?.bytes;
  }

  getMany(hashes: readonly Uint8Array[]): Promise<(Uint8Array | undefined)[]> {
    return Promise.all(hashes.map((hash) => this.get(hash)));
  }

  batch(): CellBatch {
    checkOpen(this.#isOpen);
    const live = this.#memory.batches.begin();
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
    const memory = this.#memory;
    const text = textOfHash(hash);
    const present = memory.cells.get(text);
    if (present !== undefined) {
      present.at = memory.now();
      return;
    }
    if (memory.usedBytes + bytes.length > memory.maxBytes) throw storeUnavailable("it is full");
    memory.cells.set(text, { bytes: new Uint8Array(bytes), at: memory.now() });
    memory.usedBytes += bytes.length;
  }

  async root(owner: string): Promise<RootRecord | undefined> {
    checkOpen(this.#isOpen);
    checkOwner(owner);
    return this.#memory.roots.get(owner);
  }

  async swapRoot(owner: string, expected: RootRecord | null, bytes: Uint8Array): Promise<RootRecord | "conflict"> {
    return this.#swap(owner, expected, { bytes });
  }

  #swap(
    owner: string,
    expected: RootRecord | null,
    { bytes, usedBytes, log }: Pick<RootRecord, "bytes" | "usedBytes" | "log">,
  ): RootRecord | "conflict" {
    checkOpen(this.#isOpen);
    checkOwner(owner);
    checkRoot(bytes);
    const memory = this.#memory;
    const present = memory.roots.get(owner);
    if (present?.version !== expected?.version) return "conflict";
    if (present !== undefined && sameBytes(present.bytes, bytes) && log === undefined) return present;
    memory.swaps += 1;
    const record = {
      ...{ version: String(memory.swaps), bytes: new Uint8Array(bytes), usedBytes },
      log: log === undefined ? present?.log : new Uint8Array(log),
    };
    memory.roots.set(owner, record);
    return record;
  }

  async *owners(): AsyncIterable<string> {
    checkOpen(this.#isOpen);
    yield* [...this.#memory.roots.keys()];
  }

  async pin(owner: string): Promise<Pin> {
    return this.#memory.pins.add(await this.root(owner));
  }

  async collect(options: CollectOptions): Promise<CollectReport> {
    checkOpen(this.#isOpen);
    return collectMemory(this.#memory, options);
  }

  async close(): Promise<void> {
    this.#isOpen = false;
  }
}

async function collectMemory(memory: Memory, { graceMs, dryRun = false }: CollectOptions): Promise<CollectReport> {
  const marks = new Set<HashText>();
  const before = Math.min(memory.now() - graceMs, memory.batches.oldestStart());
  const current = [...memory.roots.values()];
  const needed = [...current, ...memory.pins.roots()].map(({ bytes }) => bytes);
  const load = (wanted: ReadonlySet<HashText>): Map<HashText, Uint8Array | "leaf"> =>
    new Map(
      [...wanted].flatMap((text) => {
        const bytes = memory.cells.get(text)?.bytes;
        return bytes === undefined ? [] : [[text, isLeafBlob(bytes) ? "leaf" : bytes]];
      }),
    );
  const { live, missing } = await markTrees(needed, marks, load);
  await markTrees(logsOf([...current, ...memory.pins.roots()]), marks, load);
  let [removed, removedBytes] = [0, 0];
  // Runs synchronously to the end, so nothing can be pinned or put meanwhile.
  for (const [hash, { bytes, at }] of memory.cells) {
    if (missing > 0 || marks.has(hash) || at >= before) continue;
    removed += 1;
    removedBytes += bytes.length;
    if (!dryRun) memory.cells.delete(hash);
  }
  if (!dryRun) memory.usedBytes -= removedBytes;
  return { live, removed, removedBytes, packs: 0, missing };
}

function createMemoryKeys(all: Memory["keys"]): KeyRecords {
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
