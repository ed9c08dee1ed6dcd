// Formats of numbers in Excel that show dates and times.

/** Parts of a date or time that a format shows. */
export interface Shows {
  readonly date: boolean;
  readonly time: boolean;
}

const DATE: Shows = { date: true, time: false };
const TIME: Shows = { date: false, time: true };
const BOTH: Shows = { date: true, time: true };

/** Formats that stand in no file; from 27 on those of eastern calendars (ECMA-376, 18.8.30). */
const BUILT_IN: readonly (readonly [from: number, to: number, shows: Shows])[] = [
  [14, 17, DATE],
  [18, 21, TIME],
  [22, 22, BOTH],
  [27, 31, DATE],
  [32, 35, TIME],
  [36, 36, DATE],
  [45, 47, TIME],
  [50, 58, DATE],
];

/** @param code of the format, if the file has it @returns `undefined`: it shows a number */
export function showsOf(id: number, code: string | undefined): Shows | undefined {
  if (code === undefined) return BUILT_IN.find(([from, to]) => id >= from && id <= to)?.[2];
  // Without texts, escaped characters, and brackets but those of elapsed times.
  const bare = code
    .replace(/"[^"]*"|\\.|[_*]./g, "")
    .replace(/\[(?!h+\]|m+\]|s+\])[^\]]*\]/gi, "")
    .split(";", 1)
    .join("")
    .toLowerCase();
  if (/general/.test(bare)) return undefined;
  const time = /[hs]/.test(bare) || /\[m+\]/.test(bare);
  const date = /[dy]/.test(bare) || (!time && /m/.test(bare));
  return date || time ? { date, time } : undefined;
}

const DAY_MS = 86_400_000;
/** Days from the beginning of the calendar to 1970, and between both calendars. */
const TO_1970 = 25_569;
const BETWEEN = 1462;
/** The calendar has a 29 February 1900, which never was. */
const LEAP = 60;
/** The first second after 9999. */
const END_DAYS = 2_958_466;

/** A number of days as ISO 8601, to the second. `undefined`: it is outside the calendar */
export function dateText(number: number, { date, time }: Shows, from1904: boolean): string | undefined {
  const days = from1904 && date ? number + BETWEEN : number;
  if (days < 0 || days >= END_DAYS) return undefined;
  const seconds = Math.round((days * DAY_MS) / 1000);
  const clock = [Math.floor(seconds / 3600) % (date ? 24 : Number.POSITIVE_INFINITY), (seconds / 60) % 60, seconds % 60]
    .map((one) => String(Math.floor(one)).padStart(2, "0"))
    .join(":");
  if (!date) return clock;
  const day = Math.floor(seconds / 86_400);
  const iso = new Date((day - TO_1970 + (day < LEAP ? 1 : 0)) * DAY_MS).toISOString().slice(0, 10);
  return time ? `${iso}T${clock}` : iso;
}
