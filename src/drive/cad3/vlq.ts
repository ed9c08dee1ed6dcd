/** How many bytes a count takes. @param count an integer from 0 to 2^53 - 1 */
export function vlqLength(count: number): number {
  let length = 1;
  for (let rest = count; rest >= 128; rest = Math.floor(rest / 128)) length += 1;
  return length;
}

/**
 * Writes a count: base 128, most significant group first, the high bit set on every byte but the last.
 *
 * @returns where the next byte goes
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
