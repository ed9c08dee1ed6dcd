// Hex digits of keys and the 16-bit masks of tree nodes.

/** The hex digit at a position, high nibble first; 0 past the end. */
export function digitAt(bytes: Uint8Array, position: number): number {
  const byte = bytes[position >> 1] ?? 0;
  return (position & 1) === 0 ? byte >> 4 : byte & 15;
}

/** Number of leading digits that two keys share. @param most upper limit of the count */
export function sharedDigits(one: Uint8Array, other: Uint8Array, most: number): number {
  const bytes = Math.min(one.length, other.length);
  let at = 0;
  while (at < bytes && one[at] === other[at]) at += 1;
  const half = at < bytes && digitAt(one, 2 * at) === digitAt(other, 2 * at) ? 1 : 0;
  return Math.min(most, 2 * at + half);
}

/** Number of digits set in a mask. */
export function countDigits(mask: number): number {
  let count = 0;
  for (let rest = mask; rest !== 0; rest &= rest - 1) count += 1;
  return count;
}

export const hasDigit = (mask: number, digit: number): boolean => (mask & (1 << digit)) !== 0;

/** Index of a digit's child, present or not, among the children of a mask. */
export const placeOf = (mask: number, digit: number): number => countDigits(mask & ((1 << digit) - 1));

/** Depth and mask as encoded in a cell. */
export const depthAndMask = (depth: number, mask: number): Uint8Array => Uint8Array.of(depth, mask >> 8, mask & 0xff);
