import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { encode, hashOf } from "../../../src/drive/cad3/encoding/cell.js";
import { map } from "../../../src/drive/cad3/maps/hash-map.js";
import type { IndexChild, IndexNode } from "../../../src/drive/cad3/maps/index-node.js";
import { refOf, sha3 } from "../../../src/drive/cad3/ref.js";
import { sign } from "../../../src/drive/cad3/signed.js";
import type { Value } from "../../../src/drive/cad3/value.js";
import { merge, mergeSteps } from "../../../src/drive/dlfs/merge.js";
import { dir, directoryOf, file, type Node } from "../../../src/drive/dlfs/node.js";
import { createCellPool, createScope } from "../../../src/drive/engine/cells.js";
import { DEFAULT_DRIVE_LIMITS, type DriveChange } from "../../../src/drive/engine/drives.js";
import { settleIn } from "../../../src/drive/engine/owner/change-results.js";
import { createWriteSet, putNew } from "../../../src/drive/engine/write-set.js";
import { createOwnerKeys } from "../../../src/drive/keys/owner-keys.js";
import type { CellStore } from "../../../src/drive/store/cell-store.js";
import { createMemoryStore } from "../../../src/drive/store/memory.js";
import { countTogether, expectAll, killLogging, withEngine, writeAndKill } from "../engine-crash.js";
import { type Compiled, compile } from "../store/compiled.js";
import { ENGINE_OWNER } from "../store/engine-child-values.js";
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
import { cellsOf } from "./exchange/import-cells.js";

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

/** A venue with a store of its own, in which the user has the key that she has everywhere. */
async function venue(): Promise<TestEngine> {
  const [store, clock] = [createMemoryStore(), clockAt(1000)];
  const keys = createOwnerKeys({ records: store.keys, venueKey: VENUE_KEY, clock });
  await keys.import(ALICE, new Uint8Array(32).fill(5));
  return openEngine({ store, clock, keys });
}

async function exported(engine: TestEngine): Promise<Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  for await (const { bytes } of engine.owner(ALICE).exportDrive()) pieces.push(bytes);
  return pieces;
}

async function* once(pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* pieces;
}

const steps = fc.array(
  fc.record({
    /** Which engines write at once. */
    who: fc.subarray([0, 1, 2], { minLength: 1 }),
    op: fc.constantFrom("write", "write", "append", "mkdir", "remove", "delete drive"),
    path: fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 2 }),
    skew: fc.integer({ min: -50, max: 50 }),
  }),
  { maxLength: 14 },
);

test("venues with a store each that exchange exports, after random changes by clocks that differ, come to the same bytes", async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (schedule) => {
      const engines = await Promise.all([venue(), venue(), venue()] as const);
      let count = 0;
      for (const { who, op, path, skew } of schedule) {
        const changes = who.map((place) => {
          const engine = engines[place];
          if (engine === undefined) return Promise.resolve();
          engine.clock.now += 10 + (place === 0 ? skew : -skew);
          const owner = engine.owner(ALICE);
          count += 1;
          const content = Buffer.from(`${place}-${count}`);
          if (op === "delete drive") return owner.delete("d");
          return owner.change("d", async (drive) => {
            if (op === "write") await drive.writeFile(path, content);
            if (op === "append") await drive.appendFile(path, content);
            if (op === "mkdir") await drive.makeDirectory(path);
            if (op === "remove") await drive.remove(path, { recursive: true });
          });
        });
        for (const code of await Promise.all(changes.map(rejection))) {
          expect([undefined, "NOT_FOUND", "NOT_A_DIRECTORY", "IS_A_DIRECTORY", "EXISTS"]).toContain(code);
        }
      }
      const [first, second, third] = engines;
      // The third gets what the others have, and they get what it then has.
      for (const [source, target] of [
        [first, third],
        [second, third],
        [third, first],
        [third, second],
      ] as const) {
        const pieces = await exported(source).catch(() => undefined);
        if (pieces !== undefined) await target.owner(ALICE).importDrive([once(pieces)]);
      }
      const seen = await Promise.all(
        engines.map(async (engine) => {
          const pieces = await exported(engine).catch(() => []);
          return Buffer.concat(pieces).toString("hex");
        }),
      );
      expect(new Set(seen).size).toBe(1);
    }),
    { numRuns: 40 },
  );
});

