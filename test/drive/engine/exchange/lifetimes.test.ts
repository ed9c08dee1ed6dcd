import { expect, test } from "@jest/globals";
import { toMultiCell } from "../../../../src/drive/cad3/encoding/multi-cell.js";
import { dir, file, tombstone } from "../../../../src/drive/dlfs/node.js";
import { ALICE, clockAt, inPieces, openEngine, type TestEngine, textOf } from "../engines.js";

const owner = (engine: TestEngine) => engine.owner(ALICE);
const write = (engine: TestEngine, text: string) =>
  owner(engine).change("d", (drive) => drive.writeFile(["f"], Buffer.from(text)));
async function bring(from: TestEngine, to: TestEngine): Promise<void> {
  const pieces: Uint8Array[] = [];
  for await (const { bytes } of owner(from).exportDrive({ top: "drive", drive: "d" })) pieces.push(bytes);
  await owner(to).importDrive([inPieces(Buffer.concat(pieces), 50_000)], { drive: "d" });
}

test("a clock that goes back refuses no change: each is later than what it replaces, also than its own deletion", async () => {
  const engine = openEngine({ clock: clockAt(50_000) });
  const modified = async () => {
    const reader = await owner(engine).read("d");
    const stats = [await reader.stat(["f"]), await reader.stat([])];
    reader.release();
    return stats.map((stat) => stat?.modified ?? -1);
  };
  await write(engine, "first");
  const copy = openEngine({ clock: clockAt(50_000) });
  await bring(engine, copy);
  engine.clock.now = 10;
  let [before = 0] = await modified();
  for (const text of ["second", "third"]) {
    await owner(engine).change("d", (drive) => drive.remove(["f"], { recursive: false }));
    await write(engine, text);
    const [now = 0, root] = await modified();
    expect([now > before + 1, root]).toEqual([true, now]);
    before = now;
  }
  await bring(engine, copy);
  expect(await textOf(copy, ALICE, "d", ["f"])).toBe("third");
  await owner(engine).delete("d");
  expect(await owner(engine).create("d")).toBe(true);
  await write(engine, "again");
  expect((await modified())[0]).toBeGreaterThan(before + 1);
});

test("the deletion of a drive goes where the drive goes, and a later change elsewhere brings it back whole", async () => {
  const [here, there] = [openEngine({ clock: clockAt(1000) }), openEngine({ clock: clockAt(1000) })];
  await write(here, "one");
  await bring(here, there);
  there.clock.now = 1500;
  await owner(there).change("d", (drive) => drive.writeFile(["earlier"], Buffer.from("e")));
  here.clock.now = 2000;
  await owner(here).delete("d");
  await bring(here, there);
  expect(await owner(there).list()).toEqual([]);
  // What deletes a drive merges into itself as nothing new.
  await bring(there, here);
  expect(await owner(here).list()).toEqual([]);
  there.clock.now = 3000;
  await write(there, "later");
  await owner(there).change("d", (drive) => drive.writeFile(["g"], Buffer.from("too")));
  await bring(there, here);
  expect(await owner(here).list()).toEqual(["d"]);
  expect(await textOf(here, ALICE, "d", ["f"])).toBe("later");
  expect(await textOf(here, ALICE, "d", ["g"])).toBe("too");
  expect(await owner(here).verify("d")).toMatchObject({ files: 2, damagedCount: 0 });
});

test.each([
  ["a file", dir([["f", file(new Uint8Array(), 31_101)]], 1), "31 s in the future; 30 s are allowed", undefined],
  ["a tombstone", dir([["f", tombstone(3_700_000)]], 1), "3699 s in the future; 30 s are allowed", undefined],
  ["a deletion", file(new Uint8Array(), 31_101), "31 s in the future; 30 s are allowed", undefined],
  ["the root, where less is allowed", dir([], 1001), "1 s in the future; 0 s are allowed", 0],
])("a time too far ahead is refused, and by how much is said: %s", async (_, tree, text, futureSkewMs) => {
  const bytes = toMultiCell(tree);
  const options = { clock: clockAt(1000), futureSkewMs };
  const importing = owner(openEngine(options)).importDrive([inPieces(bytes, 100)], { drive: "d" });
  await expect(importing).rejects.toMatchObject({ code: "FUTURE_TIME", message: expect.stringContaining(text) });
  const later = owner(openEngine({ ...options, clock: clockAt(4_000_000) }));
  await later.importDrive([inPieces(bytes, 100)], { drive: "d" });
});
