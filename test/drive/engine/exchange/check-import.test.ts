import { describe, expect, jest, test } from "@jest/globals";
import fc from "fast-check";
import { assemble, wholeOf } from "../../../../src/drive/cad3/encoding/assemble.js";
import { cellOf, hashOf } from "../../../../src/drive/cad3/encoding/cell.js";
import { parseCell } from "../../../../src/drive/cad3/encoding/parse-cell.js";
import { DEFAULT_CELL_LIMITS } from "../../../../src/drive/cad3/limits.js";
import { map } from "../../../../src/drive/cad3/maps/hash-map.js";
import { index } from "../../../../src/drive/cad3/maps/index-map.js";
import { hashOfRef, isBranch, refOf, sha3, toHex } from "../../../../src/drive/cad3/ref.js";
import type { Value } from "../../../../src/drive/cad3/value.js";
import { checkNode } from "../../../../src/drive/dlfs/check-node.js";
import { DEFAULT_TREE_LIMITS } from "../../../../src/drive/dlfs/name.js";
import { directoryNode, fileNode, tombstone, viewOf } from "../../../../src/drive/dlfs/node.js";
import { checkCells } from "../../../../src/drive/engine/exchange/check-cells.js";
import { checkTree } from "../../../../src/drive/engine/exchange/check-tree.js";
import { createIntake, type Intake } from "../../../../src/drive/engine/exchange/intake.js";
import { createImportCells } from "../../../../src/drive/engine/exchange/stored-cells.js";
import { textOfHash } from "../../../../src/drive/store/mark.js";
import { createMemoryStore } from "../../../../src/drive/store/memory.js";
import { anyCharacter } from "../../../any-character.js";
import { codeOf } from "../../cad3/code-of.js";
import { FREE, LONG, trees } from "../../dlfs/merging/random-trees.js";
import { rejection } from "../engines.js";
import { cellsOf, importCellsOf } from "./import-cells.js";

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
