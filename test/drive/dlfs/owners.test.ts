import { describe, expect, test } from "@jest/globals";
import { encode, hashOf, isEmbedded } from "../../../src/drive/cad3/encoding/cell.js";
import { decode } from "../../../src/drive/cad3/encoding/multi-cell.js";
import { type CadMap, map } from "../../../src/drive/cad3/maps/hash-map.js";
import { index } from "../../../src/drive/cad3/maps/index-map.js";
import { Signed, sign, signedMessage, verify } from "../../../src/drive/cad3/signed.js";
import { keyword, type Value } from "../../../src/drive/cad3/value.js";
import { applyOp, type TreeChange } from "../../../src/drive/dlfs/apply-op.js";
import { createDrive, deleteDrive, isDeletedDrive } from "../../../src/drive/dlfs/lifetime.js";
import { merge } from "../../../src/drive/dlfs/merge.js";
import { mergeDrives, mergeOwners } from "../../../src/drive/dlfs/merge-owners.js";
import { DELETED_MARK } from "../../../src/drive/dlfs/name.js";
import { contentOf, dir, directoryOf, file, tombstone, viewOf } from "../../../src/drive/dlfs/node.js";
import { codeOf } from "../cad3/code-of.js";
import { fromHex, parseValue, parseVectors, toHex } from "../cad3/notation.js";
import { bytesOf, type Expected, type NodeNotation, nodeOf } from "./tree-notation.js";

interface OwnerVectors {
  readonly owners: readonly {
    readonly name: string;
    readonly own: unknown;
    readonly other: unknown;
    readonly seeds?: readonly string[];
    readonly hash?: string;
    readonly fails?: string;
  }[];
}

const { owners } = parseVectors<OwnerVectors>("signed");
const publicKeyOf = (seed: Uint8Array): Uint8Array => sign(null, seed).publicKey;
const seedOf = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);
const [SEED, OTHER_SEED] = [seedOf(1), seedOf(2)];
const KEY = publicKeyOf(SEED);

const drive = (name: string, text: string, utime: number): Value =>
  dir([[name, file(Buffer.from(text), utime)]], utime);
const drives = (...entries: [string, Value][]): CadMap => map(entries);
const owned = (value: Value, seed = SEED): CadMap => map([[publicKeyOf(seed), sign(value, seed)]]);

