import type { Keyword } from "../keyword.js";

/** How a container holds a part: by a view of the Ref, and what stands in it unless it is a branch. */
export interface ParsedRef {
  readonly bytes: Uint8Array;
  readonly cell: ParsedCell | undefined;
}

interface Parsed {
  /** The encoding. */
  readonly bytes: Uint8Array;
  /** The parts, in the order in which they stand there. */
  readonly refs: readonly ParsedRef[];
}

export interface ParsedScalar extends Parsed {
  readonly kind: "scalar";
  readonly value: null | boolean | bigint | Keyword;
}

/** A blob or a string: with content when short, else with parts. */
export interface ParsedBlob extends Parsed {
  readonly kind: "blob";
  readonly isText: boolean;
  readonly length: number;
  readonly content: Uint8Array | undefined;
}

export interface ParsedVector extends Parsed {
  readonly kind: "vector";
  readonly count: number;
  /** How many of the parts are elements; they come first, then vectors. */
  readonly elements: number;
}

/** Parts are keys and values in turn, or, from 16 entries on, maps. */
export interface ParsedMap extends Parsed {
  readonly kind: "map";
  readonly count: number;
  /** Of the keys of a leaf. */
  readonly hashes: readonly Uint8Array[];
  readonly shift: number;
  readonly mask: number;
}

/** Parts are the own key and value, if there, then indexes. */
export interface ParsedIndex extends Parsed {
  readonly kind: "index";
  readonly count: number;
  readonly hasOwn: boolean;
  readonly depth: number;
  readonly mask: number;
}

export interface ParsedSigned extends Parsed {
  readonly kind: "signed";
  readonly publicKey: Uint8Array;
  readonly signature: Uint8Array;
}

/** One cell, read as far as it can be without its branches. */
export type ParsedCell = ParsedScalar | ParsedBlob | ParsedVector | ParsedMap | ParsedIndex | ParsedSigned;
