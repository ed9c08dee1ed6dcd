import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, test } from "@jest/globals";
import { Intake } from "../../../src/surfaces/streams/intake.js";

function intake(): { one: Intake<number>; begun: number[]; state: { open: boolean } } {
  const begun: number[] = [];
  const state = { open: true };
  return { one: new Intake<number>({ isOpen: () => state.open, deliver: (n) => begun.push(n) }), begun, state };
}

describe("requests of one client", () => {
  test("begin at once when they come alone, and one in a turn when many come", async () => {
    const { one, begun } = intake();
    for (const n of [1, 2, 3]) one.push(n);
    expect(begun).toEqual([1]);
    await turn();
    await turn();
    await turn();
    expect(begun).toEqual([1, 2, 3]);
  });

  test("begin in the same turn when the one before has been answered, for a millisecond", async () => {
    const begun: number[] = [];
    let nowMs = 0;
    const rules = {
      isOpen: () => true,
      deliver(n: number) {
        begun.push(n);
        nowMs += 0.3;
        if (n < 8) queueMicrotask(() => one.answered((request) => request === n));
      },
    };
    const one: Intake<number> = new Intake<number>(rules, () => nowMs);
    for (let n = 0; n < 12; n += 1) one.push(n);
    await new Promise<void>(process.nextTick);
    expect(begun).toEqual([0, 1, 2, 3]);
    await turn();
    expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    await turn();
    // Number 8 is not answered: the next have to wait for another turn each.
    expect(begun.at(-1)).toBe(8);
    await turn();
    expect(begun.at(-1)).toBe(9);
  });

  test("do not begin because an earlier one has been answered", () => {
    const { one, begun } = intake();
    for (const n of [1, 2]) one.push(n);
    one.answered((request) => request === 0);
    expect(begun).toEqual([1]);
    one.answered((request) => request === 1);
    expect(begun).toEqual([1, 2]);
  });

  test("wait until it is open again", async () => {
    const { one, begun, state } = intake();
    state.open = false;
    one.push(1);
    await turn();
    expect(begun).toEqual([]);
    state.open = true;
    one.startNext();
    expect(begun).toEqual([1]);
  });

  test("are taken back while they wait, and only then", async () => {
    const { one, begun } = intake();
    for (const n of [1, 2, 3]) one.push(n);
    expect([one.drop((n) => n === 2), one.drop((n) => n === 1)]).toEqual([true, false]);
    await one.finish();
    expect(begun).toEqual([1, 3]);
  });

  test("that wait are few: no more are read then", () => {
    const { one, state } = intake();
    state.open = false;
    for (let n = 0; n < 63; n += 1) one.push(n);
    expect(one.isFull).toBe(false);
    one.push(63);
    expect(one.isFull).toBe(true);
  });

  test("all begin before the end, unless they would have to wait", async () => {
    const { one, begun, state } = intake();
    for (const n of [1, 2, 3]) one.push(n);
    await one.finish();
    expect(begun).toEqual([1, 2, 3]);
    state.open = false;
    one.push(4);
    await one.finish();
    expect(begun).toEqual([1, 2, 3]);
  });
});
