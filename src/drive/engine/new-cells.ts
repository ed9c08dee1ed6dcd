// Finds the cells of a value that the store does not have.

import { cellOf, emitCells } from "../cad3/encoding/cell.js";
import { LazyValue } from "../cad3/lazy.js";
import { CadMap } from "../cad3/maps/hash-map.js";
import { CadIndex } from "../cad3/maps/index-map.js";
import type { IndexChild, IndexNode } from "../cad3/maps/index-node.js";
import { type Cell, hashOfRef, isBranch, MAX_EMBEDDED_BYTES, toHex } from "../cad3/ref.js";
import { Signed } from "../cad3/signed.js";
import type { Value } from "../cad3/value.js";

/** A branch and its hash in hex. */
export interface NewCell {
  readonly hash: string;
  readonly bytes: Uint8Array;
}

/** Something to traverse: a value, or an index node. */
type Part = { readonly value: Value; readonly isEmbedded?: boolean } | { readonly node: IndexChild };

/**
 * The branches of a value, itself included, that are not in the store. Traverses only where there can be new ones:
 * neither lazy values, which were read from the store, nor anything below a stored cell. Parts come after their
 * container and may come repeatedly. Computed on demand.
 *
 * @param isStored whether the cell with this hash is stored with everything below it
 */
export function newCells(root: Value, isStored: (hash: string) => boolean): Generator<NewCell> {
  // Encoding first gives every index node its cell.
  cellOf(root);
  return cellsIn({ value: root }, isStored);
}

/** New cells below a node of an index that has been encoded. */
export const newCellsOfNode = (node: IndexNode, isStored: (hash: string) => boolean): Generator<NewCell> =>
  cellsIn({ node }, isStored);

function* cellsIn(first: Part, isStored: (hash: string) => boolean): Generator<NewCell> {
  let found: NewCell[] = [];
  /** @returns whether there may be new cells below */
  const take = ({ ref, bytes }: Cell): boolean => {
    if (!isBranch(ref)) return true;
    const hash = toHex(hashOfRef(ref));
    if (isStored(hash)) return false;
    found.push({ hash, bytes });
    return true;
  };
  const waiting: Part[] = [first];
  for (let part = waiting.pop(); part !== undefined; part = waiting.pop()) {
    if ("value" in part) lookIntoValue(part, take, waiting);
    else lookIntoNode(part.node, take, waiting);
    yield* found;
    found = [];
  }
}

type Take = (cell: Cell) => boolean;

/** An embedded value is a part of its container: only the branches it refers to can be new. */
function lookIntoValue(
  { value, isEmbedded = false }: Extract<Part, { value: Value }>,
  take: Take,
  below: Part[],
): void {
  if (value instanceof Uint8Array || typeof value === "string") {
    // A longer one can have an embedded top with branches below.
    if (!isEmbedded || value.length > MAX_EMBEDDED_BYTES) emitCells(value, take);
    return;
  }
  if (value instanceof CadIndex) {
    if (value.root !== undefined) below.push({ node: value.root });
    return;
  }
  if (!isContainer(value) || (!isEmbedded && !take(cellOf(value)))) return;
  if (value instanceof Signed) addValue(value.value, false, below);
  else if (value instanceof CadMap) {
    // The inner cells of the value; keys and values are traversed here.
    value.toCell({ cellOf, emit: take });
    for (const [key, held] of value) {
      addValue(key, false, below);
      addValue(held, false, below);
    }
  } else for (const part of value) addValue(part, false, below);
}

/** Lazy values were read from the store, and the other scalars are never branches: most parts are of these kinds. */
function addValue(value: Value, isEmbedded: boolean, below: Part[]): void {
  if (typeof value === "string" || (typeof value === "object" && value !== null && !(value instanceof LazyValue)))
    below.push({ value, isEmbedded });
}

const isContainer = (value: Value): value is readonly Value[] | CadMap | Signed =>
  Array.isArray(value) || value instanceof CadMap || value instanceof Signed;

const isEmbedded = (ref: Uint8Array | undefined): boolean => ref !== undefined && !isBranch(ref);

function lookIntoNode(node: IndexChild, take: Take, below: Part[]): void {
  if ("load" in node || (node.cell !== undefined && !take(node.cell))) return;
  if (node.own !== undefined) {
    const { key, keyRef, value, valueRef } = node.own;
    addValue(key, isEmbedded(keyRef), below);
    addValue(value, isEmbedded(valueRef), below);
  }
  for (const child of node.children) if (!("load" in child)) below.push({ node: child });
}
