import { describe, expect, test } from "@jest/globals";
import { isPending, runIo } from "../../../src/core/io.js";
import { type Lock, type LockRequest, Locks } from "../../../src/jail/staging/locks.js";

const alone = (...exclusive: string[]): LockRequest => ({ shared: [], exclusive });
const below = (shared: string, ...exclusive: string[]): LockRequest => ({ shared: [shared], exclusive });

/** A lock that was asked for, and whether it has been given by now. */
interface Asked {
  readonly lock: Promise<Lock>;
  given(): Promise<boolean>;
}

function ask(locks: Locks, request: LockRequest): Asked {
  const answer = runIo(locks.hold(request));
  let given = !isPending(answer);
  const lock = Promise.resolve(answer).then((held) => {
    given = true;
    return held;
  });
  return {
    lock,
    async given() {
      await new Promise((resolve) => setImmediate(resolve));
      return given;
    },
  };
}

describe("locks", () => {
  test("are given to one holder at a time, in order of request", async () => {
    const locks = new Locks();
    const asked = ["first", "second", "third"].map(() => ask(locks, alone("a")));
    const order: number[] = [];
    await Promise.all(
      asked.map(async ({ lock }, index) => {
        const held = await lock;
        order.push(index);
        await new Promise((resolve) => setImmediate(resolve));
        expect(order).toEqual([0, 1, 2].slice(0, index + 1));
        held.release();
      }),
    );
    expect(order).toEqual([0, 1, 2]);
  });

  test("of different keys are independent and given immediately", () => {
    const locks = new Locks();
    expect(isPending(runIo(locks.hold(below("dir", "dir/a"))))).toBe(false);
    expect(isPending(runIo(locks.hold(below("dir", "dir/b"))))).toBe(false);
  });

  test("of a directory are not exclusive while a writer below it shares them", async () => {
    const locks = new Locks();
    const writer = await ask(locks, below("dir", "dir/a")).lock;
    const removal = ask(locks, alone("dir"));
    expect(await removal.given()).toBe(false);
    writer.release();
    expect(await removal.given()).toBe(true);
  });

  test("let no later writer overtake a removal that waits", async () => {
    const locks = new Locks();
    const writer = await ask(locks, below("dir", "dir/a")).lock;
    const removal = ask(locks, alone("dir"));
    const late = ask(locks, below("dir", "dir/b"));
    expect(await late.given()).toBe(false);
    writer.release();
    expect(await removal.given()).toBe(true);
    expect(await late.given()).toBe(false);
    (await removal.lock).release();
    expect(await late.given()).toBe(true);
  });

  test("let unrelated requests pass a waiting one", async () => {
    const locks = new Locks();
    await ask(locks, alone("a")).lock;
    const waiting = ask(locks, alone("a", "b"));
    expect(await waiting.given()).toBe(false);
    expect(await ask(locks, alone("c")).given()).toBe(true);
    // The waiting one comes first where it does.
    expect(await ask(locks, alone("b")).given()).toBe(false);
  });

  test("take all keys of a request or none, so that nobody waits while holding", async () => {
    const locks = new Locks();
    const one = await ask(locks, alone("a")).lock;
    const both = ask(locks, alone("a", "b"));
    const other = ask(locks, alone("b"));
    one.release();
    expect(await both.given()).toBe(true);
    expect(await other.given()).toBe(false);
    (await both.lock).release();
    expect(await other.given()).toBe(true);
  });

  test("can be shared by several holders", async () => {
    const locks = new Locks();
    const one = await ask(locks, below("dir", "a")).lock;
    const two = await ask(locks, below("dir", "b")).lock;
    const removal = ask(locks, alone("dir"));
    one.release();
    expect(await removal.given()).toBe(false);
    two.release();
    expect(await removal.given()).toBe(true);
  });

  test("count turns, so that findings from before another change are known to be stale", async () => {
    const locks = new Locks();
    const before = locks.turn;
    const one = await ask(locks, alone("a")).lock;
    expect(locks.turn).toBe(before);
    one.release();
    expect(locks.turn).not.toBe(before);
  });

  test("of a thousand writers in a few directories are all granted eventually", async () => {
    const locks = new Locks();
    let running = 0;
    const holders = Array.from({ length: 1000 }, async (_, n) => {
      const request = n % 10 === 0 ? alone(`d${n % 3}`) : below(`d${n % 3}`, `d${n % 3}/${n % 7}`);
      const held = await ask(locks, request).lock;
      running++;
      await new Promise((resolve) => setImmediate(resolve));
      held.release();
    });
    await Promise.all(holders);
    expect(running).toBe(1000);
    expect(isPending(runIo(locks.hold(alone("d0", "d1", "d2"))))).toBe(false);
  });
});
