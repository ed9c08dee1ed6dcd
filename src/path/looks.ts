// How texts look: texts that nobody can tell apart by sight have one look. Pure text.

const PLAIN = /^[\t\n\r -~]*$/;
/** Format characters and variation selectors. */
const INVISIBLE = /\p{Cf}|\u034f|[\ufe00-\ufe0f]/gu;
/** A run of blanks, or a character with what is combined with it or cannot be seen behind it. */
const TOKEN = /[\t\p{Zs}]+|.(?:\p{M}|\p{Cf})*/gsu;

/** One text for all that look the same: composed, without what is invisible, with plain spaces, quotes and hyphens. */
export function lookOf(text: string): string {
  if (PLAIN.test(text)) return text;
  return text
    .normalize("NFC")
    .replace(INVISIBLE, "")
    .replace(/\p{Zs}/gu, " ")
    .replace(/[\u2018\u2019\u201b\u2032\u02bc]/g, "'")
    .replace(/[\u201c\u201d\u201f\u2033]/g, '"')
    .replace(/[\u2010\u2011]/g, "-");
}

interface Token {
  readonly raw: string;
  readonly look: string;
}

/**
 * The first difference of a text from a part of another that looks the same, by code points: `U+202F in place of U+0020`.
 * `undefined`: no part does, or the difference can be seen.
 */
export function unseenDifference(there: string, given: string): string | undefined {
  const all = tokensOf(there).filter(({ look }) => look !== "");
  const wanted = tokensOf(given);
  const seen = wanted.filter(({ look }) => look !== "");
  const starts = new Map<number, number>();
  let length = 0;
  for (const [index, { look }] of all.entries()) {
    starts.set(length, index);
    length += look.length;
  }
  const key = looksOf(seen);
  const first = key === "" ? undefined : starts.get(looksOf(all).indexOf(key));
  if (first === undefined) return undefined;
  const pairs = seen.map((token, index) => [all[first + index]?.raw ?? "", token.raw] as const);
  // At the start of what is given there may be what has no place of its own.
  const lead = seen.length < wanted.length ? [["", wanted[0]?.raw ?? ""] as const] : [];
  const found = [...lead, ...pairs].find(([one, other]) => one !== other && !/^ *(?:\n *)?$/.test(one + other));
  return found && `${pointsOf(found[0], found[1])} in place of ${pointsOf(found[1], found[0])}`;
}

function tokensOf(text: string): readonly Token[] {
  return (text.match(TOKEN) ?? []).map((raw) => ({ raw, look: /^[\t\p{Zs}]/u.test(raw) ? " " : lookOf(raw) }));
}

const looksOf = (tokens: readonly Token[]): string => tokens.map(({ look }) => look).join("");

/** Most code points that are named. */
const MAX_POINTS = 3;

/** The code points of a text, from the first that another has not. */
function pointsOf(text: string, other: string): string {
  const [points, others] = [[...text], [...other]];
  let from = 0;
  while (from < points.length && points[from] === others[from]) from++;
  const named = points.slice(from, from + MAX_POINTS).map((one) => {
    return `U+${(one.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
  });
  return named.length === 0 ? "nothing" : named.join(" ");
}
