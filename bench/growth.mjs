#!/usr/bin/env node
// How cost grows with size: `npm run bench:growth`. Each subject at 1, 10 and 100 times its size, in processor time; the exponent is the
// slope of the logarithms. Nothing may grow faster than its size, and a look-up not at all.
import { parseArgs } from "node:util";
import { fileSubjects } from "./growth/files.mjs";
import { grown, SLACK, slopeOf } from "./growth/fit.mjs";
import { rightsSubjects } from "./growth/rights.mjs";
import { venueSubjects } from "./growth/venue.mjs";
import { cleanUp, cleanUpWhateverHappens, temporaryDirectory } from "./lifetime.mjs";
import { describeMachine } from "./machine.mjs";

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    check: { type: "boolean", default: false },
    only: { type: "string", multiple: true, default: [] },
  },
});

async function main() {
  cleanUpWhateverHappens();
  const machine = describeMachine(temporaryDirectory());
  const subjects = [...fileSubjects(), ...rightsSubjects(), ...venueSubjects()].filter(
    ({ what }) => values.only.length === 0 || values.only.some((text) => what.includes(text)),
  );
  const print = (cells) => process.stdout.write(`| ${cells.join(" | ")} |\n`);
  print(["what", "sizes", "µs each", "exponent", "at most", ""]);
  print(["---", "---", "---", "---:", "---:", "---"]);
  let faults = 0;
  for (const subject of subjects) {
    const sizes = values.quick ? subject.sizes.slice(0, 2) : subject.sizes;
    const costs = await grown({ ...subject, sizes });
    const exponent = slopeOf(sizes, costs);
    const most = subject.isLookUp ? 0 : 1;
    const isFine = exponent <= most + SLACK;
    if (!isFine) faults += 1;
    print([
      ...[subject.what, sizes.map((size) => size.toLocaleString("en-US")).join(", ")],
      ...[costs.map((cost) => cost.toFixed(1)).join(", "), exponent.toFixed(2), `${most}`, isFine ? "pass" : "FAIL"],
    ]);
  }
  const { cpu, cores, node, fileSystem, load } = machine;
  process.stdout.write(
    `\nAn exponent may lie ${SLACK} above what it should be: that is noise of the measurement.\n` +
      `${cores} cores (${cpu}), Node ${node}, ${fileSystem}; load ${load.toFixed(1)} before.\n`,
  );
  return values.check && faults > 0 ? 1 : 0;
}

main().then(
  (code) => {
    cleanUp();
    process.exit(code);
  },
  (error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
  },
);
