import { describe, expect, jest, test } from "@jest/globals";
import { Aborter, CallScope, cancelledBy } from "../../../src/core/call/scope.js";
import { runIo } from "../../../src/core/io.js";

const TIMEOUT = "Operation timed out after 1000 ms";
const ABORTED = "Operation cancelled";

function scopeAt(options: { signal?: AbortSignal; timeoutMs?: number } = {}) {
  let nowMs = 5000;
  const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
  const { timeoutMs = 1000, signal } = options;
  return {
    scope: new CallScope({ clock, timeoutMs, cancellation: cancelledBy(signal) }),
    pass: (ms: number) => {
      nowMs += ms;
    },
  };
}

const never = (): Promise<never> => new Promise(() => {});

describe("a checkpoint", () => {
  test("lets a call go on up to its deadline, and not beyond", () => {
    const { scope, pass } = scopeAt();
    pass(1000);
    expect(() => scope.checkpoint()).not.toThrow();
    pass(1);
    expect(() => scope.checkpoint()).toThrow(TIMEOUT);
  });

  test("hears the signal, before the deadline", () => {
    const controller = new AbortController();
    const { scope, pass } = scopeAt({ signal: controller.signal });
    expect(() => scope.checkpoint()).not.toThrow();
    controller.abort();
    pass(5000);
    expect(() => scope.checkpoint()).toThrow(ABORTED);
  });

  test("is the last one where the call commits", () => {
    const controller = new AbortController();
    const { scope, pass } = scopeAt({ signal: controller.signal });
    scope.commit();
    controller.abort();
    pass(5000);
    expect(() => scope.checkpoint()).not.toThrow();
    expect(() => scope.commit()).not.toThrow();
  });

  test("counts again after a commit that had no effect", () => {
    const { scope, pass } = scopeAt();
    scope.commit();
    pass(1001);
    scope.retract();
    expect(scope.isCommitted).toBe(false);
    expect(() => scope.checkpoint()).toThrow(TIMEOUT);
  });

  test("keeps a call from committing too late", () => {
    const { scope, pass } = scopeAt();
    pass(1001);
    expect(() => scope.commit()).toThrow(TIMEOUT);
    expect(() => scope.checkpoint()).toThrow(TIMEOUT);
  });
});

describe("the time that is left", () => {
  test("runs down to nothing, and not below", () => {
    const { scope, pass } = scopeAt();
    expect(scope.remainingMs()).toBe(1000);
    pass(400);
    expect(scope.remainingMs()).toBe(600);
    pass(5000);
    expect(scope.remainingMs()).toBe(0);
  });
});

describe("a breath", () => {
  const breathe = (scope: CallScope) => runIo(scope.breathe());

  test("is taken only after a while, and lets others run", async () => {
    const { scope, pass } = scopeAt();
    pass(9);
    expect(breathe(scope)).toBeUndefined();
    pass(1);
    const others = jest.fn();
    setImmediate(others);
    const breath = breathe(scope);
    expect(breath).toBeInstanceOf(Promise);
    await breath;
    expect(others).toHaveBeenCalledTimes(1);
    // The next one is as far away again.
    expect(breathe(scope)).toBeUndefined();
  });

  test("ends a call that is over its time or was cancelled", async () => {
    const late = scopeAt();
    late.pass(1001);
    await expect(breathe(late.scope)).rejects.toThrow(TIMEOUT);
    const controller = new AbortController();
    const cancelled = scopeAt({ signal: controller.signal });
    cancelled.pass(10);
    const breath = breathe(cancelled.scope);
    controller.abort();
    await expect(breath).rejects.toThrow(ABORTED);
  });
});

