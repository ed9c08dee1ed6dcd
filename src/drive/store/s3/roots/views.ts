import type { HashText } from "../../mark.js";
import type { PackInfo } from "../packs/manifest.js";

/** Where the cells below a root are. */
export interface View {
  readonly packs: readonly PackInfo[];
  readonly carried: ReadonlyMap<HashText, Uint8Array>;
}

/** Everything that some root, reader or upload of this process has told of. */
export interface Views {
  /** @returns what takes it out again; more than once is harmless */
  add(view: View): () => void;
  /** Says that cells of it are going to be asked for. */
  touch(view: View): void;
  carried(text: HashText): Uint8Array | undefined;
  /** Those that were touched last come first. */
  packs(): PackInfo[];
  has(packId: string): boolean;
}

interface Counted<T> {
  readonly item: T;
  uses: number;
}

export function createViews(): Views {
  const packs = new Map<string, Counted<PackInfo>>();
  const cells = new Map<HashText, Counted<Uint8Array>>();
  const touch = (view: View): void => {
    for (const { id } of view.packs) {
      const counted = packs.get(id);
      if (counted === undefined) continue;
      packs.delete(id);
      packs.set(id, counted);
    }
  };
  return {
    add(view) {
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
    carried: (text) => cells.get(text)?.item,
    packs: () => Array.from(packs.values(), ({ item }) => item).reverse(),
    has: (id) => packs.has(id),
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
