// How often a commit is tried while other venues swap the same root.

import type { Clock } from "../../../core/clock.js";
import type { CellStore } from "../../store/cell-store.js";

const MAX_TRIES = 8;
/**
 * Limits where venues share a root: others can win many times in a row, so a venue retries for this long (ms), half of what a
 * call may take. The most only ends what a store answers without any delay.
 */
const SHARED_TRIES = { ms: 15_000, least: 2, most: 5_000 };

/** Yields once per allowed try, the first included. @param start monotonic time of the first one */
export function* limitTries(
  { store, clock }: { readonly store: CellStore; readonly clock: Clock },
  start: number,
): Generator<void> {
  const mayTry = (tries: number): boolean => {
    if (store.sharesRoots !== true) return tries < MAX_TRIES;
    const isEarly = tries < SHARED_TRIES.least || clock.monotonicMs() - start < SHARED_TRIES.ms;
    return isEarly && tries < SHARED_TRIES.most;
  };
  for (let tries = 0; mayTry(tries); tries += 1) yield;
}
