// One change of one file, with the journal and without; undo, patches and trees, beside what they take back or stand for.
import { mkdirSync, writeFileSync } from "node:fs";
import { compare } from "../compare.mjs";
import { KB, makeText } from "../fixture.mjs";
import { DURABILITIES } from "./home.mjs";

const FILES = 16;
const PATCHED = 20;
const TREE = 5000;
const TEXT = makeText(KB, 1);
const TEN = makeText(10 * KB, 2);
const HUNDRED = makeText(100 * KB, 3);
const OLD = "start 0 end";

/** By title: what a file holds before, and the change: `[operation, input]`. */
const CHANGES = {
  "write 1 KB": [TEXT, (index) => ["write", { content: `${index}\n${TEXT}` }]],
  "write 1 KB over 100 KB": [HUNDRED, (index) => ["write", { content: `${index}\n${TEXT}` }]],
  "edit one line of 10 KB": [`${OLD}\n${TEN}`, () => ["edit", { oldText: OLD, newText: "start 1 end" }]],
  "append 1 KB to 100 KB": [HUNDRED, () => ["append", { content: TEXT }]],
  move: [TEXT, (index) => ["move", { to: `moved-${index}` }]],
  "delete 1 KB": [TEXT, () => ["delete", {}]],
};

export function changeParts(home) {
  const part = (what, options) => ({ name: what, run: (context) => compare(context, { what, ...options }) });
  return [
    ...DURABILITIES.flatMap((durability) =>
      Object.entries(CHANGES).map(([name, [text, change]]) => {
        const form = (journal) => changing(home, `${journal}-${durability}`, text, change);
        const calls = durability === "none" ? 40 : 16;
        const forms = [form("on"), form("off")];
        return part(`${name}, durability ${durability}`, { forms, most: 1.25, rounds: 40, calls, warmup: 200 });
      }),
    ),
    ...DURABILITIES.flatMap((durability) => [
      part(`undo of an edit / the edit, durability ${durability}`, {
        forms: [
          undoing(home, `on-${durability}`),
          changing(home, `on-${durability}`, ...CHANGES["edit one line of 10 KB"]),
        ],
        ...{ most: 2, rounds: 25, calls: 16, warmup: 100 },
      }),
      ...["on", "off"].map((journal) =>
        part(`patch of ${PATCHED} files / ${PATCHED} writes, journal ${journal}, ${durability}`, {
          forms: patching((op, input) => home.call(op, { root: `${journal}-${durability}`, ...input })),
          ...{ most: 1.5, rounds: 25, calls: 4, warmup: 20 },
        }),
      ),
    ]),
    part(`delete of a tree of ${TREE} into the trash / for good`, {
      forms: [deleting(home, {}), deleting(home, { permanent: true })],
      ...{ most: 0.5, rounds: 7, calls: 1 },
    }),
  ];
}

function changing({ at, call }, root, text, change) {
  const path = (index) => `file-${index % FILES}.txt`;
  return {
    prepare: (index) => writeFileSync(at(root, path(index)), text),
    run(index) {
      const [operation, input] = change(index);
      return call(operation, { root, path: path(index), ...input });
    },
  };
}

function undoing(home, root) {
  const edit = changing(home, root, ...CHANGES["edit one line of 10 KB"]);
  return {
    async prepare(index) {
      edit.prepare(index);
      await edit.run(index);
      const { entries } = await home.call("history", { root, path: `file-${index % FILES}.txt`, limit: 1 });
      return entries[0].id;
    },
    run: (_, id) => home.call("undo", { root, id }),
  };
}

const LINES = Array.from({ length: 40 }, (_, index) => `line ${index}`);
const names = (folder) => Array.from({ length: PATCHED }, (_, index) => `${folder}/file-${index}.txt`);

/** A patch of 20 files, and what it stands for: as many writes. Each finds what the one before has left. @param call takes an operation and its input, without a root */
export function patching(call) {
  const write = async (folder, turn) => {
    const content = `${[`turn ${turn}`, ...LINES].join("\n")}\n`;
    for (const path of names(folder)) await call("write", { path, content, parents: true });
  };
  let turn = 0;
  return [
    {
      prepare: () => (turn === 0 ? write("patched", 0) : undefined),
      run() {
        const hunk = `@@\n-turn ${turn}\n+turn ${++turn}\n line 0\n`;
        const parts = names("patched").map((path) => `*** Update File: ${path}\n${hunk}`);
        return call("patch", { patch: `*** Begin Patch\n${parts.join("")}*** End Patch\n` });
      },
    },
    { run: (index) => write("written", index) },
  ];
}

function deleting({ at, call }, how) {
  const [root, inOne] = ["on-none", 100];
  return {
    prepare(index) {
      for (let made = 0; made < TREE; made++) {
        const folder = at(root, `tree-${index}/part-${Math.floor(made / inOne)}`);
        if (made % inOne === 0) mkdirSync(folder, { recursive: true });
        writeFileSync(`${folder}/page-${made}.md`, "");
      }
    },
    run: (index) => call("delete", { root, path: `tree-${index}`, recursive: true, ...how }),
  };
}