describe("mergeOwners", () => {
  test("has vectors", () => {
    expect(owners.length).toBeGreaterThan(5);
  });

  test.each(owners)("$name", ({ own, other, seeds = [], hash, fails }) => {
    const keys = seeds.map((seed): [string, Uint8Array] => [toHex(publicKeyOf(fromHex(seed))), fromHex(seed)]);
    for (const held of [new Map(keys), Object.fromEntries(keys)]) {
      const act = () => mergeOwners(parseValue(own), parseValue(other), { ties: "own", seeds: held });
      if (fails === undefined) expect(hashOf(act())).toBe(hash);
      else expect(codeOf(act)).toBe(fails);
    }
  });

  const one = owned(drives(["docs", drive("a", "A", 1)]));
  const two = owned(drives(["docs", drive("b", "B", 2)]));
  const seeds = { [toHex(KEY)]: SEED };

  test("signs what differs from both sides, with the key of the owner", () => {
    const merged = mergeOwners(one, two, { seeds }).get(KEY);
    if (!(merged instanceof Signed)) throw new TypeError("not signed");
    expect([toHex(merged.publicKey), verify(merged)]).toEqual([toHex(KEY), true]);
    expect(hashOf(merged.value)).toBe(hashOf(drives(["docs", merge(drive("a", "A", 1), drive("b", "B", 2))])));
  });

  test("never signs with the key of somebody else", () => {
    expect(codeOf(() => mergeOwners(one, two, { seeds: { [toHex(KEY)]: OTHER_SEED } }))).toBe("KEY_REQUIRED");
    expect(codeOf(() => mergeOwners(one, two, { seeds: { [toHex(publicKeyOf(OTHER_SEED))]: OTHER_SEED } }))).toBe(
      "KEY_REQUIRED",
    );
    expect(codeOf(() => mergeOwners(one, two))).toBe("KEY_REQUIRED");
    expect(codeOf(() => mergeOwners(one, two, { seeds: Object.create(seeds) }))).toBe("KEY_REQUIRED");
  });

  test("merges around what it has no key for, which stays as it is", () => {
    const [bob, bobToo] = [
      owned(drives(["b", drive("x", "X", 3)]), OTHER_SEED),
      owned(drives(["b", drive("y", "Y", 4)]), OTHER_SEED),
    ];
    const third = owned(drives(["c", drive("z", "Z", 5)]), seedOf(3));
    const [own, other] = [map([...one, ...bob]), map([...two, ...bobToo, ...third])];
    const merged = mergeOwners(own, other, { seeds });
    expect(hashOf(merged)).toBe(hashOf(map([...mergeOwners(one, two, { seeds }), ...bob, ...third])));
    // Again, and without any key, nothing changes.
    expect(hashOf(mergeOwners(merged, other, { seeds }))).toBe(hashOf(merged));
    expect(hashOf(mergeOwners(bob, map([...bobToo, ...third])))).toBe(hashOf(map([...bob, ...third])));
  });

  test("keeps the signature of the side whose value is the result, without a key", () => {
    const both = mergeOwners(one, two, { seeds });
    for (const [own, other] of [
      [both, one],
      [one, both],
      [both, both],
    ] as const) {
      expect(hashOf(mergeOwners(own, other))).toBe(hashOf(both));
    }
  });

  test("is the same both ways", () => {
    expect(hashOf(mergeOwners(one, two, { seeds }))).toBe(hashOf(mergeOwners(two, one, { seeds })));
  });

  const signed = sign(drives(["docs", drive("a", "A", 1)]), SEED);
  const flipped = new Signed(
    signed.publicKey,
    signed.signature.map((byte, at) => (at === 5 ? byte ^ 1 : byte)),
    signed.value,
  );
  test.each<[string, Value, Value]>([
    ["is signed by another key", KEY, sign(signed.value, OTHER_SEED)],
    ["stands under another key", publicKeyOf(OTHER_SEED), signed],
    ["has a bad signature", KEY, flipped],
    ["has the signature of another value", KEY, new Signed(KEY, signed.signature, drives())],
    ["is not signed", KEY, signed.value],
    ["stands under a string", toHex(KEY), signed],
    ["stands under a longer key", Buffer.concat([KEY, KEY]), signed],
    ["is nil", KEY, null],
  ])("drops an entry that %s, on either side", (_, key, value) => {
    const bad = map([[key, value]]);
    expect(mergeOwners(bad, null).size).toBe(0);
    expect(mergeOwners(null, bad).size).toBe(0);
    expect(hashOf(mergeOwners(bad, one))).toBe(hashOf(one));
    expect(hashOf(mergeOwners(one, bad))).toBe(hashOf(one));
  });

  test("takes nil for no drives at all", () => {
    const none = owned(null);
    expect(hashOf(mergeOwners(none, one))).toBe(hashOf(one));
    expect(hashOf(mergeOwners(one, none))).toBe(hashOf(one));
    expect(hashOf(mergeOwners(none, none))).toBe(hashOf(none));
    expect(mergeOwners(null, null).size).toBe(0);
  });

  test("needs nothing of an entry of one side but its own cell", () => {
    const many = dir(
      Array.from({ length: 99 }, (_, place) => [`f${place}`, tombstone(1)]),
      1,
    );
    const signed = sign(drives(["docs", many]), SEED);
    const lazy = map([[KEY, decode(encode(signed))]]);
    expect(hashOf(mergeOwners(lazy, null))).toBe(hashOf(map([[KEY, signed]])));
    expect(hashOf(mergeOwners(null, lazy))).toBe(hashOf(map([[KEY, signed]])));
    expect(codeOf(() => mergeOwners(lazy, one, { seeds }))).toBe("MISSING_CELL");
  });

  test("needs no content of files", () => {
    const signed = sign(drives(["docs", dir([["big", file(new Uint8Array(9000), 1)]], 1)]), SEED);
    const lazy = map([[KEY, decode(encode(signed))]]);
    const merged = hashOf(mergeOwners(map([[KEY, signed]]), one, { seeds }));
    expect(hashOf(mergeOwners(lazy, one, { seeds }))).toBe(merged);
    expect(hashOf(mergeOwners(one, lazy, { seeds }))).toBe(merged);
  });

  test.each<[string, Value]>([
    ["drives that are no map", "drives"],
    ["a drive that is no node", drives(["docs", "drive"])],
  ])("refuses to merge %s, though they are well signed", (_, value) => {
    expect(codeOf(() => mergeOwners(owned(value), one, { seeds }))).toBe("BAD_FORMAT");
  });
});

