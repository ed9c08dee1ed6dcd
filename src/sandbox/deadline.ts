// Deadlines on an injected clock.

import type { Clock } from "../core/clock.js";

/** Polling interval (ms) for clocks other than the system's, which may jump. */
const LOOK_MS = 250;

/**
 * Calls `onOver` once when the time has passed on the clock.
 * @returns cancels it
 */
export function untilDeadline(clock: Clock, timeoutMs: number | undefined, onOver: () => void): () => void {
  if (timeoutMs === undefined) return () => {};
  const deadline = clock.monotonicMs() + timeoutMs;
  let timer: NodeJS.Timeout | undefined;
  const look = () => {
    const left = deadline - clock.monotonicMs();
    if (left <= 0) onOver();
    else timer = setTimeout(look, Math.min(LOOK_MS, left));
  };
  look();
  return () => clearTimeout(timer);
}
