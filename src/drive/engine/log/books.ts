// All logs of an owner read as one: those of the roots of all accounts, and those linked from them.

import { cellOf } from "../../cad3/encoding/cell.js";
import type { LazyValue } from "../../cad3/lazy.js";
import { lastEntries } from "../../cad3/maps/index-order.js";
import { lazyRef } from "../../cad3/open.js";
import { toHex } from "../../cad3/ref.js";
import type { RootRecord } from "../../store/cell-store.js";
import type { CellScope } from "../cells.js";
import { undefinedIfDamaged } from "../fault.js";
import { bookOf, findRecord, indexOf, type LogBook, readRecords, topValue } from "./book.js";
import type { LogItem } from "./entry.js";

export interface Books {
  readonly books: readonly LogBook[];
  /** A part of a log cannot be read. */
  readonly isDamaged: boolean;
}

export async function allBooks(roots: readonly RootRecord[], scope: CellScope): Promise<Books> {
  const waiting: LazyValue[] = roots.flatMap(({ log }) => (log === undefined ? [] : [topValue(log, scope)]));
  const seen = new Set<string>();
  const books: LogBook[] = [];
  let isDamaged = false;
  for (let top = waiting.pop(); top !== undefined; top = waiting.pop()) {
    const key = toHex(cellOf(top).ref);
    if (seen.has(key)) continue;
    seen.add(key);
    const log: LazyValue = top;
    const book = await undefinedIfDamaged(() => bookOf(log, scope));
    const linked = book && (await undefinedIfDamaged(() => scope.run(() => [...indexOf(book.linked).entries()])));
    if (book === undefined || linked === undefined) isDamaged = true;
    if (book !== undefined) books.push(book);
    waiting.push(...(linked ?? []).map(([, value]) => lazyRef(cellOf(value).ref, scope.source)));
  }
  return { books, isDamaged };
}

/** The newest copy of an entry. */
export async function findItem(books: readonly LogBook[], id: string, scope: CellScope): Promise<LogItem | undefined> {
  let found: LogItem | undefined;
  for (const book of books) {
    const record = await undefinedIfDamaged(() => findRecord(book, id, scope));
    found = newer(
      found,
      record?.items.find(({ entry }) => entry.id === id),
    );
  }
  return found;
}

/** Up to `limit` entries before an id, newest first. */
export async function itemsBefore(
  { books, isDamaged: isBroken }: Books,
  { before, limit }: { readonly before: string | undefined; readonly limit: number },
  scope: CellScope,
): Promise<{ readonly items: readonly LogItem[]; readonly isWhole: boolean; readonly isDamaged: boolean }> {
  const all = new Map<string, LogItem>();
  let [isWhole, isDamaged] = [true, isBroken];
  for (const book of books) {
    const part = await undefinedIfDamaged(() => itemsIn(book, { before, limit }, scope));
    if (part === undefined) isDamaged = true;
    isWhole &&= part?.isWhole !== false;
    for (const item of part?.items ?? []) {
      const { id } = item.entry;
      all.set(id, newer(all.get(id), item) ?? item);
    }
  }
  const items = [...all.values()].sort((one, other) => (one.entry.id < other.entry.id ? 1 : -1));
  return { items: items.slice(0, limit), isWhole: isWhole && items.length <= limit, isDamaged };
}

async function itemsIn(
  { recent, old }: LogBook,
  { before, limit }: { readonly before: string | undefined; readonly limit: number },
  scope: CellScope,
): Promise<{ readonly items: LogItem[]; readonly isWhole: boolean }> {
  const isBefore = ({ entry }: LogItem): boolean => before === undefined || entry.id < before;
  const items = (await readRecords(recent, scope)).filter(isBefore);
  for (let from = before, last = ""; items.length < limit; ) {
    const bound = from;
    const found = await scope.run(() => lastEntries(indexOf(old), limit + 1, bound));
    const records = found.filter(({ key }) => String(key) !== last);
    if (records.length === 0) return { items, isWhole: true };
    items.push(
      ...(
        await readRecords(
          records.map(({ value }) => value),
          scope,
        )
      ).filter(isBefore),
    );
    last = String(records.at(-1)?.key);
    from = last;
  }
  return { items, isWhole: false };
}

function newer(one: LogItem | undefined, other: LogItem | undefined): LogItem | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return (other.entry.rev ?? 0) > (one.entry.rev ?? 0) ? other : one;
}
