// The cache of drives: cells by hash, their sizes, results of checks, footers of packs.

/** A map that drops entries that have not been used for long. */
export interface Lru<V> {
  get(key: string): V | undefined;
  set(key: string, value: V): void;
  delete(key: string): void;
}

/**
 * Two generations: a used entry moves to the young one, and the old one is dropped as a whole, since deleting single
 * entries of a large map costs more than the cache saves.
 *
 * @param capacity maximum total weight of the values
 */
export function createLru<V>(capacity: number, weigh: (value: V) => number = () => 1): Lru<V> {
  let [young, old] = [new Map<string, V>(), new Map<string, V>()];
  let weight = 0;
  const add = (key: string, value: V): void => {
    const more = weigh(value);
    if (more > capacity / 2) return;
    if (weight + more > capacity / 2) {
      [old, young] = [young, new Map()];
      weight = 0;
    }
    young.set(key, value);
    weight += more;
  };
  const remove = (key: string): void => {
    const before = young.get(key);
    if (before !== undefined) weight -= weigh(before);
    young.delete(key);
    old.delete(key);
  };
  return {
    get(key) {
      const value = young.get(key);
      if (value !== undefined) return value;
      const before = old.get(key);
      if (before !== undefined) add(key, before);
      return before;
    },
    set(key, value) {
      remove(key);
      add(key, value);
    },
    delete: remove,
  };
}
