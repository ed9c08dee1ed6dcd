import { describe, expect, test } from "@jest/globals";
import { MemoryBudget, type MemoryLease, UNCOUNTED_BYTES } from "../../src/core/memory.js";

const MB = 1_000_000;

/** A lease, and whether its body has been dropped. */
function body(budget: MemoryBudget, sender: string): { lease: MemoryLease; isDropped: () => boolean } {
  const lease = budget.lease(sender);
  let isDropped = false;
  lease.onDrop = () => {
    isDropped = true;
  };
  return { lease, isDropped: () => isDropped };
}

const dropped = (bodies: readonly { isDropped: () => boolean }[]): boolean[] => bodies.map((one) => one.isDropped());

describe("bodies", () => {
  test("are counted as they arrive, all of them once they are not small", () => {
    const budget = new MemoryBudget(10 * MB);
    const { lease } = body(budget, "a");
    lease.receive(UNCOUNTED_BYTES);
    expect(budget.bytes).toBe(0);
    lease.receive(1);
    expect(budget.bytes).toBe(UNCOUNTED_BYTES + 1);
    lease.receive(MB);
    expect(budget.bytes).toBe(UNCOUNTED_BYTES + 1 + MB);
    lease.release();
    lease.release();
    expect(budget.bytes).toBe(0);
  });

  test("without room go, the newest first, until the oldest fit", () => {
    const budget = new MemoryBudget(10 * MB, 1);
    const bodies = ["a", "b", "c", "d"].map((sender) => body(budget, sender));
    for (const { lease } of bodies) lease.receive(2 * MB);
    bodies[0]?.lease.receive(5 * MB);
    expect(dropped(bodies)).toEqual([false, false, true, true]);
    expect(budget.bytes).toBe(9 * MB);
    bodies[1]?.lease.receive(2 * MB);
    expect(dropped(bodies)).toEqual([false, true, true, true]);
    expect(budget.bytes).toBe(7 * MB);
  });

  test("that are whole stay, and one that comes behind them goes", () => {
    const budget = new MemoryBudget(10 * MB, 1);
    const [first, second] = [body(budget, "a"), body(budget, "b")];
    first.lease.receive(9 * MB);
    first.lease.received();
    second.lease.receive(2 * MB);
    expect(dropped([first, second])).toEqual([false, true]);
  });

  test("of one sender take its share and no more, and those of others stay", () => {
    const budget = new MemoryBudget(16 * MB);
    const other = body(budget, "b");
    const own = [body(budget, "a"), body(budget, "a"), body(budget, "a")];
    for (const { lease } of own) lease.receive(1.5 * MB);
    other.lease.receive(MB);
    expect(dropped([...own, other])).toEqual([false, false, true, false]);
  });

  test("may be larger than all there is when they are alone", () => {
    const budget = new MemoryBudget(MB);
    const { lease, isDropped } = body(budget, "a");
    lease.receive(5 * MB);
    expect([budget.bytes, isDropped()]).toEqual([5 * MB, false]);
  });
});

/** Asks for room, and says whether it has come. */
function waitFor(lease: MemoryLease, bytes: number): { isHeld: () => Promise<boolean> } {
  let isHeld = false;
  void lease.hold(bytes).then(() => {
    isHeld = true;
  });
  return {
    isHeld: async () => {
      await new Promise((resolve) => setImmediate(resolve));
      return isHeld;
    },
  };
}

describe("answers", () => {
  test("wait for room, in their order", async () => {
    const budget = new MemoryBudget(10 * MB, 1);
    const [first, second, third] = [budget.lease("a"), budget.lease("b"), budget.lease("c")];
    expect(first.tryHold(6 * MB)).toBe(true);
    expect(second.tryHold(6 * MB)).toBe(false);
    const large = waitFor(second, 6 * MB);
    // It would fit, but one that waits would never come to its turn.
    expect(third.tryHold(MB)).toBe(false);
    const small = waitFor(third, MB);
    expect([await large.isHeld(), await small.isHeld(), budget.waiting]).toEqual([false, false, 2]);
    first.release();
    expect([await large.isHeld(), await small.isHeld(), budget.bytes]).toEqual([true, true, 7 * MB]);
  });

  test("of a sender that has its share let those of others pass", async () => {
    const budget = new MemoryBudget(16 * MB);
    expect(budget.lease("a").tryHold(4 * MB)).toBe(true);
    const blocked = waitFor(budget.lease("a"), MB);
    const other = waitFor(budget.lease("b"), MB);
    expect([await blocked.isHeld(), await other.isHeld()]).toEqual([false, true]);
  });

  test("go on one at a time where bodies have taken all", async () => {
    const budget = new MemoryBudget(4 * MB, 1);
    budget.lease("a").receive(4 * MB);
    const [first, second] = [budget.lease("b"), budget.lease("c")];
    expect(first.tryHold(MB)).toBe(true);
    const next = waitFor(second, MB);
    expect(await next.isHeld()).toBe(false);
    first.release();
    expect(await next.isHeld()).toBe(true);
  });

  test("that are small are never counted", () => {
    const budget = new MemoryBudget(1);
    budget.lease("a").holdMade(MB);
    expect(budget.lease("b").tryHold(UNCOUNTED_BYTES)).toBe(true);
    expect(budget.bytes).toBe(MB);
  });

  test("are counted for the greatest size they are said to have", () => {
    const budget = new MemoryBudget(10 * MB);
    const lease = budget.lease("a");
    lease.tryHold(MB);
    lease.tryHold(2 * MB);
    lease.holdMade(MB);
    expect(budget.bytes).toBe(2 * MB);
  });

  test("are held until all who use them have let go", () => {
    const budget = new MemoryBudget(10 * MB);
    const lease = budget.lease("a");
    const letGo = lease.share();
    lease.holdMade(MB);
    lease.release();
    expect(budget.bytes).toBe(MB);
    letGo();
    letGo();
    expect(budget.bytes).toBe(0);
    // Nobody is left who would ever give it back.
    lease.holdMade(MB);
    expect(budget.bytes).toBe(0);
  });

  test("are waited for no longer than their caller does, and those behind go on", async () => {
    const budget = new MemoryBudget(10 * MB, 1);
    budget.lease("a").tryHold(6 * MB);
    const gone = new AbortController();
    const waiting = budget.lease("b").hold(6 * MB, gone.signal);
    const behind = waitFor(budget.lease("c"), MB);
    expect(await behind.isHeld()).toBe(false);
    gone.abort(new Error("gone"));
    await expect(waiting).rejects.toThrow("gone");
    expect([await behind.isHeld(), budget.waiting]).toEqual([true, 0]);
  });

  test("whose users are gone while they wait are given back at once", async () => {
    const budget = new MemoryBudget(10 * MB, 1);
    const first = budget.lease("a");
    first.tryHold(10 * MB);
    const second = budget.lease("b");
    const granted = second.hold(MB);
    second.release();
    first.release();
    await granted;
    expect(budget.bytes).toBe(0);
  });
});
