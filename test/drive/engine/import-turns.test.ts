import { expect, test } from "@jest/globals";
import { toMultiCell } from "../../../src/drive/cad3/encoding/multi-cell.js";
import { dir, file } from "../../../src/drive/dlfs/node.js";
import { ALICE, openEngine } from "./engines.js";

test("an import that has all its bytes at hand lets others run while it takes in cells", async () => {
  const names = Array.from({ length: 5000 }, (_, index) => `file-${index}`);
  const bytes = toMultiCell(
    dir(
      names.map((name) => [name, file(Buffer.from(name.repeat(20)), 5)]),
      5,
    ),
  );
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
