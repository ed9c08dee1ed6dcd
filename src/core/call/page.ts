/** A part of a list: integers ≥ 0. */
export interface Page {
  readonly offset: number;
  readonly limit: number;
}

/** One page of a list. */
export interface Paged<T> extends Page {
  readonly items: readonly T[];
  /** Number of items in the whole list. */
  readonly total: number;
}
