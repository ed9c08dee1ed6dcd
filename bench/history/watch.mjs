// What a reader of `file:watch` gets who asks again as soon as it has an answer.
import { mkdirSync, writeFileSync } from "node:fs";
import { shown } from "../harness.mjs";
import { median, steadily, timed } from "../timing.mjs";

const ROOT = "off-none";
const A_SECOND = 1000;
const AT_ONCE = 10;
const WAIT_MS = 5000;

export function watchParts(home) {
  const kinds = {
    own: [50, (path) => home.call("write", { root: ROOT, path, content: "x" })],
    external: [1000, async (path) => writeFileSync(home.at(ROOT, path), "x")],
  };
  return Object.entries(kinds).map(([kind, [most, make]]) => ({
    name: `watch: ${kind} events`,
    async run(context) {
      await missedRow(context, home, kind, make);
      await firstRow(context, home, { kind, make, most });
    },
  }));
}

let count = 0;

/** A directory of its own that is watched from now on. */
async function begin({ at, call }) {
  const path = `watched-${++count}`;
  mkdirSync(at(ROOT, path));
  const input = { root: ROOT, path, waitMs: WAIT_MS, limit: 1000 };
  const { cursor } = await call("watch", input);
  return { path, input, cursor };
}

async function missedRow({ quick, row }, home, kind, make) {
  const { path, input, cursor } = await begin(home);
  const total = (quick ? 2 : 10) * A_SECOND;
  const heard = new Set();
  let isOverflow = false;
  const read = async () => {
    for (let at = cursor; heard.size < total; ) {
      const answer = await home.call("watch", { ...input, cursor: at });
      isOverflow ||= answer.overflow;
      for (const event of answer.events) heard.add(event.path);
      if (answer.events.length === 0) return;
      at = answer.cursor;
    }
  };
  const reading = read();
  const batch = (made) =>
    Promise.all(Array.from({ length: AT_ONCE }, (_, index) => make(`${path}/${made * AT_ONCE + index}`)));
  const ms = await timed(() => steadily({ count: total / AT_ONCE, everyMs: (AT_ONCE * 1000) / A_SECOND }, batch));
  await reading;
  const beside = `${shown(total)} at ${shown(Math.round((total * 1000) / ms))} a second`;
  const value = isOverflow ? total : total - heard.size;
  row({ what: `watch: ${kind} events that a reader misses`, value, unit: "", beside, most: 0 });
}

async function firstRow({ quick, row }, home, { kind, make, most }) {
  const { path, input, cursor } = await begin(home);
  const samples = [];
  for (let [round, at] = [0, cursor]; round < (quick ? 5 : 21); round++) {
    const waiting = home.call("watch", { ...input, cursor: at });
    await new Promise((resolve) => setImmediate(resolve));
    const heard = async () => {
      await make(`${path}/${round}`);
      ({ cursor: at } = await waiting);
    };
    samples.push(await timed(heard));
  }
  row({ what: `watch: first ${kind} event of a path`, value: median(samples), most });
}
