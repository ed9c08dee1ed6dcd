// Waits between attempts to swap a root that other processes swap too.

import { setTimeout as delay } from "node:timers/promises";

const FIRST_MS = 10;
const MOST_MS = 300;

export interface ConflictWaits {
  /**
   * Waits if the last swap of this owner's root was a conflict: a random time, of which the most doubles with each
   * conflict in a row, up to 300 ms.
   */
  after(owner: string, isConflict: boolean): Promise<void>;
}

export interface ConflictWaitsParts {
  /** At least 0, below 1. */
  readonly random?: () => number;
  readonly wait?: (ms: number) => Promise<unknown>;
}

export function createConflictWaits({ random = Math.random, wait = delay }: ConflictWaitsParts = {}): ConflictWaits {
  /** Conflicts since the last success, by owner. */
  const conflicts = new Map<string, number>();
  return {
    async after(owner, isConflict) {
      if (!isConflict) {
        conflicts.delete(owner);
        return;
      }
      const count = conflicts.get(owner) ?? 0;
      conflicts.set(owner, count + 1);
      await wait(random() * Math.min(MOST_MS, FIRST_MS * 2 ** count));
    },
  };
}
