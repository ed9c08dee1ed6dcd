import { describe, expect, jest, test } from "@jest/globals";
import fc from "fast-check";
import { assemble, wholeOf } from "../../../../src/drive/cad3/encoding/assemble.js";
import { cellOf, encode, hashOf } from "../../../../src/drive/cad3/encoding/cell.js";
import { toMultiCell } from "../../../../src/drive/cad3/encoding/multi-cell.js";
import { parseCell } from "../../../../src/drive/cad3/encoding/parse-cell.js";
import { DEFAULT_CELL_LIMITS } from "../../../../src/drive/cad3/limits.js";
import { map } from "../../../../src/drive/cad3/maps/hash-map.js";
import { index } from "../../../../src/drive/cad3/maps/index-map.js";
import { hashOfRef, isBranch, refOf, sha3, toHex } from "../../../../src/drive/cad3/ref.js";
import { sign } from "../../../../src/drive/cad3/signed.js";
import type { Value } from "../../../../src/drive/cad3/value.js";
import { checkNode } from "../../../../src/drive/dlfs/check-node.js";
import { merge, mergeSteps } from "../../../../src/drive/dlfs/merge.js";
import { DEFAULT_TREE_LIMITS } from "../../../../src/drive/dlfs/name.js";
import { dir, directoryNode, file, fileNode, type Node, tombstone, viewOf } from "../../../../src/drive/dlfs/node.js";
import { createCellPool, createScope } from "../../../../src/drive/engine/cells.js";
import { checkCells } from "../../../../src/drive/engine/exchange/check-cells.js";
import { checkTree } from "../../../../src/drive/engine/exchange/check-tree.js";
import { createIntake, type Intake } from "../../../../src/drive/engine/exchange/intake.js";
import { createImportCells } from "../../../../src/drive/engine/exchange/stored-cells.js";
import { createOwnerKeys } from "../../../../src/drive/keys/owner-keys.js";
import type { Steps } from "../../../../src/drive/steps.js";
import { textOfHash } from "../../../../src/drive/store/mark.js";
import { createMemoryStore } from "../../../../src/drive/store/memory.js";
import { anyCharacter } from "../../../any-character.js";
import { codeOf } from "../../cad3/code-of.js";
import { FREE, LONG, trees } from "../../dlfs/merging/random-trees.js";
import {
  ALICE,
  BOB,
  clockAt,
  inPieces,
  openEngine,
  rejection,
  type Tap,
  type TestEngine,
  tapped,
  textOf,
  VENUE_KEY,
} from "../engines.js";
import { cellsOf, importCellsOf } from "./import-cells.js";

const tree = (name: string, text: string): Value => dir([[name, file(Buffer.from(text), 5)]], 5);

/** Bytes in pieces, with word of whether somebody has ended the reading. */
function watched(bytes: Uint8Array): { readonly source: AsyncIterable<Uint8Array>; readonly isEnded: () => boolean } {
  let ended = false;
  async function* pieces(): AsyncGenerator<Uint8Array> {
    try {
      yield* inPieces(bytes, 1000);
    } finally {
      ended = true;
    }
  }
  return { source: pieces(), isEnded: () => ended };
}

