// What a reader of `file:watch` gets who asks again as soon as it has an answer.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { median } from "../measure.mjs";

const A_SECOND = 1000;
const AT_ONCE = 10;
const WAIT_MS = 5000;

/** Makes one change of a file. */
const MAKERS = {
  own: (home, root, path) => home.call("write", { root, path, content: "x", parents: true }),
  external: async (home, root, path) => writeFileSync(home.at(root, path), "x"),
};

export function watchRows(home) {
  return Object.entries(MAKERS).flatMap(([kind, make]) => [
    {
      title: `watch: ${kind} events that a reader misses at 1,000/s`,
      most: 0,
      unit: "",
      measure: (isQuick) => missed(home, (path) => make(home, "off-none", path), isQuick ? 2 : 10),
    },
    {
      title: `watch: first ${kind} event of a path`,
      most: kind === "own" ? 50 : 1000,
      unit: " ms",
      measure: (isQuick) => firstEvent(home, (path) => make(home, "off-none", path), isQuick ? 5 : 21),
    },
  ]);
}

let count = 0;

/** A directory of its own that is watched from now on. */
async function begin(home) {
  const path = `watched-${++count}`;
  mkdirSync(join(home.at("off-none"), path));
  const input = { root: "off-none", path, waitMs: WAIT_MS, limit: 1000 };
  const { cursor } = await home.call("watch", input);
  return { path, input, cursor };
}

async function missed(home, make, seconds) {
  const { path, input, cursor } = await begin(home);
  const total = seconds * A_SECOND;
  const heard = new Set();
  let isOverflow = false;
  const reading = (async () => {
    for (let at = cursor; heard.size < total; ) {
      const answer = await home.call("watch", { ...input, cursor: at });
      isOverflow ||= answer.overflow;
      for (const event of answer.events) heard.add(event.path);
      if (answer.events.length === 0) return;
      at = answer.cursor;
    }
  })();
  const began = performance.now();
  for (let made = 0; made < total; made += AT_ONCE) {
    const early = began + (made * 1000) / A_SECOND - performance.now();
    if (early > 0) await new Promise((resolve) => setTimeout(resolve, early));
    await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => make(`${path}/${made + index}`)));
  }
  const rate = total / ((performance.now() - began) / 1000);
  await reading;
  return { value: isOverflow ? total : total - heard.size, note: `${total} at ${rate.toFixed(0)}/s` };
}

async function firstEvent(home, make, rounds) {
  const { path, input, cursor } = await begin(home);
  const times = [];
  for (let [round, at] = [0, cursor]; round < rounds; round++) {
    const waiting = home.call("watch", { ...input, cursor: at });
    await new Promise((resolve) => setImmediate(resolve));
    const began = performance.now();
    await make(`${path}/${round}`);
    ({ cursor: at } = await waiting);
    times.push(performance.now() - began);
  }
  return { value: median(times) };
}
