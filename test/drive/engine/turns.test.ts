import { expect, test } from "@jest/globals";
import { createTurn } from "../../../src/drive/engine/cells.js";

test("others run after so many units, and sooner where units are slow", async () => {
  let now = 0;
  const turn = createTurn(4, () => now);
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
  const turn = createTurn(4, () => now);
  now = 20;
  const waiting = turn();
  now = 40;
  await waiting;
  expect(turn()).toBeUndefined();
});