const ENTRIES = 3000;

const entriesOf = (side: string): [string, Node][] =>
  Array.from({ length: ENTRIES }, (_, place) => {
    const name = `${place}-${side}`;
    return [name, file(Buffer.from(name.repeat(20)), 5)];
  });

/** One large directory, in which there is a small one that the other side has, too. */
const tree = (side: string): Node =>
  dir([...entriesOf(side), ["both", dir(entriesOf(`${side}-in`).slice(0, 50), 5)]], 5);

async function put(trees: readonly Node[], store: CellStore): Promise<void> {
  const batch = store.batch();
  for (const one of trees) {
    for (const bytes of cellsOf(one).values()) await batch.put(sha3(bytes), bytes);
  }
  await batch.flush();
}

/** Nodes that are in memory, without those that would be loaded first. */
function nodesIn(child: IndexChild): number {
  if ("load" in child) return 0;
  return child.children.reduce((sum, below) => sum + nodesIn(below), 1);
}

const rootOf = (directory: Value): IndexNode => {
  const { root } = directoryOf(directory).entries;
  if (root === undefined) throw new Error("It is empty");
  return root;
};

test("a merge of large directories stores its parts as they are complete, and lets go of them and of both sides", async () => {
  const [own, other] = [tree("a"), tree("b")];
  const store = createMemoryStore();
  await put([own, other], store);
  const writes = createWriteSet(store);
  const scope = createScope(createCellPool({ store, verifyReads: false, cacheBytes: 0 }), writes.overlay);
  const { source } = scope;
  const { load } = source;
  let loads = 0;
  Object.assign(source, {
    load: (hash: string) => {
      loads += 1;
      return load(hash);
    },
  });
  const sides = [await scope.open(refOf(encode(own))), await scope.open(refOf(encode(other)))] as const;
  const merged = await scope.runSteps(mergeSteps(...sides, { settle: settleIn({ scope, writes }) }));

  const expected = merge(own, other);
  expect(encode(merged)).toEqual(encode(expected));
  // The root, and what is so small that it lies in it.
  expect(nodesIn(rootOf(merged))).toBeLessThan(20);
  // Nor are there the cells of either side, of which there are two for each entry.
  expect(scope.size).toBeLessThan(ENTRIES / 10);
  for (const side of sides) {
    const before = loads;
    for (const child of rootOf(side).children) {
      if (!("load" in child)) continue;
      await scope.fetch([child.ref]);
      child.load();
    }
    // Had it been kept, nothing would be asked for.
    expect(loads).toBeGreaterThan(before);
  }
  await putNew(merged, { scope, writes });
  await writes.flush();
  const hashes = [...cellsOf(expected).values()].map(sha3);
  expect((await store.getMany(hashes)).filter((cell) => cell === undefined)).toEqual([]);
});

const NAMES = Array.from({ length: 20 }, (_, place) => `f${place}`);
const contentOf = (name: string): string => `${name} ${"x".repeat(2000)}`;

/** A drive of small files, and a look at its store. */
async function smallFiles() {
  const { store, tap } = tapped(createMemoryStore());
  const owner = openEngine({ store }).owner(ALICE);
  await owner.change("d", async (tree) => {
    await tree.makeDirectory(["folder"]);
    for (const name of NAMES) await tree.writeFile([name], Buffer.from(contentOf(name)));
  });
  return { owner, tap };
}

test("small files that are read ahead are read from the store once", async () => {
  const { owner, tap } = await smallFiles();
  const tree = await owner.read("d");
  await tree.fetch(NAMES.map((name) => [name]));
  tap.gets.length = 0;
  for (const name of NAMES) {
    expect((await tree.readFile([name], 0, 4096)).bytes.toString()).toBe(contentOf(name));
  }
  expect(tap.gets).toEqual([]);
  tree.release();
});

test("what cannot be read ahead is reported by the reads that follow, as without", async () => {
  const { owner, tap } = await smallFiles();
  const tree = await owner.read("d");
  await tree.fetch([["folder"], ["f0", "below"], ["missing"], ["f1"]]);
  expect((await tree.readFile(["f1"], 0, 1)).bytes.toString()).toBe("f");
  expect(await rejection(tree.readFile(["missing"], 0, 1))).toBe("NOT_FOUND");
  expect(await rejection(tree.readFile(["f0", "below"], 0, 1))).toBe("NOT_A_DIRECTORY");
  tap.isDown = true;
  await tree.fetch([["f2"]]);
  expect(await rejection(tree.readFile(["f2"], 0, 1))).toBe("STORE_UNAVAILABLE");
  tree.release();
});

