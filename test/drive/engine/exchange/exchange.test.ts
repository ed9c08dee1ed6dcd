import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { hashOf } from "../../../../src/drive/cad3/encoding/cell.js";
import { toMultiCell } from "../../../../src/drive/cad3/encoding/multi-cell.js";
import { takeCell } from "../../../../src/drive/cad3/encoding/parse-cell.js";
import { readerOf } from "../../../../src/drive/cad3/encoding/reader.js";
import { map } from "../../../../src/drive/cad3/maps/hash-map.js";
import { sign } from "../../../../src/drive/cad3/signed.js";
import type { Value } from "../../../../src/drive/cad3/value.js";
import { dir, file, tombstone } from "../../../../src/drive/dlfs/node.js";
import type { DriveEngine, ExportOptions, ImportOptions } from "../../../../src/drive/engine/engine.js";
import { fromMultiCell } from "../../../../src/drive/index.js";
import { createOwnerKeys } from "../../../../src/drive/keys/owner-keys.js";
import { createMemoryStore } from "../../../../src/drive/store/memory.js";
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
} from "../engines.js";

const SEED = new Uint8Array(32).fill(7);
const PLACES = [0, 1];

interface Letter {
  readonly to: number;
  readonly bytes: Uint8Array;
  /** Absent: all drives, signed. */
  readonly drive: string | undefined;
}

const change = fc.record({
  kind: fc.constant("change" as const),
  place: fc.constantFrom(...PLACES),
  op: fc.constantFrom("write", "write", "append", "mkdir", "remove", "delete drive"),
  drive: fc.constantFrom("d", "e"),
  path: fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 3 }),
  /** How far the clock of that venue goes on, or back. */
  step: fc.integer({ min: -500, max: 500 }),
});
const sending = fc.record({
  kind: fc.constant("send" as const),
  place: fc.constantFrom(...PLACES),
  /** Absent: all drives, signed. */
  drive: fc.option(fc.constantFrom("d", "e"), { nil: undefined }),
});
/** One of the letters on their way, old or new, which stays there: it may come again. */
const delivery = fc.record({ kind: fc.constant("deliver" as const), which: fc.nat(20) });
const schedules = fc.array(fc.oneof({ weight: 3, arbitrary: change }, sending, delivery), { maxLength: 24 });

type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

/** Two venues that share nothing but the user, who has taken the key along. */
async function openVenue(): Promise<TestEngine> {
  const store = createMemoryStore();
  const clock = clockAt(10_000);
  const keys = createOwnerKeys({ records: store.keys, venueKey: new Uint8Array(32).fill(3), clock });
  await keys.import(ALICE, SEED);
  return openEngine({ store, clock, keys });
}

/** The bytes, or nothing where there is nothing to export. */
async function exported(engine: TestEngine, options: ExportOptions = {}): Promise<Uint8Array | undefined> {
  const pieces: Uint8Array[] = [];
  const read = async (): Promise<void> => {
    for await (const { bytes } of engine.owner(ALICE).exportDrive(options)) pieces.push(bytes);
  };
  const code = await rejection(read());
  if (code !== undefined) expect(code).toBe("NOT_FOUND");
  return code === undefined ? Buffer.concat(pieces) : undefined;
}

async function make(engine: TestEngine, { op, drive, path, step }: Change, content: string): Promise<void> {
  engine.clock.now = Math.max(1, engine.clock.now + step);
  const owner = engine.owner(ALICE);
  const done =
    op === "delete drive"
      ? owner.delete(drive)
      : owner.change(drive, async (edit) => {
          if (op === "write") await edit.writeFile(path, Buffer.from(content));
          if (op === "append") await edit.appendFile(path, Buffer.from(content));
          if (op === "mkdir") await edit.makeDirectory(path);
          if (op === "remove") await edit.remove(path, { recursive: true });
        });
  expect([undefined, "NOT_FOUND", "NOT_A_DIRECTORY", "IS_A_DIRECTORY", "EXISTS"]).toContain(await rejection(done));
}

