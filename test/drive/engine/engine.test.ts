import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { hashOf } from "../../../src/drive/cad3/encoding/cell.js";
import { fromMultiCell } from "../../../src/drive/cad3/encoding/multi-cell.js";
import type { Value } from "../../../src/drive/cad3/value.js";
import { applyOp, type TreeChange } from "../../../src/drive/dlfs/apply-op.js";
import { createDrive } from "../../../src/drive/dlfs/lifetime.js";
import type { DriveChange, DriveEngine, DriveSnapshot, OwnerDrives } from "../../../src/drive/engine/engine.js";
import { createOwnerKeys } from "../../../src/drive/keys/owner-keys.js";
import type { CellStore } from "../../../src/drive/store/cell-store.js";
import { createMemoryStore } from "../../../src/drive/store/memory.js";
import { createTurn } from "../../../src/drive/turn.js";
import { codeOf } from "../cad3/code-of.js";
import {
  ALICE,
  BOB,
  clockAt,
  inPieces,
  openEngine,
  rejection,
  type TestEngine,
  tapped,
  textOf,
  VENUE_KEY,
} from "./engines.js";

const bytes = (text: string): Uint8Array => Buffer.from(text);

describe("the drives of a user", () => {
  test("are there from when they are created or written to until they are deleted", async () => {
    const alice = openEngine().owner(ALICE);
    expect(await alice.list()).toEqual([]);
    expect([await alice.create("b"), await alice.create("b")]).toEqual([true, false]);
    await alice.change("a", (drive) => drive.writeFile(["f"], bytes("x")));
    expect(await alice.list()).toEqual(["a", "b"]);
    expect([await alice.delete("a"), await alice.delete("a"), await alice.delete("no")]).toEqual([true, false, false]);
    expect(await alice.list()).toEqual(["b"]);
  });

  test("are not created by a look, nor by a change that does nothing", async () => {
    const engine = openEngine();
    const alice = engine.owner(ALICE);
    const snapshot = await alice.read("d");
    expect(await snapshot.entries([])).toEqual([]);
    expect(await snapshot.stat([])).toMatchObject({ type: "directory" });
    expect(await snapshot.stat(["a"])).toBeUndefined();
    expect(await rejection(snapshot.readFile(["a"], 0, 1))).toBe("NOT_FOUND");
    await alice.change("d", (drive) => drive.remove(["a"], { recursive: true }));
    expect(await rejection(alice.change("d", (drive) => drive.writeFile(["a", "b"], bytes("x"))))).toBe("NOT_FOUND");
    expect(await alice.list()).toEqual([]);
    expect(await engine.store.keys.list(ALICE)).toEqual([]);
  });

  test("are empty after they were deleted, and stay so when they are written to again", async () => {
    const engine = openEngine();
    const alice = engine.owner(ALICE);
    await alice.change("d", (drive) => drive.writeFile(["old"], bytes("x")));
    await alice.delete("d");
    const deleted = await alice.read("d");
    expect(await deleted.entries([])).toEqual([]);
    expect(await deleted.stat(["old"])).toBeUndefined();
    await alice.change("d", async (drive) => {
      expect(await drive.entries([])).toEqual([]);
      await drive.writeFile(["new"], bytes("y"));
      await drive.makeDirectory(["dir"]);
    });
    const again = await alice.read("d");
    expect((await again.entries([])).map(({ name }) => name)).toEqual(["dir", "new"]);
  });

  test("are nobody else's", async () => {
    const engine = openEngine();
    await engine.owner(ALICE).change("d", (drive) => drive.writeFile(["f"], bytes("alice")));
    await engine.owner(BOB).change("d", (drive) => drive.writeFile(["f"], bytes("bob")));
    await engine.owner(BOB).create("other");
    expect(await textOf(engine, ALICE, "d", ["f"])).toBe("alice");
    expect(await textOf(engine, BOB, "d", ["f"])).toBe("bob");
    expect(await engine.owner(ALICE).list()).toEqual(["d"]);
    await engine.owner(ALICE).delete("d");
    expect(await textOf(engine, BOB, "d", ["f"])).toBe("bob");
  });

  test.each(["", ".", "..", "a/b", "a\\b", "a\u0000b", "a\nb", "x".repeat(129), "\ud800"])(
    "have no name like %j",
    async (name) => {
      const alice = openEngine().owner(ALICE);
      const calls = [alice.create(name), alice.delete(name), alice.read(name), alice.change(name, async () => {})];
      expect(await Promise.all(calls.map(rejection))).toEqual(Array(4).fill("INVALID_PATH"));
    },
  );
});

