import type { Checked } from "./encoding/check-parts.js";
import type { IndexNode } from "./maps/index-node.js";
import type { MapNode } from "./maps/map-node.js";
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

/** A checked cell, and what it stands for. */
export interface Built extends Checked {
  /** How a container holds it. */
  readonly ref: Uint8Array;
  readonly parts: readonly (Built | undefined)[];
  /** Branches in branches below. */
  readonly height: number;
  readonly weight: Weight;
  /** `undefined` as long as a branch is missing. */
  readonly made: Made | undefined;
}
