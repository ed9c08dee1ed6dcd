// Times for people at a terminal, in their time zone.

const MINUTE_MS = 60_000;

/** `2026-11-29 14:05:09`. @param ms since the epoch */
export const timeText = (ms: number): string =>
  new Date(ms - new Date(ms).getTimezoneOffset() * MINUTE_MS).toISOString().slice(0, 19).replace("T", " ");
