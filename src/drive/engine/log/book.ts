// The log of an owner's drives as a value: the newest records in its top cell, older ones in an index by id.

import { lookAgain, oldestMs } from "../../../core/age-looks.js";
import { timeOfId } from "../../../core/entry-id.js";
import { CHUNK_BYTES } from "../../cad3/blob.js";
import { cellOf } from "../../cad3/encoding/cell.js";
import { parseCell } from "../../cad3/encoding/parse-cell.js";
import type { ParsedCell } from "../../cad3/encoding/parsed.js";
import { LazyValue } from "../../cad3/lazy.js";
import { CadIndex, index } from "../../cad3/maps/index-map.js";
import { firstEntries, lastEntries } from "../../cad3/maps/index-order.js";
import { lazyCell, lazyRef } from "../../cad3/open.js";
import { type Cell, hashOfRef, isBranch, refOf, toHex } from "../../cad3/ref.js";
import type { Value } from "../../cad3/value.js";
import { notANode, openValue } from "../../dlfs/node.js";
import { LOG_MARK } from "../../store/mark.js";
import type { CellScope } from "../cells.js";
import type { LogQuota } from "../drives.js";
import { type ChangedCells, putNew } from "../write-set.js";
import {
  countedBytes,
  itemsOf,
  type LogFacts,
  type LogItem,
  recordsOf,
  withNextRevision,
  withoutNodes,
} from "./entry.js";

export interface LogBook {
  readonly facts: LogFacts;
  /** Index, perhaps unread: id of its first entry → record. */
  readonly old: CadIndex | LazyValue;
  /** Index, perhaps unread: name → log of a venue whose root an earlier version has merged. */
  readonly linked: CadIndex | LazyValue;
  /** Records newer than `old`, oldest first. */
  readonly recent: readonly Value[];
}

const EMPTY: LogBook = { facts: { n: 0, b: 0, l: "", c: "" }, old: index([]), linked: index([]), recent: [] };
/** Records in the top cell, which is written by every change. */
const MAX_RECENT = 12;
/** Records looked at for an entry: between those of this log there may be copies of entries of others. */
const NEAR = 4;
/** Most records that one change prunes, so that none takes long. */
const MAX_PRUNED = 64;

/** The value of a top cell. Its branches are read on demand. */
export const topValue = (bytes: Uint8Array, scope: CellScope): LazyValue =>
  lazyCell(parseCell(new Uint8Array(bytes)), refOf(bytes), scope.source);

/** @throws MISSING_CELL, BAD_FORMAT */
export async function openBook(bytes: Uint8Array | undefined, scope: CellScope): Promise<LogBook> {
  return bytes === undefined ? EMPTY : bookIn(parseCell(new Uint8Array(bytes)), scope);
}

export async function bookOf(top: LazyValue, scope: CellScope): Promise<LogBook> {
  return bookIn(await scope.run(() => parseCell(top.bytes)), scope);
}

/** Records and indexes stay unread. */
function bookIn(cell: ParsedCell, { source }: CellScope): LogBook {
  const [, facts, old, linked, ...recent] =
    cell.kind === "vector" ? cell.refs.map(({ bytes }) => lazyRef(bytes, source)) : [];
  if (old === undefined || linked === undefined) throw notANode("a log is a vector");
  return { facts: JSON.parse(textOf(facts)) as LogFacts, old, linked, recent };
}

const logValue = ({ facts, old, linked, recent }: LogBook): readonly Value[] => [
  LOG_MARK,
  JSON.stringify(facts),
  old,
  linked,
  ...recent,
];

function vectorOf(value: Value): readonly Value[] {
  if (!Array.isArray(value)) throw notANode("a log is a vector");
  return value;
}

/** Synchronous, to be run by the scope. */
export function indexOf(value: Value): CadIndex {
  const entries = openValue(value);
  if (!(entries instanceof CadIndex)) throw notANode("a log has an index");
  return entries;
}

function textOf(value: Value | undefined): string {
  const text = value instanceof LazyValue ? value.whole() : value;
  if (typeof text !== "string") throw notANode("a log holds texts");
  return text;
}

