import { expect, test } from "@jest/globals";
import { ALICE, clockAt, openEngine } from "../engines.js";

const DAY = 86_400_000;
const START = 1_700_000_000_000;
const text = (content: string) => new TextEncoder().encode(content);

async function filled() {
  const clock = clockAt(START);
  const engine = openEngine({ clock });
  const owner = engine.owner(ALICE);
  const write = (drive: string, path: string[], content: string) =>
    owner.change(drive, async (change) => {
      for (let depth = 1; depth < path.length; depth++) {
        if ((await change.stat(path.slice(0, depth))) === undefined) await change.makeDirectory(path.slice(0, depth));
      }
      await change.writeFile(path, text(content));
    });
  const read = async (drive: string, path: string[]) => {
    const reader = await owner.read(drive);
    try {
      return Buffer.from((await reader.readFile(path, 0, 100)).bytes).toString("utf8");
    } finally {
      reader.release();
    }
  };
  const exported = async () => {
    const pieces: Uint8Array[] = [];
    for await (const { bytes } of owner.exportDrive()) pieces.push(bytes);
    return pieces;
  };
  await write("notes", ["a", "b.txt"], "early");
  await write("sound", ["c"], "early");
  for (let place = 0; place < 40; place++) await write("notes", ["many", `${place}`], "x");
  return { clock, owner, write, read, exported };
}

/** Imports at another venue, to which the key is unknown. */
async function importAt(now: number, pieces: readonly Uint8Array[]) {
  const there = openEngine({ clock: clockAt(now) });
  const source = async function* () {
    yield* pieces;
  };
  const imported = await there.owner("did:key:z6MkElsewhere").importDrive([source()], { drive: "copy", from: "notes" });
  return { there, imported };
}

test("a drive changed under a wrong clock is repaired: signed anew, and others take it", async () => {
  const { clock, owner, write, read, exported } = await filled();
  clock.now = START + 40 * DAY;
  await write("notes", ["a", "b.txt"], "late");
  await write("notes", ["d"], "gone");
  await owner.change("notes", (change) => change.remove(["d"], { recursive: false }));
  await owner.create("brief");
  await owner.delete("brief");
  clock.now = START + DAY;
  await expect(importAt(clock.now, await exported())).rejects.toMatchObject({ code: "FUTURE_TIME" });
  expect(await owner.clampTimes("sound")).toEqual(new Map());
  // The file, its folder, the tombstone, the root; of the deleted drive what stands for it.
  expect(await owner.clampTimes()).toEqual(
    new Map([
      ["notes", 4],
      ["brief", 1],
    ]),
  );
  expect(await owner.list()).toEqual(["notes", "sound"]);
  expect(await read("notes", ["a", "b.txt"])).toBe("late");
  const { imported, there } = await importAt(clock.now, await exported());
  expect(imported).toMatchObject({ drives: ["copy"] });
  expect(await there.owner("did:key:z6MkElsewhere").verify("copy")).toMatchObject({ files: 41, damagedCount: 0 });
  expect(await owner.verify("notes")).toMatchObject({ files: 41, damagedCount: 0, history: { damaged: false } });
  expect(await owner.clampTimes()).toEqual(new Map());
  // A later change is later, and wins.
  clock.now += 1;
  await write("notes", ["a", "b.txt"], "later");
  expect(await read("notes", ["a", "b.txt"])).toBe("later");
});

test("nothing is committed where no time is ahead", async () => {
  const { owner, exported } = await filled();
  const before = Buffer.concat(await exported());
  expect(await owner.clampTimes()).toEqual(new Map());
  expect(Buffer.concat(await exported()).equals(before)).toBe(true);
  await expect(owner.clampTimes("a/b")).rejects.toMatchObject({ code: "INVALID_PATH" });
});
