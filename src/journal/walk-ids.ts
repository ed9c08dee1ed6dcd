// Ids of entries in the tables of a journal, by pages, so that no read transaction stays open for long.

import { idIn, indexKey, key, keysBelow, type Tables } from "./tables.js";
import type { IndexText } from "./waiting-entries.js";

/** Looks into the tables; `undefined`: they cannot be read. */
type Read = <T>(look: (tables: Tables) => T) => T | undefined;

const PAGE = 256;
const NOTHING = Buffer.alloc(0);
/** Sorts after every id. */
const AFTER_ALL_IDS = "~";

/** Newest first. @param before ids older than this one @param index absent: all entries */
export function* newestIds(read: Read, before: string | undefined, index?: IndexText): Generator<string> {
  const end = index === undefined ? NOTHING : indexKey(index.by, index.text);
  const tableOf = (tables: Tables) => (index === undefined ? tables.entries : tables.index);
  const keyAt = (id: string) => (index === undefined ? key(id) : indexKey(index.by, index.text, id));
  for (let start = before ?? AFTER_ALL_IDS; ; ) {
    const found =
      read((tables) => [
        ...tableOf(tables).getKeys({ start: keyAt(start), end, reverse: true, limit: PAGE, exclusiveStart: true }),
      ]) ?? [];
    for (const row of found) yield idIn(row);
    const last = found.at(-1);
    if (last === undefined || found.length < PAGE) return;
    start = idIn(last);
  }
}

/** Ids in a table of rows by id, or in an index, oldest first; those removed meanwhile are left out. */
export function* oldestIds(read: Read, of: "entries" | "kept" | IndexText): Generator<string> {
  const isTable = typeof of === "string";
  const end = isTable ? {} : { end: indexKey(of.by, of.text, AFTER_ALL_IDS) };
  for (let start = isTable ? undefined : indexKey(of.by, of.text); ; ) {
    const from = start === undefined ? {} : { start, exclusiveStart: true };
    const options = { ...from, ...end, limit: PAGE };
    const found = read((tables) => [...tables[isTable ? of : "index"].getKeys(options)]) ?? [];
    for (const row of found) yield isTable ? row.toString("latin1") : idIn(row);
    start = found.at(-1);
    if (start === undefined || found.length < PAGE) return;
  }
}

/** Ids of entries at a path and below it, newest first. @returns `undefined`: there are more than `limit` */
export function idsAtPath(
  read: Read,
  path: string,
  { before, limit }: { readonly before: string | undefined; readonly limit: number },
): Iterable<string> | undefined {
  const below = { ...keysBelow(path), limit };
  const inside = read(({ index }) => [...index.getKeys({ ...below, limit: 1 })]) ?? [];
  // The entries of one path are in the order of their ids already.
  if (inside.length === 0) return newestIds(read, before, { by: "p", text: path });
  const rows =
    read(({ index }) => [
      ...index.getKeys({ start: indexKey("p", path), end: indexKey("p", path, AFTER_ALL_IDS), limit }),
      ...index.getKeys(below),
    ]) ?? [];
  return rows.length < limit ? [...new Set(rows.map(idIn))].sort().reverse() : undefined;
}
