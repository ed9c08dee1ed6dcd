// Encoding of vectors (CAD3).

import { type Cell, type Emit, isBranch, joinCell } from "./ref.js";
import { VECTOR_TAG } from "./scalar.js";

const FAN_OUT = 16;

/** The parts of a vector's cell, after its count. */
export interface VectorLayout {
  /** Elements held directly in the cell. */
  readonly elements: number;
  /** Child vectors, each except the last with `childCount` elements. */
  readonly children: number;
  readonly childCount: number;
  readonly lastCount: number;
}

/** Shape of a vector, determined by its count: the last elements and a prefix vector, or a tree. */
export function vectorLayout(count: number): VectorLayout {
  if (count <= FAN_OUT) return { elements: count, children: 0, childCount: 0, lastCount: 0 };
  const elements = count % FAN_OUT;
  const prefix = count - elements;
  if (elements > 0) return { elements, children: 1, childCount: prefix, lastCount: prefix };
  let childCount = FAN_OUT;
  while (childCount * FAN_OUT < count) childCount *= FAN_OUT;
  const children = Math.ceil(count / childCount);
  return { elements, children, childCount, lastCount: count - (children - 1) * childCount };
}

/**
 * Encodes a vector from the Refs of its elements.
 *
 * @param emit called for every branch below the top that is part of this vector, but not for those of its elements
 */
export function vectorCell(refs: readonly Uint8Array[], emit?: Emit): Cell {
  const { elements, children, childCount } = vectorLayout(refs.length);
  const treeEnd = refs.length - elements;
  const parts = refs.slice(treeEnd);
  for (let child = 0; child < children; child += 1) {
    const end = Math.min(treeEnd, (child + 1) * childCount);
    const cell = vectorCell(refs.slice(child * childCount, end), emit);
    if (isBranch(cell.ref)) emit?.(cell);
    parts.push(cell.ref);
  }
  return joinCell(VECTOR_TAG, refs.length, parts);
}
