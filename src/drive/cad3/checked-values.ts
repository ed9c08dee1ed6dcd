// Cells that have been checked and turned into values.

import type { Checked } from "./encoding/check-parts.js";
import type { IndexNode } from "./maps/index-node.js";
import type { MapNode } from "./maps/map-node.js";
import type { Value } from "./value.js";

/** Size of a value. Shared parts count each time; missing parts do not count. */
export interface Weight {
  /** Bytes of blobs, and of strings that are trees of blobs. */
  readonly bytes: number;
  /** Entries of maps and indexes. */
  readonly entries: number;
  /** Elements of vectors. */
  readonly elements: number;
}

/** Value of a cell. Inner cells of a tree are nodes and become values only on request. */
export interface Made {
  value(): Value;
  readonly elements?: readonly Value[];
  readonly mapNode?: MapNode;
  readonly indexNode?: IndexNode | undefined;
}

export interface Built extends Checked {
  /** Its Ref, as a container holds it. */
  readonly ref: Uint8Array;
  readonly parts: readonly (Built | undefined)[];
  /** Nesting depth of branches below this cell. */
  readonly height: number;
  readonly weight: Weight;
  /** `undefined` while a branch is missing. */
  readonly made: Made | undefined;
}
