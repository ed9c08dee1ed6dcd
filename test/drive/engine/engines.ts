import type { Clock } from "../../../src/core/clock.js";
import { silentLog } from "../../../src/core/ports/log.js";
import { createDriveEngine, type DriveEngine, type DriveEngineOptions } from "../../../src/drive/engine/engine.js";
import { createOwnerKeys } from "../../../src/drive/keys/owner-keys.js";
import type { CellBatch, CellStore } from "../../../src/drive/store/cell-store.js";
import { createMemoryStore } from "../../../src/drive/store/memory.js";

export const ALICE = "did:key:z6MkAlice";
export const BOB = "did:key:z6MkBob";
export const VENUE_KEY = new Uint8Array(32).fill(1);

/** A clock that stands still until it is moved. */
export function clockAt(now: number): Clock & { now: number } {
  const clock = { now, nowMs: () => clock.now, monotonicMs: () => clock.now };
  return clock;
}

export interface TestEngine extends DriveEngine {
  readonly store: CellStore;
  readonly clock: Clock & { now: number };
}

/** An engine on a store in memory. */
export function openEngine(options?: Partial<DriveEngineOptions> & { clock?: Clock & { now: number } }): TestEngine;
export function openEngine(options: Partial<DriveEngineOptions>): Omit<TestEngine, "clock">;
export function openEngine(options: Partial<DriveEngineOptions> = {}): Omit<TestEngine, "clock"> & { clock: Clock } {
  const { store = createMemoryStore(), clock = clockAt(1000) } = options;
  const keys = options.keys ?? createOwnerKeys({ records: store.keys, venueKey: VENUE_KEY, clock });
  const engine = createDriveEngine({ log: silentLog, ...options, store, keys, clock });
  return { ...engine, store, clock };
}

/** What a store is asked for, and what it answers in place of what it should. */
export interface Tap {
  readonly puts: { readonly hash: string; readonly bytes: Uint8Array }[];
  readonly gets: string[];
  commits: number;
  /** Hashes that the store has lost. */
  readonly lost: Set<string>;
  /** Runs before the next commit. */
  beforeCommit?: (() => Promise<void>) | undefined;
  /** Every request fails. */
  isDown: boolean;
}

/** A store whose requests are seen, counted and spoilt. */
export function tapped(store: CellStore): { store: CellStore; tap: Tap } {
  const tap: Tap = { puts: [], gets: [], commits: 0, lost: new Set(), isDown: false };
  const checkUp = (): void => {
    if (tap.isDown) throw new Error("connect ECONNREFUSED 10.0.0.1:9000");
  };
  const read = (hash: Uint8Array): string | undefined => {
    checkUp();
    const hex = Buffer.from(hash).toString("hex");
    tap.gets.push(hex);
    return tap.lost.has(hex) ? undefined : hex;
  };
  const batch = (): CellBatch => {
    const inner = store.batch();
    return {
      put: (hash, bytes) => {
        checkUp();
        tap.puts.push({ hash: Buffer.from(hash).toString("hex"), bytes: new Uint8Array(bytes) });
        return inner.put(hash, bytes);
      },
      flush: () => inner.flush(),
      async commit(...args) {
        checkUp();
        const before = tap.beforeCommit;
        tap.beforeCommit = undefined;
        await before?.();
        tap.commits += 1;
        return inner.commit(...args);
      },
    };
  };
  const wrapped: CellStore = {
    getMany: async (hashes) => {
      const found = await store.getMany(hashes);
      return found.map((bytes, place) => (read(hashes[place] ?? new Uint8Array()) === undefined ? undefined : bytes));
    },
    batch,
    root: (owner) => store.root(owner),
    owners: () => store.owners(),
    async pin(owner) {
      checkUp();
      return store.pin(owner);
    },
    collect: (options) => store.collect(options),
    keys: store.keys,
    format: store.format,
    close: () => store.close(),
  };
  return { store: wrapped, tap };
}

/** The code of what a promise is rejected with. */
export async function rejection(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
  } catch (error) {
    return typeof error === "object" && error !== null && "code" in error ? error.code : error;
  }
  return undefined;
}

export async function textOf(
  engine: DriveEngine,
  did: string,
  drive: string,
  path: readonly string[],
): Promise<string> {
  const snapshot = await engine.owner(did).read(drive);
  try {
    return (await snapshot.readFile(path, 0, 10_000_000)).bytes.toString();
  } finally {
    snapshot.release();
  }
}

export async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