describe("a race", () => {
  test("is won by the work that ends in time, however it ends", async () => {
    const { scope } = scopeAt();
    expect(await scope.race(Promise.resolve("done"))).toBe("done");
    await expect(scope.race(Promise.reject(new Error("failed")))).rejects.toThrow("failed");
  });

  test("is lost at the deadline, and what was answered then holds", async () => {
    const { scope } = scopeAt({ timeoutMs: 10 });
    await expect(scope.race(never())).rejects.toThrow("Operation timed out after 10 ms");
    // By its clock there would be time left.
    expect(scope.remainingMs()).toBe(10);
    expect(() => scope.checkpoint()).toThrow("Operation timed out after 10 ms");
    expect(() => scope.commit()).toThrow("Operation timed out after 10 ms");
  });

  test("goes on as long as the call is given its time again", async () => {
    jest.useFakeTimers();
    try {
      const { scope, pass } = scopeAt({ timeoutMs: 50 });
      let settled = false;
      const race = scope.race(never()).finally(() => {
        settled = true;
      });
      race.catch(() => {});
      for (let index = 0; index < 10; index++) {
        scope.renew();
        pass(10);
        await jest.advanceTimersByTimeAsync(10);
      }
      expect([settled, scope.remainingMs()]).toEqual([false, 40]);
      await jest.advanceTimersByTimeAsync(100);
      await expect(race).rejects.toThrow("Operation timed out after 50 ms");
      scope.renew();
      expect(() => scope.checkpoint()).toThrow("Operation timed out after 50 ms");
    } finally {
      jest.useRealTimers();
    }
  });

  test("is lost at the signal, at once, also when it was given before", async () => {
    const controller = new AbortController();
    const { scope } = scopeAt({ signal: controller.signal });
    const race = scope.race(never());
    controller.abort();
    await expect(race).rejects.toThrow(ABORTED);
    await expect(scopeAt({ signal: AbortSignal.abort() }).scope.race(never())).rejects.toThrow(ABORTED);
  });

  test("cannot be lost by a call that has committed", async () => {
    const controller = new AbortController();
    const { scope } = scopeAt({ signal: controller.signal, timeoutMs: 5 });
    scope.commit();
    const race = scope.race(new Promise((resolve) => setTimeout(() => resolve("done"), 20)));
    controller.abort();
    expect(await race).toBe("done");
  });

  test("leaves nothing behind on the signal, and no timer", async () => {
    const controller = new AbortController();
    const added = jest.spyOn(controller.signal, "addEventListener");
    const removed = jest.spyOn(controller.signal, "removeEventListener");
    const cleared = jest.spyOn(globalThis, "clearTimeout");
    try {
      const { scope } = scopeAt({ signal: controller.signal });
      await scope.race(Promise.resolve());
      await scope.race(Promise.reject(new Error("x"))).catch(() => {});
      expect(added).toHaveBeenCalledTimes(2);
      expect(removed.mock.calls.map(([, listener]) => listener)).toEqual(
        added.mock.calls.map(([, listener]) => listener),
      );
      expect(cleared).toHaveBeenCalledTimes(2);
    } finally {
      cleared.mockRestore();
    }
  });

  test("fails once: what the work does afterwards is nobody's error", async () => {
    const { scope } = scopeAt({ timeoutMs: 5 });
    const unhandled = jest.fn();
    process.on("unhandledRejection", unhandled);
    try {
      let fail: (error: Error) => void = () => {};
      const work = new Promise<never>((_, reject) => {
        fail = reject;
      });
      await expect(scope.race(work)).rejects.toThrow("timed out");
      fail(new Error("late"));
      await new Promise((resolve) => setImmediate(resolve));
      expect(unhandled).not.toHaveBeenCalled();
    } finally {
      process.off("unhandledRejection", unhandled);
    }
  });

  test("may last longer than a timer can count", async () => {
    const { scope } = scopeAt({ timeoutMs: 2_147_483_647 });
    const work = new Promise((resolve) => setTimeout(() => resolve("done"), 15));
    expect(await scope.race(work)).toBe("done");
  });
});

describe("patience", () => {
  test("ends with the work", async () => {
    const { scope } = scopeAt();
    let done = false;
    await scope.patience(
      new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
        done = true;
      }),
    );
    expect(done).toBe(true);
  });

  test("ends quietly at the deadline", async () => {
    const { scope } = scopeAt({ timeoutMs: 10 });
    await expect(scope.patience(never())).resolves.toBeUndefined();
  });

  test("does not hide that the work failed", async () => {
    await expect(scopeAt().scope.patience(Promise.reject(new Error("x")))).rejects.toThrow("x");
  });
});

test("tells its listener once, and not one that was removed", () => {
  const heard: string[] = [];
  const first = new Aborter();
  first.addEventListener("abort", () => heard.push("first"));
  expect(first.aborted).toBe(false);
  first.abort();
  first.abort();
  const second = new Aborter();
  const listener = () => heard.push("second");
  second.addEventListener("abort", listener);
  second.removeEventListener("abort", listener);
  second.abort();
  expect([first.aborted, second.aborted, heard]).toEqual([true, true, ["first"]]);
});

test("refuses a second listener: it would be lost", () => {
  const aborter = new Aborter();
  aborter.addEventListener("abort", () => {});
  expect(() => aborter.addEventListener("abort", () => {})).toThrow("one listener");
});
