import { expect, test } from "@jest/globals";
import { toMultiCell } from "../../../../src/drive/cad3/encoding/multi-cell.js";
import type { Value } from "../../../../src/drive/cad3/value.js";
import { merge } from "../../../../src/drive/dlfs/merge.js";
import { dir, file, type Node } from "../../../../src/drive/dlfs/node.js";
import { ALICE, inPieces, openEngine, type TestEngine } from "../engines.js";

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