describe("mergeDrives", () => {
  const [a, b] = [drive("a", "A", 1), drive("b", "B", 2)];

  test.each<[string, [string, Value][], [string, Value][], [string, Value][]]>([
    [
      "drives of one side",
      [["x", a]],
      [["y", b]],
      [
        ["x", a],
        ["y", b],
      ],
    ],
    ["both copies of a drive", [["x", a]], [["x", b]], [["x", merge(a, b)]]],
    [
      "a live drive rather than nil",
      [
        ["x", null],
        ["y", b],
      ],
      [
        ["x", a],
        ["y", null],
      ],
      [
        ["x", a],
        ["y", b],
      ],
    ],
    ["nil on both sides", [["x", null]], [["x", null]], [["x", null]]],
    [
      "nil on one side",
      [["x", null]],
      [["y", null]],
      [
        ["x", null],
        ["y", null],
      ],
    ],
  ])("has %s", (_, own, other, result) => {
    expect(hashOf(mergeDrives(map(own), map(other)))).toBe(hashOf(map(result)));
    expect(hashOf(mergeDrives(map(other), map(own)))).toBe(hashOf(map(result)));
  });

  test("passes on how ties are decided", () => {
    const [own, other] = [drive("f", "mine", 1), drive("f", "yours", 1)];
    for (const [one, two] of [
      [own, other],
      [other, own],
    ] as const) {
      const result = mergeDrives(drives(["x", one]), drives(["x", two]), { ties: "own" });
      expect(hashOf(result)).toBe(hashOf(drives(["x", one])));
    }
  });

  test("is the own map itself where nothing is new", () => {
    const own = drives(["x", merge(a, b)], ["y", b], ["gone", tombstone(1)]);
    expect(mergeDrives(own, drives(["x", a], ["y", null]))).toBe(own);
    expect(mergeDrives(own, null)).toBe(own);
  });
});