test("venues that exchange exports, early, late, twice or never, come to the same bytes, and old ones change nothing", async () => {
  await fc.assert(
    fc.asyncProperty(schedules, async (schedule) => {
      const venues = [await openVenue(), await openVenue()] as const;
      const at = (place: number): TestEngine => venues[place === 0 ? 0 : 1];
      const letters: Letter[] = [];
      const deliver = async (letter: Letter): Promise<void> => {
        const options = letter.drive === undefined ? {} : { drive: letter.drive };
        await at(letter.to)
          .owner(ALICE)
          .importDrive([inPieces(letter.bytes, 100)], options);
      };
      const send = async (from: number, drive?: string): Promise<void> => {
        const bytes = await exported(at(from), drive === undefined ? {} : { top: "drive", drive });
        if (bytes !== undefined) letters.push({ to: 1 - from, bytes, drive });
      };
      for (const [count, step] of schedule.entries()) {
        if (step.kind === "change") await make(at(step.place), step, `${step.place}-${count}`);
        if (step.kind === "send") await send(step.place, step.drive);
        const letter = step.kind === "deliver" ? letters[step.which % Math.max(1, letters.length)] : undefined;
        if (letter !== undefined) await deliver(letter);
      }
      for (const from of PLACES) {
        await send(from);
        const last = letters.at(-1);
        if (last !== undefined && last.to !== from) await deliver(last);
      }
      const [one, other] = [await exported(venues[0]), await exported(venues[1])];
      expect(other).toEqual(one);
      for (const letter of letters.filter(({ drive }) => drive === undefined).reverse()) await deliver(letter);
      expect(await exported(venues[0])).toEqual(one);
      expect(await exported(venues[1])).toEqual(one);
    }),
    { numRuns: 80 },
  );
});

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

