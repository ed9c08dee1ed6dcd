// Numbers, sizes, times and names as people read them.

const numbers = new Intl.NumberFormat();
const UNITS = ["B", "kB", "MB", "GB", "TB"];
const tenths = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });
const days = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const moments = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });

export const formatNumber = (value: number): string => numbers.format(value);

/** `12.3 kB`, by powers of 1000. */
export function formatSize(bytes: number): string {
  const step = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, bytes)) / 3)));
  return `${tenths.format(bytes / 1000 ** step)} ${UNITS[step]}`;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `5 minutes ago` within a week, else the day. @param time milliseconds since the epoch */
export function formatAgo(time: number, now = Date.now()): string {
  const gone = time - now;
  const size = Math.abs(gone);
  if (size < MINUTE)
    return gone <= 0 && size < 10_000 ? "just now" : relative.format(Math.round(gone / 1000), "second");
  if (size < HOUR) return relative.format(Math.round(gone / MINUTE), "minute");
  if (size < DAY) return relative.format(Math.round(gone / HOUR), "hour");
  return size < 7 * DAY ? relative.format(Math.round(gone / DAY), "day") : days.format(time);
}

export const formatMoment = (time: number): string => moments.format(time);
export const formatClock = (time: number): string => clock.format(time);

/** Control, bidi, zero-width and other invisible characters, by which one name would look like another. */
const HIDDEN = new RegExp(
  [
    ...[
      "\\p{Cc}",
      "\\p{Cf}",
      "\\p{Zl}",
      "\\p{Zp}",
      "\\p{Cs}",
      "\\u{a0}",
      "\\u{34f}",
      "[\\u{115f}\\u{1160}\\u{3164}\\u{ffa0}]",
    ],
    ...[
      "[\\u{17b4}\\u{17b5}]",
      "[\\u{180b}-\\u{180f}]",
      "[\\u{2000}-\\u{200a}]",
      "[\\u{202f}\\u{205f}\\u{2800}\\u{3000}]",
    ],
  ].join("|"),
  "gu",
);

const VISIBLE = /^[ -~]*$/;

/** A name, path, label or message in which nothing is hidden: `a\u{202e}b`. */
export const plain = (text: string): string =>
  VISIBLE.test(text) ? text : text.replace(HIDDEN, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);

/** `did:key:z6Mk…3fGh`. */
export function shortDid(did: string): string {
  if (did === "" || did.length <= 24) return plain(did);
  const own = /:(access|token|public|sub)(?::(.+))?$/.exec(did);
  if (own !== null) return plain(own[2] === undefined ? (own[1] ?? "") : `${own[1]} ${own[2].slice(0, 12)}`);
  return plain(`${did.slice(0, 12)}…${did.slice(-4)}`);
}

export const nameOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1);
export const parentOf = (path: string): string => (path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "");
export const joinPath = (folder: string, name: string): string => (folder === "" ? name : `${folder}/${name}`);
/** `1 file`, `3 files`. */
export const count = (many: number, one: string, more = `${one}s`): string =>
  `${formatNumber(many)} ${many === 1 ? one : more}`;

/** Texts one after the other; those that do not end as a sentence get a full stop. Empty ones are left out. */
export const inSentences = (...texts: readonly string[]): string =>
  texts
    .filter((text) => text !== "")
    .map((text, at, all) => (at === all.length - 1 || /[.?!:]$/.test(text) ? text : `${text}.`))
    .join(" ");
