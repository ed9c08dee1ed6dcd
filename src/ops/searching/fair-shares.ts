/**
 * Divides `room` among parties that want different amounts: nobody gets more than it wants, and what small ones leave
 * goes to the larger ones in equal parts; odd ones to the first.
 * @param wants whole numbers, 0 or more
 * @returns one share for each want; their sum is the smaller of `room` and the sum of the wants
 */
export function fairShares(wants: readonly number[], room: number): number[] {
  const shares = wants.map(() => 0);
  const bySize = wants.map((_, index) => index).sort((a, b) => (wants[a] ?? 0) - (wants[b] ?? 0) || a - b);
  let left = room;
  let parties = bySize.length;
  let level = 0;
  for (const index of bySize) {
    const want = wants[index] ?? 0;
    if ((want - level) * parties > left) break;
    left -= (want - level) * parties;
    level = want;
    shares[index] = want;
    parties--;
  }
  if (parties === 0) return shares;
  const each = level + Math.floor(left / parties);
  let odd = left % parties;
  wants.forEach((want, index) => {
    if (want <= level) return;
    shares[index] = each + (odd > 0 ? 1 : 0);
    if (odd > 0) odd--;
  });
  return shares;
}