/** The entries of records, fetched together. @throws MISSING_CELL */
export async function readRecords(records: readonly Value[], scope: CellScope): Promise<LogItem[]> {
  await scope.fetch(records.map((record) => cellOf(record).ref));
  const items: LogItem[] = [];
  for (const record of records) items.push(...(await scope.run(() => itemsOf(vectorOf(openValue(record)), textOf))));
  return items;
}

/** Bytes that only the log keeps. */
const bytesOf = (items: readonly LogItem[]): number => items.reduce((sum, { entry }) => sum + countedBytes(entry), 0);

/** Key of a record in `firstIds` of a scope. */
const nameOf = (record: Value): string => toHex(cellOf(record).ref);

/** Where a record is. */
type Spot = { readonly recent: number } | { readonly key: string };

/** The record that holds an entry, with all its entries. */
export async function findRecord(
  { recent, old }: Pick<LogBook, "recent" | "old">,
  id: string,
  scope: CellScope,
): Promise<{ readonly spot: Spot; readonly items: readonly LogItem[] } | undefined> {
  const near = await scope.run(() => lastEntries(indexOf(old), NEAR, id));
  for (const { key, value } of near) {
    const items = await readRecords([value], scope);
    if (items.some(({ entry }) => entry.id === id)) return { spot: { key: String(key) }, items };
  }
  for (const [place, value] of recent.entries()) {
    const items = await readRecords([value], scope);
    if (items.some(({ entry }) => entry.id === id)) return { spot: { recent: place }, items };
  }
  return undefined;
}

export interface EditGround extends ChangedCells {
  readonly quota: LogQuota;
}

/** Changes a log; the result is in {@link book}. */
export class LogEdit {
  book: LogBook;
  readonly #ground: EditGround;
  readonly #scope: CellScope;

  constructor(book: LogBook, ground: EditGround) {
    this.book = book;
    this.#ground = ground;
    this.#scope = ground.scope;
  }

  /** The top cell, which lies beside the root. The cells below it are in the write set. */
  async end(): Promise<Cell> {
    const { old } = this.book;
    if (old instanceof CadIndex) await putNew(old, this.#ground);
    return cellOf(logValue(this.book));
  }

  /** Adds new entries, in the order of their ids. */
  async add(items: readonly LogItem[], nowMs: number): Promise<void> {
    for (const { entry } of items) if (entry.apart === true) await this.#setApart(entry.id);
    const { facts } = this.book;
    const last = items.at(-1)?.entry.id ?? facts.l;
    const looks = facts.t ?? { believed: facts.l === "" ? nowMs : timeOfId(facts.l) };
    const recent = [...this.book.recent];
    for (const { key, value } of recordsOf(items)) {
      const record = await this.#store(value);
      this.#scope.firstIds.set(nameOf(record), key);
      recent.push(record);
    }
    this.book = { ...this.book, recent };
    this.#setFacts({ n: facts.n + items.length, b: facts.b + bytesOf(items), l: last, t: looks });
    if (recent.length > MAX_RECENT) await this.#settle(nowMs);
  }

  /** Whether bytes of one entry are most of the quota by themselves. */
  isApart(bytes: number): boolean {
    return bytes > this.#ground.quota.bytes / 2;
  }

  /** Replaces an entry. @param other the entry, where another log has it */
  async update(id: string, change: (item: LogItem) => LogItem, other?: LogItem): Promise<boolean> {
    const found = await findRecord(this.book, id, this.#scope);
    if (found === undefined) {
      if (other === undefined) return false;
      await this.#put({ key: id }, [withNextRevision(change(other))]);
      return true;
    }
    let freed = 0;
    const items = found.items.map((item) => {
      if (item.entry.id !== id) return item;
      const next = withNextRevision(change(item));
      freed += countedBytes(item.entry) - countedBytes(next.entry);
      return next;
    });
    await this.#put(found.spot, items);
    if (freed !== 0) this.#setFacts({ b: Math.max(0, this.book.facts.b - freed) });
    return true;
  }

  #setFacts(facts: Partial<LogFacts>): void {
    this.book = { ...this.book, facts: { ...this.book.facts, ...facts } };
  }

  /** Puts the cells of a record, each encoded once. @returns the record by its Ref */
  async #store(record: readonly Value[]): Promise<Value> {
    const held = async (value: Value): Promise<LazyValue> => {
      const { ref, bytes } = cellOf(value);
      if (isBranch(ref)) await this.#ground.writes.putTree([{ hash: toHex(hashOfRef(ref)), bytes }]);
      return lazyRef(ref, this.#scope.source);
    };
    const [json = "", ...nodes] = record;
    const isOneCell = typeof json !== "string" || Buffer.byteLength(json) <= CHUNK_BYTES;
    const text = isOneCell ? await held(json) : undefined;
    if (text !== undefined) return held([text, ...nodes]);
    // A text of several cells.
    await putNew(record, this.#ground);
    return record;
  }

  async #put(spot: Spot, items: readonly LogItem[]): Promise<void> {
    const [made] = recordsOf(items, { isOne: true });
    if (made === undefined) return;
    const record = await this.#store(made.value);
    if ("recent" in spot) {
      this.book = { ...this.book, recent: this.book.recent.with(spot.recent, record) };
    } else {
      const old = await this.#scope.run(() => indexOf(this.book.old).with(spot.key, record));
      this.book = { ...this.book, old };
    }
  }

  /** Moves the records of the top cell into the index, and removes what is beyond the quota. */
  async #settle(nowMs: number): Promise<void> {
    const { recent } = this.book;
    const keys: string[] = [];
    for (const record of recent) keys.push(await this.#firstIdOf(record));
    const old = await this.#scope.run(() =>
      recent.reduce<CadIndex>((all, record, place) => all.with(keys[place] ?? "", record), indexOf(this.book.old)),
    );
    this.book = { ...this.book, old, recent: [] };
    await this.#prune(nowMs);
  }

