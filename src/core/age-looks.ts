// Whether what is old by the clock may go: a clock that is wrong for once must not take what has been kept for weeks.

const DAY_MS = 86_400_000;

/** The looks so far, kept beside what they are about. Times are milliseconds since the epoch. */
export interface AgeLooks {
  /** The last one at a time that was believed. */
  readonly believed: number;
  /** The first one at a time that nothing so far speaks for. */
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

/** What is older may go for its age; nothing, while the clock is in doubt. @param days that it was kept for */
export const oldestMs = ({ doubted }: AgeLooks, nowMs: number, days: number): number =>
  doubted === undefined ? nowMs - days * DAY_MS : Number.NEGATIVE_INFINITY;