describe("a change", () => {
  test("is made as a whole or not at all", async () => {
    const { store, tap } = tapped(createMemoryStore());
    const engine = openEngine({ store });
    const alice = engine.owner(ALICE);
    await alice.change("d", async (drive) => {
      await drive.makeDirectory(["a"]);
      await drive.makeDirectory(["a", "b"]);
      await drive.writeFile(["a", "b", "c"], bytes("1"));
    });
    expect(tap.commits).toBe(1);
    const failed = alice.change("d", async (drive) => {
      await drive.writeFile(["a", "b", "c"], bytes("2"));
      await drive.remove(["a"], { recursive: true });
      throw Object.assign(new Error("no more"), { code: "WHY" });
    });
    expect(await rejection(failed)).toBe("WHY");
    expect(tap.commits).toBe(1);
    expect(await textOf(engine, ALICE, "d", ["a", "b", "c"])).toBe("1");
  });

  test("keeps nothing of staged content that ends with an error", async () => {
    const alice = openEngine().owner(ALICE);
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield new Uint8Array(10_000);
      throw Object.assign(new Error("gone"), { code: "ABORTED" });
    }
    expect(await rejection(alice.stage(broken()))).toBe("ABORTED");
    expect(await alice.list()).toEqual([]);
  });

  test("puts content only where it can be", async () => {
    const alice = openEngine().owner(ALICE);
    const staged = await alice.stage(inPieces(bytes("x"), 1));
    await alice.change("d", async (drive) => {
      await drive.makeDirectory(["dir"]);
      await drive.writeFile(["file"], bytes("x"));
    });
    const cases: [string[], string][] = [
      [["dir"], "IS_A_DIRECTORY"],
      [[], "IS_A_DIRECTORY"],
      [["no", "x"], "NOT_FOUND"],
      [["file", "x"], "NOT_A_DIRECTORY"],
      [["dir", ".."], "INVALID_PATH"],
      [["a/b"], "INVALID_PATH"],
      [["x".repeat(256)], "INVALID_PATH"],
    ];
    for (const [path, code] of cases) {
      for (const content of [bytes("x"), staged]) {
        expect(await rejection(alice.change("d", (drive) => drive.writeFile(path, content)))).toBe(code);
        expect(await rejection(alice.change("d", (drive) => drive.appendFile(path, content)))).toBe(code);
      }
    }
  });

  test("sees what it has done, larger than what is kept in memory too", async () => {
    const engine = openEngine();
    const big = Buffer.alloc(9_000_000);
    for (let at = 0; at < big.length; at += 4096) big.writeUInt32LE(at, at);
    const result = await engine.owner(ALICE).change("d", async (drive) => {
      await drive.writeFile(["big"], big);
      await drive.appendFile(["big"], bytes("end"));
      const middle = await drive.readFile(["big"], 4_000_000, 1_000_000);
      expect(middle.bytes.equals(big.subarray(4_000_000, 5_000_000))).toBe(true);
      expect(await drive.stat(["big"])).toMatchObject({ size: 9_000_003 });
      return "done";
    });
    expect(result).toBe("done");
    const snapshot = await engine.owner(ALICE).read("d");
    const { bytes: all } = await snapshot.readFile(["big"], 0, 10_000_000);
    const into = Buffer.alloc(200_000, "-");
    const { bytes: part } = await snapshot.readFile(["big"], 4_000_000, 199_999, into);
    expect([part.buffer === into.buffer, part.equals(all.subarray(4_000_000, 4_199_999))]).toEqual([true, true]);
    expect(into.subarray(199_999).toString()).toBe("-");
    expect(all.subarray(0, big.length).equals(big)).toBe(true);
    expect(all.subarray(big.length).toString()).toBe("end");
  });

  test("moves without writing content again", async () => {
    const { store, tap } = tapped(createMemoryStore());
    const engine = openEngine({ store });
    const alice = engine.owner(ALICE);
    await alice.change("d", async (drive) => {
      await drive.makeDirectory(["from"]);
      await drive.writeFile(["from", "f"], new Uint8Array(100_000).fill(3));
    });
    tap.puts.length = 0;
    await alice.change("d", async (drive) => {
      await drive.move(["from"], ["to"]);
      expect(await rejection(drive.move(["to"], ["to", "x"]))).toBe("INVALID_PATH");
      await drive.makeDirectory(["taken"]);
      expect(await rejection(drive.move(["to"], ["taken"]))).toBe("EXISTS");
      expect(await rejection(drive.move(["no"], ["x"]))).toBe("NOT_FOUND");
    });
    expect(tap.puts.reduce((sum, put) => sum + put.bytes.length, 0)).toBeLessThan(2000);
    const snapshot = await alice.read("d");
    expect((await snapshot.entries([])).map(({ name }) => name)).toEqual(["taken", "to"]);
    expect(await snapshot.stat(["to", "f"])).toMatchObject({ size: 100_000 });
  });

  test("does nothing once it is over", async () => {
    const alice = openEngine().owner(ALICE);
    const late = await alice.change("d", async (drive) => {
      await drive.writeFile(["f"], bytes("x"));
      return [drive];
    });
    expect(await rejection(late[0]?.writeFile(["g"], bytes("y")) ?? Promise.resolve())).toBeInstanceOf(TypeError);
  });

  test("has the result of its work", async () => {
    const alice = openEngine().owner(ALICE);
    expect(await alice.change("d", async () => undefined)).toBeUndefined();
    expect(await alice.change("d", async () => 7)).toBe(7);
  });
});