test("directories that a change has written are not read from the store again, by reads and by the next change", async () => {
  const { store, tap } = tapped(createMemoryStore());
  const owner = openEngine({ store }).owner(ALICE);
  const write = (turn: string) =>
    owner.change("d", async (tree) => {
      for (const name of NAMES) await tree.writeFile([name], Buffer.from(`${turn} ${contentOf(name)}`));
    });
  await write("first");
  const directories = tap.puts.filter(({ bytes }) => bytes[0] === 0x84);
  expect(directories.length).toBeGreaterThan(0);
  tap.gets.length = 0;
  await write("second");
  const tree = await owner.read("d");
  expect(await tree.stat(["f7"])).toMatchObject({ type: "file" });
  expect(tap.gets).toEqual([]);
  // Content is read from the store.
  expect((await tree.readFile(["f7"], 0, 4096)).bytes.toString()).toBe(`second ${contentOf("f7")}`);
  expect(tap.gets).toHaveLength(1);
  tree.release();
});

test("a change whose commit fails leaves nothing in memory that the next one takes for stored", async () => {
  const { store, tap } = tapped(createMemoryStore());
  const owner = openEngine({ store }).owner(ALICE);
  const write = () =>
    owner.change("d", async (tree) => {
      for (const name of NAMES) await tree.writeFile([name], Buffer.from(contentOf(name)));
    });
  tap.beforeCommit = async () => {
    throw new Error("the disk is full");
  };
  expect(await rejection(write())).toBe("STORE_UNAVAILABLE");
  await write();
  const tree = await openEngine({ store }).owner(ALICE).read("d");
  expect((await tree.entries([])).map(({ name }) => name).sort()).toEqual([...NAMES].sort());
  expect((await tree.readFile(["f7"], 0, 4096)).bytes.toString()).toBe(contentOf("f7"));
  tree.release();
});

const content = (fill: number): Uint8Array => new Uint8Array(4000).fill(fill);
const chunkHash = (fill: number): string => hashOf(content(fill));

/** A drive with files in directories, in an engine that has nothing of it in memory. */
async function stored() {
  const { store, tap } = tapped(createMemoryStore());
  const first = openEngine({ store }).owner(ALICE);
  await first.change("d", async (drive) => {
    for (const dir of ["one", "two"]) {
      await drive.makeDirectory([dir]);
      for (let file = 0; file < 20; file += 1) {
        await drive.writeFile([dir, `${dir}-${file}`], content(dir.length * 30 + (dir === "one" ? 0 : 100) + file));
      }
    }
  });
  return { store, tap, open: () => openEngine({ store }).owner(ALICE) };
}

