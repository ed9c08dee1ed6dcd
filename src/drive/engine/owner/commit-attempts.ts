// How often a commit is tried while other venues swap the same root.

import type { Clock } from "../../../core/clock.js";
import type { CellStore } from "../../store/cell-store.js";

const MAX_TRIES = 8;
/**
 * Limits where venues share a root: the one closer to the storage can win many times in a row, so the other retries for
 * this long (ms), but at least 32 times. The most only ends what a store answers without any delay.
 */
const SHARED_TRIES = { ms: 15_000, least: 32, most: 5_000 };

/** Yields once per allowed try, the first included. */
export function* limitTries({ store, clock }: { readonly store: CellStore; readonly clock: Clock }): Generator<void> {
  const start = clock.monotonicMs();
  const mayTry = (tries: number): boolean => {
    if (store.sharesRoots !== true) return tries < MAX_TRIES;
    const isEarly = tries < SHARED_TRIES.least || clock.monotonicMs() - start < SHARED_TRIES.ms;
    return isEarly && tries < SHARED_TRIES.most;
  };
  for (let tries = 0; mayTry(tries); tries += 1) yield;
}
