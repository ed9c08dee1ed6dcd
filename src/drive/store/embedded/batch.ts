// A batch of the embedded store.

import { yieldToLoop } from "../../../core/io.js";
import { CellBuffer } from "../cell-buffer.js";
import { checkCell, storeUnavailable } from "../checks.js";
import type { LiveBatch } from "../live-batches.js";
import { type HashText, hashOfText, isLeafBlob, textOfHash } from "../mark.js";
import { type Place, placeOf, placeRow, stamped, type Tables, uint } from "../tables.js";
import type { PackWriter } from "./pack-writer.js";

/** Leaf blobs of at least this size go to packs; in the table they would take twice the space. */
const CHUNK_CONTENT_BYTES = 2048;
const LEAF_HEAD_BYTES = 3;
const isChunk = (bytes: Uint8Array): boolean =>
  bytes.length >= CHUNK_CONTENT_BYTES + LEAF_HEAD_BYTES && isLeafBlob(bytes);

/** Maximum bytes buffered before they are written. */
const MAX_CHUNK_BYTES = 1 << 20;
const MAX_CELL_BYTES = 4 << 20;
const MAX_PLACES = 16_384;
/** Maximum rows per transaction, and bytes of cells from which it ends: a commit writes their pages at once. */
const MAX_ROWS = 1024;
const MAX_ROW_BYTES = 1 << 20;

interface BatchParts {
  readonly tables: Tables;
  readonly packs: PackWriter;
  readonly committer: Committer;
  readonly live: LiveBatch;
  readonly now: () => number;
}

/** Collects cells, writes them in pieces, and makes them durable together with a root. */
export class EmbeddedBatch {
  readonly #parts: BatchParts;
  /** Cells for the next transaction. */
  #cells = new Map<HashText, Buffer>();
  #cellBytes = 0;
  /** Chunks to be appended. */
  #chunks = new CellBuffer();
  /** Reused: a new buffer for each piece would stay allocated until the next garbage collection. */
  #spare: CellBuffer | undefined;
  #reusedBytes = 0;
  /** Chunks stored before this batch, which must not be collected while it is open. */
  #reused = new Map<HashText, Buffer>();
  /** Chunks already in a pack, to be recorded in the next transaction. */
  #places = new Map<HashText, Place>();
  #tail: Promise<void> = Promise.resolve();

  constructor(parts: BatchParts) {
    this.#parts = parts;
  }

  put(hash: Uint8Array, bytes: Uint8Array): undefined | Promise<void> {
    checkCell(hash, bytes);
    this.#parts.live.touch();
    const text = textOfHash(hash);
    if (isChunk(bytes)) this.#putChunk(text, hash, bytes);
    else if (!this.#cells.has(text)) {
      this.#cells.set(text, Buffer.from(bytes));
      this.#cellBytes += bytes.length;
    }
    if (this.#chunks.bytes + this.#reusedBytes >= MAX_CHUNK_BYTES) return this.#spill();
    if (this.#cellBytes >= MAX_CELL_BYTES || this.#places.size >= MAX_PLACES) return this.write(() => undefined);
    return undefined;
  }

  #putChunk(text: HashText, hash: Uint8Array, bytes: Uint8Array): void {
    if (this.#chunks.has(text) || this.#places.has(text) || this.#reused.has(text)) return;
    const row = this.#parts.tables.chunks.get(Buffer.from(hash));
    if (row === undefined) this.#chunks.add(text, bytes);
    else if (uint(row) <= this.#parts.live.startedAt) {
      this.#reused.set(text, Buffer.from(bytes));
      this.#reusedBytes += bytes.length;
    }
  }

  /** Appends the buffered chunks to the pack. */
  #spill(): Promise<void> {
    const spilled = this.#tail.then(() => this.#append());
    this.#tail = spilled;
    // The failure is reported to whoever awaits the batch next.
    this.#tail.catch(() => undefined);
    return spilled;
  }

  async #append(): Promise<void> {
    const [reused, chunks] = [this.#reused, this.#chunks];
    this.#reused = new Map();
    this.#reusedBytes = 0;
    this.#chunks = this.#spare ?? new CellBuffer();
    this.#spare = undefined;
    if (reused.size > 0) await this.#keep(reused, chunks);
    if (chunks.count > 0) {
      const piece = { bytes: chunks.content, chunks: chunks.entries };
      const places = await this.#parts.packs.append(piece);
      places.forEach((place, at) => {
        const chunk = piece.chunks[at];
        if (chunk !== undefined) this.#places.set(textOfHash(chunk.hash), place);
      });
    }
    chunks.clear();
    this.#spare = chunks;
  }

  /**
   * Refreshes the times of existing chunks so that they are kept; those collected in the meantime are written again.
   */
  async #keep(reused: ReadonlyMap<HashText, Buffer>, chunks: CellBuffer): Promise<void> {
    const { tables, committer, now } = this.#parts;
    const gone = await committer.run(() => {
      const at = now();
      return [...reused.keys()].filter((text) => {
        const key = hashOfText(text);
        const row = tables.chunks.get(key);
        if (row !== undefined) tables.chunks.putSync(key, placeRow(at, placeOf(row)));
        return row === undefined;
      });
    });
    for (const text of gone) {
      const bytes = reused.get(text);
      if (bytes !== undefined) chunks.add(text, bytes);
    }
  }

