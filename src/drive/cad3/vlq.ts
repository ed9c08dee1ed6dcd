// Variable-length quantities: base-128 counts, most significant group first.

/** Number of bytes of an encoded count. @param count an integer from 0 to 2^53 - 1 */
export function vlqLength(count: number): number {
  let length = 1;
  for (let rest = count; rest >= 128; rest = Math.floor(rest / 128)) length += 1;
  return length;
}

/**
 * Writes a count in base 128, most significant group first; the high bit is set on every byte except the last.
 *
 * @returns offset of the next byte
 */
export function writeVlq(target: Uint8Array, at: number, count: number): number {
  const end = at + vlqLength(count);
  let rest = count;
  for (let place = end - 1; place >= at; place -= 1) {
    target[place] = (rest % 128) | (place === end - 1 ? 0 : 0x80);
    rest = Math.floor(rest / 128);
  }
  return end;
}
