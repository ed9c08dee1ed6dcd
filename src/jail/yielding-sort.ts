// Sorts long listings without blocking the event loop.

import type { CallScope } from "../core/call/scope.js";
import type { Io } from "../core/io.js";
import { compareCodePoints, type Named, sortByName } from "../path/order.js";

/** Entries sorted before other calls get a turn. */
const RUN = 4096;

/** An entry with its name prepared for comparison. */
interface Keyed<T extends Named> {
  readonly entry: T;
  readonly folded: string;
}

/** Sorts like {@link sortByName}, in runs that are merged afterwards; other calls get turns in between. */
export function* sortYielding<T extends Named>(entries: readonly T[], scope: CallScope): Io<T[]> {
  if (entries.length <= RUN) return sortByName(entries);
  let runs: Keyed<T>[][] = [];
  for (let at = 0; at < entries.length; at += RUN) {
    yield* scope.breathe();
    const sorted = sortByName(entries.slice(at, at + RUN));
    runs.push(sorted.map((entry) => ({ entry, folded: entry.name.toLowerCase() })));
  }
  while (runs.length > 1) {
    const merged: Keyed<T>[][] = [];
    for (let at = 0; at < runs.length; at += 2) merged.push(yield* merge(runs[at] ?? [], runs[at + 1] ?? [], scope));
    runs = merged;
  }
  const sorted: T[] = [];
  for (const { entry } of runs[0] ?? []) sorted.push(entry);
  return sorted;
}

function* merge<T extends Named>(
  left: readonly Keyed<T>[],
  right: readonly Keyed<T>[],
  scope: CallScope,
): Io<Keyed<T>[]> {
  const merged: Keyed<T>[] = [];
  let l = 0;
  let r = 0;
  for (;;) {
    if (merged.length % RUN === 0) yield* scope.breathe();
    const a = left[l];
    const b = right[r];
    if (a !== undefined && (b === undefined || isInOrder(a, b))) {
      merged.push(a);
      l++;
    } else if (b !== undefined) {
      merged.push(b);
      r++;
    } else return merged;
  }
}

const isInOrder = (a: Keyed<Named>, b: Keyed<Named>): boolean =>
  (compareCodePoints(a.folded, b.folded) || compareCodePoints(a.entry.name, b.entry.name)) <= 0;
