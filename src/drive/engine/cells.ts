// Reads cells from a store, and lets synchronous code of `drive/cad3` and `drive/dlfs` run on them.

import type { Awaitable } from "../../core/io.js";
import { codeOf } from "../../core/unknown.js";
import { missingCell, type Source } from "../cad3/encoding/assemble.js";
import { DEFAULT_CELL_LIMITS } from "../cad3/limits.js";
import { lazyRef } from "../cad3/open.js";
import { hashOfRef, hexOfBranch, isBranch, sha3, toHex } from "../cad3/ref.js";
import { BLOB_TAG, STRING_TAG } from "../cad3/scalar.js";
import type { Value } from "../cad3/value.js";
import { driveError } from "../error.js";
import { createLru, type Lru } from "../lru.js";
import type { Step, Steps } from "../steps.js";
import type { CellStore, TakeCell } from "../store/cell-store.js";
import { createTurn } from "../turn.js";
import { missingHash, storeUnavailable } from "./fault.js";

/** Maximum cells per request to a store. */
const MAX_TOGETHER = 512;
/** Blobs above this size are file content, which is read once and not cached. */
const MAX_KEPT_BLOB_BYTES = 1024;

export interface PoolOptions {
  readonly store: CellStore;
  /** Verify the hash of every cell, in addition to the store's own check. */
  readonly verifyReads: boolean;
  readonly cacheBytes: number;
}

/** Memory per kept cell beside its bytes. */
export const CELL_OVERHEAD_BYTES = 300;
const MAX_SIZES = 100_000;
/** Most first ids of log records that are remembered, for all owners together. */
const MAX_FIRST_IDS = 20_000;

export type CellPool = ReturnType<typeof createCellPool>;

/** Cells of a store, with a cache for those of trees. */
export function createCellPool({ store, verifyReads, cacheBytes }: PoolOptions) {
  const kept = createLru<Uint8Array>(cacheBytes, ({ length }) => length + CELL_OVERHEAD_BYTES);
  const keep = (hash: string, bytes: Uint8Array, isContent: boolean): void => {
    if (isContent && bytes.length > MAX_KEPT_BLOB_BYTES) return;
    // A copy, since a view would keep the whole buffer it is a part of.
    if (kept.get(hash) === undefined) kept.set(hash, new Uint8Array(bytes));
  };
  const verify = (hash: string, bytes: Uint8Array): void => {
    if (toHex(sha3(bytes)) !== hash) throw driveError("BAD_FORMAT", "A cell has another hash");
  };
  const checked = (hash: string, bytes: Uint8Array | undefined): Uint8Array | undefined => {
    if (bytes === undefined) return undefined;
    if (verifyReads) verify(hash, bytes);
    keep(hash, bytes, bytes[0] === BLOB_TAG);
    return bytes;
  };
  return {
    /** Sizes of blobs, by the hash of their top cell. */
    sizes: createLru<number>(MAX_SIZES),
    /** Ids of the first entries of log records, by the hash of the record. */
    firstIds: createLru<string>(MAX_FIRST_IDS),
    /** A cell that is in memory. */
    near: kept.get,
    /** Keeps a cell that was stored, to be read next, unless it is content or text. */
    keep: (hash: string, bytes: Uint8Array): void =>
      keep(hash, bytes, bytes[0] === BLOB_TAG || bytes[0] === STRING_TAG),
    /** In request order; `undefined` for cells the store does not have. @throws STORE_UNAVAILABLE, STORE_DAMAGED */
    async get(hashes: readonly string[]): Promise<(Uint8Array | undefined)[]> {
      const found = hashes.map(kept.get);
      const missing = hashes.filter((_, place) => found[place] === undefined);
      if (missing.length === 0) return found;
      const read = await callStore(() => store.getMany(missing.map((hash) => Buffer.from(hash, "hex"))));
      let next = 0;
      return hashes.map((hash, place) => found[place] ?? checked(hash, read[next++]));
    },
    /** The cells of content, which is not kept; each is valid only while `take` runs. @throws MISSING_CELL too */
    async content(hashes: readonly Uint8Array[], take: TakeCell): Promise<void> {
      const failures: unknown[] = [];
      const taken = new Set<number>();
      const takeOne: TakeCell = (at, bytes) => {
        try {
          if (verifyReads) verify(toHex(hashes[at] ?? bytes), bytes);
          take(at, bytes);
          taken.add(at);
        } catch (error) {
          failures.push(error);
        }
      };
      const rest = await callStore(() => store.getMany(hashes, takeOne));
      for (const [at, bytes] of rest.entries()) if (bytes !== undefined) takeOne(at, bytes);
      if (failures.length > 0) throw failures[0];
      const missing = hashes.find((_, at) => !taken.has(at));
      if (missing !== undefined) throw missingCell(toHex(missing));
    },
  };
}

/** Calls the store. Errors without a known code become STORE_UNAVAILABLE. */
export async function callStore<T>(ask: () => Promise<T> | T): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    throw unreachable(error);
  }
}

export const unreachable = (error: unknown): unknown =>
  ["STORE_DAMAGED", "NO_SPACE"].includes(codeOf(error) ?? "") ? error : storeUnavailable();

/** Finds cells that may not be in the store yet. */
export interface Overlay {
  find(hash: string): Uint8Array | undefined;
  /**
   * Waits until the store has the cells that `find` no longer returns.
   * @returns whether there were any
   */
  settle?(): Promise<boolean>;
}