describe("a store that has lost a cell", () => {
  test("says which file is affected, and serves the rest", async () => {
    const { tap, open } = await stored();
    tap.lost.add(chunkHash(90 + 7));
    const alice = open();
    const snapshot = await alice.read("d");
    await expect(snapshot.readFile(["one", "one-7"], 0, 10)).rejects.toMatchObject({
      code: "STORE_DAMAGED",
      message: "Drive store is damaged: d:one/one-7",
    });
    expect(await rejection(snapshot.stat(["one", "one-7"]))).toBe("STORE_DAMAGED");
    expect((await snapshot.readFile(["one", "one-8"], 0, 10)).bytes).toHaveLength(10);
    const listed = await snapshot.entries(["one"]);
    expect(listed).toHaveLength(20);
    expect(listed.filter(({ damaged }) => damaged)).toMatchObject([{ name: "one-7", type: "file", size: 0 }]);
  });

  test("says which directory is affected, serves and changes the rest", async () => {
    const { tap, open } = await stored();
    const index = tap.puts.filter(({ bytes }) => bytes[0] === 0x84 && Buffer.from(bytes).includes("two-1"));
    expect(index.length).toBeGreaterThan(0);
    for (const { hash } of index) tap.lost.add(hash);
    const alice = open();
    const snapshot = await alice.read("d");
    await expect(snapshot.entries(["two"])).rejects.toMatchObject({ message: "Drive store is damaged: d:two" });
    expect(await snapshot.entries(["one"])).toHaveLength(20);
    expect(await rejection(alice.change("d", (drive) => drive.writeFile(["two", "two-1"], content(1))))).toBe(
      "STORE_DAMAGED",
    );
    expect(await alice.create("other")).toBe(true);
  });

  test("is told of cells that are not what they were stored as, when every read is verified", async () => {
    const { store } = await stored();
    const forged: CellStore = {
      ...store,
      getMany: async (hashes) => (await store.getMany(hashes)).map(flip),
    };
    const snapshotOf = async (verifyReads: boolean) =>
      openEngine({ store: forged, verifyReads }).owner(ALICE).read("d");
    const read = async () => (await snapshotOf(true)).readFile(["one", "one-8"], 0, 10);
    expect(await rejection(read())).toBe("STORE_DAMAGED");
  });

  test("is told of chunks of a large file that are not what they were stored as, when every read is verified", async () => {
    const { store, open } = await stored();
    await open().change("d", (drive) => drive.writeFile(["large"], Buffer.alloc(20_000, "text")));
    const isChunk = (bytes: Uint8Array | undefined): boolean => (bytes?.length ?? 0) > 4096;
    const forged: CellStore = {
      ...store,
      getMany: async (hashes) => (await store.getMany(hashes)).map((bytes) => (isChunk(bytes) ? flip(bytes) : bytes)),
    };
    const read = async (verifyReads: boolean) =>
      (await openEngine({ store: forged, verifyReads }).owner(ALICE).read("d")).readFile(["large"], 0, 20_000);
    expect(await rejection(read(true))).toBe("STORE_DAMAGED");
    // Without, what the store gives is believed: it has checked that itself.
    expect((await read(false)).size).toBe(20_000);
  });
});

/** Another last byte, where that is content. */
function flip(bytes: Uint8Array | undefined): Uint8Array | undefined {
  return bytes?.[0] === 0x31 ? bytes.with(bytes.length - 1, (bytes.at(-1) ?? 0) ^ 1) : bytes;
}

describe("a root that is damaged", () => {
  const forgeries: readonly [string, (good: Uint8Array) => Uint8Array][] = [
    ["is no cell", () => Buffer.from("not a cell")],
    ["is not signed", () => encode(map([]))],
    ["has been changed", (good) => good.with(50, (good[50] ?? 0) ^ 1)],
    ["is signed by somebody else", () => encode(sign(map([]), new Uint8Array(32).fill(9)))],
  ];

  test.each(forgeries)("is reported and never replaced: %s", async (_, forge) => {
    const store = createMemoryStore();
    const engine = openEngine({ store });
    await engine.owner(BOB).create("bobs");
    await engine.owner(ALICE).create("d");
    const [{ publicKey: account } = { publicKey: "" }] = await store.keys.list(ALICE);
    const good = await store.root(account);
    const bad = forge(good?.bytes ?? new Uint8Array());
    await store.batch().commit(account, good ?? null, bad);
    const later = openEngine({ store });
    expect(await later.check()).toEqual({ owners: 2, damaged: 1 });
    expect(await rejection(later.owner(ALICE).list())).toBe("STORE_DAMAGED");
    expect(await rejection(later.owner(ALICE).create("e"))).toBe("STORE_DAMAGED");
    expect((await store.root(account))?.bytes).toEqual(new Uint8Array(bad));
    expect(await later.owner(BOB).list()).toEqual(["bobs"]);
  });
});

describe("a store that cannot be reached", () => {
  test("fails what needs it, without saying where it is, and works again when it is back", async () => {
    const { store, tap } = tapped(createMemoryStore());
    const alice = openEngine({ store }).owner(ALICE);
    await alice.create("d");
    tap.isDown = true;
    await expect(alice.read("d")).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
      message: "Drive store is not reachable: d",
    });
    expect(await rejection(alice.change("d", (drive) => drive.makeDirectory(["a"])))).toBe("STORE_UNAVAILABLE");
    tap.isDown = false;
    expect(await alice.change("d", (drive) => drive.makeDirectory(["a"]))).toBe(true);
  });

  test("in the middle of a change keeps nothing of it", async () => {
    const { store, tap } = tapped(createMemoryStore());
    const alice = openEngine({ store }).owner(ALICE);
    await alice.create("d");
    tap.beforeCommit = async () => {
      throw new Error("ECONNRESET");
    };
    expect(await rejection(alice.change("d", (drive) => drive.makeDirectory(["a"])))).toBe("STORE_UNAVAILABLE");
    expect(await (await alice.read("d")).entries([])).toEqual([]);
  });
});

