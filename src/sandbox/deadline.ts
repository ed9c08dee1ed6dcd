import type { Clock } from "../core/clock.js";

/** Clocks that are not the system's may jump. */
const LOOK_MS = 250;

/** Calls `onOver` once, when so much time has passed by the clock. @returns what stops that */
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