describe("changes of one user", () => {
  test("that wait share one swap, and one that fails does not keep the others", async () => {
    const { store, tap } = tapped(createMemoryStore());
    const engine = openEngine({ store });
    const alice = engine.owner(ALICE);
    const writes = Array.from({ length: 40 }, (_, place) =>
      alice.change("d", async (drive) => {
        if (place === 20) throw Object.assign(new Error(), { code: "NO" });
        await drive.writeFile([`f${place}`], bytes(String(place)));
      }),
    );
    const codes = await Promise.all(writes.map(rejection));
    expect(codes.map((code, place) => (place === 20 ? code === "NO" : code === undefined))).not.toContain(false);
    expect(tap.commits).toBeLessThanOrEqual(3);
    expect(await (await alice.read("d")).entries([])).toHaveLength(39);
  });

  test("are not waited for by readers, who keep the tree they began with", async () => {
    const engine = openEngine();
    const alice = engine.owner(ALICE);
    const before = new Uint8Array(50_000).fill(1);
    await alice.change("d", (drive) => drive.writeFile(["f"], before));
    const snapshot = await alice.read("d");
    let letGo = (): void => {};
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const change = alice.change("d", async (drive) => {
      await drive.writeFile(["f"], bytes("after"));
      await drive.remove(["f"], { recursive: false });
      await drive.writeFile(["g"], bytes("after"));
      await held;
    });
    expect((await snapshot.readFile(["f"], 0, 100_000)).bytes.equals(before)).toBe(true);
    const other = await alice.read("d");
    expect((await other.entries([])).map(({ name }) => name)).toEqual(["f"]);
    letGo();
    await change;
    expect((await snapshot.readFile(["f"], 0, 100_000)).bytes.equals(before)).toBe(true);
    expect(await textOf(engine, ALICE, "d", ["g"])).toBe("after");
    snapshot.release();
    expect(await rejection(snapshot.stat([]))).toBeInstanceOf(TypeError);
  });

  test("are waited for when the engine closes", async () => {
    const engine = openEngine();
    const writing = engine.owner(ALICE).change("d", (drive) => drive.writeFile(["f"], bytes("x")));
    await engine.close();
    expect(await rejection(writing)).toBeUndefined();
    expect(await rejection(engine.owner(ALICE).list())).toBe("STORE_UNAVAILABLE");
  });
});

