// Journal entries not yet in the database: batched for some milliseconds, or queued while the disk refuses writes.

import type { EntryNote } from "../core/ports/changes/journal.js";
import { countedBytes, type EntryRow, indexesOf, type KeptRow, noteOn, putEntry, putKept, withNote } from "./rows.js";
import { addTotals, type Indexed, key, type Tables, type Totals } from "./tables.js";

/** Bytes of one transaction. */
const BATCH_BYTES = 4_194_304;
/** Bytes counted for an entry beside its content, so that a batch has at most 256 entries. */
const ROW_BYTES = 16_384;
/** Most bytes that wait. */
const MAX_BYTES = 33_554_432;
/** Notes that wait at most: while something can be written, as many are written at once. */
const MAX_NOTES = 1_000;

/** An entry that has not been written yet. */
export interface Waiting {
  readonly row: EntryRow;
  readonly kept: KeptRow | undefined;
  readonly image: Buffer | undefined;
}

interface WaitingNote {
  readonly ids: readonly string[];
  readonly note: EntryNote;
}

export interface IndexText {
  readonly by: Indexed;
  readonly text: string;
}

export class WaitingEntries {
  readonly #all = new Map<string, Waiting>();
  #bytes = 0;
  #notes: WaitingNote[] = [];

  get isEmpty(): boolean {
    return this.#all.size === 0 && this.#notes.length === 0;
  }

  /** Notes on entries that are written already. */
  get notes(): readonly WaitingNote[] {
    return this.#notes;
  }

  /** Whether enough is queued for a transaction. */
  get isBatch(): boolean {
    return this.#bytes >= BATCH_BYTES || this.#notes.length >= MAX_NOTES;
  }

  get isFull(): boolean {
    return this.#bytes >= MAX_BYTES;
  }

  add(one: Waiting): void {
    this.#all.set(one.row.id, one);
    this.#bytes += bytesOf(one);
  }

  get(id: string): Waiting | undefined {
    return this.#all.get(id);
  }

  /** Replaces parts of an entry. @returns `false`: it does not wait */
  change(id: string, parts: Partial<Waiting>): boolean {
    const found = this.#all.get(id);
    if (found === undefined) return false;
    this.#bytes -= bytesOf(found);
    this.add({ ...found, ...parts });
    return true;
  }

  /** Notes something on entries, whether they wait or not. */
  note(ids: readonly string[], note: EntryNote): void {
    const written = ids.filter((id) => {
      const row = this.#all.get(id)?.row;
      return row === undefined || !this.change(id, { row: withNote(row, note) });
    });
    if (written.length > 0 && this.#notes.length < MAX_NOTES) this.#notes.push({ ids: written, note });
  }

  /** These entries, and all notes, are written. */
  end(batch: readonly Waiting[]): void {
    for (const one of batch) if (this.#all.delete(one.row.id)) this.#bytes -= bytesOf(one);
    this.#notes = [];
  }

  /** The oldest entries, as many as one transaction takes. */
  batch(): Waiting[] {
    const found: Waiting[] = [];
    let bytes = 0;
    for (const one of this.#all.values()) {
      if (bytes >= BATCH_BYTES) break;
      found.push(one);
      bytes += bytesOf(one);
    }
    return found;
  }

  newest(): Waiting[] {
    return [...this.#all.values()].reverse();
  }

  /** Merges the ids of waiting entries into those of the tables, newest first. */
  *among(written: Iterable<string>, before: string | undefined, index?: IndexText): Generator<string> {
    const own = [...this.#all.values()]
      .filter(({ row: { id } }) => before === undefined || id < before)
      .filter(({ row }) => index === undefined || hasIndex(row, index))
      .map(({ row }) => row.id)
      .sort();
    for (const id of written) {
      for (let last = own.at(-1); last !== undefined && last > id; last = own.at(-1)) {
        yield last;
        own.pop();
      }
      yield id;
    }
    yield* own.reverse();
  }
}

const bytesOf = ({ image }: Waiting): number => ROW_BYTES + (image?.length ?? 0);

function hasIndex(row: EntryRow, { by, text }: IndexText): boolean {
  for (const [one, other] of indexesOf(row)) if (one === by && other === text) return true;
  return false;
}

/** Only inside a transaction. */
export function putWaiting(tables: Tables, batch: readonly Waiting[], notes: readonly WaitingNote[]): void {
  const added = new Map<string, Totals>();
  for (const { row, kept, image } of batch) {
    putEntry(tables, row);
    if (kept !== undefined) putKept(tables, row, kept);
    if (image !== undefined) tables.images.putSync(key(row.id), image);
    const { entries, bytes } = added.get(row.actor) ?? { entries: 0, bytes: 0 };
    added.set(row.actor, { entries: entries + 1, bytes: bytes + countedBytes(kept) });
  }
  for (const [actor, totals] of added) addTotals(tables, totals, actor);
  for (const { ids, note } of notes) for (const id of ids) noteOn(tables, id, note);
}