describe("an import", () => {
  test("takes no cell from the store that has not come with it: that one knows a hash is no right to what has it", async () => {
    const engine = openEngine();
    const secret = new Uint8Array(3000).fill(42);
    await engine.owner(BOB).change("b", (drive) => drive.writeFile(["secret"], secret));
    const bytes = toMultiCell(dir([["mine", file(secret, 5)]], 5));
    const withoutIt = bytes.subarray(0, bytes.length - (2 + 3 + secret.length));
    expect(await rejection(engine.owner(ALICE).importDrive([inPieces(withoutIt, 100)], { drive: "d" }))).toBe(
      "MISSING_CELL",
    );
    expect(await engine.owner(ALICE).list()).toEqual([]);
    await engine.owner(ALICE).importDrive([inPieces(bytes, 100)], { drive: "d" });
    const snapshot = await engine.owner(ALICE).read("d");
    expect((await snapshot.readFile(["mine"], 0, 5000)).bytes.equals(secret)).toBe(true);
  });

  test.each([
    ["the last file is no export", 1, Buffer.alloc(5000, 0xff)],
    ["a file ends too early", 0, Buffer.concat([Buffer.of(0xa0, 0x03), Buffer.alloc(20)])],
    ["a cell is none", 0, Buffer.concat([Buffer.of(0x81, 0x20), Buffer.alloc(5000, 0xff)])],
  ])("tells its sources that no more is read of them: %s", async (_, place, bytes) => {
    const good = toMultiCell(dir([["f", file(new Uint8Array(100_000).fill(3), 5)]], 5));
    const files = [watched(good), watched(good)];
    files[place] = watched(bytes);
    const engine = openEngine();
    const sources = files.map(({ source }) => source);
    expect(await rejection(engine.owner(ALICE).importDrive(sources, { drive: "d" }))).toBe("BAD_FORMAT");
    // Those that were begun by ending them, the others at their first look.
    for (const source of sources) expect(await source[Symbol.asyncIterator]().next()).toMatchObject({ done: true });
    expect(files[1]?.isEnded()).toBe(true);
  });

  test("fails as its source does", async () => {
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield toMultiCell(tree("a", "x".repeat(200))).subarray(0, 10);
      throw new Error("The disk is gone");
    }
    const engine = openEngine();
    await expect(engine.owner(ALICE).importDrive([broken()], { drive: "d" })).rejects.toThrow("The disk is gone");
  });

  test("takes a drive of which more branches are in each other than a value may have", async () => {
    let root: Value = tree("deep", "found");
    const path: string[] = [];
    for (let depth = 0; depth < 60; depth += 1) {
      const names = Array.from({ length: 31 }, (_, place) => "n".repeat(place + 1));
      const entries = names.map((name): [string, Value] => [name, file(Buffer.alloc(100, depth), 5)]);
      root = dir([...entries.slice(0, -1), ["n".repeat(31), root]], 5);
      path.push("n".repeat(31));
    }
    const engine = openEngine();
    await engine.owner(ALICE).importDrive([inPieces(toMultiCell(root), 5000)], { drive: "d" });
    expect(await textOf(engine, ALICE, "d", [...path, "deep"])).toBe("found");
  });

  test("merges drives of one name that two keys of the owner have signed", async () => {
    const engine = openEngine();
    const keys = createOwnerKeys({ records: engine.store.keys, venueKey: VENUE_KEY, clock: engine.clock });
    const seeds = [1, 2].map((byte) => new Uint8Array(32).fill(byte));
    const owners: [Value, Value][] = [];
    for (const [place, seed] of seeds.entries()) {
      await keys.import(ALICE, seed);
      const signed = sign(map([["d", tree(`f${place}`, `text ${place}`)]]), seed);
      owners.push([signed.publicKey, signed]);
    }
    const report = await engine.owner(ALICE).importDrive([inPieces(toMultiCell(map(owners)), 100)]);
    expect(report.drives).toEqual(["d"]);
    for (const place of [0, 1]) expect(await textOf(engine, ALICE, "d", [`f${place}`])).toBe(`text ${place}`);
  });

  test("counts what comes against the quota, also where nothing has to be read again", async () => {
    const engine = openEngine({ limits: { maxDriveBytes: 5000 } });
    const bytes = (size: number, name: string) =>
      inPieces(toMultiCell(dir([[name, file(new Uint8Array(size).fill(size), 5)]], 5)), 5000);
    const alice = engine.owner(ALICE);
    await alice.importDrive([bytes(3000, "a")], { drive: "one" });
    expect(await rejection(alice.importDrive([bytes(2500, "b")], { drive: "two" }))).toBe("QUOTA_EXCEEDED");
    await alice.importDrive([bytes(1900, "b")], { drive: "two" });
    expect(await rejection(alice.change("one", (drive) => drive.writeFile(["c"], Buffer.alloc(101))))).toBe(
      "QUOTA_EXCEEDED",
    );
    await alice.change("one", (drive) => drive.writeFile(["c"], Buffer.alloc(100)));
  });
});

