// Reads cells from packs, with Bloom filters, footers and the local cache.

import { sameBytes, sha3 } from "../../../cad3/ref.js";
import { createLru } from "../../../lru.js";
import { storeDamaged } from "../../checks.js";
import {
  type CellPlace,
  ENTRY_BYTES,
  findInFooter,
  footerEntries,
  parseFooter,
  parseTrailer,
  runsOf,
  TRAILER_BYTES,
} from "../../embedded/pack-format.js";
import { type HashText, hashOfText } from "../../mark.js";
import { inParallel } from "../client/parallel.js";
import type { S3Client } from "../client/s3-client.js";
import type { Views } from "../roots/views.js";
import type { LocalCache } from "./local-cache.js";
import { mayHold, type PackInfo } from "./manifest.js";

/** Packs up to this size are read whole, and merged in the background. */
export const SMALL_PACK_BYTES = 1 << 20;
const RUN_LIMITS = { maxGapBytes: 65_536, maxBytes: 4 << 20 };
const READS_AT_ONCE = 4;
const FOOTERS_AT_ONCE = 8;
/** Maximum bytes of footers in memory. */
const MAX_FOOTER_BYTES = 32 << 20;

export const packKeyOf = (id: string): string => `packs/${id}.pack`;

interface Wanted extends CellPlace {
  readonly pack: PackInfo;
  readonly text: HashText;
}

interface Located {
  readonly pack: PackInfo;
  readonly place: CellPlace;
}

export interface PackSourceOptions {
  readonly client: S3Client;
  readonly cache: LocalCache;
  readonly views: Views;
}

export type PackSource = ReturnType<typeof createPackSource>;