describe("operations on a drive", () => {
  interface Step {
    readonly op: TreeChange["op"];
    readonly path: string;
    readonly data?: unknown;
    readonly at: number;
    readonly fails?: string;
  }

  interface OperationVectors {
    readonly operations: readonly { readonly name: string; readonly ops: readonly Step[]; readonly root: Expected }[];
  }

  const { operations } = parseVectors<OperationVectors>("dlfs-nodes");
  const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));

  function take(root: Value, { op, path, data, at, fails }: Step): Value {
    const change = { op, path, at, data: data === undefined ? undefined : bytesOf(data) };
    if (fails === undefined) return applyOp(root, change);
    expect(codeOf(() => applyOp(root, change))).toBe(fails);
    return root;
  }

  /** What is at a path: kind, time and content. */
  function look(root: Value, path: string): unknown {
    let node = root;
    for (const name of path.split("/").filter((part) => part !== "")) {
      node = directoryOf(node).entries.get(name) ?? null;
      if (node === null) return undefined;
    }
    const view = viewOf(node);
    return [Number(view.utime), view.kind === "file" ? Buffer.from(contentOf(view)).toString() : view.kind];
  }

  const LONG = "x".repeat(32);

  describe("operations of the reference", () => {
    test("are there to be compared with", () => {
      expect(operations.length).toBeGreaterThan(10);
    });

    test.each(operations)("$name: end in the same tree", ({ ops, root }) => {
      const result = ops.reduce(take, dir([], 0));
      expect({ hash: hashOf(result), length: encode(result).length }).toEqual({ hash: root.hash, length: root.length });
    });
  });

  describe("a change", () => {
    const start = [
      { op: "mkdir", path: "d", at: 10 },
      { op: "write", path: "d/f", data: { text: "one" }, at: 20 },
      { op: "mkdir", path: "d/sub", at: 25 },
      { op: "create", path: "g", data: { text: "G" }, at: 30 },
      { op: "write", path: "gone", data: { text: "x" }, at: 31 },
      { op: "delete", path: "gone", at: 32 },
      { op: "create", path: `${LONG}1`, data: { text: "long" }, at: 33 },
    ] as const satisfies readonly Step[];
    const root = start.reduce<Value>(take, dir([], 0));

    test.each<[TreeChange["op"], string, string]>([
      ["mkdir", "d", "EXISTS"],
      ["mkdir", "g", "EXISTS"],
      ["create", "g", "EXISTS"],
      ["create", "d", "EXISTS"],
      ["write", "d", "IS_A_DIRECTORY"],
      ["append", "d", "IS_A_DIRECTORY"],
      ["delete", "d", "NOT_EMPTY"],
      ["delete", "none", "NOT_FOUND"],
      ["delete", "gone", "NOT_FOUND"],
      ["delete", `${LONG}2`, "NOT_FOUND"],
      ["delete", LONG, "NOT_FOUND"],
      ["write", "none/f", "NOT_FOUND"],
      ["write", "gone/f", "NOT_FOUND"],
      ["write", `${LONG}2/f`, "NOT_FOUND"],
      ["write", "g/f", "NOT_A_DIRECTORY"],
      ["delete", "g/f", "NOT_A_DIRECTORY"],
      ["mkdir", `${LONG}1/f`, "NOT_A_DIRECTORY"],
      ["delete", "", "INVALID_PATH"],
      ["delete", "/", "INVALID_PATH"],
      ["mkdir", "/", "EXISTS"],
      ["create", "", "EXISTS"],
      ["write", "//", "IS_A_DIRECTORY"],
      ["append", "", "IS_A_DIRECTORY"],
      ["write", "none/..", "INVALID_PATH"],
      ["write", "g/..", "INVALID_PATH"],
      ["write", "\u0000drive-deleted", "INVALID_PATH"],
      ["write", "a/".repeat(257), "INVALID_PATH"],
    ])("%s of %j fails with %s and changes nothing", (op, path, code) => {
      const before = hashOf(root);
      expect(codeOf(() => applyOp(root, { op, path, data: bytes("new"), at: 100 }))).toBe(code);
      expect(hashOf(root)).toBe(before);
    });

    test("of a name that is no longer than the one with its first 32 bytes has a slot of its own", () => {
      const after = applyOp(root, { op: "write", path: "x".repeat(31), data: bytes("31"), at: 100 });
      expect([look(after, "x".repeat(31)), look(after, `${LONG}1`)]).toEqual([
        [100, "31"],
        [33, "long"],
      ]);
    });

    test("of a name that shares 32 bytes with others leaves those alone, also where they are deleted", () => {
      const gone = applyOp(root, { op: "delete", path: `${LONG}1`, at: 100 });
      const after = applyOp(gone, { op: "append", path: `${LONG}2`, data: bytes("two"), at: 50 });
      const all = applyOp(after, { op: "mkdir", path: LONG, at: 50 });
      expect([look(all, `${LONG}1`), look(all, `${LONG}2`), look(all, LONG)]).toEqual([
        [100, "tombstone"],
        [100, "two"],
        [100, "directory"],
      ]);
    });

    test.each([
      ["a later clock", 500, 500],
      ["a clock that stands still", 20, 33],
      ["a clock that goes back", -5, 33],
      ["a clock of bigint", 500n, 500],
    ])("stamps the node and all above it: %s", (_, at, stamp) => {
      const after = applyOp(root, { op: "write", path: "d/f", data: bytes("two"), at });
      expect([look(after, "d/f"), look(after, "d"), look(after, ""), look(after, "d/sub"), look(after, "g")]).toEqual([
        [stamp, "two"],
        [stamp, "directory"],
        [stamp, "directory"],
        [25, "directory"],
        [30, "G"],
      ]);
    });

    test("is later than what it replaces, though that is later than all directories", () => {
      const skewed = dir(
        [
          ["f", file(bytes("x"), 900)],
          ["t", tombstone(800)],
        ],
        5,
      );
      expect(look(applyOp(skewed, { op: "write", path: "f", data: bytes("x"), at: 7 }), "f")).toEqual([901, "x"]);
      expect(look(applyOp(skewed, { op: "delete", path: "f", at: 7 }), "f")).toEqual([901, "tombstone"]);
      expect(look(applyOp(skewed, { op: "mkdir", path: "t", at: 7 }), "t")).toEqual([801, "directory"]);
    });

    test("leaves the tree it started from as it was", () => {
      const before = hashOf(root);
      applyOp(root, { op: "append", path: "d/f", data: bytes("two"), at: 100 });
      applyOp(root, { op: "delete", path: "g", at: 100 });
      expect([hashOf(root), look(root, "d/f")]).toEqual([before, [20, "one"]]);
    });

    test("appends to what is there, or makes it", () => {
      const once = applyOp(root, { op: "append", path: "d/f", data: bytes("+two"), at: 100 });
      expect(look(once, "d/f")).toEqual([100, "one+two"]);
      expect(look(applyOp(root, { op: "append", path: "new", data: bytes("n"), at: 100 }), "new")).toEqual([100, "n"]);
      expect(look(applyOp(root, { op: "append", path: "gone", data: bytes("n"), at: 100 }), "gone")).toEqual([
        100,
        "n",
      ]);
      expect(look(applyOp(root, { op: "append", path: "d/f", at: 100 }), "d/f")).toEqual([100, "one"]);
    });

    test("without data makes an empty file", () => {
      expect(look(applyOp(root, { op: "create", path: "empty", at: 100 }), "empty")).toEqual([100, ""]);
    });

    test("deletes a directory in which there are only tombstones, and them with it", () => {
      const emptied = [
        { op: "delete", path: "d/f", at: 100 },
        { op: "delete", path: "d/sub", at: 101 },
        { op: "delete", path: "d", at: 102 },
      ] as const;
      const after = emptied.reduce<Value>(take, root);
      expect([look(after, "d"), look(after, "")]).toEqual([
        [102, "tombstone"],
        [102, "directory"],
      ]);
    });

    test("drops metadata of the directories that it stamps", () => {
      const marked = dir([["d", dir([["s", dir([], 1, "inner")]], 1, "middle")]], 1, "top");
      const after = applyOp(marked, { op: "mkdir", path: "d/n", at: 5 });
      const plain = dir([["d", dir([["s", dir([], 1, "inner")]], 1)]], 1);
      expect(hashOf(after)).toBe(hashOf(applyOp(plain, { op: "mkdir", path: "d/n", at: 5 })));
    });

    test("is refused where no later stamp is left", () => {
      const last = dir([["f", file(bytes("x"), 2n ** 63n - 1n)]], 5);
      expect(codeOf(() => applyOp(last, { op: "write", path: "f", at: 9 }))).toBe("FUTURE_TIME");
      expect(look(applyOp(last, { op: "write", path: "g", at: 9 }), "g")).toEqual([9, ""]);
    });

    test("of what is no tree is refused", () => {
      expect(codeOf(() => applyOp(tombstone(1), { op: "mkdir", path: "a", at: 1 }))).toBe("BAD_FORMAT");
      expect(codeOf(() => applyOp(null, { op: "mkdir", path: "a", at: 1 }))).toBe("BAD_FORMAT");
      expect(() => applyOp(root, { op: "mkdir", path: "new", at: 1.5 })).toThrow(RangeError);
    });
  });

  describe("the limits of a tree", () => {
    const root = dir(
      [
        ["f", file(bytes("12345"), 1)],
        ["t", tombstone(1)],
      ],
      1,
    );

    test("hold for the bytes of a file, old and new", () => {
      const limits = { maxFileBytes: 8 };
      const change = { path: "f", at: 2, limits } as const;
      expect(look(applyOp(root, { ...change, op: "append", data: bytes("678") }), "f")).toEqual([2, "12345678"]);
      expect(codeOf(() => applyOp(root, { ...change, op: "append", data: bytes("6789") }))).toBe("TOO_LARGE");
      expect(codeOf(() => applyOp(root, { ...change, op: "write", data: bytes("123456789") }))).toBe("TOO_LARGE");
      expect(codeOf(() => applyOp(root, { ...change, op: "create", path: "g", data: bytes("123456789") }))).toBe(
        "TOO_LARGE",
      );
    });

    test("hold for the entries of a directory, which may still be changed", () => {
      const limits = { maxEntries: 2 };
      expect(codeOf(() => applyOp(root, { op: "mkdir", path: "new", at: 2, limits }))).toBe("LIMIT");
      expect(look(applyOp(root, { op: "mkdir", path: "t", at: 2, limits }), "t")).toEqual([2, "directory"]);
      expect(look(applyOp(root, { op: "delete", path: "f", at: 2, limits }), "f")).toEqual([2, "tombstone"]);
    });

    test("hold for the depth of a path", () => {
      expect(codeOf(() => applyOp(root, { op: "mkdir", path: "a/b", at: 2, limits: { maxPathDepth: 1 } }))).toBe(
        "INVALID_PATH",
      );
    });
  });
});

