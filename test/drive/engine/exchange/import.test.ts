import { describe, expect, test } from "@jest/globals";
import { toMultiCell } from "../../../../src/drive/cad3/encoding/multi-cell.js";
import { map } from "../../../../src/drive/cad3/maps/hash-map.js";
import { sign } from "../../../../src/drive/cad3/signed.js";
import type { Value } from "../../../../src/drive/cad3/value.js";
import { dir, file } from "../../../../src/drive/dlfs/node.js";
import { createOwnerKeys } from "../../../../src/drive/keys/owner-keys.js";
import { ALICE, BOB, inPieces, openEngine, rejection, textOf, VENUE_KEY } from "../engines.js";

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
