import type { IndexNode } from "./index-node.js";
import type { MapNode } from "./map-node.js";
import type { ParsedCell } from "./parsed.js";
import type { Value } from "./value.js";

/** What a value takes; parts that are shared count every time, those that are not at hand do not. */
export interface Weight {
  /** Of blobs, and of strings that are trees of blobs. */
  readonly bytes: number;
  /** Of maps and indexes. */
  readonly entries: number;
  /** Of vectors. */
  readonly elements: number;
}

/** What a cell stands for. A tree's inner cells are nodes, and values only when asked for. */
export interface Made {
  value(): Value;
  readonly elements?: readonly Value[];
  readonly mapNode?: MapNode;
  readonly indexNode?: IndexNode | undefined;
}

/** A cell that has been checked with as many of its branches as are at hand. */
export interface Built {
  readonly cell: ParsedCell;
  /** How a container holds it. */
  readonly ref: Uint8Array;
  /** In the order of its Refs; `undefined` for one that is not at hand. */
  readonly parts: readonly (Built | undefined)[];
  /** Branches in branches below. */
  readonly height: number;
  readonly weight: Weight;
  /** Of a map or an index: what any of the keys has for its place, if a key is at hand. */
  readonly slot: Uint8Array | undefined;
  /** Of a map or an index: leading digits that all keys share. */
  readonly shared: number;
  /** `undefined` as long as a branch is missing. */
  readonly made: Made | undefined;
}