describe("the deletion of a drive", () => {
  type Step = { readonly delete: number } | { readonly create: number } | { readonly merge: NodeNotation };

  interface DeletionVectors {
    readonly driveDeletion: readonly {
      readonly name: string;
      readonly start: NodeNotation;
      readonly steps: readonly Step[];
      readonly result: NodeNotation;
      readonly deleted: boolean;
      readonly hash: string;
    }[];
  }

  const { driveDeletion } = parseVectors<DeletionVectors>("index-long");

  function take(root: Value, step: Step): Value {
    if ("delete" in step) return deleteDrive(root, { at: step.delete });
    return "create" in step ? createDrive(root, { at: step.create }) : merge(root, nodeOf(step.merge));
  }

  test("has vectors", () => {
    expect(driveDeletion.length).toBeGreaterThan(3);
  });

  test.each(driveDeletion)("$name", ({ start, steps, result, deleted, hash }) => {
    const root = steps.reduce(take, nodeOf(start));
    expect([hashOf(root), isDeletedDrive(root)]).toEqual([hash, deleted]);
    expect(hashOf(nodeOf(result))).toBe(hash);
  });

  const start = dir([["a", file(Buffer.from("A"), 5)]], 5);

  test("of a deleted drive is refused", () => {
    expect(codeOf(() => deleteDrive(deleteDrive(start, { at: 9 }), { at: 10 }))).toBe("NOT_FOUND");
  });

  test("does not change what it started from", () => {
    const before = hashOf(start);
    deleteDrive(start, { at: 9 });
    expect([hashOf(start), isDeletedDrive(start)]).toEqual([before, false]);
  });

  test("is undone by a later change elsewhere, which brings that copy back whole", () => {
    const elsewhere = applyOp(start, { op: "write", path: "b", data: Buffer.from("B"), at: 20 });
    expect(hashOf(merge(deleteDrive(start, { at: 9 }), elsewhere))).toBe(hashOf(elsewhere));
  });

  test("is not undone by the merge of what came before it", () => {
    const earlier = applyOp(start, { op: "write", path: "b", data: Buffer.from("B"), at: 8 });
    const merged = merge(deleteDrive(start, { at: 9 }), earlier);
    expect(isDeletedDrive(merged)).toBe(true);
    expect(hashOf(createDrive(merged, { at: 9 }))).toBe(hashOf(dir([], 10)));
  });

  test("gives way to what is live at the same time, on both sides", () => {
    for (let place = 0; place < 8; place += 1) {
      const [live, gone] = [dir([[`f${place}`, file(Buffer.from("x"), 10)]], 10), deleteDrive(dir([], 9), { at: 10 })];
      expect([hashOf(merge(live, gone)), hashOf(merge(gone, live))]).toEqual([hashOf(live), hashOf(live)]);
      expect(isDeletedDrive(merge(gone, live, { ties: "own" }))).toBe(true);
    }
  });

  test("is refused where there is no later time", () => {
    expect(codeOf(() => deleteDrive(dir([], 2n ** 63n - 1n), { at: 9 }))).toBe("FUTURE_TIME");
  });
});