describe("checks of an import", () => {
  const text = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 40 }),
    fc.integer({ min: 130, max: 500 }).map((length) => "é".repeat(length)),
  );
  const blob = fc.integer({ min: 0, max: 9000 }).map((length) => new Uint8Array(length).fill(length));
  const name = fc.string({ unit: fc.constantFrom("a", "b", "é", "0123456789abcdef"), maxLength: 5 });
  const { value } = fc.letrec<{ value: Value }>((tie) => {
    const part = tie("value");
    return {
      value: fc.oneof(
        { maxDepth: 4, withCrossShrink: true },
        fc.oneof(fc.constantFrom(null, true, 5n), blob, text),
        fc.array(part, { maxLength: 20 }),
        fc.array(fc.tuple(part, part), { maxLength: 20 }).map(map),
        fc.array(fc.tuple(name, part), { maxLength: 20 }).map(index),
      ),
    };
  });

  /** Trees of several cells: of an index, a map, a vector, a blob. */
  const large = fc.oneof(
    fc.array(fc.tuple(name, text), { minLength: 10, maxLength: 60 }).map(index),
    fc.array(fc.tuple(name, text), { minLength: 16, maxLength: 60 }).map(map),
    fc.integer({ min: 40, max: 600 }).map((length) => Array.from({ length }, (_, place) => BigInt(place) ** 4n)),
    fc.integer({ min: 70_000, max: 90_000 }).map((length) => new Uint8Array(length).fill(length)),
  );

  const NONE = new Uint8Array();
  const MAX_CELLS = DEFAULT_CELL_LIMITS.maxImportCells;
  const HEAD_BYTES = 5;
  const isContent = (bytes: Uint8Array): boolean => [0x30, 0x31].includes(bytes[0] ?? 0) && bytes.length > 700;

  describe("the check of cells that come", () => {
    test("takes what reading the whole value takes, and refuses what that refuses, whatever is changed in the cells", async () => {
      const changes = fc.array(fc.tuple(fc.nat(), fc.nat(), fc.integer({ min: 1, max: 255 })), { maxLength: 1 });
      let refused = 0;
      await fc.assert(
        fc.asyncProperty(fc.oneof(value, large), changes, async (some, changed) => {
          const cells = cellsOf([some, "so long that all is below one cell".repeat(5)]);
          const top = [...cells.values()].at(-1) ?? NONE;
          // Of trees, not content: heads are changed, or one stands for another.
          const hashes = [...cells].flatMap(([hash, bytes]) => (bytes === top || isContent(bytes) ? [] : [hash]));
          const hashAt = (place: number): string => hashes[place % hashes.length] ?? "";
          for (const [which, at, bits] of hashes.length === 0 ? [] : changed) {
            const bytes = cells.get(hashAt(which)) ?? NONE;
            const place = at % HEAD_BYTES;
            const other = cells.get(hashAt(at)) ?? NONE;
            cells.set(hashAt(which), bits < 40 ? other : bytes.with(place, (bytes[place] ?? 0) ^ bits));
          }
          // Each cell is read when it comes.
          if ([...cells.values()].some((bytes) => codeOf(() => parseCell(bytes)) !== undefined)) return;
          const load = (hash: string): Uint8Array | undefined => cells.get(`20${hash}`);
          const source = { load, limits: DEFAULT_CELL_LIMITS };
          const expected = codeOf(() => wholeOf(assemble(parseCell(top), refOf(top), source)));
          const found = await rejection(checkCells(top, importCellsOf(cells), DEFAULT_CELL_LIMITS));
          expect(found === undefined).toBe(expected === undefined);
          if (expected === "BAD_FORMAT") refused += 1;
        }),
        { numRuns: 200, seed: 7 },
      );
      expect(refused).toBeGreaterThan(1);
    });

    test("counts what is shared every time, and looks at it once", async () => {
      let shared: Value = index([["f", "x".repeat(200)]]);
      for (let level = 0; level < 60; level += 1) shared = [shared, shared, "so that it is a branch ".repeat(7)];
      const top = cellOf(shared).bytes;
      expect(await rejection(checkCells(top, importCellsOf(cellsOf(shared)), DEFAULT_CELL_LIMITS))).toBe("LIMIT");
    });

    test("refuses a long text that is none, wherever a character is cut", async () => {
      const long = (bytes: Uint8Array): Value => ["é".repeat(3000), bytes];
      const good = cellsOf(long(new Uint8Array(300)));
      const top = cellOf(long(new Uint8Array(300))).bytes;
      expect(await rejection(checkCells(top, importCellsOf(good), DEFAULT_CELL_LIMITS))).toBeUndefined();
      const chunk = [...good].find(([, bytes]) => bytes.length > 4000);
      good.set(chunk?.[0] ?? "", chunk?.[1].with(4000, 0xff) ?? new Uint8Array());
      expect(await rejection(checkCells(top, importCellsOf(good), DEFAULT_CELL_LIMITS))).toBe("BAD_FORMAT");
    });
  });

  test("the cells of an import are those that have come, whatever the store has", async () => {
    const store = createMemoryStore();
    const cells = cellsOf(["x".repeat(200), "y".repeat(200)]);
    const arrived = new Map<string, number>();
    const refs: Uint8Array[] = [];
    for (const [ref, bytes] of cells) {
      const hash = Buffer.from(ref, "hex").subarray(1);
      refs.push(Buffer.from(ref, "hex"));
      await store.batch().put(hash, bytes);
      if (refs.length > 1) arrived.set(textOfHash(hash), 0);
    }
    const [foreign = NONE, ...own] = refs;
    const { read, lengthOf } = createImportCells(store, arrived);
    expect(own.length).toBeGreaterThan(0);
    for (const ref of own) expect(Buffer.from(await read(ref)).equals(cells.get(toHex(ref)) ?? NONE)).toBe(true);
    expect(await rejection(read(foreign))).toBe("MISSING_CELL");
    expect(codeOf(() => lengthOf(foreign))).toBe("MISSING_CELL");
  });

  /** As {@link checkTree} drops it. */
  function withoutMetadata(node: Value): Value {
    const view = viewOf(node);
    if (view.kind === "tombstone") return tombstone(view.utime);
    if (view.kind === "file") return fileNode(view.data, view.utime);
    const entries = index(Array.from(view.entries, ([key, below]) => [key, withoutMetadata(below)] as const));
    return directoryNode(entries, view.utime);
  }

  test("the check of a tree that comes takes the same trees as checkNode, with the same codes, and drops metadata", async () => {
    const limits = fc.record({
      maxPathDepth: fc.constantFrom(1, 2, 64),
      maxFileBytes: fc.constantFrom(100, 1000),
      maxEntries: fc.constantFrom(3, 1000),
      maxImportEntries: fc.constantFrom(6, 1000),
      maxImportLogicalBytes: fc.constantFrom(300, 100_000),
      latestUtime: fc.constantFrom(3, 4),
      futureSkewMs: fc.constantFrom(1, 2),
    });
    const kinds = [{ ...FREE, metadata: true }, LONG, { any: ["a", "..", "x".repeat(300), "\0drive-deleted"] }];
    const root = fc.oneof(...kinds.map((kind) => trees(kind)), fc.constant<Value>([1, 2]), fc.constant<Value>(null));
    const codes = new Set<unknown>();
    await fc.assert(
      fc.asyncProperty(root, limits, async (tree, some) => {
        const all = { ...DEFAULT_TREE_LIMITS, ...some };
        const cells = cellsOf(tree);
        const put = (hash: Uint8Array, bytes: Uint8Array): void => {
          cells.set(`20${toHex(hash)}`, bytes);
        };
        const expected = codeOf(() => checkNode(tree, all));
        codes.add(expected);
        const checking = checkTree(cellOf(tree).ref, { cells: importCellsOf(cells), put, limits: all, format: 2 });
        const code = await rejection(checking);
        // Where several things are wrong, any of them may be named.
        expect(code === undefined).toBe(expected === undefined);
        if (code !== undefined) return;
        const { ref, extent } = await checking;
        const plain = withoutMetadata(tree);
        expect(toHex(hashOfRef(ref))).toBe(hashOf(plain));
        for (const hash of cellsOf(plain).keys()) expect(cells.has(hash)).toBe(true);
        expect(extent.bytes).toBe(bytesIn(tree));
      }),
      { numRuns: 400, seed: 5 },
    );
    expect([...codes].map(String).sort()).toEqual(
      ["BAD_FORMAT", "FUTURE_TIME", "INVALID_PATH", "LIMIT", "TOO_LARGE", "undefined"].sort(),
    );
  });

  function bytesIn(node: Value): number {
    const view = viewOf(node);
    if (view.kind === "file") return view.data instanceof Uint8Array ? view.data.length : 0;
    return view.kind === "tombstone" ? 0 : [...view.entries].reduce((sum, [, below]) => sum + bytesIn(below), 0);
  }

  describe("the intake of cells", () => {
    const root: Value = Array.from({ length: 12 }, (_, place) => new Uint8Array(70_000).fill(place + 1));
    const cells = [...cellsOf(root).values()];
    const top = cellOf(root).bytes;
    const foreign = [...cellsOf([new Uint8Array(50_000).fill(99), "x".repeat(200)]).values()];

    test.each([
      ["in their order", 1e9, false],
      ["when too many wait", 20_000, true],
    ])("puts each that belongs to the value once: %s", async (_, maxWaitingBytes, takesOthers) => {
      for (const order of [cells, cells.toReversed(), [...foreign, ...cells], [...cells, ...foreign, ...cells]]) {
        const put: string[] = [];
        const intake = createIntake(
          (hash, bytes) => {
            expect(toHex(sha3(bytes))).toBe(toHex(hash));
            put.push(toHex(hash));
          },
          MAX_CELLS,
          maxWaitingBytes,
        );
        await intake.begin(top);
        const buffer = new Uint8Array(16_384);
        for (const cell of order) {
          // It may use its buffer again.
          buffer.set(cell);
          await intake.add(buffer.subarray(0, cell.length));
        }
        expect(new Set(put).size).toBe(put.length);
        const wanted = [...cellsOf(root).keys()].map((ref) => ref.slice(2));
        for (const hash of wanted) expect(put).toContain(hash);
        if (!takesOthers) expect(put).toHaveLength(wanted.length);
      }
    });

    test("refuses a value that asks for more cells than may arrive", async () => {
      const intake = createIntake(() => undefined, cells.length - 2);
      expect(await rejection(intake.begin(top).then(() => addAll(intake)))).toBe("LIMIT");
      const enough = createIntake(() => undefined, cells.length);
      expect(await rejection(enough.begin(top).then(() => addAll(enough)))).toBeUndefined();
      expect(enough.arrived.size).toBe(cells.length);
    });

    test("does not look at all that was stored before for each cell that is stored unasked", async () => {
      const intake = createIntake(() => undefined, 2000, 0);
      const keys = jest.spyOn(Map.prototype, "keys");
      for (let at = 0; at < 1000; at++) await intake.add(cellOf(new Uint8Array(200).fill(at).fill(at >> 8, 100)).bytes);
      const looks = keys.mock.calls.length;
      keys.mockRestore();
      expect(intake.arrived.size).toBe(1000);
      expect(looks).toBeLessThan(50);
    });

    async function addAll(intake: Intake): Promise<void> {
      for (const cell of cells) await intake.add(cell);
    }

    test("has cells that are all branches", () => {
      expect(cells.every((bytes) => isBranch(refOf(bytes)))).toBe(true);
    });
  });
});

