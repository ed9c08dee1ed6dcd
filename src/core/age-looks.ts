// Judges the age of kept entries by repeated looks at the clock, so that a wrong clock removes none before its time.

const DAY_MS = 86_400_000;

/** The looks so far, stored beside the entries they are about. Times are milliseconds since the epoch. */
export interface AgeLooks {
  /** Time of the last look that was believed. */
  readonly believed: number;
  /** Time of the first look that no other look confirms yet. */
  readonly doubted?: number | undefined;
}

/**
 * Judges the time of one more look. A long while since the last one may be a clock that is ahead: a second look, on another
 * day, decides. @param days for which things are kept
 */
export function lookAgain({ believed, doubted }: AgeLooks, nowMs: number, days: number): AgeLooks {
  if (nowMs - believed <= Math.max(1, days / 4) * DAY_MS) return { believed: nowMs };
  const since = doubted === undefined ? Number.NaN : nowMs - doubted;
  if (since >= DAY_MS && since <= Math.max(7, days) * DAY_MS) return { believed: nowMs };
  return { believed, doubted: since >= 0 && since < DAY_MS ? doubted : nowMs };
}

/** Entries older than this may go for their age: none while the clock is in doubt. @param days for which they are kept */
export const oldestMs = ({ doubted }: AgeLooks, nowMs: number, days: number): number =>
  doubted === undefined ? nowMs - days * DAY_MS : Number.NEGATIVE_INFINITY;