describe("a change of a large drive", () => {
  const many = Array.from({ length: 1500 }, (_, place) => `file-${place}.txt`);

  async function large() {
    const { store, tap } = tapped(createMemoryStore());
    const engine = openEngine({ store });
    await engine.owner(ALICE).change("d", async (drive) => {
      await drive.makeDirectory(["dir"]);
      for (const name of many) await drive.writeFile(["dir", name], bytes(name.repeat(20)));
    });
    tap.puts.length = 0;
    tap.gets.length = 0;
    return { alice: engine.owner(ALICE), tap, store };
  }

  test("writes few cells", async () => {
    const { alice, tap } = await large();
    const file = ["dir", "file-77.txt"];
    const changes: readonly ((drive: DriveChange) => Promise<unknown>)[] = [
      (drive) => drive.writeFile(["dir", "new.txt"], new Uint8Array(1024)),
      (drive) => drive.writeFile(file, new Uint8Array(1025)),
      (drive) => drive.appendFile(file, new Uint8Array(10)),
      (drive) => drive.remove(file, { recursive: false }),
      (drive) => drive.makeDirectory(file),
    ];
    for (const work of changes) {
      tap.puts.length = 0;
      await alice.change("d", work);
      expect(tap.puts.length).toBeGreaterThan(0);
      expect(tap.puts.length).toBeLessThanOrEqual(16);
      expect(tap.puts.reduce((sum, put) => sum + put.bytes.length, 0)).toBeLessThanOrEqual(16_384);
    }
    tap.puts.length = 0;
    await alice.change("d", (drive) => drive.remove(["dir"], { recursive: true }));
    expect(tap.puts.length).toBeLessThanOrEqual(2);
  });

  test("reads few cells in another engine, and one file fewer still", async () => {
    const { tap, store } = await large();
    const other = openEngine({ store }).owner(ALICE);
    const snapshot = await other.read("d");
    await snapshot.readFile(["dir", "file-77.txt"], 0, 100);
    expect(tap.gets.length).toBeLessThanOrEqual(12);
  });

  test("lists every entry once, in the order of the bytes of the names", async () => {
    const { alice } = await large();
    const entries = await (await alice.read("d")).entries(["dir"]);
    expect(entries.map(({ name }) => name)).toEqual([...many].sort());
    expect(entries.map(({ size }) => size)).toEqual([...many].sort().map((name) => name.length * 20));
  });
});

describe("limits", () => {
  test("hold for one file, in pieces or whole, written or added to", async () => {
    const engine = openEngine({ limits: { maxFileBytes: 5000 } });
    const alice = engine.owner(ALICE);
    await alice.change("d", (drive) => drive.writeFile(["f"], new Uint8Array(5000)));
    const staged = await alice.stage(inPieces(new Uint8Array(5000), 100));
    const over = [
      (drive: DriveChange) => drive.writeFile(["g"], new Uint8Array(5001)),
      (drive: DriveChange) => drive.writeFile(["g"], { ...staged, size: 5001 }),
      (drive: DriveChange) => drive.appendFile(["f"], new Uint8Array(1)),
    ];
    for (const work of over) expect(await rejection(alice.change("d", work))).toBe("TOO_LARGE");
    expect((await (await alice.read("d")).entries([])).map(({ name }) => name)).toEqual(["f"]);
  });

  test("hold for all drives of a user together; less is always allowed", async () => {
    const alice = openEngine({ limits: { maxDriveBytes: 10_000 } }).owner(ALICE);
    await alice.change("a", (drive) => drive.writeFile(["f"], new Uint8Array(6000)));
    await alice.change("b", async (drive) => {
      await drive.makeDirectory(["x"]);
      await drive.writeFile(["x", "f"], new Uint8Array(4000));
    });
    const more = alice.change("b", (drive) => drive.appendFile(["x", "f"], new Uint8Array(1)));
    expect(await rejection(more)).toBe("QUOTA_EXCEEDED");
    const again = async (drive: DriveChange): Promise<void> => {
      await drive.makeDirectory(["y"]);
      await drive.writeFile(["y", "f"], new Uint8Array(4000));
    };
    expect(await rejection(alice.change("b", again))).toBe("QUOTA_EXCEEDED");
    await alice.change("a", (drive) => drive.remove(["f"], { recursive: false }));
    await alice.change("b", again);
    expect(await alice.delete("b")).toBe(true);
    await alice.change("a", (drive) => drive.writeFile(["f"], new Uint8Array(10_000)));
  });

  test("hold for the entries of a directory and for drives", async () => {
    const alice = openEngine({ limits: { maxEntries: 2, maxDrives: 1, maxPathDepth: 2 } }).owner(ALICE);
    await alice.change("d", async (drive) => {
      await drive.makeDirectory(["a"]);
      await drive.makeDirectory(["b"]);
      expect(await rejection(drive.makeDirectory(["c"]))).toBe("QUOTA_EXCEEDED");
      await drive.remove(["b"], { recursive: false });
      expect(await rejection(drive.makeDirectory(["c"]))).toBe("QUOTA_EXCEEDED");
      expect(await drive.makeDirectory(["b"])).toBe(true);
      await drive.makeDirectory(["a", "x"]);
      expect(await rejection(drive.makeDirectory(["a", "x", "y"]))).toBe("INVALID_PATH");
    });
    expect(await rejection(alice.create("e"))).toBe("QUOTA_EXCEEDED");
  });
});

