// A history of 100,000 entries: its first page, and what it adds to the start.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { median } from "../measure.mjs";
import { timed } from "./turns.mjs";

const ENTRIES = 100_000;
const FEWER = 10_000;
const AT_ONCE = 32;
const PROBE = new URL("./start-probe.mjs", import.meta.url).pathname;

export function longRows(home) {
  let made;
  const long = (isQuick) => {
    made ??= fill(home, "on-none", isQuick ? FEWER : ENTRIES);
    return made;
  };
  const pages = (input) => async (isQuick) => {
    await long(isQuick);
    const times = [];
    for (let count = 0; count < 21; count++) {
      times.push(await timed(() => home.call("history", { root: "on-none", limit: 50, ...input })));
    }
    return { value: median(times) };
  };
  return [
    { title: "history of 100,000 entries: first page", most: 20, unit: " ms", measure: pages({}) },
    { title: "the same, of one path", most: 20, unit: " ms", measure: pages({ path: "filled-3.txt" }) },
    {
      title: "start and first change with 100,000 entries, more than with none",
      most: 30,
      unit: " ms",
      async measure(isQuick) {
        await long(isQuick);
        const times = { "on-none": [], "on-flush": [] };
        for (let round = 0; round < (isQuick ? 5 : 15); round++) {
          for (const root of Object.keys(times)) times[root].push(probe(home, root, round));
        }
        return { value: median(times["on-none"]) - median(times["on-flush"]) };
      },
    },
  ];
}

async function fill(home, root, count) {
  for (let at = 0; at < count; at += AT_ONCE) {
    const batch = Array.from({ length: AT_ONCE }, (_, index) =>
      home.call("append", { root, path: `filled-${index}.txt`, content: "." }),
    );
    await Promise.all(batch);
  }
}

/** Milliseconds from opening the root in a new process to its first change. The other root has an empty journal. */
function probe(home, root, round) {
  const path = root === "on-none" ? home.at(root) : join(home.path, "empty", String(round));
  return Number(execFileSync(process.execPath, [PROBE, path, join(home.path, "state")], { encoding: "utf8" }));
}
