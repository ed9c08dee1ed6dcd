// Types of parsed cells.

import type { Keyword } from "../keyword.js";

/** A part as its container holds it: a view of the Ref, and the embedded cell unless the part is a branch. */
export interface ParsedRef {
  readonly bytes: Uint8Array;
  readonly cell: ParsedCell | undefined;
}

interface Parsed {
  /** The encoding. */
  readonly bytes: Uint8Array;
  /** Refs of the parts, in encoding order. */
  readonly refs: readonly ParsedRef[];
}

export interface ParsedScalar extends Parsed {
  readonly kind: "scalar";
  readonly value: null | boolean | bigint | Keyword;
}

/** A blob or string: short ones have content, long ones have parts. */
export interface ParsedBlob extends Parsed {
  readonly kind: "blob";
  readonly isText: boolean;
  readonly length: number;
  readonly content: Uint8Array | undefined;
}

export interface ParsedVector extends Parsed {
  readonly kind: "vector";
  readonly count: number;
  /** Number of parts that are elements; they come first, followed by vectors. */
  readonly elements: number;
}

/** Parts are alternating keys and values or, from 16 entries on, maps. */
export interface ParsedMap extends Parsed {
  readonly kind: "map";
  readonly count: number;
  /** Hashes of the keys, in a leaf. */
  readonly hashes: readonly Uint8Array[];
  readonly shift: number;
  readonly mask: number;
}

/** Parts are the node's own key and value, if present, followed by indexes. */
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

/** One cell, parsed as far as possible without its branches. */
export type ParsedCell = ParsedScalar | ParsedBlob | ParsedVector | ParsedMap | ParsedIndex | ParsedSigned;