describe("two engines", () => {
  test("that write at once on one store keep what both have done", async () => {
    const shared = createMemoryStore();
    const [first, second] = [tapped(shared), tapped(shared)];
    const [one, two] = [openEngine({ store: first.store }), openEngine({ store: second.store })];
    await one.owner(ALICE).create("d");
    first.tap.beforeCommit = () =>
      two.owner(ALICE).change("d", async (drive) => void (await drive.writeFile(["b"], bytes("two"))));
    await one.owner(ALICE).change("d", (drive) => drive.writeFile(["a"], bytes("one")));
    expect(first.tap.commits).toBe(3);
    for (const engine of [one, two]) {
      expect([await textOf(engine, ALICE, "d", ["a"]), await textOf(engine, ALICE, "d", ["b"])]).toEqual([
        "one",
        "two",
      ]);
    }
  });

  test("give up after 8 tries", async () => {
    const shared = createMemoryStore();
    const [first, second] = [tapped(shared), openEngine({ store: shared })];
    const one = openEngine({ store: first.store });
    await one.owner(ALICE).create("d");
    let count = 0;
    const disturb = async (): Promise<void> => {
      count += 1;
      await second.owner(ALICE).change("d", async (drive) => void (await drive.writeFile([`n${count}`], bytes("x"))));
      first.tap.beforeCommit = disturb;
    };
    first.tap.beforeCommit = disturb;
    expect(await rejection(one.owner(ALICE).change("d", (drive) => drive.writeFile(["a"], bytes("x"))))).toBe(
      "CONFLICT",
    );
    expect(count).toBe(8);
    first.tap.beforeCommit = undefined;
    expect((await (await one.owner(ALICE).read("d")).entries([])).map(({ name }) => name)).not.toContain("a");
  });
});

describe("staleMs", () => {
  test("lets reads take what is known for the newest, but not for older than one's own writes", async () => {
    const store = createMemoryStore();
    const [lazy, other] = [openEngine({ store, staleMs: 50 }), openEngine({ store })];
    await lazy.owner(ALICE).create("d");
    await other.owner(ALICE).create("e");
    expect(await lazy.owner(ALICE).list()).toEqual(["d"]);
    lazy.clock.now += 50;
    expect(await lazy.owner(ALICE).list()).toEqual(["d", "e"]);
    await lazy.owner(ALICE).create("f");
    expect(await lazy.owner(ALICE).list()).toEqual(["d", "e", "f"]);
  });
});

const addOne = (engine: TestEngine) =>
  engine.owner(ALICE).change("d", async (drive) => {
    const before = await drive.stat(["count"]);
    await drive.writeFile(["count"], new Uint8Array((before?.size ?? 0) + 1));
  });

test("two processes that make the first key of an owner at the same time lose none of their first changes", async () => {
  const store = createMemoryStore();
  let goOn = () => {};
  const gate = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  let reach = () => {};
  const reached = new Promise<void>((resolve) => {
    reach = resolve;
  });
  // It has found no key, and its own counts as the older one.
  const keys = createOwnerKeys({
    records: {
      ...store.keys,
      async put(...all) {
        reach();
        await gate;
        await store.keys.put(...all);
      },
    },
    venueKey: VENUE_KEY,
    clock: clockAt(500),
  });
  const slow = openEngine({ store, keys });
  const fast = openEngine({ store });
  const second = addOne(slow);
  await reached;
  await addOne(fast);
  goOn();
  await second;
  const snapshot = await openEngine({ store }).owner(ALICE).read("d");
  expect((await snapshot.stat(["count"]))?.size).toBe(2);
  snapshot.release();
});

