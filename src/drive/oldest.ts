// The oldest key of a map, whose entries are deleted all the time.

/** So often the iterator is made anew. */
const RENEWED = 256;

/**
 * An iterator that is made for each look walks over all that was deleted before the first key, and one that is kept holds
 * every table that the map has had since.
 */
export class Oldest<Key> {
  readonly #map: ReadonlyMap<Key, unknown>;
  #keys: Iterator<Key>;
  #key: Key | undefined;
  #looks = 0;

  constructor(map: ReadonlyMap<Key, unknown>) {
    this.#map = map;
    this.#keys = map.keys();
  }

  /** To be asked about as often as the map changes. `undefined`: the map is empty */
  get key(): Key | undefined {
    this.#looks += 1;
    if (this.#looks % RENEWED === 0) this.#renew();
    while (this.#map.size > 0) {
      if (this.#key !== undefined && this.#map.has(this.#key)) return this.#key;
      const { done, value } = this.#keys.next();
      if (done === true) this.#renew();
      else this.#key = value;
    }
    return undefined;
  }

  #renew(): void {
    this.#keys = this.#map.keys();
    this.#key = undefined;
  }
}
