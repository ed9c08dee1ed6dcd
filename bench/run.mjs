#!/usr/bin/env node
// venue-files side by side with its alternatives, in one run on one machine: the tables of docs/performance.md.
import { EXTRAS } from "./extras.mjs";
import { makeFixture } from "./fixture.mjs";
import { isAsked, runBench } from "./harness.mjs";
import { measure } from "./measure.mjs";
import { reportText, targetRows } from "./report.mjs";
import { timedRows } from "./rows/index.mjs";
import { Ports } from "./subjects.mjs";
import { timed } from "./timing.mjs";

const NEEDS_BIG_TREE = ["tree-100k", "du-100k"];
const say = (text) => process.stderr.write(text);
const nameOf = ({ id, title }) => `${id.padEnd(18)} ${title}`;
const measured = { rows: [], summaries: {} };
let ports;

/** Memory and the rest first: they want a quiet machine, and the rows leave warm servers behind. */
function makeParts(values) {
  say("fixture …\n");
  const fixture = makeFixture({ bigTree: NEEDS_BIG_TREE.some((id) => isAsked(values, id)) });
  const rows = timedRows(fixture, values);
  ports = new Ports(fixture.root);
  measured.rows = rows;
  const part = (one, work) => ({
    name: nameOf(one),
    async run(context) {
      say(`${one.title} … `);
      const ms = await timed(() => work(context));
      say(`${(ms / 1e3).toFixed(1)} s\n`);
    },
  });
  return [
    ...EXTRAS.map((extra) => part(extra, (context) => extra.run({ ...context, rows, ports, fixture }))),
    ...rows.map((row) =>
      part(row, async () => {
        measured.summaries[row.id] = await measure(row, ports);
      }),
    ),
  ];
}

await runBench(makeParts, {
  async finish({ report, row }) {
    await ports.close();
    targetRows(measured, row);
    report.measured.push(measured);
    process.stdout.write(reportText(measured));
  },
});
