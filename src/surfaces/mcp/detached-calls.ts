// Calls that continue when their connection ends, and are cancelled by notification only.

import type { Caller } from "../../core/call/caller.js";
import type { RequestId } from "./wire.js";

/** A call that outlives the connection it came by. */
export interface DetachedCall {
  /** Aborted by the caller's `notifications/cancelled` alone. */
  readonly signal: AbortSignal;
  end(): void;
}

/**
 * Running calls over stateless HTTP in revisions before 2026-07-28: a dropped connection does not cancel them, and
 * `notifications/cancelled` comes by a request of its own. It reaches calls of the same caller only. Callers without
 * credentials share one identity and choose their request ids themselves, so they would cancel each other's calls:
 * for them only the job endpoint cancels.
 */
export class DetachedCalls {
  readonly #running = new Map<string, Set<AbortController>>();

  start(caller: Caller, id: RequestId): DetachedCall {
    const controller = new AbortController();
    const key = keyOf(caller, id);
    const same = this.#running.get(key) ?? new Set();
    this.#running.set(key, same.add(controller));
    const end = (): void => {
      same.delete(controller);
      if (same.size === 0 && this.#running.get(key) === same) this.#running.delete(key);
    };
    return { signal: controller.signal, end };
  }

  /** Does nothing if several calls have the id: two clients of one caller count from the same number. */
  cancel(caller: Caller, id: RequestId): void {
    const [only, ...others] = this.#running.get(keyOf(caller, id)) ?? [];
    if (others.length === 0 && caller.authentication !== "public") only?.abort();
  }
}

const keyOf = ({ did, narrowedTo = did }: Caller, id: RequestId): string => JSON.stringify([narrowedTo, id]);
