// Queries over the entries of a store, newest first, by the index that leads to the fewest.

import { yieldToLoop } from "../core/io.js";
import type { JournalEntry, JournalPage, JournalQuery } from "../core/ports/changes/journal.js";
import { isWithin } from "../path/grammar.js";
import { type EntryRow, entryOf, pathText } from "./rows.js";
import type { JournalStore } from "./store.js";

/** Entries that one query looks at. */
const MAX_VISITED = 20_000;
const BREATH_STEPS = 500;

/** Entries that match, at most `limit`, and whether there may be more. */
export async function queryStore(store: JournalStore, query: JournalQuery): Promise<JournalPage> {
  const { limit, since = 0 } = query;
  const entries: JournalEntry[] = [];
  let visited = 0;
  let last: string | undefined;
  for (const id of candidates(store, query)) {
    if (query.before !== undefined && id >= query.before) continue;
    if (entries.length === limit || visited === MAX_VISITED) {
      const isFull = entries.length === limit;
      return { entries, next: last, ...(isFull ? faultPart(store) : { complete: false, reason: "visited" }) };
    }
    if (++visited % BREATH_STEPS === 0) await yieldToLoop();
    last = id;
    const row = store.entry(id);
    if (row === undefined) continue;
    // Ids sort by time.
    if (row.time < since) break;
    if (!matches(row, query)) continue;
    const entry = entryOf(row, row.isKept === true ? store.kept(id) : undefined);
    if (query.sees(entry)) entries.push(entry);
  }
  return { entries, ...faultPart(store) };
}

const faultPart = ({ fault }: JournalStore): Pick<JournalPage, "complete" | "reason"> =>
  fault === undefined ? { complete: true } : { complete: false, reason: fault };

/** Ids that may match, newest first. */
function candidates(store: JournalStore, { group, path, via, actor, before }: JournalQuery): Iterable<string> {
  if (group !== undefined) return store.ids(before, { by: "g", text: group });
  if (path !== undefined && path.length > 0) {
    // Below a path with very many the newest of all are looked through, page by page.
    return store.idsAt(pathText(path), before, MAX_VISITED) ?? store.ids(before);
  }
  if (via !== undefined) return store.ids(before, { by: "v", text: via });
  if (actor !== undefined) return store.ids(before, { by: "a", text: actor });
  return store.ids(before);
}

/** An index key of a very long text may lead to other entries too. */
function matches(entry: Pick<JournalEntry, "actor" | "via" | "group" | "path" | "from">, query: JournalQuery): boolean {
  const isAt = (path: readonly string[] | undefined): boolean =>
    path !== undefined && isWithin(path, query.path ?? [], query.folds);
  return (
    (query.actor === undefined || entry.actor === query.actor) &&
    (query.via === undefined || entry.via === query.via) &&
    (query.group === undefined || entry.group === query.group) &&
    (query.path === undefined || isAt(entry.path) || isAt(entry.from))
  );
}

/** Rows since a time, newest first, as far back as one query looks. */
export function* rowsSince(store: JournalStore, time: number): Generator<EntryRow> {
  let visited = 0;
  for (const id of store.ids(undefined)) {
    const row = store.entry(id);
    if (++visited > MAX_VISITED || (row !== undefined && row.time < time)) return;
    if (row !== undefined) yield row;
  }
}
