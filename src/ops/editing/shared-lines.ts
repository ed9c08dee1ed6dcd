// The lines that two versions of some lines share.

/**
 * The lines that two versions share, as pairs of indices in order.
 * @param most pairs compared between the lines at the start and at the end that are the same; beyond it only those are told
 */
export function sharedLines(
  olds: readonly string[],
  news: readonly string[],
  most: number,
): readonly (readonly [number, number])[] {
  const shortest = Math.min(olds.length, news.length);
  let head = 0;
  while (head < shortest && olds[head] === news[head]) head++;
  let tail = 0;
  while (tail < shortest - head && olds.at(-1 - tail) === news.at(-1 - tail)) tail++;
  const [oldEnd, newEnd] = [olds.length - tail, news.length - tail];
  const isFew = (oldEnd - head) * (newEnd - head) <= most;
  const between = isFew ? longestShared(olds.slice(head, oldEnd), news.slice(head, newEnd)) : [];
  return [
    ...Array.from({ length: head }, (_, at) => [at, at] as const),
    ...between.map(([old, next]) => [head + old, head + next] as const),
    ...Array.from({ length: tail }, (_, at) => [oldEnd + at, newEnd + at] as const),
  ];
}

/** The longest common subsequence of lines, as pairs of indices. */
function longestShared(olds: readonly string[], news: readonly string[]): (readonly [number, number])[] {
  const width = news.length + 1;
  const lengths = new Uint16Array((olds.length + 1) * width);
  const at = (row: number, column: number): number => lengths[row * width + column] ?? 0;
  const ids = new Map<string, number>();
  const idsOf = (lines: readonly string[]) =>
    lines.map((line) => {
      const id = ids.get(line) ?? ids.size;
      ids.set(line, id);
      return id;
    });
  const [oldIds, newIds] = [idsOf(olds), idsOf(news)];
  for (let row = olds.length - 1; row >= 0; row--) {
    for (let column = news.length - 1; column >= 0; column--) {
      lengths[row * width + column] =
        oldIds[row] === newIds[column]
          ? at(row + 1, column + 1) + 1
          : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  const pairs: (readonly [number, number])[] = [];
  for (let row = 0, column = 0; row < olds.length && column < news.length; ) {
    if (oldIds[row] === newIds[column]) pairs.push([row++, column++]);
    else if (at(row + 1, column) >= at(row, column + 1)) row++;
    else column++;
  }
  return pairs;
}
