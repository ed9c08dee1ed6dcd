#!/usr/bin/env node
// Archives: looks into them beside looks at files, unpacking beside a copy of the same files, and how the time grows with the entries; by turns in one run.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createFileAdapter } from "../dist/index.js";
import { expectEqual } from "./expect.mjs";
import { KB, makeText } from "./fixture.mjs";
import { runBench } from "./harness.mjs";
import { temporaryDirectory } from "./lifetime.mjs";
import { inTurns, median, ratios, spent, timed } from "./timing.mjs";

const FILES = 1000;
const TIMES = 4;
const FOLDERS = 20;
const ROUNDS = 9;
const READS = 400;
const LISTS = 100;
const SETTLED_MS = 2_500;

const root = temporaryDirectory();
const files = await createFileAdapter({ roots: { r: { path: root, durability: "none" } } });
const call = (operation, input) => files.invoke(operation, { root: "r", ...input });

/** A tree of so many small files, and an archive of it. */
async function makeTree(name, count, bytes = 2 * KB) {
  for (let index = 0; index < count; index++) {
    const folder = join(root, name, `d${index % FOLDERS}`);
    if (index < FOLDERS) mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `f${index}.txt`), makeText(bytes, index));
  }
  await call("archive:zip", { path: name, destPath: `${name}.zip` });
}

/** Times work that makes the entry `to`, which is taken away again. */
const making = (count, work) => async () => {
  const to = "made";
  let made;
  const ms = await timed(async () => {
    made = await work(to);
  });
  expectEqual(made.files.length ?? made.files, count, "What was made");
  rmSync(join(root, to), { recursive: true });
  return ms;
};

const extract = (name, count) =>
  making(count, (destPath) => call("archive:extract", { path: `${name}.zip`, destRoot: "r", destPath }));
const copy = (name, count) => making(count, (to) => call("file:copy", { path: name, to, recursive: true }));

async function compare({ row, quick }, { what, most, forms: [ours, theirs], per = 1 }) {
  const times = await inTurns(quick ? 3 : ROUNDS, { ours, theirs });
  const beside = `${median(times.ours).toFixed(0)} ms beside ${median(times.theirs).toFixed(0)} ms`;
  row({ what, value: median(ratios(times.ours, times.theirs)) / per, unit: "x", beside, most });
}

/** Processor time of so many looks, each at another file, in an archive or beside it. */
const looking = (calls, look) => () =>
  spent(async () => {
    for (let index = 0; index < calls; index++) await look(`f${FOLDERS * (index % FOLDERS)}.txt`);
  });
const reading = (top) =>
  looking(READS, async (name) => {
    const { size } = await call("file:read", { path: `${top}/d0/${name}` });
    expectEqual(size, KB, name);
  });
const listing = (path) =>
  looking(LISTS, async () => {
    const { total } = await call("file:list", { path });
    expectEqual(total, FILES / FOLDERS, path);
  });

await makeTree("small", FILES, KB);
await makeTree("few", FILES);
await makeTree("many", TIMES * FILES);
// From now on their file times say which version each is.
await new Promise((resolve) => setTimeout(resolve, SETTLED_MS));
for (let round = 0; round < 10; round++) for (const top of ["small", "small.zip!/small"]) await reading(top)();
await runBench([
  {
    name: "read",
    run: (context) =>
      compare(context, {
        ...{ what: "read of 1 KB in a zip, its directory kept / of the file", most: 2.5 },
        forms: [reading("small.zip!/small"), reading("small")],
      }),
  },
  {
    name: "list",
    run: (context) =>
      compare(context, {
        ...{ what: `list of ${FILES / FOLDERS} entries of a zip / of the folder`, most: 2 },
        forms: [listing("small.zip!/small/d0"), listing("small/d0")],
      }),
  },
  {
    name: "copy",
    run: (context) =>
      compare(context, {
        ...{ what: `extract of ${FILES} files / copy of them`, most: 1.5 },
        forms: [extract("few", FILES), copy("few", FILES)],
      }),
  },
  {
    name: "growth",
    run: (context) =>
      compare(context, {
        ...{ what: `extract of ${TIMES * FILES} files / of ${FILES}, for each file`, most: 1.3, per: TIMES },
        forms: [extract("many", TIMES * FILES), extract("few", FILES)],
      }),
  },
]);
