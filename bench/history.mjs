#!/usr/bin/env node
// What the journal costs: changes of a host root with it beside the same without, in turns of one run; undo, patches, trees
// and long histories. `npm run bench:history`; with `--check` it fails where a target is missed.
import { rmSync } from "node:fs";
import { parseArgs } from "node:util";
import { costRows } from "./history/costs.mjs";
import { driveRows } from "./history/drives.mjs";
import { measureFloor } from "./history/floor.mjs";
import { longRows } from "./history/long.mjs";
import { openHome } from "./history/roots.mjs";
import { togetherRows } from "./history/together.mjs";
import { watchRows } from "./history/watch.mjs";
import { describeMachine } from "./machine.mjs";
import { percentile } from "./measure.mjs";

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    check: { type: "boolean", default: false },
    only: { type: "string" },
  },
});

const home = await openHome();
try {
  const { cpu, cores, kernel, node, fileSystem, load } = describeMachine(home.path);
  console.log(`${cpu}, ${cores} cores, ${kernel}, Node ${node}, ${fileSystem}, load ${load.toFixed(1)}`);
  showFloor("before");
  const rows = [
    ...costRows(home),
    ...togetherRows(home),
    ...longRows(home),
    ...driveRows(home),
    ...watchRows(home),
  ].filter(({ title }) => values.only === undefined || title.includes(values.only));
  console.log();
  for (const row of rows) show(row, await row.measure(values.quick));
  console.log();
  showFloor("after");
} finally {
  await home.close();
  rmSync(home.path, { recursive: true, force: true });
}

/** Rows of other runs compare only where these are about the same. */
function showFloor(when) {
  const { make, place } = measureFloor(home.path);
  console.log(
    `file system alone, ${when}: ${make.toFixed(0)} µs to make a file, ${place.toFixed(0)} µs to replace one`,
  );
}

/** `value`: a ratio, or milliseconds; `ratios`: how it moved from round to round. */
function show({ title, most, unit = "x" }, { value, ratios = [], note = "" }) {
  const isReached = value <= most;
  const spread =
    ratios.length < 4 ? "" : ` (${percentile(ratios, 25).toFixed(2)} to ${percentile(ratios, 75).toFixed(2)})`;
  const verdict = `at most ${most}${unit}: ${isReached ? "reached" : "MISSED"}`;
  console.log(`${title.padEnd(58)} ${value.toFixed(2).padStart(7)}${unit}${spread}  ${verdict}${note && `  ${note}`}`);
  if (values.check && !isReached) process.exitCode = 1;
}