const LONG = "name of more than 32 bytes, number ";
const names = fc.constantFrom("a", "b", "\u{1f600}", "\ufffd", `${LONG}1`, `${LONG}2`, "x".repeat(200));
const contents = fc.constantFrom("", "x", "long ".repeat(40), "longer ".repeat(1000)).map((text) => Buffer.from(text));
type Op = Omit<TreeChange, "at" | "path" | "op"> & {
  op: "mkdir" | "write" | "append" | "delete";
  path: string[];
  at: number;
};

async function applied(drive: DriveChange, { op, path, data = new Uint8Array() }: Op): Promise<unknown> {
  switch (op) {
    case "mkdir":
      return (await drive.makeDirectory(path)) ? undefined : "EXISTS";
    case "write":
      return rejection(drive.writeFile(path, data));
    case "append":
      return rejection(drive.appendFile(path, data));
    case "delete":
      return (await drive.remove(path, { recursive: false })) ? undefined : "NOT_FOUND";
  }
}

/** The roots of the drives that the store keeps for its one owner. */
async function rootOf(engine: DriveEngine): Promise<Value> {
  const pieces: Uint8Array[] = [];
  for await (const { bytes } of engine.owner(ALICE).exportDrive({ top: "drive", drive: "d" })) pieces.push(bytes);
  return fromMultiCell(Buffer.concat(pieces));
}

describe("operations on a drive", () => {
  const paths = fc.array(names, { minLength: 1, maxLength: 3 });
  const ops: fc.Arbitrary<Op> = fc.record({
    op: fc.constantFrom("mkdir", "mkdir", "write", "append", "delete"),
    path: paths,
    data: contents,
    at: fc.nat(3000),
  });

  test("make the same trees and the same refusals as on values", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(ops, { maxLength: 25 }), fc.boolean(), async (list, together) => {
        const clock = clockAt(1000);
        const engine = openEngine({ clock });
        const alice = engine.owner(ALICE);
        await alice.create("d");
        let root: Value = createDrive(null, { at: 1000 });
        const both = async (drive: DriveChange, op: Op): Promise<void> => {
          const code = codeOf(() => {
            root = applyOp(root, { ...op, path: op.path.join("/"), at: clock.now });
          });
          const own = await applied(drive, op).catch((error: unknown) =>
            codeOf(() => {
              throw error;
            }),
          );
          // Of something absent nothing is deleted, wherever it was.
          expect(own).toBe(code);
        };
        if (together) {
          await alice.change("d", async (drive) => {
            for (const op of list) await both(drive, op);
          });
        } else {
          for (const op of list) {
            clock.now = op.at;
            await alice.change("d", (drive) => both(drive, op));
          }
        }
        expect(hashOf(await rootOf(engine))).toBe(hashOf(root));
      }),
      { numRuns: 150 },
    );
  });
});

describe("used bytes", () => {
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
});

test("others run after so many units, and sooner where units are slow", async () => {
  let now = 0;
  const turn = createTurn({ units: 4, now: () => now });
  const yields: number[] = [];
  const work = async (units: number, ms: number): Promise<void> => {
    for (let unit = 1; unit <= units; unit += 1) {
      now += ms;
      const waiting = turn();
      if (waiting === undefined) continue;
      yields.push(unit);
      await waiting;
    }
  };
  await work(9, 1);
  expect(yields.splice(0)).toEqual([4, 8]);
  await work(3, 1);
  expect(yields.splice(0)).toEqual([3]);
  await work(5, 6);
  expect(yields).toEqual([2, 4]);
});

test("the time that others take is not counted", async () => {
  let now = 0;
  const turn = createTurn({ units: 4, now: () => now });
  now = 20;
  const waiting = turn();
  now = 40;
  await waiting;
  expect(turn()).toBeUndefined();
});
