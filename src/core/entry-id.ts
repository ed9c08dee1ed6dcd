// Ids of journal entries and groups: unique over all roots and processes, and in the order in which they were made.

/** Crockford's base 32 in lower case: sorts like the numbers it stands for. */
const DIGITS = "0123456789abcdefghjkmnpqrstvwxyz";
const TIME_DIGITS = 9;
const COUNT_DIGITS = 4;
const RANDOM_BYTES = 8;
const MAX_COUNTED = 32 ** COUNT_DIGITS - 1;

/** Begins the id of a group, and never that of an entry: 9 digits of milliseconds begin with it only from the year 2527. */
const GROUP = "g";

/** Tells the ids of processes apart that make some in the same millisecond. */
const PROCESS = [...crypto.getRandomValues(new Uint8Array(RANDOM_BYTES))].map((byte) => DIGITS[byte % 32]).join("");
let lastMs = 0;
let count = 0;

/** An id of 21 characters: time, a counter within it, 8 characters of this process. @param nowMs since 1970 */
export function newEntryId(nowMs: number): string {
  // A clock that is set back must not change the order within this process.
  if (nowMs > lastMs) [lastMs, count] = [nowMs, 0];
  else if (count < MAX_COUNTED) count += 1;
  else [lastMs, count] = [lastMs + 1, 0];
  return digits(lastMs, TIME_DIGITS) + digits(count, COUNT_DIGITS) + PROCESS;
}

/** Has all further ids come after one of an earlier process: the clock may have been set back since. */
export function beginAfter(id: string): void {
  const ms = timeOfId(id);
  if (ms >= lastMs) [lastMs, count] = [ms, MAX_COUNTED];
}

/** An id of 22 characters for a group of entries. */
export const newGroupId = (nowMs: number): string => GROUP + newEntryId(nowMs);

/** Milliseconds since 1970 at which an entry id was made. */
export function timeOfId(id: string): number {
  let ms = 0;
  for (const digit of id.slice(0, TIME_DIGITS)) ms = ms * 32 + DIGITS.indexOf(digit);
  return ms;
}

function digits(number: number, length: number): string {
  let text = "";
  for (let rest = number, left = length; left > 0; left--, rest = Math.floor(rest / 32)) {
    text = DIGITS[rest % 32] + text;
  }
  return text;
}
