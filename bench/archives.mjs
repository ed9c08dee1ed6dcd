#!/usr/bin/env node
// Archives: looks into them beside looks at files, unpacking beside a copy of the same files, and how the time grows with the entries; by turns in one run.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { createFileAdapter } from "../dist/index.js";
import { compare } from "./compare.mjs";
import { expectEqual } from "./expect.mjs";
import { KB, makeText } from "./fixture.mjs";
import { runBench } from "./harness.mjs";
import { filesOf, temporaryDirectory } from "./lifetime.mjs";

const FILES = 1000;
const TIMES = 4;
const FOLDERS = 20;
const SETTLED_MS = 2_500;

/** A tree of so many files of one text. */
const treeOf = (name, count, bytes) =>
  filesOf(count, (index) => `${name}/d${index % FOLDERS}/f${index}.txt`, makeText(bytes, 1));

const root = temporaryDirectory({
  ...treeOf("small", FILES, KB),
  ...treeOf("few", FILES, 2 * KB),
  ...treeOf("many", TIMES * FILES, 2 * KB),
});
const files = await createFileAdapter({ roots: { r: { path: root, durability: "none" } } });
const call = (operation, input) => files.invoke(operation, { root: "r", ...input });

/** Work that makes the entry `made`, of so many files. */
const making = (count, operation, input) => ({
  prepare: () => rmSync(join(root, "made"), { recursive: true, force: true }),
  async run() {
    const { files: made } = await call(operation, input);
    expectEqual(made.length ?? made, count, "What was made");
  },
});
const extract = (name, count) =>
  making(count, "archive:extract", { path: `${name}.zip`, destRoot: "r", destPath: "made" });
const copy = making(FILES, "file:copy", { path: "few", to: "made", recursive: true });

/** Looks at one file after the other, in an archive or beside it. */
const reading = (top) => ({
  async run(index) {
    const { size } = await call("file:read", { path: `${top}/d0/f${FOLDERS * (index % FOLDERS)}.txt` });
    expectEqual(size, KB, top);
  },
});
const listing = (path) => ({
  async run() {
    const { total } = await call("file:list", { path });
    expectEqual(total, FILES / FOLDERS, path);
  },
});

const LOOKS = { rounds: 9, by: "processor" };
const WHOLE = { rounds: 9, calls: 1 };
const PARTS = {
  read: {
    ...{ what: "read of 1 KB in a zip, its directory kept / of the file", most: 2.5, ...LOOKS, calls: 400 },
    ...{ warmup: 4_000, forms: [reading("small.zip!/small"), reading("small")] },
  },
  list: {
    ...{ what: `list of ${FILES / FOLDERS} entries of a zip / of the folder`, most: 2, ...LOOKS, calls: 100 },
    forms: [listing("small.zip!/small/d0"), listing("small/d0")],
  },
  copy: {
    ...{ what: `extract of ${FILES} files / copy of them`, most: 1.5, ...WHOLE },
    forms: [extract("few", FILES), copy],
  },
  growth: {
    ...{ what: `extract of ${TIMES * FILES} files / of ${FILES}`, most: 1.3 * TIMES, ...WHOLE },
    forms: [extract("many", TIMES * FILES), extract("few", FILES)],
  },
};

for (const name of ["small", "few", "many"]) await call("archive:zip", { path: name, destPath: `${name}.zip` });
// From now on their file times say which version each is.
await new Promise((resolve) => setTimeout(resolve, SETTLED_MS));
await runBench(Object.entries(PARTS).map(([name, part]) => ({ name, run: (context) => compare(context, part) })));
