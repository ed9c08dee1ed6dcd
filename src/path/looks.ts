// How texts look: texts that nobody can tell apart by sight have one look. Pure text.

const PLAIN = /^[\t\n\r -~]*$/;
/** Format characters and variation selectors. */
const INVISIBLE = /\p{Cf}|\u034f|[\ufe00-\ufe0f]/gu;
/** A run of blanks, or a character with what is combined with it or cannot be seen behind it. */
const TOKEN = /[\t\p{Zs}]+|.(?:\p{M}|\p{Cf})*/gsu;

/** Characters for several letters, and the ellipsis. */
const JOINED = /[\u0132\u0133\u01c4-\u01cc\u01f1-\u01f3\u2026\ufb00-\ufb06]/g;

/** Cyrillic and Greek letters, and the Latin ones that they look like. */
const FOREIGN =
  "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u04bb\u0501\u051b\u051d\u0410\u0412\u0415\u041a" +
  "\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0406\u0408\u0405\u0391\u0392\u0395\u0396\u0397\u0399\u039a" +
  "\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03bf\u03bd";
const LATIN = "aeopcyxijshdqwABEKMHOPCTYXIJSABEZHIKMNOPTYXov";

/** One text for all that look the same: composed, without what is invisible, with plain spaces, quotes, hyphens and letters. */
export function lookOf(text: string): string {
  if (PLAIN.test(text)) return text;
  return text
    .normalize("NFC")
    .replace(INVISIBLE, "")
    .replace(/\p{Zs}/gu, " ")
    .replace(/[\u2018\u2019\u201b\u2032\u02bc]/g, "'")
    .replace(/[\u201c\u201d\u201f\u2033]/g, '"')
    .replace(/[\u2010-\u2013\u2212]/g, "-")
    .replace(JOINED, (one) => one.normalize("NFKC"))
    .replace(/[\u0370-\u052f]/g, (one) => LATIN[FOREIGN.indexOf(one)] ?? one);
}

/** The same for a name: blanks at its ends cannot be seen. */
export const nameLook = (name: string): string => lookOf(name).trim();

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
  const pairs = [...pairsOf(all.slice(first), seen)];
  // At the start of what is given there may be what has no place of its own.
  const lead = seen.length < wanted.length ? [["", wanted[0]?.raw ?? ""] as const] : [];
  const found = [...lead, ...pairs].find(([one, other]) => one !== other && !/^ *(?:\n *)?$/.test(one + other));
  return found && `${pointsOf(found[0], found[1])} in place of ${pointsOf(found[1], found[0])}`;
}

/** Characters that look alike, side by side; one may stand for several. */
function* pairsOf(all: readonly Token[], seen: readonly Token[]): Generator<readonly [string, string]> {
  for (let [at, next] = [0, 0]; next < seen.length; ) {
    let [one, other, ahead] = ["", "", 0];
    do {
      const isBehind = ahead <= 0;
      const token = isBehind ? all[at++] : seen[next++];
      if (token === undefined) break;
      ahead += isBehind ? token.look.length : -token.look.length;
      if (isBehind) one += token.raw;
      else other += token.raw;
    } while (ahead !== 0);
    yield [one, other];
  }
}

/** Most characters compared to find where a text may stand. */
const MAX_COMPARED = 1_000_000;

/**
 * The first character of a part of a text that stands in place of another, where in each such pair one is not ASCII: a
 * letter of another script, a sign of mathematics. `undefined`: there is no such part, or most of it differs.
 */
export function foreignDifference(there: string, given: string): string | undefined {
  const [all, wanted] = [[...there], [...given]];
  let left = MAX_COMPARED;
  for (let from = 0; from + wanted.length <= all.length && left > 0; from++) {
    let [at, first, count] = [0, -1, 0];
    for (; at < wanted.length; at++, left--) {
      const [one = "", other = ""] = [all[from + at], wanted[at]];
      if (one === other) continue;
      if (PLAIN.test(one + other)) break;
      if (first < 0) first = at;
      count++;
    }
    if (at < wanted.length || first < 0 || 2 * count > at) continue;
    return `${pointsOf(all[from + first] ?? "", "")} in place of ${pointsOf(wanted[first] ?? "", "")}`;
  }
  return undefined;
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
