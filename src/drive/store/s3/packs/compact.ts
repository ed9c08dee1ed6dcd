// Compaction of an owner's packs.

import { storeDamaged } from "../../checks.js";
import { footerEntries } from "../../embedded/pack-format.js";
import { type HashText, textOfHash } from "../../mark.js";
import type { LoadedRoot, OwnerRoots } from "../roots/owner-roots.js";
import type { RootSwap } from "../roots/root-swap.js";
import { PACK_CELL_BYTES, PackBuilder } from "./builder.js";
import type { PackInfo, PackKind } from "./manifest.js";
import { type PackSource, SMALL_PACK_BYTES } from "./source.js";
import type { Uploads } from "./uploads.js";

export interface CompactParts {
  readonly roots: OwnerRoots;
  readonly source: PackSource;
  readonly uploads: Uploads;
  readonly swaps: RootSwap;
  /** Throws if the store is being closed. */
  readonly checkGoesOn: () => void;
}

export interface CompactRules {
  isLive(hash: HashText): boolean;
  /** Packs that others may still be writing are kept. */
  mayReplace(pack: PackInfo): boolean;
  /** Whether `isLive` knows the cells of a root. */
  isMarked(root: LoadedRoot): boolean;
}

/** Cells copied at a time. */
const CELLS_PER_COPY = 512;
/** Number of short packs from which merging is worthwhile. */
export const MANY_SMALL_PACKS = 16;

export const smallPacks = (packs: readonly PackInfo[]): PackInfo[] =>
  packs.filter(({ size }) => size < SMALL_PACK_BYTES);

/** Keeps every cell and only merges short packs. */
export const mergeRules: CompactRules = { isLive: () => true, mayReplace: () => true, isMarked: () => true };

/**
 * Rewrites the list of an owner's packs: packs without live cells are dropped; packs that are mostly garbage, and many
 * short ones, are copied. Packs no longer listed stay in the bucket until they are collected.
 */
export async function compactOwner(owner: string, parts: CompactParts, rules: CompactRules): Promise<void> {
  const { roots, source, swaps } = parts;
  const root = roots.known(owner);
  if (root === undefined || !rules.isMarked(root)) return;
  const small = smallPacks(root.packs);
  const kept: PackInfo[] = [];
  const copied: { pack: PackInfo; live: HashText[] }[] = [];
  for (const pack of root.packs) {
    parts.checkGoesOn();
    const isShort = small.length >= 2 && small.includes(pack);
    const footer = rules.mayReplace(pack) ? await source.footer(pack) : undefined;
    const entries = footer === undefined ? [] : [...footerEntries(footer)];
    const live = entries.filter(({ hash }) => rules.isLive(textOfHash(hash)));
    const isFull = 2 * sum(live) > sum(entries);
    if (footer === undefined || (isFull && !isShort)) kept.push(pack);
    else {
      live.sort((one, other) => one.offset - other.offset);
      if (live.length > 0) copied.push({ pack, live: live.map(({ hash }) => textOfHash(hash)) });
    }
  }
  // Copying a single short pack would repeat for ever.
  const isWorth = kept.length + copied.length < root.packs.length || copied.length > 1 || copied.some(isThin);
  if (!isWorth) return;
  const packs = await copyCells(copied, parts);
  const all = [...new Map([...kept, ...packs].map((pack) => [pack.id, pack])).values()];
  await swaps.move(owner, root, all);
}

const isThin = ({ pack, live }: { pack: PackInfo; live: HashText[] }): boolean => 2 * live.length <= pack.count;
const sum = (entries: readonly { readonly length: number }[]): number =>
  entries.reduce((bytes, { length }) => bytes + length, 0);

async function copyCells(
  copied: readonly { pack: PackInfo; live: readonly HashText[] }[],
  { source, uploads, checkGoesOn }: CompactParts,
): Promise<PackInfo[]> {
  const builders: Record<PackKind, PackBuilder> = {
    tree: new PackBuilder(),
    chunk: new PackBuilder(),
    mixed: new PackBuilder(),
  };
  const packs: PackInfo[] = [];
  const end = async (kind: PackKind): Promise<void> => {
    const builder = builders[kind];
    builders[kind] = new PackBuilder();
    if (builder.count > 0) packs.push(await uploads.one(builder.build(kind)));
  };
  for (const { pack, live } of copied) {
    for (let at = 0; at < live.length; at += CELLS_PER_COPY) {
      checkGoesOn();
      const wanted = live.slice(at, at + CELLS_PER_COPY);
      const cells = await source.read(new Set(wanted));
      for (const text of wanted) {
        const cell = cells.get(text);
        if (cell === undefined) throw storeDamaged("a cell that is to be copied is missing");
        builders[pack.kind].add(text, cell);
        if (builders[pack.kind].bytes >= PACK_CELL_BYTES) await end(pack.kind);
      }
    }
  }
  for (const kind of ["tree", "chunk", "mixed"] as const) await end(kind);
  return packs;
}