test("an import that has all its bytes at hand lets others run while it takes in cells", async () => {
  const bytes = toMultiCell(flat("file", 5000));
  let turns = 0;
  let turnsAtEnd: number | undefined;
  const turn = (): void => {
    turns++;
    if (turnsAtEnd === undefined) setImmediate(turn);
  };
  async function* whole(): AsyncGenerator<Uint8Array> {
    yield bytes;
    // Asked for more: all cells have been taken in.
    turnsAtEnd = turns;
  }
  setImmediate(turn);
  const { cells } = await openEngine().owner(ALICE).importDrive([whole()], { drive: "d" });
  expect(cells).toBeGreaterThan(5000);
  expect(turnsAtEnd).toBeGreaterThanOrEqual(Math.floor(cells / 64) - 1);
});

/** @param side ends the names, so that two trees have no entry in common, and their entries lie between each other */
function flat(side: string, entries: number): Node {
  const names = Array.from({ length: entries }, (_, place) => `${place}-${side}`);
  return dir(
    names.map((name) => [name, file(Buffer.from(name.repeat(20)), 5)]),
    5,
  );
}

/** Directories that are in both trees, with other entries in each. */
const nested = (side: string, entries: number): Node =>
  dir(
    Array.from({ length: 20 }, (_, place) => [`d-${place}`, flat(`${side}${place}`, entries / 20)]),
    5,
  );

