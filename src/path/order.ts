// The sort order of names in every enumeration.

/** Compares two texts by code points, where `<` would compare UTF-16 code units. */
export function compareCodePoints(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x === y) continue;
    // Surrogates stand for code points above U+FFFF, so they sort after every other unit.
    return weight(x) - weight(y);
  }
  return a.length - b.length;
}

const weight = (unit: number): number => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit);

/** Names, or values with names. */
export interface Named {
  readonly name: string;
  /** Known to have no upper-case letter, and none beyond ASCII. */
  readonly isUsual?: boolean;
}

/** Sorts entries in the order of every enumeration: lower-cased name by code points, then the name itself. */
export function sortByName<T extends Named>(entries: readonly T[]): T[] {
  // Most often no name has an upper-case letter, or one beyond ASCII.
  if (!entries.some(({ name, isUsual }) => isUsual !== true && UNLIKE_FOLDED.test(name))) {
    return entries.toSorted((a, b) => compareUnits(a.name, b.name));
  }
  const compare = entries.some(({ name }) => SURROGATE.test(name)) ? compareCodePoints : compareUnits;
  if (entries.every(({ name }) => name === name.toLowerCase())) {
    return entries.toSorted((a, b) => compare(a.name, b.name));
  }
  return entries
    .map((entry) => ({ entry, folded: entry.name.toLowerCase() }))
    .sort((a, b) => compare(a.folded, b.folded) || compare(a.entry.name, b.entry.name))
    .map(({ entry }) => entry);
}

const UNLIKE_FOLDED = /[A-Z\u0080-\uffff]/;
const SURROGATE = /[\ud800-\udfff]/;

/** Whether one comes before another in that order. */
export const isBefore = (a: Named, b: Named): boolean =>
  a.isUsual === true && b.isUsual === true ? a.name < b.name : compareNames(a.name, b.name) < 0;

/** Compares two names in that order. */
const compareNames = (a: string, b: string): number =>
  a === b ? 0 : compareCodePoints(a.toLowerCase(), b.toLowerCase()) || compareCodePoints(a, b);

/** Compares two paths in the order of walks: a directory, then its content, then its next sibling. */
export function compareVisits(a: readonly string[], b: readonly string[]): number {
  const shared = Math.min(a.length, b.length);
  for (let at = 0; at < shared; at++) {
    const order = compareNames(a[at] ?? "", b[at] ?? "");
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

/** Index of the first of some sorted entries whose name comes behind another; 0 where none is given. */
export function startAfter(sorted: readonly Named[], name: string | undefined): number {
  if (name === undefined) return 0;
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareNames((sorted[middle] as Named).name, name) > 0) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Without surrogates, UTF-16 code units are in the order of code points, and `<` compares many times faster. */
const compareUnits = (a: string, b: string): number => (a < b ? -1 : a === b ? 0 : 1);
