import type { Clock } from "../../core/clock.js";
import type { CellStore } from "../store/cell-store.js";

const MAX_TRIES = 8;
/**
 * Where venues share a root, one that is nearer to the storage can win many times in a row. So the other tries for this
 * long, but at least 32 and at most 500 times.
 */
const SHARED_TRIES = { ms: 15_000, least: 32, most: 500 };

/** Yields for each try that a change of an owner's root has, the first included. */
export function* triesAgainst({ store, clock }: { readonly store: CellStore; readonly clock: Clock }): Generator<void> {
  const start = clock.monotonicMs();
  const mayTry = (tries: number): boolean => {
    if (store.sharesRoots !== true) return tries < MAX_TRIES;
    const isEarly = tries < SHARED_TRIES.least || clock.monotonicMs() - start < SHARED_TRIES.ms;
    return isEarly && tries < SHARED_TRIES.most;
  };
  for (let tries = 0; mayTry(tries); tries += 1) yield;
}
