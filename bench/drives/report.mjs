import { describeMachine } from "../machine.mjs";
import { median } from "../measure.mjs";

const rows = [];

const shown = (value) => (value < 20 && !Number.isInteger(value) ? value.toFixed(1) : String(Math.round(value)));

/** How many times as long as something else, which was measured in turn with it. */
export const ratio = (ours, theirs) => `${(median(ours) / median(theirs)).toFixed(1)}x`;

/**
 * @param samples milliseconds, unless `what` says otherwise
 * @param options.cpu of this process, milliseconds @param options.most the goal, if there is one
 */
export function row(what, samples, { beside = "", most, cpu = [] } = {}) {
  const value = median(samples);
  const verdict = most === undefined ? "" : value <= most ? "met" : "**missed**";
  rows.push([
    what,
    shown(value),
    shown(Math.min(...samples)),
    cpu.length === 0 ? "" : shown(median(cpu)),
    beside,
    most === undefined ? "" : String(most),
    verdict,
  ]);
}

export function printReport(folder, { store }) {
  const { load, cpu, cores, kernel, node, fileSystem } = describeMachine(folder);
  const lines = [
    `${cores} cores (${cpu}), ${kernel}, Node ${node}, ${fileSystem}; store ${store}; load ${load.toFixed(1)} at the end.`,
    "",
    "| what (ms) | median | best | processor | as long as | goal | |",
    "|---|---|---|---|---|---|---|",
    ...rows.map((cells) => `| ${cells.join(" | ")} |`),
  ];
  process.stdout.write(`${lines.join("\n")}\n`);
}
