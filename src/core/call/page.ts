/** A part of a list: integers ≥ 0. */
export interface Page {
  readonly offset: number;
  readonly limit: number;
}

/** What a list answers with. */
export interface Paged<T> extends Page {
  readonly items: readonly T[];
  /** Number of items in the whole list. */
  readonly total: number;
}
