import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test } from "@jest/globals";
import { DEFAULT_DRIVE_LIMITS, type DriveChange } from "../../../src/drive/engine/drives.js";
import type { CellStore } from "../../../src/drive/store/cell-store.js";
import { createMemoryStore } from "../../../src/drive/store/memory.js";
import { ALICE, inPieces, openEngine, rejection, tapped, textOf } from "./engines.js";

const text = (content: string): Uint8Array => Buffer.from(content);

/** Two engines as two processes have them, on one store; the first one asks for what is to be done before its next commit. */
async function twoProcesses() {
  const store = createMemoryStore();
  const { store: watched, tap } = tapped(store);
  const [one, other] = [openEngine({ store: watched }), openEngine({ store })];
  await one.owner(ALICE).change("d", (drive) => drive.writeFile(["source"], text("source")));
  return { one: one.owner(ALICE), other: other.owner(ALICE), engine: other, tap };
}

describe("a change that another process was faster than", () => {
  test("is made on what that one has made: both are there", async () => {
    const { one, other, engine, tap } = await twoProcesses();
    tap.beforeCommit = () => other.change("d", async (drive) => void (await drive.writeFile(["b"], text("b"))));
    await one.change("d", (drive) => drive.writeFile(["a"], text("a")));
    expect([await textOf(engine, ALICE, "d", ["a"]), await textOf(engine, ALICE, "d", ["b"])]).toEqual(["a", "b"]);
  });

  test("does not move to a name that the other has taken", async () => {
    const { one, other, engine, tap } = await twoProcesses();
    tap.beforeCommit = () => other.change("d", async (drive) => void (await drive.writeFile(["to"], text("theirs"))));
    expect(await rejection(one.change("d", (drive) => drive.move(["source"], ["to"])))).toBe("EXISTS");
    expect(await textOf(engine, ALICE, "d", ["to"])).toBe("theirs");
    expect(await textOf(engine, ALICE, "d", ["source"])).toBe("source");
  });

  test("sees what it depends on as it is: two counters lose nothing", async () => {
    const { one, other, engine, tap } = await twoProcesses();
    const add = (owner: typeof one) =>
      owner.change("d", async (drive) => {
        const before = await drive.stat(["count"]);
        await drive.writeFile(["count"], text("x".repeat((before?.size ?? 0) + 1)));
      });
    tap.beforeCommit = () => add(other);
    await add(one);
    expect(await textOf(engine, ALICE, "d", ["count"])).toBe("xx");
  });

  test("puts staged content there too, which is not stored again", async () => {
    const { one, other, engine, tap } = await twoProcesses();
    const staged = await one.stage(inPieces(new Uint8Array(70_000).fill(3), 1000));
    tap.puts.length = 0;
    tap.beforeCommit = () => other.change("d", async (drive) => void (await drive.writeFile(["b"], text("b"))));
    await one.change("d", (drive) => drive.writeFile(["a"], staged));
    expect((await textOf(engine, ALICE, "d", ["a"])).length).toBe(70_000);
    expect(await textOf(engine, ALICE, "d", ["b"])).toBe("b");
    expect(tap.puts.reduce((sum, put) => sum + put.bytes.length, 0)).toBeLessThan(10_000);
  });

  test("does not get past the quota together with the other", async () => {
    const store = createMemoryStore();
    const { store: watched, tap } = tapped(store);
    const limits = { ...DEFAULT_DRIVE_LIMITS, maxDriveBytes: 100 };
    const [one, other] = [openEngine({ store: watched, limits }), openEngine({ store, limits })];
    const write = (engine: typeof one, name: string) =>
      engine.owner(ALICE).change("d", async (drive) => void (await drive.writeFile([name], new Uint8Array(60))));
    tap.beforeCommit = () => write(other, "b");
    expect(await rejection(write(one, "a"))).toBe("QUOTA_EXCEEDED");
    expect(await rejection(textOf(other, ALICE, "d", ["a"]))).toBe("NOT_FOUND");
  });
});

