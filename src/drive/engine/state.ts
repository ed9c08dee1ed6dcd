// The current state of an owner: the roots of all accounts, merged.

import { cellOf } from "../cad3/encoding/cell.js";
import { decode } from "../cad3/encoding/multi-cell.js";
import { parseCell } from "../cad3/encoding/parse-cell.js";
import { LazyValue } from "../cad3/lazy.js";
import { CadMap, map } from "../cad3/maps/hash-map.js";
import { sameBytes, toHex } from "../cad3/ref.js";
import { Signed, verify } from "../cad3/signed.js";
import type { Value } from "../cad3/value.js";
import { mergeDrivesSteps } from "../dlfs/merge-owners.js";
import { notANode, openValue } from "../dlfs/node.js";
import type { CellStore, Pin, RootRecord } from "../store/cell-store.js";
import { createTurn } from "../turn.js";
import { type CellPool, type CellScope, callStore, createScope, type Overlay } from "./cells.js";
import { newCells } from "./new-cells.js";

/** The drives of an owner, merged from the roots of all accounts. */
export interface OwnerState {
  /** Identifies the roots: accounts and versions. */
  readonly stamp: string;
  /** By account key. */
  readonly roots: ReadonlyMap<string, RootRecord>;
  /** Ref of the map of drives; `undefined` if there is none. */
  readonly drives: Uint8Array | undefined;
  /** Cells of the map that are in no store because it was merged here. */
  readonly merged: ReadonlyMap<string, Uint8Array>;
}

export interface StateSource {
  readonly store: CellStore;
  readonly pool: CellPool;
}

/** A state protected from garbage collection. */
export interface PinnedState {
  readonly state: OwnerState;
  release(): void;
}

/**
 * Reads the roots of an owner and merges them.
 *
 * @param accounts public keys of the owner
 * @param known the last state, reused if nothing has changed
 * @throws STORE_UNAVAILABLE, BAD_FORMAT if a root is damaged or not signed by its owner
 */
export async function loadState(
  accounts: readonly string[],
  source: StateSource,
  known: OwnerState | undefined,
): Promise<PinnedState> {
  const pins: Pin[] = [];
  const release = (): void => {
    for (const pin of pins) pin.release();
  };
  try {
    const roots = new Map<string, RootRecord>();
    for (const account of accounts) {
      const pin = await callStore(() => source.store.pin(account));
      pins.push(pin);
      if (pin.root !== undefined) roots.set(account, pin.root);
    }
    const stamp = stampOf(roots);
    const state = known?.stamp === stamp ? known : { stamp, roots, ...(await mergeRoots(roots, source.pool)) };
    return { state, release };
  } catch (error) {
    release();
    throw error;
  }
}

/** Reads from an owner's state, which is held meanwhile. */
export async function withState<T>(
  queue: { load(how: { readonly mayBeStale: boolean }): Promise<PinnedState> },
  pool: CellPool,
  work: (state: OwnerState, scope: CellScope, overlay: Overlay) => Promise<T>,
): Promise<T> {
  const { state, release } = await queue.load({ mayBeStale: true });
  try {
    const overlay = overlayOf(state);
    return await work(state, createScope(pool, overlay), overlay);
  } finally {
    release();
  }
}

/** The cells of a state that are in no store. */
export const overlayOf = ({ merged }: Pick<OwnerState, "merged">): Overlay => ({ find: (hash) => merged.get(hash) });

export const stampOf = (roots: OwnerState["roots"]): string =>
  JSON.stringify(Array.from(roots, ([account, { version }]) => [account, version]));

async function mergeRoots(roots: OwnerState["roots"], pool: CellPool): Promise<Pick<OwnerState, "drives" | "merged">> {
  const merged = new Map<string, Uint8Array>();
  let drives: Uint8Array | undefined;
  for (const [account, { bytes }] of roots) {
    const other = signedDrives(bytes, account);
    if (drives === undefined || sameBytes(drives, other)) {
      drives = other;
      continue;
    }
    const scope = createScope(pool, overlayOf({ merged }));
    const both = await mergeRefs(drives, other, scope);
    const turn = createTurn();
    for (const cell of newCells(both, scope.has)) {
      merged.set(cell.hash, cell.bytes);
      await turn();
    }
    drives = cellOf(both).ref;
  }
  return { drives, merged };
}

async function mergeRefs(own: Uint8Array, other: Uint8Array, scope: CellScope): Promise<CadMap> {
  const [ours, theirs] = [await scope.open(own), await scope.open(other)];
  return scope.runSteps(mergeDrivesSteps(ours, theirs, { ties: "hash" }));
}

/**
 * The Ref of a root's map of drives.
 *
 * @throws BAD_FORMAT if it is not a value signed by this account
 */
export function signedDrives(bytes: Uint8Array, account: string): Uint8Array {
  const signed = decode(bytes);
  const isSigned = signed instanceof Signed || signed instanceof LazyValue;
  const cell = parseCell(new Uint8Array(bytes));
  const [part] = cell.refs;
  if (!isSigned || cell.kind !== "signed" || part === undefined) throw notANode("a root is a signed map of drives");
  // The signature covers the Ref, so nothing needs to be loaded.
  if (toHex(cell.publicKey) !== account || !verify(signed)) throw notANode("a root is signed by its owner");
  return part.bytes;
}

/**
 * The map of drives of a state.
 * @throws MISSING_CELL, BAD_FORMAT
 */
export async function drivesOf({ drives }: Pick<OwnerState, "drives">, scope: CellScope): Promise<CadMap> {
  if (drives === undefined) return map([]);
  const value = await scope.open(drives);
  const entries: Value = await scope.run(() => openValue(value));
  if (!(entries instanceof CadMap)) throw notANode("drives are a map");
  return entries;
}
