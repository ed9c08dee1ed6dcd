import { expect, test } from "@jest/globals";
import fc from "fast-check";
import type { DriveChange, DriveSnapshot, OwnerDrives } from "../../../src/drive/engine/engine.js";
import type { CellStore } from "../../../src/drive/store/cell-store.js";
import { ALICE, openEngine, rejection } from "./engines.js";

const paths = fc.constantFrom("a", "b", "t", "t/a", "t/b", "t/u", "t/u/a", "v").map((path) => path.split("/"));
const sizes = fc.constantFrom(0, 1, 100, 500, 4096, 5000, 70_000);
const steps = fc.record({
  op: fc.constantFrom("write", "write", "append", "mkdir", "remove", "move"),
  ...{ path: paths, to: paths, size: sizes },
});
type Step = typeof steps extends fc.Arbitrary<infer S> ? S : never;

function make(drive: DriveChange, { op, path, to, size }: Step): Promise<unknown> {
  const content = Buffer.alloc(size, size % 251);
  if (op === "write") return drive.writeFile(path, content);
  if (op === "append") return drive.appendFile(path, content);
  if (op === "mkdir") return drive.makeDirectory(path);
  if (op === "remove") return drive.remove(path, { recursive: true });
  return drive.move(path, to);
}

async function bytesBelow(tree: DriveSnapshot, path: readonly string[]): Promise<number> {
  let bytes = 0;
  for (const { name, type, size } of await tree.entries(path)) {
    bytes += type === "file" ? size : await bytesBelow(tree, [...path, name]);
  }
  return bytes;
}

async function recorded(store: CellStore): Promise<number | undefined> {
  for await (const owner of store.owners()) return (await store.root(owner))?.usedBytes;
  return undefined;
}

test("the recorded size of the files is the sum of their sizes, after any changes in groups of any size", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(steps, { minLength: 1, maxLength: 6 }), { maxLength: 8 }), async (groups) => {
      const engine = openEngine();
      const drives: OwnerDrives = engine.owner(ALICE);
      for (const group of groups) {
        await drives.change("d", async (drive) => {
          for (const step of group) await rejection(make(drive, step));
        });
        const tree = await drives.read("d");
        const found = await bytesBelow(tree, []);
        tree.release();
        expect((await recorded(engine.store)) ?? 0).toBe(found);
      }
      await engine.close();
    }),
    { numRuns: 60 },
  );
});
