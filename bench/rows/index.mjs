import { changeRows } from "./change.mjs";
import { enumerationRows } from "./enumerate.mjs";
import { inFlightRows } from "./in-flight.mjs";
import { readRows } from "./read.mjs";
import { searchRows } from "./search.mjs";

/** How often each kind of row is called: rounds, timed calls of each subject a round, warm-up calls. */
const SCALES = {
  small: { rounds: 30, calls: 60, warmup: 2_000 },
  medium: { rounds: 20, calls: 20, warmup: 100 },
  large: { rounds: 12, calls: 2, checks: 1, warmup: 1 },
  list: { rounds: 12, calls: 8, checks: 1, warmup: 20 },
  tree: { rounds: 12, calls: 2, checks: 1, warmup: 3 },
  bigTree: { rounds: 4, calls: 1, checks: 0, warmup: 0 },
  search: { rounds: 15, calls: 3, checks: 1, warmup: 5 },
  manyFiles: { rounds: 6, calls: 1, checks: 1, warmup: 1 },
  append: { rounds: 20, calls: 10, warmup: 300 },
  flush: { rounds: 10, calls: 10, warmup: 10 },
  throughput: { rounds: 15, calls: 400, warmup: 1_600 },
};
const QUICK_SCALES = {
  small: { rounds: 8, calls: 25, warmup: 300 },
  medium: { rounds: 8, calls: 6, warmup: 20 },
  large: { rounds: 3, calls: 1, checks: 0, warmup: 1 },
  list: { rounds: 5, calls: 3, checks: 1, warmup: 3 },
  tree: { rounds: 4, calls: 1, checks: 0, warmup: 1 },
  bigTree: { rounds: 1, calls: 1, checks: 0, warmup: 0 },
  search: { rounds: 5, calls: 2, checks: 1, warmup: 2 },
  append: { rounds: 8, calls: 4, checks: 1, warmup: 20 },
  flush: { rounds: 4, calls: 3, warmup: 2 },
  throughput: { rounds: 5, calls: 160, warmup: 160 },
};

/** All rows that are timed call by call. */
export function timedRows(fixture, { quick }) {
  const scales = quick ? QUICK_SCALES : SCALES;
  return [
    ...readRows(fixture),
    ...enumerationRows(fixture),
    ...searchRows(fixture, { quick }),
    ...changeRows(fixture),
    ...inFlightRows(fixture),
  ].map((row) => ({ unit: "µs", ...row, ...scales[row.scale] }));
}
