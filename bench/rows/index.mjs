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

/** Fewer of each, for orientation. */
const quickly = ({ rounds, calls, warmup, ...more }) => ({
  rounds: Math.ceil(rounds / 4),
  calls: Math.ceil(calls / 2.5),
  warmup: Math.ceil(warmup / 8),
  ...more,
});

/** All rows that are timed call by call. */
export function timedRows(fixture, { quick }) {
  return [
    ...readRows(fixture),
    ...enumerationRows(fixture),
    ...searchRows(fixture, { quick }),
    ...changeRows(fixture),
    ...inFlightRows(fixture),
  ].map((row) => ({ ...row, ...(quick ? quickly(SCALES[row.scale]) : SCALES[row.scale]) }));
}
