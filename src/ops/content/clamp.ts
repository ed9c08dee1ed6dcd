/** The value limited to a range; `otherwise` if it is absent. */
export function clamp(value: number | undefined, range: { low: number; high: number; otherwise: number }): number {
  return value === undefined ? range.otherwise : Math.min(range.high, Math.max(range.low, value));
}

/** How many of the first texts are within a budget with a little for each; at least one. */
export function countWithin(texts: readonly string[], maxBytes: number): number {
  let left = maxBytes;
  const over = texts.findIndex((text) => {
    left -= Buffer.byteLength(text) + OF_ONE;
    return left < 0;
  });
  return over < 0 ? texts.length : Math.max(1, over);
}

/** Bytes beside a name: its line feed, the size of a file. */
const OF_ONE = 16;
