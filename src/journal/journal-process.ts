// Entry of the process that reads a journal which may be damaged: a damaged page can end the process that reads it.

import type { Table } from "../database/shared-database.js";
import { countedBytes, type EntryRow, type KeptRow, putEntry, putKept } from "./rows.js";
import { addTotals, decode, giveUp, key, openTables, type Tables, trashKeyOf } from "./tables.js";

/** Takes more pages than one list of free ones has, so that all are looked at. */
const PROBE_BYTES = 4_194_304;
/** Entries that are lost at most before a damaged page. */
const BATCH = 16;

const [, , verb, index = "", target = "", end = "newest", trashKey] = process.argv;
try {
  if (verb === "verify") verify(openTables(index, { checksPages: true }));
  else if (verb === "entries") salvageEntries(openTables(index), openTables(target));
  else if (verb === "contents") salvageContents(openTables(index), openTables(target));
} catch {
  // Node, when it ends by an error, can wait for ever for a thread that compiles and in turn waits for the main thread.
  process.kill(process.pid, "SIGKILL");
}

/** Reads everything, and takes free pages in a transaction that is given up. */
function verify({ env, entries, index, kept, images, meta }: Tables): void {
  for (const table of [meta, entries, index, kept, images]) {
    let found = 0;
    for (const { value } of table.getRange({ snapshot: false })) found += value === undefined ? 0 : 1;
    // A damaged page can look like the end of a table.
    if (found !== Reflect.get(table.getStats(), "entryCount")) throw new Error("rows are missing");
  }
  giveUp(env, () => {
    images.putSync(key("probe"), Buffer.alloc(PROBE_BYTES));
    for (const table of [entries, index, kept, meta]) table.putSync(key("probe"), Buffer.alloc(BATCH));
  });
}

/** Copies entries whose checksums hold. */
function salvageEntries(from: Tables, to: Tables): void {
  trashKeyOf(to, trashKey);
  inBatches(to, rowsOf<EntryRow>(from.entries, to.entries), ([id, row]) => {
    if (row.id !== id.toString("latin1")) return;
    putEntry(to, row);
    addTotals(to, { entries: 1, bytes: 0 }, row.actor);
  });
}

/** Copies kept content of the salvaged entries. An entry without it counts as one whose content was given up. */
function salvageContents(from: Tables, to: Tables): void {
  inBatches(to, rowsOf<KeptRow>(from.kept, to.kept), ([id, row]) => {
    const image = row.in === "value" ? from.images.get(id) : undefined;
    const found = to.entries.get(id);
    const entry = found === undefined ? "damaged" : decode<EntryRow>(found);
    if (entry === "damaged" || (row.in === "value" && image?.length !== row.size)) return;
    putKept(to, entry, row);
    if (image !== undefined) to.images.putSync(id, image);
    addTotals(to, { entries: 0, bytes: countedBytes(row) }, entry.actor);
  });
}

/** Rows from one end, up to those that the run from the other end has copied, or until this process dies. */
function* rowsOf<T>(from: Table, to: Table): Generator<[id: Buffer, row: T]> {
  for (const { key: id, value } of from.getRange({ reverse: end === "newest", snapshot: false })) {
    if (to.get(id) !== undefined) return;
    const row = decode<T>(value);
    if (row !== "damaged") yield [id, row];
  }
}

function inBatches<T>({ env }: Tables, rows: Iterable<T>, put: (row: T) => void): void {
  let batch: T[] = [];
  const write = (): void => {
    env.transactionSync(() => batch.forEach(put));
    batch = [];
  };
  for (const row of rows) if (batch.push(row) === BATCH) write();
  write();
}
