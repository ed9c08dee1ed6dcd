// Tracks this process's open batches, so that garbage collection spares their cells.

import type { Pin, RootRecord } from "./cell-store.js";

/** A batch unused for this long counts as abandoned. */
const DROPPED_AFTER_MS = 3_600_000;

/** Batches of this process with cells that no root references yet. */
export interface LiveBatches {
  begin(): LiveBatch;
  /** Cells written since this time may belong to an open batch; at most the current time. */
  oldestStart(): number;
}

export interface LiveBatch {
  /** Cells older than this do not belong to this batch. */
  readonly startedAt: number;
  /** Marks the batch as still in use. */
  touch(): void;
  end(): void;
}

export function createLiveBatches(now: () => number): LiveBatches {
  const running = new Map<LiveBatch, number>();
  const dropStale = (): void => {
    for (const [batch, usedAt] of running) if (usedAt + DROPPED_AFTER_MS < now()) running.delete(batch);
  };
  return {
    begin() {
      dropStale();
      const batch: LiveBatch = {
        startedAt: now(),
        touch: () => void running.set(batch, now()),
        end: () => void running.delete(batch),
      };
      return batch;
    },
    oldestStart() {
      dropStale();
      return Math.min(now(), ...Array.from(running.keys(), ({ startedAt }) => startedAt));
    },
  };
}

export interface Pins {
  /** @param onRelease idempotent */
  add(root: RootRecord | undefined, onRelease?: () => void): Pin;
  /** All pinned roots. */
  roots(): RootRecord[];
}

export function createPins(): Pins {
  const held = new Set<Pin>();
  return {
    add(root, onRelease) {
      const release = (): void => {
        held.delete(pin);
        onRelease?.();
      };
      const pin: Pin = { root, release };
      held.add(pin);
      return pin;
    },
    roots: () => [...held].flatMap(({ root }) => root ?? []),
  };
}