/** Names that share 32 bytes and more, and a root that is a cell of its own. */
const alike = (side: string, entries: number): Node =>
  dir(
    Array.from({ length: entries }, (_, place) => [
      `${String(place).padStart(32, "0")}-${side}`,
      file(Buffer.from(`${side}-${place}`.repeat(20)), 5),
    ]),
    5,
  );

/** In a turn 16 steps are done, of which each may ask for the children of two nodes. */
const MAX_CELLS_PER_TURN = 16 * 33;

/** Counts the cells that are read and put between two turns. */
function watchTurns(tap: Tap): { most: number; stop(): void } {
  const watch = { most: 0, isOn: true, stop: (): boolean => (watch.isOn = false) };
  const count = (): number => tap.gets.length + tap.puts.length;
  let before = count();
  const turn = (): void => {
    const cells = count();
    watch.most = Math.max(watch.most, cells - before);
    before = cells;
    if (watch.isOn) setImmediate(turn);
  };
  setImmediate(turn);
  return watch;
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

async function topOf(engine: TestEngine): Promise<Uint8Array> {
  for await (const { bytes } of engine.owner(ALICE).exportDrive({ top: "drive", drive: "d" })) return bytes;
  throw new Error("nothing was exported");
}

test.each([
  { what: "one directory", tree: flat },
  { what: "directories that both have", tree: nested },
  { what: "names that begin alike", tree: alike },
])("an import into a drive that exists works on few cells before others run: $what", async ({ tree }) => {
  const { store, tap } = tapped(createMemoryStore());
  // Cells that the engine keeps are not seen by the store.
  const engine = openEngine({ store, cacheBytes: 0 });
  const [own, other] = [tree("a", 2000), tree("b", 2000)];
  await engine.owner(ALICE).importDrive([once(toMultiCell(own))], { drive: "d" });
  const [getsBefore, watch] = [tap.gets.length, watchTurns(tap)];
  await engine.owner(ALICE).importDrive([once(toMultiCell(other))], { drive: "d" });
  watch.stop();
  expect(tap.gets.length - getsBefore).toBeGreaterThan(500);
  expect(watch.most).toBeLessThanOrEqual(MAX_CELLS_PER_TURN);
  expect(await topOf(engine)).toEqual(encode(merge(own, other)));
});

test("a merge that finds cells missing takes as many steps as one that has them all", async () => {
  const [own, other] = [nested("a", 2000), nested("b", 2000)];
  const store = createMemoryStore();
  const batch = store.batch();
  for (const tree of [own, other]) {
    for (const bytes of cellsOf(tree).values()) await batch.put(sha3(bytes), bytes);
  }
  await batch.flush();
  const scope = createScope(createCellPool({ store, verifyReads: false, cacheBytes: 0 }));
  const [mine, theirs] = [await scope.open(refOf(encode(own))), await scope.open(refOf(encode(other)))];
  const counted = { missing: 0, steps: 0 };
  const merged = await scope.runSteps(counting(mergeSteps(mine, theirs), counted));
  const atOnce = { missing: 0, steps: 0 };
  const steps = counting(mergeSteps(own, other), atOnce);
  while (steps.next().done !== true);
  expect(encode(merged)).toEqual(encode(merge(own, other)));
  expect(counted.missing).toBeGreaterThan(0);
  expect(counted.steps).toBe(atOnce.steps);
});

function* counting(steps: Steps<Value>, counted: { missing: number; steps: number }): Steps<Value> {
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done === true) return step.value;
    if (step.value.missing === undefined) counted.steps += 1;
    else counted.missing += 1;
    yield step.value;
  }
}