export function createPackSource({ client, cache, views }: PackSourceOptions) {
  const footers = createLru<Buffer>(MAX_FOOTER_BYTES, ({ length }) => length);
  const near = (id: string): Buffer | undefined => {
    const held = footers.get(id);
    const found = held ?? cache.named("footer", id);
    if (held === undefined && found !== undefined) footers.set(id, found);
    return found;
  };
  const keepFooter = (id: string, footer: Buffer): void => {
    footers.set(id, footer);
    cache.keepNamed("footer", id, footer);
  };
  const fetchFooter = async (pack: Pick<PackInfo, "id" | "size" | "count">): Promise<Buffer | undefined> => {
    const { id, size, count } = pack;
    const end = count * ENTRY_BYTES + TRAILER_BYTES;
    const isWhole = size <= SMALL_PACK_BYTES;
    const bytes = await client.getRange(packKeyOf(id), isWhole ? 0 : size - end, isWhole ? size : end);
    if (bytes === undefined) return undefined;
    const trailer = parseTrailer(bytes.subarray(bytes.length - TRAILER_BYTES), size);
    if (trailer.count !== count || trailer.digest.toString("hex") !== id) throw storeDamaged("a pack is another one");
    const footer = Buffer.from(bytes.subarray(bytes.length - end, bytes.length - TRAILER_BYTES));
    parseFooter(footer, trailer);
    // From here on the pack's cells come from the cache.
    if (isWhole) for (const entry of footerEntries(footer)) cache.keepCell(entry.hash, cut(bytes, entry));
    keepFooter(id, footer);
    return footer;
  };
  const forgetFooters = (ids: ReadonlySet<string>): void => {
    for (const id of ids) footers.delete(id);
    cache.forget(
      "footer",
      Array.from(ids, (id) => Buffer.from(id, "hex")),
    );
  };
  /** Entries ordered by hash; `undefined` if the pack is gone. */
  const footer = async (pack: PackInfo): Promise<Buffer | undefined> => near(pack.id) ?? fetchFooter(pack);

  const locate = async (wanted: ReadonlySet<HashText>, gone?: ReadonlySet<string>): Promise<Map<HashText, Located>> => {
    const found = new Map<HashText, Located>();
    const hashes = Array.from(wanted, (text) => ({ text, hash: hashOfText(text) }));
    const packs = views.packs().filter(({ id }) => gone?.has(id) !== true);
    let untried = packs.map((pack) => ({ pack, matches: hashes.filter(({ hash }) => mayHold(pack.filter, hash)) }));
    const look = (pack: PackInfo, matches: typeof hashes, entries: Buffer | undefined): void => {
      for (const { text, hash } of matches) {
        const place = entries === undefined || found.has(text) ? undefined : findInFooter(entries, hash);
        if (place !== undefined) found.set(text, { pack, place });
      }
    };
    const narrow = (): void => {
      untried = untried
        .map(({ pack, matches }) => ({ pack, matches: matches.filter(({ text }) => !found.has(text)) }))
        .filter(({ matches }) => matches.length > 0);
    };
    narrow();
    untried = untried.filter(({ pack, matches }) => {
      const entries = near(pack.id);
      if (entries !== undefined) look(pack, matches, entries);
      return entries === undefined;
    });
    for (narrow(); untried.length > 0; narrow()) {
      const chosen = choose(untried);
      const read = await inParallel(chosen, FOOTERS_AT_ONCE, ({ pack }) => footer(pack));
      for (const [which, { pack, matches }] of chosen.entries()) look(pack, matches, read[which]);
      untried = untried.filter((one) => !chosen.includes(one));
    }
    return found;
  };

  /** @returns `undefined` if the pack is gone */
  const readRun = async (cells: readonly Wanted[]): Promise<[HashText, Uint8Array][] | undefined> => {
    const [first, last] = [cells[0], cells.at(-1)];
    if (first === undefined || last === undefined) return [];
    const start = first.offset;
    const bytes = await client.getRange(packKeyOf(first.pack.id), start, last.offset + last.length - start);
    if (bytes === undefined) return undefined;
    return cells.map(({ text, offset, length }) => {
      const cell = Buffer.from(bytes.subarray(offset - start, offset - start + length));
      const hash = hashOfText(text);
      if (!sameBytes(sha3(cell), hash)) throw storeDamaged("a cell is not what was stored");
      cache.keepCell(hash, cell);
      return [text, cell];
    });
  };

  return {
    footer,
    /** Footer of a pack that no manifest describes. @param size of the object in bytes */
    async footerOf(id: string, size: number): Promise<Buffer | undefined> {
      const found = near(id);
      if (found !== undefined) return found;
      const end = await client.getRange(packKeyOf(id), size - TRAILER_BYTES, TRAILER_BYTES);
      if (end === undefined) return undefined;
      const { count } = parseTrailer(end, size);
      return fetchFooter({ id, size, count });
    },
    keepFooter,
    /** The cells among `wanted` that are in packs of kind `chunk`. */
    async leaves(wanted: ReadonlySet<HashText>): Promise<Set<HashText>> {
      const found = await locate(wanted);
      return new Set([...found].flatMap(([text, { pack }]) => (pack.kind === "chunk" ? [text] : [])));
    },
    /** Verified cells; those in no view are omitted. @throws STORE_UNAVAILABLE, STORE_DAMAGED */
    async read(wanted: ReadonlySet<HashText>): Promise<Map<HashText, Uint8Array>> {
      const cells = new Map<HashText, Uint8Array>();
      const gone = new Set<string>();
      for (let missing = wanted; missing.size > 0; ) {
        const located = await locate(missing, gone);
        // Cells of short packs were loaded along with the whole pack.
        for (const text of located.keys()) {
          const cell = cache.cell(hashOfText(text));
          if (cell === undefined) continue;
          cells.set(text, cell);
          located.delete(text);
        }
        const runs = runsOf(ordered(located), RUN_LIMITS);
        const read = await inParallel(runs, READS_AT_ONCE, readRun);
        const before = gone.size;
        for (const [which, [first]] of runs.entries()) {
          for (const [text, cell] of read[which] ?? []) cells.set(text, cell);
          if (first !== undefined && read[which] === undefined) gone.add(first.pack.id);
        }
        if (gone.size === before) break;
        // A collection has copied their cells to other packs.
        forgetFooters(gone);
        missing = new Set([...missing].filter((text) => !cells.has(text)));
      }
      return cells;
    },
  };
}

const cut = (bytes: Buffer, { offset, length }: CellPlace): Buffer => bytes.subarray(offset, offset + length);

type Untried = { readonly pack: PackInfo; readonly matches: readonly { readonly text: HashText }[] };

/** Candidate packs: the fewest that may hold everything, tree packs first. */
function choose<T extends Untried>(untried: readonly T[]): T[] {
  const rank = ({ pack }: Untried): number => (pack.kind === "chunk" ? 1 : 0);
  const sorted = [...untried].sort(
    (one, other) => other.matches.length - one.matches.length || rank(one) - rank(other),
  );
  const covered = new Set<HashText>();
  const chosen: T[] = [];
  for (const one of sorted) {
    if (one.matches.every(({ text }) => covered.has(text))) continue;
    for (const { text } of one.matches) covered.add(text);
    chosen.push(one);
    if (chosen.length === FOOTERS_AT_ONCE) break;
  }
  return chosen;
}

/** Ordered by pack and offset. */
const ordered = (located: ReadonlyMap<HashText, Located>): Wanted[] =>
  Array.from(located, ([text, { pack, place }]) => ({ text, pack, ...place })).sort(
    (one, other) =>
      (one.pack.id < other.pack.id ? -1 : Number(one.pack.id > other.pack.id)) || one.offset - other.offset,
  );