  /** Makes everything durable and runs `last` in the final transaction, when everything it references is in place. */
  async write<T>(last: () => T): Promise<T> {
    await this.#spill();
    const [cells, places] = [this.#cells, this.#places];
    this.#cells = new Map();
    this.#places = new Map();
    this.#cellBytes = 0;
    const done = this.#writeRows(rowsOf(cells, places), last);
    // Cells lost to a failure must not be silently missing later.
    this.#tail = this.#tail.then(async () => void (await done));
    this.#tail.catch(() => undefined);
    return done;
  }
  /** Splits the rows into short transactions, since only one write transaction runs at a time. */
  async #writeRows<T>(rows: readonly Row[], last: () => T): Promise<T> {
    const { committer } = this.#parts;
    let from = 0;
    for (let to = endOf(rows, from); to < rows.length; to = endOf(rows, from)) {
      const some = rows.slice(from, to);
      await committer.run(() => this.#putRows(some));
      await yieldToLoop();
      from = to;
    }
    return committer.run(() => {
      this.#putRows(rows.slice(from));
      return last();
    });
  }

  /** Only inside a transaction, after the packs were flushed. */
  #putRows(rows: readonly Row[]): void {
    const { tables, packs, now } = this.#parts;
    const at = now();
    if (rows.some(({ place }) => place !== undefined && packs.isBroken(place.pack)))
      throw storeUnavailable("its disk failed");
    for (const { text, bytes, place } of rows) {
      if (place === undefined) tables.cells.putSync(hashOfText(text), stamped(at, bytes));
      else tables.chunks.putSync(hashOfText(text), placeRow(at, place));
    }
  }
}

/** A cell for its table, or the location of a chunk. */
type Row =
  | { readonly text: HashText; readonly bytes: Buffer; readonly place?: undefined }
  | { readonly text: HashText; readonly bytes?: undefined; readonly place: Place };

/** The end of the rows that one transaction takes. */
function endOf(rows: readonly Row[], from: number): number {
  let bytes = 0;
  let to = from;
  while (to < rows.length && to - from < MAX_ROWS && bytes < MAX_ROW_BYTES) bytes += rows[to++]?.bytes?.length ?? 0;
  return to;
}

const rowsOf = (cells: ReadonlyMap<HashText, Buffer>, places: ReadonlyMap<HashText, Place>): Row[] => [
  ...Array.from(cells, ([text, bytes]) => ({ text, bytes })),
  ...Array.from(places, ([text, place]) => ({ text, place })),
];

/** Maximum jobs per transaction. */
const MAX_JOBS = 64;

interface Waiting {
  readonly run: () => void;
  readonly done: () => void;
  readonly fail: (error: unknown) => void;
}

/**
 * Runs waiting jobs in one transaction. Files are flushed first, so that the transaction references only durable data.
 */
export class Committer {
  readonly #tables: Tables;
  readonly #packs: PackWriter;
  #waiting: Waiting[] = [];
  #running: Promise<void> | undefined;

  constructor(tables: Tables, packs: PackWriter) {
    this.#tables = tables;
    this.#packs = packs;
  }

  /** @param job runs inside a transaction, synchronously; if it throws, all jobs of the transaction fail */
  run<T>(job: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const results: T[] = [];
      const done = (): void => results.slice(-1).forEach((result) => void resolve(result));
      this.#waiting.push({ run: () => void results.push(job()), done, fail: reject });
      this.#running ??= this.#drain();
    });
  }

  /** Waits for all started transactions. */
  async idle(): Promise<void> {
    await this.#running;
  }

  async #drain(): Promise<void> {
    // Jobs of the same tick share a transaction.
    await Promise.resolve();
    for (let jobs = this.#waiting.splice(0, MAX_JOBS); jobs.length > 0; jobs = this.#waiting.splice(0, MAX_JOBS)) {
      await this.#commit(jobs);
    }
    this.#running = undefined;
  }

  async #commit(jobs: readonly Waiting[]): Promise<void> {
    try {
      const durable = await this.#packs.sync();
      this.#tables.env.transactionSync(() => {
        if (durable !== undefined) this.#packs.record(durable);
        for (const { run } of jobs) run();
      });
    } catch (error) {
      for (const { fail } of jobs) fail(error);
      return;
    }
    for (const { done } of jobs) done();
  }
}