describe("the making of a drive", () => {
  test("begins with an empty directory", () => {
    expect(hashOf(createDrive(null, { at: 77 }))).toBe(hashOf(dir([], 77)));
  });

  test("is refused while there is one", () => {
    expect(codeOf(() => createDrive(dir([], 5), { at: 6 }))).toBe("EXISTS");
    const made = createDrive(deleteDrive(dir([], 5), { at: 6 }), { at: 7 });
    expect(codeOf(() => createDrive(made, { at: 8 }))).toBe("EXISTS");
  });
});

describe("a drive counts as deleted", () => {
  const mark = (utime: number, entry: Value = tombstone(utime)): Value => dir([[DELETED_MARK, entry]], 10);

  test.each<[string, Value, boolean]>([
    ["with a mark of its own time", mark(10), true],
    ["with a later mark", mark(11), true],
    ["not with an earlier mark", mark(9), false],
    ["not without a mark", dir([], 10), false],
    ["not with a live entry of that name", mark(10, file(new Uint8Array(), 10)), false],
    ["as an empty file", file(new Uint8Array(), 10), true],
  ])("%s", (_, root, deleted) => {
    expect(isDeletedDrive(root)).toBe(deleted);
  });

  test.each<[string, Value]>([
    ["a file with content", file(Buffer.from("x"), 10)],
    ["an empty file with metadata", file(new Uint8Array(), 10, 5n)],
    ["a tombstone", tombstone(10)],
  ])("%s is no root", (_, root) => {
    expect(codeOf(() => isDeletedDrive(root))).toBe("BAD_FORMAT");
  });
});

