// Tracks this process's open batches, so that garbage collection spares their cells.

import type { Pin, RootRecord } from "./cell-store.js";

/** A batch unused for this long counts as abandoned. */
const DROPPED_AFTER_MS = 3_600_000;

export interface LiveBatch {
  /** Cells older than this do not belong to this batch. */
  readonly startedAt: number;
  /** Marks the batch as still in use. */
  touch(): void;
  end(): void;
}

export type LiveBatches = ReturnType<typeof createLiveBatches>;

/** Batches of this process with cells that no root references yet. */
export function createLiveBatches(now: () => number) {
  const running = new Map<LiveBatch, number>();
  const dropStale = (): void => {
    for (const [batch, usedAt] of running) if (usedAt + DROPPED_AFTER_MS < now()) batch.end();
  };
  return {
    /** @param onEnd also where the batch counts as abandoned; it may be used again after that */
    begin(onEnd?: () => void): LiveBatch {
      dropStale();
      const batch: LiveBatch = {
        startedAt: now(),
        touch: () => void running.set(batch, now()),
        end() {
          running.delete(batch);
          onEnd?.();
        },
      };
      return batch;
    },
    /** Cells written since this time may belong to an open batch; at most the current time. */
    oldestStart(): number {
      dropStale();
      return Math.min(now(), ...Array.from(running.keys(), ({ startedAt }) => startedAt));
    },
  };
}

export type Pins = ReturnType<typeof createPins>;

/** Roots that are pinned in this process. */
export function createPins() {
  const held = new Set<Pin>();
  return {
    /** @param onRelease idempotent */
    add(root: RootRecord | undefined, onRelease?: () => void): Pin {
      const release = (): void => {
        held.delete(pin);
        onRelease?.();
      };
      const pin: Pin = { root, release };
      held.add(pin);
      return pin;
    },
    roots: (): RootRecord[] => [...held].flatMap(({ root }) => root ?? []),
  };
}