describe("content that is staged", () => {
  test("holds up nobody while it is on its way, and is the file afterwards", async () => {
    const engine = openEngine();
    const alice = engine.owner(ALICE);
    let deliver = (): void => {};
    const delivered = new Promise<void>((resolve) => {
      deliver = resolve;
    });
    async function* slowly(): AsyncGenerator<Uint8Array> {
      yield new Uint8Array(70_000).fill(1);
      await delivered;
      yield new Uint8Array(70_000).fill(2);
    }
    const staging = alice.stage(slowly());
    await nextTurn();
    await alice.change("d", (drive) => drive.writeFile(["other"], text("done")));
    expect(await textOf(engine, ALICE, "d", ["other"])).toBe("done");
    deliver();
    const staged = await staging;
    await alice.change("d", (drive) => drive.writeFile(["f"], staged));
    await alice.change("d", (drive) => drive.appendFile(["other"], staged));
    const snapshot = await alice.read("d");
    const whole = Buffer.concat([Buffer.alloc(70_000, 1), Buffer.alloc(70_000, 2)]);
    expect((await snapshot.readFile(["f"], 0, 1_000_000)).bytes.equals(whole)).toBe(true);
    const appended = (await snapshot.readFile(["other"], 0, 1_000_000)).bytes;
    expect(appended.equals(Buffer.concat([text("done"), whole]))).toBe(true);
  });

  test("longer than a file may be is refused while it comes", async () => {
    const alice = openEngine({ limits: { ...DEFAULT_DRIVE_LIMITS, maxFileBytes: 100 } }).owner(ALICE);
    expect(await rejection(alice.stage(inPieces(new Uint8Array(101), 10)))).toBe("TOO_LARGE");
    const staged = await alice.stage(inPieces(new Uint8Array(60), 10));
    await alice.change("d", (drive) => drive.writeFile(["f"], staged));
    expect(await rejection(alice.change("d", (drive) => drive.appendFile(["f"], staged)))).toBe("TOO_LARGE");
  });
});

describe("what an owner has used", () => {
  async function fillIn(drive: DriveChange, name: string) {
    await drive.makeDirectory([name]);
    for (let file = 0; file < 200; file += 1) await drive.writeFile([name, `f${file}`], new Uint8Array(500).fill(file));
  }

  async function filled(store: CellStore) {
    const first = openEngine({ store });
    await first.owner(ALICE).change("d", (drive) => fillIn(drive, "many"));
  }

  test("is not counted again by the next process", async () => {
    const { store, tap } = tapped(createMemoryStore());
    await filled(store);
    tap.gets.length = 0;
    await openEngine({ store })
      .owner(ALICE)
      .change("d", (drive) => drive.writeFile(["new"], text("x")));
    expect(tap.gets.length).toBeLessThan(30);
  });

  test.each([true, false])(
    "is right after moves, equal content and deletions (known from before: %s)",
    async (isKnown) => {
      const store = createMemoryStore();
      await filled(store);
      const forgetful: CellStore = {
        ...bound(store),
        pin: async (owner) => {
          const pin = await store.pin(owner);
          const { version, bytes } = pin.root ?? {};
          return { ...pin, root: version === undefined || bytes === undefined ? undefined : { version, bytes } };
        },
      };
      const limits = { ...DEFAULT_DRIVE_LIMITS, maxDriveBytes: 250_000 };
      const alice = openEngine({ store: isKnown ? store : forgetful, limits }).owner(ALICE);
      await alice.change("d", (drive) => fillIn(drive, "again"));
      await alice.change("d", (drive) => drive.move(["again"], ["moved"]));
      const fill = (name: string, bytes: number) =>
        alice.change("d", (drive) => drive.writeFile([name], new Uint8Array(bytes).fill(7)));
      await fill("rest", 50_000);
      await expect(fill("more", 1)).rejects.toMatchObject({ code: "QUOTA_EXCEEDED", data: { used: 250_000 } });
      await alice.change("d", (drive) => drive.remove(["many"], { recursive: true }));
      await fill("more", 100_000);
      await expect(fill("last", 1)).rejects.toMatchObject({ code: "QUOTA_EXCEEDED", data: { used: 250_000 } });
    },
  );
});

/** All of a store but what is replaced: its methods are not its own. */
const bound = (store: CellStore): CellStore => tapped(store).store;
