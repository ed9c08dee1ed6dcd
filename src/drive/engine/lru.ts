/** A map that forgets what has not been used for longest. */
export interface Lru<V> {
  get(key: string): V | undefined;
  set(key: string, value: V): void;
}

/** @param capacity the most that all values may weigh together */
export function createLru<V>(capacity: number, weigh: (value: V) => number): Lru<V> {
  const kept = new Map<string, V>();
  let weight = 0;
  const drop = (key: string, value: V): void => {
    kept.delete(key);
    weight -= weigh(value);
  };
  return {
    get(key) {
      const value = kept.get(key);
      if (value === undefined) return undefined;
      // The order of a map is that of insertion.
      kept.delete(key);
      kept.set(key, value);
      return value;
    },
    set(key, value) {
      const before = kept.get(key);
      if (before !== undefined) drop(key, before);
      kept.set(key, value);
      weight += weigh(value);
      for (const [oldest, old] of kept) {
        if (weight <= capacity) break;
        drop(oldest, old);
      }
    },
  };
}
