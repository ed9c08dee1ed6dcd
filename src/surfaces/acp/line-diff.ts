/** Lines that differ: `old` from `oldAt` on were replaced by those of `new` from `newAt` on. */
export interface LineEdit {
  readonly oldAt: number;
  readonly oldCount: number;
  readonly newAt: number;
  readonly newCount: number;
}

/** Most lines that are told apart; texts that differ more are one replacement from first to last difference. */
const MAX_DISTANCE = 1000;

/** The shortest list of edits, after Myers, in the order of the lines. */
export function lineEdits(before: readonly string[], after: readonly string[]): LineEdit[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  let end = 0;
  const most = Math.min(before.length, after.length) - start;
  while (end < most && before[before.length - 1 - end] === after[after.length - 1 - end]) end++;
  const [oldLines, newLines] = numbered(
    before.slice(start, before.length - end),
    after.slice(start, after.length - end),
  );
  if (oldLines.length === 0 && newLines.length === 0) return [];
  const whole = { oldAt: 0, oldCount: oldLines.length, newAt: 0, newCount: newLines.length };
  const edits = oldLines.length === 0 || newLines.length === 0 ? [whole] : (shortest(oldLines, newLines) ?? [whole]);
  return edits.map((edit) => ({ ...edit, oldAt: edit.oldAt + start, newAt: edit.newAt + start }));
}

/** Equal lines get equal numbers: those are compared fast. */
function numbered(before: readonly string[], after: readonly string[]): [Int32Array, Int32Array] {
  const numbers = new Map<string, number>();
  const numberOf = (line: string): number => {
    const known = numbers.get(line);
    if (known !== undefined) return known;
    numbers.set(line, numbers.size);
    return numbers.size - 1;
  };
  return [Int32Array.from(before, numberOf), Int32Array.from(after, numberOf)];
}

/** @returns `undefined`: they differ in too many lines */
function shortest(before: Int32Array, after: Int32Array): LineEdit[] | undefined {
  const maxDistance = Math.min(MAX_DISTANCE, before.length + after.length);
  // Furthest place in `before` by diagonal, from -distance to distance, after each number of steps.
  const steps: Int32Array[] = [];
  let furthest = Int32Array.of(0);
  for (let distance = 0; distance <= maxDistance; distance++) {
    const next = new Int32Array(2 * distance + 1);
    for (let diagonal = -distance; diagonal <= distance; diagonal += 2) {
      let x = distance === 0 ? 0 : stepTo(furthest, distance, diagonal);
      let y = x - diagonal;
      while (x < before.length && y < after.length && before[x] === after[y]) {
        x++;
        y++;
      }
      next[diagonal + distance] = x;
      if (x >= before.length && y >= after.length) return traced(steps, { x: before.length, y: after.length });
    }
    steps.push(next);
    furthest = next;
  }
  return undefined;
}

/** Whether the best way to a diagonal comes from the one above: by a line of `after`. */
function isInsertion(furthest: Int32Array, distance: number, diagonal: number): boolean {
  const at = (other: number): number => furthest[other + distance - 1] ?? -1;
  return diagonal === -distance || (diagonal !== distance && at(diagonal - 1) < at(diagonal + 1));
}

function stepTo(furthest: Int32Array, distance: number, diagonal: number): number {
  const at = (other: number): number => furthest[other + distance - 1] ?? 0;
  return isInsertion(furthest, distance, diagonal) ? at(diagonal + 1) : at(diagonal - 1) + 1;
}

/** Goes the way back. @param steps furthest places after 0, 1, … steps */
function traced(steps: readonly Int32Array[], end: { x: number; y: number }): LineEdit[] {
  const edits: LineEdit[] = [];
  let { x, y } = end;
  for (let distance = steps.length; distance > 0; distance--) {
    const furthest = steps[distance - 1] ?? Int32Array.of(0);
    const diagonal = x - y;
    const inserts = isInsertion(furthest, distance, diagonal);
    const from = inserts ? diagonal + 1 : diagonal - 1;
    const oldAt = furthest[from + distance - 1] ?? 0;
    const newAt = oldAt - from;
    const last = edits.at(-1);
    const edit = { oldAt, oldCount: inserts ? 0 : 1, newAt, newCount: inserts ? 1 : 0 };
    // They come from the last to the first: those that touch are one.
    if (last !== undefined && oldAt + edit.oldCount === last.oldAt && newAt + edit.newCount === last.newAt) {
      edits.pop();
      edits.push({ oldAt, oldCount: edit.oldCount + last.oldCount, newAt, newCount: edit.newCount + last.newCount });
    } else edits.push(edit);
    x = oldAt;
    y = newAt;
  }
  return edits.reverse();
}
