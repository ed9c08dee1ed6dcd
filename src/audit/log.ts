// Queries an audit: the records of the kept files, newest first.

import { type AuditLine, parseLine } from "./chain.js";
import { AuditIndexes, type BlockFilter, closeAll, keys, type OpenedFile, openKept, readRange } from "./index-file.js";
import type { AuditRecord } from "./record.js";

/** Filter of a query. Absent fields match anything. */
export interface AuditQuery {
  readonly actor?: string | undefined;
  readonly operation?: string | undefined;
  readonly outcome?: string | undefined;
  /** A resource; also all that lies below it. Without a slash at the end. */
  readonly under?: readonly string[] | undefined;
  /** Milliseconds since the epoch, inclusive. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  /** Callers whose records may be seen; absent: all. */
  readonly callers?: ReadonlySet<string> | undefined;
  readonly limit: number;
  /** From an earlier answer. */
  readonly cursor?: AuditCursor | undefined;
}

/** Where a query goes on: before this offset of the file, and in older ones. */
export interface AuditCursor {
  readonly file: string;
  readonly offset: number;
}

/** A record with its place in the chain of its process. */
export interface FoundRecord extends AuditRecord {
  readonly chain: string;
  readonly n: number;
}

export interface AuditPage {
  readonly records: readonly FoundRecord[];
  /** Absent: there are no more. */
  readonly next?: AuditCursor;
  /** Why there are more: as many as asked for were found, or the time was up. */
  readonly reason?: "limit" | "timeout";
  /** The file of the cursor is not kept any more. */
  readonly lapsed?: true;
}

export interface AuditLogOptions {
  /** The current file; rotated ones lie beside it. */
  readonly path: string;
  /** Where indexes are kept; absent: in memory only. */
  readonly indexFolder?: string | undefined;
  /** Resolves when what was recorded so far is in the file. */
  readonly written?: () => Promise<void>;
}

/** Time after which a query answers what it has, in milliseconds. */
const QUERY_MS = 5000;
/** Block filters are asked for so many callers at most. */
const MAX_CALLERS = 64;
const CHUNK_BYTES = 131_072;
const NEWLINE = 0x0a;
/** Blocks read at once. */
const READ_AHEAD = 8;

export class AuditLog {
  readonly #options: AuditLogOptions;
  readonly #indexes: AuditIndexes;

  constructor(options: AuditLogOptions) {
    this.#options = options;
    this.#indexes = new AuditIndexes(options.indexFolder);
  }