describe("a key that cannot be opened", () => {
  test("makes the drives read-only", async () => {
    const store = createMemoryStore();
    const clock = clockAt(1000);
    await openEngine({ store, clock })
      .owner(ALICE)
      .change("d", (drive) => drive.writeFile(["f"], content(1)));
    const keys = createOwnerKeys({ records: store.keys, venueKey: VENUE_KEY.map((byte) => byte + 1), clock });
    const alice = openEngine({ store, clock, keys }).owner(ALICE);
    expect((await (await alice.read("d")).readFile(["f"], 0, 10)).size).toBe(4000);
    let asked = false;
    const write = alice.change("d", async () => {
      asked = true;
    });
    expect(await rejection(write)).toBe("READ_ONLY_ROOT");
    expect([asked, await rejection(alice.create("e")), await rejection(alice.delete("d"))]).toEqual([
      false,
      "READ_ONLY_ROOT",
      "READ_ONLY_ROOT",
    ]);
    expect(await store.keys.list(ALICE)).toHaveLength(1);
  });
});

describe("drives under several keys of one user", () => {
  test("are seen together, and go under the active key with the next change", async () => {
    const store = createMemoryStore();
    const clock = clockAt(1000);
    const keys = createOwnerKeys({ records: store.keys, venueKey: VENUE_KEY, clock });
    const alice = openEngine({ store, clock, keys }).owner(ALICE);
    await alice.change("d", (drive) => drive.writeFile(["old"], content(1)));
    const [old = ""] = await keys.accounts(ALICE);
    // A key from elsewhere, as if it had been made earlier.
    clock.now = 500;
    const key = await keys.import(ALICE, new Uint8Array(32).fill(5));
    clock.now = 2000;
    expect(await keys.accounts(ALICE)).toEqual([key, old]);
    const other = openEngine({ store, clock, keys }).owner(ALICE);
    expect(await other.list()).toEqual(["d"]);
    await other.change("d", (drive) => drive.writeFile(["new"], content(2)));
    expect(await store.root(key)).toBeDefined();
    const snapshot = await openEngine({ store, clock, keys }).owner(ALICE).read("d");
    expect((await snapshot.entries([])).map(({ name }) => name)).toEqual(["new", "old"]);
  });
});

describe("crashes", () => {
  let compiled: Compiled;
  let path: string;
  beforeAll(() => {
    compiled = compile();
  });
  afterAll(() => compiled.remove());
  beforeEach(() => {
    path = mkdtempSync(join(tmpdir(), "vf-engine-"));
  });
  afterEach(() => rmSync(path, { recursive: true }));

  describe("a process that is killed while it changes drives", () => {
    test.each([
      { what: "quick", after: 200 },
      { what: "durable", after: 60 },
    ] as const)("has lost nothing that it acknowledged: $what, $after changes", async ({ what, after }) => {
      const acknowledged = await writeAndKill({ compiled, path, what, after });
      expect(acknowledged.length).toBeGreaterThanOrEqual(after);
      await expectAll(path, acknowledged);
    });

    test("has swapped the root and written the log as one, at whatever moment", async () => {
      await killLogging(compiled, path, 3);
    });
  });

  test("several processes change the drives of one owner at once, and no change is lost", async () => {
    const [times, processes] = [30, 3];
    const ids = await countTogether(compiled, path, Array(processes).fill(times));
    await withEngine(path, async (engine) => {
      const snapshot = await engine.owner(ENGINE_OWNER).read("d");
      expect((await snapshot.stat(["count"]))?.size).toBe(times * processes);
      const names = new Set((await snapshot.entries([])).map(({ name }) => name));
      for (const id of ids) for (let at = 0; at < times; at += 1) expect(names).toContain(`own-${id}-${at}`);
      snapshot.release();
    });
  });
});
