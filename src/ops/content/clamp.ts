/** The given whole number, pulled into a range. */
export function clamp(value: number | undefined, range: { low: number; high: number; otherwise: number }): number {
  return value === undefined ? range.otherwise : Math.min(range.high, Math.max(range.low, value));
}