  async #firstIdOf(record: Value): Promise<string> {
    const known = this.#scope.firstIds.get(nameOf(record));
    return known ?? (await readRecords([record], this.#scope))[0]?.entry.id ?? "";
  }

  async #prune(nowMs: number): Promise<void> {
    const { entries, bytes, days } = this.#ground.quota;
    const looks = lookAgain(this.book.facts.t ?? { believed: nowMs }, nowMs, days);
    this.#setFacts({ t: looks });
    const since = oldestMs(looks, nowMs, days);
    const { p: apart } = this.book.facts;
    if (apart !== undefined && timeOfId(apart) < oldestMs(looks, nowMs, 1)) await this.#setApart(undefined);
    for (let left = MAX_PRUNED; left > 0; left--) {
      const [first] = await this.#scope.run(() => firstEntries(indexOf(this.book.old), 1));
      if (first === undefined) break;
      const key = String(first.key);
      if (this.book.facts.n <= entries && timeOfId(key) >= since) break;
      const gone = await readRecords([first.value], this.#scope);
      const old = await this.#scope.run(() => indexOf(this.book.old).without(key));
      const { n, b } = this.book.facts;
      this.book = { ...this.book, old };
      this.#setFacts({ n: n - gone.length, b: Math.max(0, b - bytesOf(gone)) });
    }
    for (let left = MAX_PRUNED; left > 0 && this.book.facts.b > bytes; left--) {
      const { c: after } = this.book.facts;
      const found = await this.#scope.run(() =>
        firstEntries(indexOf(this.book.old), 2, after === "" ? undefined : after),
      );
      const next = found.find(({ key }) => String(key) > after);
      if (next === undefined) break;
      const items = await readRecords([next.value], this.#scope);
      const key = String(next.key);
      await this.#put(
        { key },
        items.map((item) => withNextRevision(withoutNodes(item, "pruned"))),
      );
      this.#setFacts({ b: Math.max(0, this.book.facts.b - bytesOf(items)), c: key });
    }
  }

  /** Keeps only the newest content that alone is most of the quota. */
  async #setApart(id: string | undefined): Promise<void> {
    const { p: before } = this.book.facts;
    if (before !== undefined) await this.update(before, (item) => withoutNodes(item, "pruned"));
    const { p: _, ...facts } = this.book.facts;
    this.book = { ...this.book, facts: id === undefined ? facts : { ...facts, p: id } };
  }
}
