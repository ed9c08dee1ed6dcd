// Counts the bytes of an owner's files, mostly by difference.

import { yieldToLoop } from "../../core/io.js";
import { cellOf } from "../cad3/encoding/cell.js";
import { parseCell } from "../cad3/encoding/parse-cell.js";
import type { ParsedCell, ParsedIndex } from "../cad3/encoding/parsed.js";
import type { CadMap } from "../cad3/maps/hash-map.js";
import { hexOfBranch, isBranch, toHex } from "../cad3/ref.js";
import { createLru } from "../lru.js";
import { createTurn } from "../turn.js";
import { type CellPool, createScope, type Overlay } from "./cells.js";
import { readIntact, summaryOf } from "./content/listing.js";
import { sizesOf } from "./content/tree-read.js";
import { isDamage } from "./fault.js";

interface Counted {
  readonly drives: CadMap;
  readonly bytes: number;
}

/** Maximum remembered totals; an owner can have several. */
const MAX_REMEMBERED = 20_000;
/** Maximum cells read at once. */
const MAX_TOGETHER = 512;
/** Maximum files held back because they may still cancel out. */
const MAX_WAITING = 20_000;

export type Usage = ReturnType<typeof createUsage>;

/** Total file sizes of an owner. */
export function createUsage(pool: CellPool) {
  const known = createLru<number>(MAX_REMEMBERED);
  /** Remembers a total counted elsewhere. */
  const learn = (drives: CadMap, bytes: number): void => known.set(keyOf(drives), bytes);
  const count = async (drives: CadMap, before: CadMap | undefined, overlay: Overlay): Promise<Sum> => {
    const bag = new Bag();
    for (const [, root] of drives) if (root !== null) bag.add("node", cellOf(root).ref, 1);
    for (const [, root] of before ?? []) if (root !== null) bag.add("node", cellOf(root).ref, -1);
    return countBag(bag, pool, overlay);
  };
  return {
    learn,
    /**
     * The total for these drives, remembered or counted by reading the whole tree.
     * @throws STORE_UNAVAILABLE
     */
    async bytesIn(drives: CadMap, overlay: Overlay): Promise<number> {
      const bytes = known.get(keyOf(drives)) ?? (await count(drives, undefined, overlay)).bytes;
      learn(drives, bytes);
      return bytes;
    },
    /**
     * Like bytesIn, computed from the difference to drives whose total is known. Both must be loaded.
     * @returns also the bytes of content that is no longer part of them
     */
    async bytesAfter(drives: CadMap, before: Counted, overlay: Overlay): Promise<Sum> {
      const remembered = known.get(keyOf(drives));
      if (remembered !== undefined) return { bytes: remembered, freed: Math.max(0, before.bytes - remembered) };
      const { bytes: more, freed } = await count(drives, before.drives, overlay);
      learn(drives, before.bytes + more);
      return { bytes: before.bytes + more, freed };
    },
  };
}

const keyOf = (drives: CadMap): string => toHex(cellOf(drives).ref);

const KINDS = ["node", "entries", "data"] as const;
type Kind = (typeof KINDS)[number];

interface Held {
  readonly ref: Uint8Array;
  /** Occurrences in the new tree minus occurrences in the old one. */
  readonly times: number;
}

/** Parts of two trees. Parts that occur equally often in both cancel out, wherever they are, and are not read. */
class Bag {
  /** Times by Refs in hex digits: a Ref is a view, which would keep the cell that holds it. */
  readonly #held: Record<Kind, Map<string, number>> = { node: new Map(), entries: new Map(), data: new Map() };

  add(kind: Kind, ref: Uint8Array, times: number): void {
    const key = toHex(ref);
    this.#held[kind].set(key, times + (this.#held[kind].get(key) ?? 0));
  }

  /**
   * Takes parts of one kind; empty if they cancel out. File content comes last, since it may still cancel out, unless
   * too much of it is held.
   */
  take(): { readonly kind: Kind; readonly parts: readonly Held[] } | undefined {
    const isFull = this.#held.data.size > MAX_WAITING;
    const kind = isFull ? "data" : KINDS.find((one) => this.#held[one].size > 0);
    if (kind === undefined) return undefined;
    const parts: Held[] = [];
    let seen = 0;
    for (const [key, times] of this.#held[kind]) {
      this.#held[kind].delete(key);
      if (times !== 0) parts.push({ ref: Buffer.from(key, "hex"), times });
      seen += 1;
      if (seen === MAX_TOGETHER) break;
    }
    return { kind, parts };
  }
}

/** Bytes of files: new minus old, and of the old ones that are gone. */
interface Sum {
  readonly bytes: number;
  readonly freed: number;
}

/** Damaged parts count as 0, so that the rest can still be changed. */
async function countBag(bag: Bag, pool: CellPool, overlay: Overlay): Promise<Sum> {
  let [bytes, freed] = [0, 0];
  const turn = createTurn();
  for (let some = bag.take(); some !== undefined; some = bag.take()) {
    const { kind, parts } = some;
    await yieldToLoop();
    // A separate scope, so that cells are not kept for later.
    const scope = createScope(pool, overlay);
    if (kind === "data") {
      const refs = parts.map(({ ref }) => ref);
      const sizes = await sizesOf(refs, scope);
      parts.forEach(({ times }, place) => {
        const size = times * (sizes[place] ?? 0);
        bytes += size;
        freed -= Math.min(0, size);
      });
      continue;
    }
    const branches = parts.flatMap(({ ref }) => (isBranch(ref) ? [hexOfBranch(ref)] : []));
    const found = (await readIntact(branches, scope)).values();
    for (const { ref, times } of parts) {
      await turn();
      const cell = readCell(isBranch(ref) ? found.next().value : ref);
      if (cell !== undefined) addParts(cell, kind, (below, part) => bag.add(below, part, times));
    }
  }
  return { bytes, freed };
}

function readCell(bytes: Uint8Array | undefined): ParsedCell | undefined {
  try {
    return bytes === undefined ? undefined : parseCell(bytes);
  } catch (error) {
    if (isDamage(error)) return undefined;
    throw error;
  }
}

type AddPart = (kind: Kind, ref: Uint8Array) => void;

function addParts(cell: ParsedCell, kind: Kind, add: AddPart): void {
  if (kind === "node") {
    const node = summaryOf(cell);
    if (node?.kind === "file") add("data", node.data.bytes);
    if (node?.kind === "directory") add("entries", node.entries.bytes);
  } else if (cell.kind === "index") addEntries(cell, add);
}

/** Entries inside the cell itself are added at once. */
function addEntries({ hasOwn, refs }: ParsedIndex, add: AddPart): void {
  const [, node] = refs;
  if (hasOwn && node !== undefined) {
    if (node.cell === undefined) add("node", node.bytes);
    else addParts(node.cell, "node", add);
  }
  for (const child of refs.slice(hasOwn ? 2 : 0)) {
    if (child.cell === undefined) add("entries", child.bytes);
    else addParts(child.cell, "entries", add);
  }
}