describe("transfers", () => {
  const SEED = new Uint8Array(32).fill(7);
  const big = Buffer.alloc(3_000_000);
  for (let at = 0; at < big.length; at += 1000) big.writeUInt32LE(at + 1, at);

  async function filled(engine: TestEngine = openEngine(), did = ALICE): Promise<TestEngine> {
    await engine.owner(did).change("d", async (drive) => {
      await drive.makeDirectory(["dir"]);
      for (let place = 0; place < 50; place += 1)
        await drive.writeFile(["dir", `f${place}`], Buffer.from("x".repeat(place * 20)));
      await drive.writeFile(["big"], big);
      await drive.writeFile(["chunk"], big.subarray(0, 4096));
      await drive.writeFile(["part"], big.subarray(0, 65_536));
      await drive.writeFile(["gone"], Buffer.from("x"));
      await drive.remove(["gone"], { recursive: false });
    });
    await engine.owner(did).create("empty");
    return engine;
  }

  async function exported(engine: DriveEngine, options?: ExportOptions, did = ALICE): Promise<Buffer[]> {
    const files: Buffer[][] = [];
    for await (const { part, bytes } of engine.owner(did).exportDrive(options)) {
      files[part] ??= [];
      files[part].push(Buffer.from(bytes));
    }
    return files.map((pieces) => Buffer.concat(pieces));
  }

  const imported = (engine: DriveEngine, files: readonly Uint8Array[], options?: ImportOptions, did = ALICE) =>
    engine.owner(did).importDrive(
      files.map((bytes) => inPieces(bytes, 50_000)),
      options,
    );

  async function contents(engine: DriveEngine, drive: string, did = ALICE): Promise<unknown> {
    const snapshot = await engine.owner(did).read(drive);
    const listed = [];
    for (const path of [[], ["dir"]]) {
      for (const { name, ...stat } of await snapshot.entries(path)) {
        const bytes = stat.type === "file" ? (await snapshot.readFile([...path, name], 0, 5_000_000)).bytes : undefined;
        listed.push([[...path, name].join("/"), stat, bytes === undefined ? "" : hashOf(new Uint8Array(bytes))]);
      }
    }
    return listed;
  }

  describe("an export", () => {
    test.each<[string, ExportOptions]>([
      ["all drives, signed", {}],
      ["one drive", { top: "drive", drive: "d" }],
      ["owners", { top: "owners" }],
      ["a region", { top: "region" }],
      ["the region of the reference", { top: "region", region: "fs" }],
      ["parts", { partBytes: 2 ** 20 }],
    ])("holds everything and is imported elsewhere: %s", async (_, options) => {
      const engine = await filled();
      const files = await exported(engine, options);
      expect(files.length > 1).toBe(options.partBytes !== undefined);
      for (const bytes of files) expect(bytes.length).toBeLessThanOrEqual(options.partBytes ?? 5_000_000);
      const other = openEngine();
      const report = await imported(
        other,
        files,
        options.top === "drive" ? { drive: "copy" } : { drive: "copy", from: "d" },
      );
      expect(report).toMatchObject({
        drives: ["copy"],
        bytes: files.reduce((sum, { length }) => sum + length, 0),
        refused: 0,
      });
      expect(await contents(other, "copy")).toEqual(await contents(engine, "d"));
      if (files.length > 1) return;
      // The very bytes that the module for values writes.
      const [bytes = Buffer.alloc(0)] = files;
      expect(Buffer.compare(toMultiCell(fromMultiCell(bytes)), bytes)).toBe(0);
    });

    test("comes back to its owner under the names it had, with the key taken along", async () => {
      const [here, there] = [await filled(), openEngine()];
      const keysOf = ({ store, clock }: TestEngine) =>
        createOwnerKeys({ records: store.keys, venueKey: VENUE_KEY, clock });
      await keysOf(there).import(ALICE, await keysOf(here).export(ALICE));
      expect((await imported(there, await exported(here))).drives.toSorted()).toEqual(["d", "empty"]);
      expect(await there.owner(ALICE).list()).toEqual(["d", "empty"]);
      expect(await contents(there, "d")).toEqual(await contents(here, "d"));
      expect(Buffer.compare((await exported(there))[0] ?? big, (await exported(here))[0] ?? big)).toBe(0);
    });

    test("is what the drives were when it began", async () => {
      const engine = await filled();
      const expected = await exported(engine);
      const pieces = engine.owner(ALICE).exportDrive()[Symbol.asyncIterator]();
      const first = await pieces.next();
      await engine.owner(ALICE).change("d", (drive) => drive.remove(["big"], { recursive: false }));
      const rest: Uint8Array[] = [];
      for (let next = first; next.done !== true; next = await pieces.next()) rest.push(next.value.bytes);
      expect(Buffer.concat(rest).equals(expected[0] ?? big)).toBe(true);
    });

    test("of nothing is refused", async () => {
      const engine = openEngine();
      expect(await rejection(exported(engine))).toBe("NOT_FOUND");
      await engine.owner(ALICE).create("d");
      expect(await rejection(exported(engine, { top: "drive", drive: "no" }))).toBe("NOT_FOUND");
      expect(await rejection(exported(engine, { partBytes: 1000 }))).toBeInstanceOf(RangeError);
    });
  });

  describe("an import", () => {
    const tree = (name: string, text: string, utime = 500): Value =>
      dir([[name, file(Buffer.from(text), utime)]], utime);
    const signed = (drives: Value) => toMultiCell(sign(drives, SEED));

    test("merges with what is there, later files winning", async () => {
      const engine = openEngine();
      const alice = engine.owner(ALICE);
      await alice.change("d", async (drive) => {
        await drive.writeFile(["a"], Buffer.from("mine"));
        await drive.writeFile(["b"], Buffer.from("mine"));
      });
      const theirs = dir(
        [
          ["a", file(Buffer.from("old"), 1)],
          ["b", file(Buffer.from("new"), 2000)],
          ["c", file(Buffer.from("c"), 1)],
        ],
        2000,
      );
      await imported(engine, [toMultiCell(theirs)], { drive: "d" });
      const texts = await Promise.all(["a", "b", "c"].map((name) => textOf(engine, ALICE, "d", [name])));
      expect(texts).toEqual(["mine", "new", "c"]);
      // Once more it changes nothing.
      const before = await exported(engine);
      await imported(engine, [toMultiCell(theirs)], { drive: "d" });
      expect((await exported(engine))[0]?.equals(before[0] ?? big)).toBe(true);
    });

    test("drops metadata, and keeps everything else as it is", async () => {
      const engine = openEngine();
      const long = file(new Uint8Array(70_000), 3, "meta");
      const theirs = dir(
        [
          ["x", dir([["long", long]], 5, "m".repeat(300))],
          ["y", file(Buffer.from("y"), 4)],
        ],
        6,
        "meta",
      );
      const plain = dir(
        [
          ["x", dir([["long", file(new Uint8Array(70_000), 3)]], 5)],
          ["y", file(Buffer.from("y"), 4)],
        ],
        6,
      );
      await imported(engine, [toMultiCell(theirs)], { drive: "d" });
      const [bytes = big] = await exported(engine, { top: "drive", drive: "d" });
      expect(hashOf(fromMultiCell(bytes))).toBe(hashOf(plain));
    });

    test("takes drives of another owner one by one, into a named drive", async () => {
      const engine = openEngine();
      const bytes = signed(
        map([
          ["one", tree("1", "one")],
          ["two", tree("2", "two")],
        ]),
      );
      expect(await rejection(imported(engine, [bytes]))).not.toBeUndefined();
      expect(await rejection(imported(engine, [bytes], { from: "one" }))).toBe("KEY_REQUIRED");
      expect(await rejection(imported(engine, [bytes], { drive: "mine", from: "no" }))).toBe("NOT_FOUND");
      await imported(engine, [bytes], { drive: "mine", from: "two" });
      expect(await engine.owner(ALICE).list()).toEqual(["mine"]);
      expect(await textOf(engine, ALICE, "mine", ["2"])).toBe("two");
      expect(await engine.owner(BOB).list()).toEqual([]);
    });

    const flipped = (bytes: Uint8Array, at: number) => bytes.with(at, (bytes[at] ?? 0) ^ 1);
    const good = toMultiCell(dir([["long", file(big.subarray(0, 100_000), 5)]], 5));
    const hostile: readonly [string, Uint8Array, string][] = [
      ["nothing", new Uint8Array(), "BAD_FORMAT"],
      ["text", Buffer.from("not a drive"), "BAD_FORMAT"],
      ["some other value", toMultiCell(["x"]), "BAD_FORMAT"],
      ["a file without a directory", toMultiCell(file(new Uint8Array(5), 5)), "BAD_FORMAT"],
      ["one that ends too early", good.subarray(0, -1), "BAD_FORMAT"],
      ["one that ends between cells", good.subarray(0, -1701), "MISSING_CELL"],
      ["one with a changed chunk", flipped(good, good.length - 100), "MISSING_CELL"],
      ["entries and data", toMultiCell([dir([], 1), new Uint8Array(), null, 5]), "BAD_FORMAT"],
      ["a bad name", toMultiCell(dir([["..", file(new Uint8Array(), 5)]], 5)), "INVALID_PATH"],
      ["a stamp from the future", toMultiCell(dir([["a", file(new Uint8Array(), 31_001)]], 31_001)), "FUTURE_TIME"],
      ["a changed signature", flipped(signed(map([["d", tree("a", "x")]])), 60), "BAD_FORMAT"],
      ["a wrong part of a blob", wrongPart(), "BAD_FORMAT"],
      ["a file over the limit", toMultiCell(dir([["a", file(new Uint8Array(200_001), 5)]], 5)), "TOO_LARGE"],
      [
        "files over the limit",
        toMultiCell(
          dir(
            [..."abcdef"].map((name) => [name, file(new Uint8Array(150_000), 5)]),
            5,
          ),
        ),
        "LIMIT",
      ],
      [
        "too many bytes",
        toMultiCell(
          dir(
            [
              ["a", file(big.subarray(0, 190_000), 5)],
              ["b", file(big.subarray(1, 190_000), 5)],
              ["c", file(big.subarray(2, 190_000), 5)],
            ],
            5,
          ),
        ),
        "LIMIT",
      ],
    ];

    test.each(hostile)("of %s is refused, and nothing is kept", async (_, bytes, code) => {
      const limits = { maxFileBytes: 200_000, maxImportLogicalBytes: 600_000, maxImportBytes: 500_000 };
      const engine = openEngine({ limits });
      expect(await rejection(imported(engine, [bytes], { drive: "d" }))).toBe(code);
      expect(await engine.owner(ALICE).list()).toEqual([]);
    });

    test("leaves out owners whose signature is not good, and says so", async () => {
      const [one, two] = [
        sign(map([["d", tree("a", "one")]]), SEED),
        sign(
          map([["e", tree("a", "two")]]),
          SEED.map((b) => b + 1),
        ),
      ];
      const owners = map([
        [one.publicKey, one],
        [two.publicKey, one],
      ]);
      const engine = openEngine();
      expect(await imported(engine, [toMultiCell(owners)], { drive: "d" })).toMatchObject({
        refused: 1,
        drives: ["d"],
      });
      expect(await textOf(engine, ALICE, "d", ["a"])).toBe("one");
    });

    test("stores no cells that do not belong to it, in whatever order they come", async () => {
      const { store, tap } = tapped(createMemoryStore());
      const engine = openEngine({ store });
      const root = dir([["long", file(big.subarray(0, 300_000), 5)]], 5);
      const other = dir([["other", file(big.subarray(500_000, 600_000), 5)]], 5);
      const [top, ...cells] = framesOf(toMultiCell(root));
      const foreign = framesOf(toMultiCell(other)).slice(1);
      for (const order of [
        [...foreign, ...cells],
        [...cells.toReversed(), ...foreign],
        [...cells, ...cells],
      ]) {
        await imported(engine, [Buffer.concat([top ?? big, ...order])], { drive: "d" });
      }
      expect((await exported(engine, { top: "drive", drive: "d" }))[0]?.equals(toMultiCell(root))).toBe(true);
      // Beside them the root of the drives.
      expect(new Set(tap.puts.map(({ hash }) => hash)).size).toBeLessThanOrEqual(cells.length + 2);
    });

    function wrongPart(): Uint8Array {
      // A blob of 8192 bytes whose second part is shorter than it says.
      const [short] = framesOf(toMultiCell(["x", big.subarray(0, 4095)])).slice(1);
      const hash = Buffer.from(hashOf(new Uint8Array(big.subarray(0, 4095))), "hex");
      const ref = Buffer.concat([Buffer.of(0x20), hash]);
      const blob = Buffer.concat([Buffer.of(0x31, 0xc0, 0x00), ref, ref]);
      const node = Buffer.concat([Buffer.of(0x80, 4, 0), blob, Buffer.of(0, 0x11, 5)]);
      const entries = Buffer.concat([Buffer.of(0x84, 1, 0x30, 1, 0x61), node]);
      const root = Buffer.concat([Buffer.of(0x80, 4), entries, Buffer.of(0, 0, 0x11, 5)]);
      return Buffer.concat([root, short ?? big]);
    }
  });

  /** The top of a multi-cell, and its cells with their lengths. */
  function framesOf(bytes: Uint8Array): Uint8Array[] {
    const top = takeCell(readerOf(bytes)).bytes.length;
    const frames = [bytes.subarray(0, top)];
    for (let at = top; at < bytes.length; ) {
      let [length, next] = [0, at];
      for (; ; next += 1) {
        length = length * 128 + ((bytes[next] ?? 0) & 0x7f);
        if ((bytes[next] ?? 0) < 0x80) break;
      }
      frames.push(bytes.subarray(at, next + 1 + length));
      at = next + 1 + length;
    }
    return frames;
  }

  describe("verifying a drive", () => {
    test("says how much is whole and names what is not", async () => {
      const { store, tap } = tapped(createMemoryStore());
      const engine = await filled(openEngine({ store }));
      const alice = engine.owner(ALICE);
      expect(await alice.verify("d")).toMatchObject({ files: 53, directories: 2, damaged: [], damagedCount: 0 });
      tap.lost.add(
        hashOf(new Uint8Array(big.subarray(1_000_000 - (1_000_000 % 4096), 1_000_000 - (1_000_000 % 4096) + 4096))),
      );
      tap.lost.add(hashOf(Buffer.from("x".repeat(800))));
      expect(await alice.verify("d")).toMatchObject({ files: 51, damaged: [["big"], ["dir", "f40"]], damagedCount: 2 });
      expect(await alice.verify("no")).toMatchObject({ files: 0, damagedCount: 0 });
    });
  });
});
