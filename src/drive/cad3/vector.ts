import { type Cell, type Emit, isBranch, joinCell } from "./ref.js";
import { VECTOR_TAG } from "./scalar.js";

const FAN_OUT = 16;

/** What follows the count of a vector. */
export interface VectorLayout {
  /** Elements that stand in the cell itself. */
  readonly elements: number;
  /** Vectors in it, each but the last of `childCount` elements. */
  readonly children: number;
  readonly childCount: number;
  readonly lastCount: number;
}

/** The shape of a vector, which depends on its count only: its last few elements and a prefix, or a tree. */
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
 * Encodes a vector by the Refs of its elements.
 *
 * @param emit is told of every branch below the top that is a part of this vector, not of its elements
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