/**
 * The cells used by one task. `drive/cad3` and `drive/dlfs` are synchronous: they use the cells at hand, fail at the
 * first missing one, and run again once it has been fetched. Cells opened before stay open, unless they are let go of.
 */
export interface CellScope {
  readonly source: Source;
  readonly sizes: Lru<number>;
  readonly firstIds: Lru<string>;
  /** Cells that are kept as long as the scope. */
  readonly size: number;
  /** Whether a branch is in the store, or will be once the change is. */
  has(hash: string): boolean;
  /**
   * Runs synchronous work until no cell is missing; returns synchronously if none is.
   *
   * @throws MISSING_CELL if the store does not have one
   */
  run<T>(work: () => T): Awaitable<T>;
  /**
   * Runs a long computation once, fetching cells as needed and yielding to other work.
   *
   * @throws MISSING_CELL if the store does not have one
   */
  runSteps<T>(steps: Steps<T>): Promise<T>;
  /** Prefetches branches. Missing ones are reported when they are used. */
  fetch(refs: Iterable<Uint8Array>): Promise<void>;
  /** Cells for immediate use; they are not kept. */
  peek(hashes: readonly string[]): Promise<(Uint8Array | undefined)[]>;
  /** The same for branches of content; each cell is valid only while `take` runs. @throws MISSING_CELL */
  content(branches: readonly Uint8Array[], take: TakeCell): Promise<void>;
  /**
   * The value of a Ref.
   * @throws MISSING_CELL
   */
  open(ref: Uint8Array): Promise<Value>;
}

/** Steps of a long computation between yields. */
const STEPS_PER_TURN = 16;

export function createScope(pool: CellPool, overlay?: Overlay): CellScope {
  const held = new Map<string, Uint8Array>();
  /** A cell in memory needs no second run of the work that wants it. */
  const load = (hash: string): Uint8Array | undefined => {
    const known = held.get(hash);
    if (known !== undefined) return known;
    const near = overlay?.find(hash) ?? pool.near(hash);
    if (near !== undefined) held.set(hash, near);
    return near;
  };
  const source: Source = { load, forget: (hash) => held.delete(hash), limits: DEFAULT_CELL_LIMITS };
  const peek = async (hashes: readonly string[]): Promise<(Uint8Array | undefined)[]> => {
    const near = hashes.map((hash) => held.get(hash) ?? overlay?.find(hash));
    const wanted = hashes.filter((_, place) => near[place] === undefined);
    if (wanted.length === 0) return near;
    let read = await pool.get(wanted);
    if (read.includes(undefined) && (await overlay?.settle?.()) === true) read = await pool.get(wanted);
    let next = 0;
    return near.map((bytes) => bytes ?? read[next++]);
  };
  const hold = async (hashes: readonly string[]): Promise<void> => {
    const cells = await peek(hashes);
    hashes.forEach((hash, place) => {
      const bytes = cells[place];
      if (bytes !== undefined) held.set(hash, bytes);
    });
  };
  const fetch = async (refs: Iterable<Uint8Array>): Promise<void> => {
    const hashes = new Set<string>();
    for (const ref of refs) if (isBranch(ref)) hashes.add(toHex(hashOfRef(ref)));
    const wanted = [...hashes].filter((hash) => !held.has(hash));
    for (let at = 0; at < wanted.length; at += MAX_TOGETHER) await hold(wanted.slice(at, at + MAX_TOGETHER));
  };
  /** Fetches the cell for want of which work has failed. @throws the error if it has another reason */
  const bring = async (error: unknown): Promise<void> => {
    const hash = missingHash(error);
    if (hash === undefined || held.has(hash)) throw error;
    await hold([hash]);
    if (!held.has(hash)) throw error;
  };
  const again = async <T>(work: () => T, first: unknown): Promise<T> => {
    const turn = createTurn();
    for (let error = first; ; ) {
      await bring(error);
      await turn();
      try {
        return work();
      } catch (other) {
        error = other;
      }
    }
  };
  /** Fetches the cells a step requests. Optional ones that are missing are reported when used. */
  const supply = async ({ wanted, missing, wait }: Step): Promise<void> => {
    await wait?.();
    if (wanted.length > 0) await fetch(wanted);
    if (missing !== undefined) await bring(missing);
  };
  const runSteps = async <T>(steps: Steps<T>): Promise<T> => {
    const turn = createTurn({ units: STEPS_PER_TURN });
    for (let step = steps.next(); ; step = steps.next()) {
      if (step.done === true) return step.value;
      await supply(step.value);
      await turn();
    }
  };
  const run = <T>(work: () => T): Awaitable<T> => {
    try {
      return work();
    } catch (error) {
      if (missingHash(error) === undefined) throw error;
      return again(work, error);
    }
  };
  return {
    source,
    sizes: pool.sizes,
    firstIds: pool.firstIds,
    get size() {
      return held.size;
    },
    has: (hash) => held.has(hash),
    run,
    runSteps,
    fetch,
    peek,
    async content(branches, take) {
      if (overlay === undefined) return pool.content(branches.map(hashOfRef), take);
      const found = await peek(branches.map(hexOfBranch));
      for (const [at, branch] of branches.entries()) {
        const bytes = found[at];
        if (bytes === undefined) throw missingCell(hexOfBranch(branch));
        take(at, bytes);
      }
    },
    async open(ref) {
      const value = lazyRef(ref, source);
      await run(() => value.bytes);
      return value;
    },
  };
}
