// Locations of cells known to this process.

import type { HashText } from "../../mark.js";
import type { PackInfo } from "../packs/manifest.js";

/** Location of the cells below a root. */
export interface View {
  readonly packs: readonly PackInfo[];
  readonly carried: ReadonlyMap<HashText, Uint8Array>;
}

interface Counted<T> {
  readonly item: T;
  uses: number;
}

export type Views = ReturnType<typeof createViews>;

/** Locations from all roots, readers and uploads of this process. */
export function createViews() {
  const packs = new Map<string, Counted<PackInfo>>();
  const cells = new Map<HashText, Counted<Uint8Array>>();
  /** Announces that cells of the view will be requested. */
  const touch = (view: View): void => {
    for (const { id } of view.packs) {
      const counted = packs.get(id);
      if (counted === undefined) continue;
      packs.delete(id);
      packs.set(id, counted);
    }
  };
  return {
    /** @returns a function that removes the view; idempotent */
    add(view: View): () => void {
      for (const pack of view.packs) count(packs, pack.id, pack);
      for (const [text, cell] of view.carried) count(cells, text, cell);
      touch(view);
      let isThere = true;
      return () => {
        if (!isThere) return;
        isThere = false;
        for (const { id } of view.packs) uncount(packs, id);
        for (const text of view.carried.keys()) uncount(cells, text);
      };
    },
    touch,
    carried: (text: HashText): Uint8Array | undefined => cells.get(text)?.item,
    /** Most recently touched first. */
    packs: (): PackInfo[] => Array.from(packs.values(), ({ item }) => item).reverse(),
    has: (packId: string): boolean => packs.has(packId),
  };
}

function count<T>(all: Map<string, Counted<T>>, key: string, item: T): void {
  const present = all.get(key);
  if (present === undefined) all.set(key, { item, uses: 1 });
  else present.uses += 1;
}

function uncount<T>(all: Map<string, Counted<T>>, key: string): void {
  const present = all.get(key);
  if (present === undefined) return;
  present.uses -= 1;
  if (present.uses === 0) all.delete(key);
}
