// Durations such as `24h`: parsing and formatting.

const FORM = /^([1-9]\d{0,8})([smhd])$/;
const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };
/** Largest first; a duration is shown in at most two of them. */
const UNITS: readonly (readonly [string, number])[] = [
  ["d", 86_400],
  ["h", 3600],
  ["min", 60],
  ["s", 1],
];

/**
 * Parses a duration.
 *
 * @param text a whole number and a unit: `90s`, `15m`, `1h`, `7d`
 * @returns seconds, at least one; `undefined` for anything else
 */
export function parseDuration(text: string): number | undefined {
  const [, count, unit = ""] = FORM.exec(text) ?? [];
  const seconds = SECONDS[unit];
  return count === undefined || seconds === undefined ? undefined : Number(count) * seconds;
}

/** Formats a duration, rounded down: `59 min 10 s`, `6 d 23 h`. @param seconds at least 0 */
export function printDuration(seconds: number): string {
  let rest = Math.floor(seconds);
  const parts: string[] = [];
  for (const [unit, size] of UNITS) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${count} ${unit}`);
    // Only adjacent units: seconds are noise after days.
    else if (parts.length > 0) break;
    if (parts.length === 2) break;
  }
  return parts.length === 0 ? "0 s" : parts.join(" ");
}

/** Formats a token's time as ISO 8601, UTC, to the second. @param seconds since the epoch, below 10^11 */
export const printTime = (seconds: number): string => new Date(seconds * 1000).toISOString().replace(/\.\d+Z$/, "Z");