interface Encoded {
  readonly length: number;
  readonly embedded: boolean;
  readonly encoding?: string;
  readonly hash: string;
}

interface Vector
  extends Readonly<Record<"name" | "seed" | "publicKey" | "message" | "signature" | "valueHash", string>> {
  readonly value: unknown;
  readonly signed: Encoded;
  readonly ownerMap: Encoded;
  readonly regionDlfs: Encoded;
  readonly regionFs: Encoded;
}

const { vectors } = parseVectors<{ readonly vectors: readonly Vector[] }>("signed");
const named = vectors.map((vector) => [vector.name, vector] as const);

function isEncodedAs(value: Value, { length, embedded, encoding, hash }: Encoded): void {
  expect(encode(value).length).toBe(length);
  expect(isEmbedded(value)).toBe(embedded);
  if (encoding !== undefined) expect(toHex(encode(value))).toBe(encoding);
  expect(hashOf(value)).toBe(hash);
}

describe("a value signed by the reference", () => {
  test.each(named)("is signed the same way: %s", (_, vector) => {
    const value = parseValue(vector.value);
    const signed = sign(value, fromHex(vector.seed));
    expect(toHex(signedMessage(value))).toBe(vector.message);
    expect(toHex(signed.publicKey)).toBe(vector.publicKey);
    expect(toHex(signed.signature)).toBe(vector.signature);
    expect(hashOf(signed.value)).toBe(vector.valueHash);
    expect(verify(signed)).toBe(true);
    isEncodedAs(signed, vector.signed);
  });

  test.each(named)("stands in a region: %s", (_, vector) => {
    const owners = map([[fromHex(vector.publicKey), sign(parseValue(vector.value), fromHex(vector.seed))]]);
    isEncodedAs(owners, vector.ownerMap);
    isEncodedAs(index([[keyword("dlfs"), owners]]), vector.regionDlfs);
    isEncodedAs(index([[keyword("fs"), owners]]), vector.regionFs);
  });

  test.each(named)("is verified as it comes: %s", (_, vector) => {
    if (vector.signed.encoding === undefined) return;
    const signed = decode(fromHex(vector.signed.encoding));
    expect(verify(parseSigned(signed))).toBe(true);
    expect(hashOf(signed)).toBe(vector.signed.hash);
  });
});

/** What is verified may be anything. */
const parseSigned = (value: unknown): Signed => value as Signed;

describe("a signature", () => {
  const seed = new Uint8Array(32).fill(1);
  const signed = sign("text", seed);
  const flipped = (bytes: Uint8Array): Uint8Array => bytes.with(5, (bytes[5] ?? 0) ^ 1);
  const wrong: readonly [string, unknown][] = [
    ["of another value", new Signed(signed.publicKey, signed.signature, "texts")],
    ["by another key", new Signed(sign("text", seed.with(0, 2)).publicKey, signed.signature, "text")],
    ["that was changed", new Signed(signed.publicKey, flipped(signed.signature), "text")],
    ["with a key that was changed", new Signed(flipped(signed.publicKey), signed.signature, "text")],
    ["with a key that is no point", new Signed(new Uint8Array(32).fill(255), signed.signature, "text")],
    ["of zeros", new Signed(signed.publicKey, new Uint8Array(64), "text")],
    ["with too short a key", { ...signed, publicKey: signed.publicKey.subarray(1) }],
    ["that is too long", { ...signed, signature: new Uint8Array(65) }],
    ["of what is no value", { ...signed, value: undefined }],
    ["that is not there", "text"],
    ["of nil", null],
  ];
  test.each(wrong)("is not good: %s", (_, value) => {
    expect(verify(signed)).toBe(true);
    expect(verify(parseSigned(value))).toBe(false);
  });

  test("is made by 32 bytes and no others, which no error shows", () => {
    for (const length of [0, 31, 33, 64]) {
      const act = () => sign(1, new Uint8Array(length).fill(0x5a));
      expect(act).toThrow(RangeError);
      expect(act).not.toThrow(/5a|90/i);
    }
  });

  test("has a length of its own", () => {
    expect(() => new Signed(signed.publicKey, new Uint8Array(63), 1)).toThrow(RangeError);
    expect(() => new Signed(new Uint8Array(33), signed.signature, 1)).toThrow(RangeError);
  });
});
