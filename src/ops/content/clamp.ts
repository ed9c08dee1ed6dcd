/** The value limited to a range; `otherwise` if it is absent. */
export function clamp(value: number | undefined, range: { low: number; high: number; otherwise: number }): number {
  return value === undefined ? range.otherwise : Math.min(range.high, Math.max(range.low, value));
}
