// Maps that keep the entries put last.

/** Puts an entry at the end of a map, and drops the first one where that makes more than `max`. */
export function putLatest<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, max: number): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > max && oldest !== undefined) map.delete(oldest);
}