describe("times of an import", () => {
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
    const imported = await there
      .owner("did:key:z6MkElsewhere")
      .importDrive([source()], { drive: "copy", from: "notes" });
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
});

/** A fork at each digit of a name of 255 bytes, so that the index nests as deep as it can; at its end another tree. */
function comb(end: Value, text: string): Node {
  const forks = Array.from({ length: 254 }, (_, place) => "p".repeat(place)).flatMap((start) => [
    `${start}p`,
    `${start}q`,
    `${start}@`,
  ]);
  return dir([...forks.map((name): [string, Value] => [name, file(Buffer.from(text), 5)]), ["p".repeat(255), end]], 5);
}

async function rootIn(engine: TestEngine): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const { bytes } of engine.owner(ALICE).exportDrive({ top: "drive", drive: "d" })) pieces.push(bytes);
  return Buffer.concat(pieces);
}

test("an index that nests as deep as it can is imported, merged, changed and read", async () => {
  const [own, other] = ["a", "b"].map((text) => comb(file(Buffer.from(text), 5), text));
  const engine = openEngine();
  const alice = engine.owner(ALICE);
  for (const tree of [own, other]) {
    await alice.importDrive([inPieces(toMultiCell(tree ?? null), 50_000)], { drive: "d" });
  }
  const both = toMultiCell(merge(own ?? null, other ?? null));
  expect((await rootIn(engine)).length).toBe(both.length);
  const path = ["p".repeat(255)];
  await alice.change("d", (drive) => drive.writeFile(path, Buffer.from("deep")));
  const reader = await alice.read("d");
  expect((await reader.readFile(path, 0, 10)).bytes.toString()).toBe("deep");
  expect(await reader.entries([])).toHaveLength(3 * 254 + 1);
  reader.release();
});
