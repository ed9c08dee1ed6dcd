/** A batch that nobody put anything into for this long was dropped. */
const DROPPED_AFTER_MS = 3_600_000;

/** The batches of this process that have written cells no root names yet. */
export interface LiveBatches {
  begin(): LiveBatch;
  /** Cells written since then may belong to a batch; never later than now. */
  oldestStart(): number;
}

export interface LiveBatch {
  /** Cells older than this are not of this batch. */
  readonly startedAt: number;
  /** Says that it is still in use. */
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
