// One change of one file, with the journal and without.
import { writeFileSync } from "node:fs";
import { KB, makeText } from "../fixture.mjs";
import { DURABILITIES } from "./roots.mjs";
import { inTurns, timed } from "./turns.mjs";

const MOST = 1.25;
const FILES = 16;
const TEXT = makeText(KB, 1);
const LONGER = makeText(10 * KB, 2);

/** By title: `{ prepare(file), call(file, index) }`; `file` is `{ root, path, host }`. Only the call is timed. */
const CHANGES = {
  "write 1 KB": {
    call: ({ call }, { root, path }, index) => call("write", { root, path, content: `${index}\n${TEXT}` }),
  },
  "write 100 KB": {
    prepare: ({ host }) => writeFileSync(host, makeText(100 * KB, 3)),
    call: ({ call }, { root, path }, index) => call("write", { root, path, content: `${index}\n${TEXT}` }),
  },
  "edit one line of 10 KB": {
    prepare: ({ host }) => writeFileSync(host, `start 0 end\n${LONGER}`),
    call: ({ call }, { root, path }) => call("edit", { root, path, oldText: "start 0 end", newText: "start 1 end" }),
  },
  "append 1 KB to 100 KB": {
    prepare: ({ host }) => writeFileSync(host, makeText(100 * KB, 3)),
    call: ({ call }, { root, path }) => call("append", { root, path, content: TEXT }),
  },
  move: {
    prepare: ({ host }) => writeFileSync(host, TEXT),
    call: ({ call }, { root, path }, index) => call("move", { root, path, to: `moved-${index}` }),
  },
  "delete 1 KB": {
    prepare: ({ host }) => writeFileSync(host, TEXT),
    call: ({ call }, { root, path }) => call("delete", { root, path }),
  },
};

export function costRows(home) {
  return DURABILITIES.flatMap((durability) =>
    Object.entries(CHANGES).map(([name, change]) => ({
      title: `${name}, durability ${durability}`,
      most: MOST,
      measure(isQuick) {
        const form = (journal) => (index) => once(home, change, { root: `${journal}-${durability}`, index });
        const calls = durability === "none" ? 40 : 16;
        return inTurns([form("on"), form("off")], { rounds: isQuick ? 8 : 40, calls, warmup: 200 });
      },
    })),
  );
}

function once(home, { prepare, call }, { root, index }) {
  const path = `file-${index % FILES}.txt`;
  const file = { root, path, host: home.at(root, path) };
  prepare?.(file);
  return timed(() => call(home, file, index));
}
