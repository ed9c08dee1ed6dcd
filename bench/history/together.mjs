// Undo, patches and trees, beside what they take back or stand for.
import { mkdirSync, writeFileSync } from "node:fs";
import { KB, makeText } from "../fixture.mjs";
import { DURABILITIES } from "./roots.mjs";
import { inTurns, timed } from "./turns.mjs";

const PATCHED = 20;
const TREE = 5000;
const IN_ONE = 100;
const TEXT = makeText(10 * KB, 4);

export function togetherRows(home) {
  return [...DURABILITIES.flatMap((durability) => rowsOf(home, durability)), trashRow(home)];
}

function rowsOf(home, durability) {
  const root = `on-${durability}`;
  const rounds = (isQuick) => (isQuick ? 6 : 25);
  return [
    {
      title: `undo of an edit / the edit, durability ${durability}`,
      most: 2,
      measure: (isQuick) =>
        inTurns([undo(home, root), edit(home, root)], { rounds: rounds(isQuick), calls: 16, warmup: 100 }),
    },
    ...["on", "off"].map((journal) => ({
      title: `patch of ${PATCHED} files / ${PATCHED} writes, journal ${journal}, ${durability}`,
      most: 1.5,
      measure: (isQuick) =>
        inTurns([patch(home, `${journal}-${durability}`), writes(home, `${journal}-${durability}`)], {
          ...{ rounds: rounds(isQuick), calls: 4, warmup: 20 },
        }),
    })),
  ];
}

const editOnce = ({ call }, root, path, index) =>
  call("edit", { root, path, oldText: "start 0 end", newText: `start ${index} end` });

const edit = (home, root) => (index) => {
  const path = `edited-${index % 8}.txt`;
  writeFileSync(home.at(root, path), `start 0 end\n${TEXT}`);
  return timed(() => editOnce(home, root, path, index + 1));
};

const undo = (home, root) => async (index) => {
  const path = `undone-${index % 8}.txt`;
  writeFileSync(home.at(root, path), `start 0 end\n${TEXT}`);
  await editOnce(home, root, path, index + 1);
  const { entries } = await home.call("history", { root, path, limit: 1 });
  return timed(() => home.call("undo", { root, id: entries[0].id }));
};

const names = Array.from({ length: PATCHED }, (_, index) => `patched-${index}.txt`);
const LINES = Array.from({ length: 40 }, (_, index) => `line ${index}`);

function prepare(home, root) {
  for (const name of names) writeFileSync(home.at(root, name), `${["first 0", ...LINES].join("\n")}\n`);
}

const patch = (home, root) => async (index) => {
  prepare(home, root);
  const parts = names.map((name) => `*** Update File: ${name}\n@@\n-first 0\n+first ${index}\n line 0\n`);
  const text = `*** Begin Patch\n${parts.join("")}*** End Patch\n`;
  return timed(() => home.call("patch", { root, patch: text }));
};

const writes = (home, root) => async (index) => {
  prepare(home, root);
  const content = `${[`first ${index}`, ...LINES].join("\n")}\n`;
  return timed(async () => {
    for (const path of names) await home.call("write", { root, path, content });
  });
};

function trashRow(home) {
  const root = "on-none";
  const form = (permanent) => (index) => {
    const path = `tree-${index}`;
    for (let made = 0; made < TREE; made++) {
      const folder = home.at(root, `${path}/part-${Math.floor(made / IN_ONE)}`);
      if (made % IN_ONE === 0) mkdirSync(folder, { recursive: true });
      writeFileSync(`${folder}/page-${made}.md`, "");
    }
    return timed(() => home.call("delete", { root, path, recursive: true, ...(permanent ? { permanent } : {}) }));
  };
  return {
    title: `delete of a tree of ${TREE} into the trash / for good`,
    most: 0.5,
    measure: (isQuick) => inTurns([form(false), form(true)], { rounds: isQuick ? 3 : 7, calls: 1 }),
  };
}
