// Operations on files whose cost depends on how many there are.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createFileAdapter } from "venue-files";
import { expectEqual, expectThat } from "../expect.mjs";
import { temporaryDirectory } from "../lifetime.mjs";

const SIZES = [100, 1_000, 10_000];
const PAGE = 50;
const OWNER = { callerDID: "did:key:z6MkgrowthBench", authentication: "identity" };

export function fileSubjects() {
  return [
    {
      what: "tree of so many entries",
      // It shows 5,000 at most.
      sizes: [40, 400, 4_000],
      open: onTree(() => [{ maxDepth: 64, maxEntries: 5_000 }, "tree", ({ complete }) => complete]),
    },
    {
      what: `page of ${PAGE} of a list of so many`,
      sizes: SIZES,
      open: (size) =>
        onFiles(inOne(size), () => [{ path: "d", limit: PAGE }, "list", ({ entries }) => entries.length === PAGE]),
    },
    {
      what: "glob through so many files",
      sizes: SIZES,
      open: onTree(() => [{ pattern: "**/*-7.txt", limit: 1_000 }, "glob", ({ complete }) => complete]),
    },
    {
      what: "grep through so many files",
      sizes: SIZES,
      open: onTree(() => [{ pattern: "needle", literal: true }, "grep", ({ totalMatches }) => totalMatches === 0]),
    },
    { what: "page of a history of so many changes", sizes: [60, 600, 6_000], isLookUp: true, open: onHistory },
    {
      what: "read in a drive of so many files",
      sizes: SIZES,
      isLookUp: true,
      open: (size) => onDrive(size, readInDrive),
    },
    {
      what: "write in a drive of so many files",
      sizes: SIZES,
      isLookUp: true,
      open: (size) => onDrive(size, writeInDrive),
    },
  ];
}

const onTree = (request) => (size) => onFiles(inMany(size), () => request(size));

/** Paths of files, 20 in a directory. */
const inMany = (size) =>
  Array.from({ length: size }, (_, index) => `d${Math.floor(index / 20)}/file-${index % 20}.txt`);
const inOne = (size) => Array.from({ length: size }, (_, index) => `d/file-${index}.txt`);

async function onFiles(paths, request) {
  const base = temporaryDirectory();
  for (const path of paths) {
    const file = join(base, path);
    if (/[-]0\.txt$/.test(path)) mkdirSync(join(file, ".."), { recursive: true });
    writeFileSync(file, "a line of text\n".repeat(10));
  }
  const adapter = await createFileAdapter({ roots: { r: { path: base, durability: "none" } } });
  const [input, operation, isRight] = request();
  return {
    close: () => adapter.close(),
    async call() {
      const output = await adapter.invoke(`file:${operation}`, { root: "r", ...input });
      expectThat(isRight(output), `Wrong answer of ${operation}`);
    },
  };
}

async function onHistory(size) {
  const base = temporaryDirectory();
  mkdirSync(join(base, "r"));
  const adapter = await createFileAdapter({
    roots: { r: { path: join(base, "r"), durability: "none", journal: "on" } },
    stateDir: join(base, "state"),
  });
  for (let index = 0; index < size; index++) {
    await adapter.invoke("file:write", { root: "r", path: `f${index % 50}`, content: `${index}` });
  }
  return {
    close: () => adapter.close(),
    async call() {
      const { entries } = await adapter.invoke("file:history", { root: "r", limit: PAGE });
      expectEqual(entries.length, PAGE, "history");
    },
  };
}

async function onDrive(size, use) {
  const adapter = await createFileAdapter({ roots: { r: { dlfs: "d" } } });
  const invoke = (operation, input) => adapter.invoke(`file:${operation}`, { root: "r", ...input }, OWNER);
  for (let index = 0; index < size; index++) {
    await invoke("write", { path: `f${index}`, content: "a line of text\n" });
  }
  return { close: () => adapter.close(), call: (index) => use(invoke, index, size) };
}

async function readInDrive(invoke, index, size) {
  const { content } = await invoke("read", { path: `f${(index * 7) % size}` });
  expectEqual(content, "a line of text\n", "read");
}

async function writeInDrive(invoke, index, size) {
  await invoke("write", { path: `f${(index * 7) % size}`, content: `${index}` });
}
