// On a root that folds names, a place is watched under whatever spelling it is asked for.

import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, jest, test } from "@jest/globals";
import { createFileAdapter, type FileAdapter } from "../../src/index.js";
import { inArena } from "../jail/arena.js";
import { ROOT } from "../jail/files.js";
import { foldEverywhere } from "../jail/fold-everywhere.js";

afterEach(() => {
  jest.restoreAllMocks();
});

/** Runs `work` on a root that folds and has `Place/Sub/file`. */
const onFolding = (work: (root: string, adapter: FileAdapter) => Promise<void>): Promise<void> =>
  inArena(async ({ root }) => {
    rmSync(root, { recursive: true });
    mkdirSync(join(root, "Place/Sub"), { recursive: true });
    writeFileSync(join(root, "Place/Sub/file"), "0");
    foldEverywhere();
    const adapter = await createFileAdapter({ roots: { [ROOT]: { path: root, durability: "none" } } });
    try {
      await work(root, adapter);
    } finally {
      await adapter.close();
    }
  });

/** Follows a path, does what is told, and gives so many events. */
async function told(adapter: FileAdapter, path: string, change: () => unknown, count: number): Promise<string[]> {
  const found: string[] = [];
  const changes = adapter.watch({ root: ROOT, path });
  let next = changes[Symbol.asyncIterator]().next();
  // It is watched once the first call for it is answered.
  await adapter.invoke("file:watch", { root: ROOT, path });
  await change();
  while (found.length < count) {
    const { value } = await next;
    if (value.type === "overflow") throw new Error("Changes were missed");
    found.push(`${value.type} ${value.path} ${value.origin}`);
    if (found.length < count) next = changes[Symbol.asyncIterator]().next();
  }
  await changes[Symbol.asyncIterator]().return?.(undefined);
  return found;
}

test.each(["PLACE", "place/sub", "Place/Sub", "place/SUB/file"])(
  "%s: own changes and those of others are told",
  (path) =>
    onFolding(async (root, adapter) => {
      const own = () => adapter.invoke("file:write", { root: ROOT, path: "Place/Sub/file", content: "1" });
      expect(await told(adapter, path, own, 1)).toEqual(["modified Place/Sub/file adapter"]);
      const others = () => writeFileSync(join(root, "Place/Sub/file"), "another");
      expect(await told(adapter, path, others, 1)).toEqual(["modified Place/Sub/file external"]);
    }),
);

test("a place that is taken away and comes again under another spelling is told of, and what happens in it", () =>
  onFolding(async (root, adapter) => {
    mkdirSync(join(root, "made"));
    const change = async () => {
      rmSync(join(root, "Place"), { recursive: true });
      await new Promise((resolve) => setTimeout(resolve, 200));
      renameSync(join(root, "made"), join(root, "pLACE"));
      await new Promise((resolve) => setTimeout(resolve, 200));
      writeFileSync(join(root, "pLACE/new"), "1");
    };
    expect(await told(adapter, "place", change, 3)).toEqual([
      "deleted Place external",
      "created pLACE external",
      "created pLACE/new external",
    ]);
  }));