  /** @throws the system's error when a file cannot be read */
  async query(query: AuditQuery, signal?: AbortSignal): Promise<AuditPage> {
    await this.#options.written?.();
    const files = await openKept(this.#options.path);
    try {
      await this.#indexes.retain(files);
      return await new Search(query, this.#indexes, signal).run(files);
    } finally {
      await closeAll(files);
    }
  }
}

class Search {
  readonly #query: AuditQuery;
  readonly #indexes: AuditIndexes;
  readonly #filter: BlockFilter;
  readonly #needle: Buffer | undefined;
  readonly #isStopped: () => boolean;
  readonly #found: FoundRecord[] = [];

  constructor(query: AuditQuery, indexes: AuditIndexes, signal: AbortSignal | undefined) {
    this.#query = query;
    this.#indexes = indexes;
    this.#filter = filterOf(query);
    this.#needle = needleOf(query);
    const end = performance.now() + QUERY_MS;
    this.#isStopped = () => signal?.aborted === true || performance.now() > end;
  }

  async run(files: readonly OpenedFile[]): Promise<AuditPage> {
    const { cursor, limit } = this.#query;
    const first = cursor === undefined ? 0 : files.findIndex(({ key }) => key === cursor.file);
    if (first === -1) return { records: [], lapsed: true };
    for (const [index, file] of files.entries()) {
      if (index < first) continue;
      const before = cursor !== undefined && index === first ? Math.min(cursor.offset, file.size) : file.size;
      const stopped = await this.#searchFile(file, before);
      if (stopped === undefined) continue;
      const reason = this.#found.length >= limit ? "limit" : "timeout";
      return { records: this.#found, next: { file: file.key, offset: stopped }, reason };
    }
    return { records: this.#found };
  }

  /** @returns offset at which it stopped early */
  async #searchFile(file: OpenedFile, before: number): Promise<number | undefined> {
    const { groups, since, until } = this.#filter;
    const isOpen = groups.length === 0 && since === Number.NEGATIVE_INFINITY && until === Number.POSITIVE_INFINITY;
    if (isOpen) return this.#searchTail(file, 0, before);
    const index = await this.#indexes.of(file, this.#isStopped);
    if (index.offset < file.size && this.#isStopped()) return before;
    const tail = await this.#searchTail(file, Math.min(index.covered, before), before);
    if (tail !== undefined) return tail;
    for (const blocks of splitIntoGroups(index.findBlocks(this.#filter, before), READ_AHEAD)) {
      const read = blocks.map(async ({ start, end }) => ({ start, bytes: await readRange(file.handle, start, end) }));
      for (const { start, bytes } of await Promise.all(read)) {
        const stopped = this.#searchBytes(bytes, start);
        if (stopped !== undefined) return stopped;
        if (this.#isStopped()) return start;
      }
    }
    return undefined;
  }

  /** Searches from the end backwards. */
  async #searchTail({ handle }: OpenedFile, start: number, before: number): Promise<number | undefined> {
    let size = CHUNK_BYTES;
    for (let end = before; end > start; ) {
      const from = Math.max(start, end - size);
      const bytes = await readRange(handle, from, end);
      // The first line of the bytes may begin before them.
      const whole = from === start ? 0 : bytes.indexOf(NEWLINE) + 1;
      if (from !== start && (whole === 0 || whole === bytes.length)) {
        size *= 2;
        continue;
      }
      const stopped = this.#searchBytes(bytes.subarray(whole), from + whole);
      if (stopped !== undefined) return stopped;
      end = from + whole;
      size = CHUNK_BYTES;
      if (end > start && this.#isStopped()) return end;
    }
    return undefined;
  }

  /** Searches whole lines, the last first. @returns offset of the line at which there were enough */
  #searchBytes(bytes: Buffer, offset: number): number | undefined {
    for (const { start, end } of findLines(bytes, this.#needle).toReversed()) {
      const record = this.#judge(bytes.subarray(start, end));
      if (record === undefined) continue;
      this.#found.push(record);
      if (this.#found.length >= this.#query.limit) return offset + start;
    }
    return undefined;
  }

  #judge(bytes: Buffer): FoundRecord | undefined {
    const line = parseLine(bytes.toString("utf8"));
    if (line?.link === undefined || !isRecord(line) || !this.#matches(line)) return undefined;
    const { link, lost, prev, ...record } = line;
    return { ...record, chain: link.chain, n: link.n };
  }

  #matches({ caller, operation, outcome, time, resource, others = [] }: AuditRecord): boolean {
    const { actor, callers, operation: wanted, outcome: ended, under } = this.#query;
    if (actor !== undefined && caller !== actor) return false;
    if (callers !== undefined && !callers.has(caller)) return false;
    if (wanted !== undefined && operation !== wanted) return false;
    if (ended !== undefined && outcome !== ended) return false;
    if (time < this.#filter.since || time > this.#filter.until) return false;
    const touched = [resource, ...others];
    return under?.some((top) => touched.some((one) => one === top || one.startsWith(`${top}/`))) ?? true;
  }
}

function filterOf({ actor, callers, operation, outcome, under, since, until }: AuditQuery): BlockFilter {
  const group = (value: string | undefined, key: (value: string) => string) =>
    value === undefined ? [] : [[key(value)]];
  const own = callers === undefined || callers.size > MAX_CALLERS ? [] : [[...callers].map(keys.caller)];
  return {
    groups: [
      ...group(actor, keys.caller),
      ...own,
      ...group(operation, keys.operation),
      ...group(outcome, keys.outcome),
      ...(under === undefined ? [] : [under.map(keys.under)]),
    ],
    since: since ?? Number.NEGATIVE_INFINITY,
    until: until ?? Number.POSITIVE_INFINITY,
  };
}

/** Bytes that each line looked for has: parsing the others is saved. */
function needleOf({ actor, callers, under, operation, outcome }: AuditQuery): Buffer | undefined {
  const only = callers?.size === 1 ? [...callers][0] : undefined;
  const top = under?.length === 1 ? under[0] : undefined;
  const text = [actor, only, top, operation, outcome].find(
    (value) => value !== undefined && JSON.stringify(value) === `"${value}"`,
  );
  return text === undefined ? undefined : Buffer.from(text);
}

/** The whole lines that have the needle. */
function findLines(bytes: Buffer, needle: Buffer | undefined): { readonly start: number; readonly end: number }[] {
  const found: { start: number; end: number }[] = [];
  for (let from = 0; from < bytes.length; ) {
    // A search forwards is many times faster than one backwards.
    const at = needle === undefined ? from : bytes.indexOf(needle, from);
    const end = at === -1 ? -1 : bytes.indexOf(NEWLINE, at);
    if (end === -1) break;
    found.push({ start: needle === undefined ? from : bytes.lastIndexOf(NEWLINE, at) + 1, end });
    from = end + 1;
  }
  return found;
}

/** Takes so many at once. */
function* splitIntoGroups<T>(items: Iterable<T>, size: number): Generator<T[]> {
  let group: T[] = [];
  for (const item of items) {
    group.push(item);
    if (group.length < size) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}

const isRecord = (line: AuditLine): line is AuditLine & AuditRecord =>
  typeof line.operation === "string" && typeof line.caller === "string" && typeof line.resource === "string";
