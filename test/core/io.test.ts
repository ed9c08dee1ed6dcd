import { runInNewContext } from "node:vm";
import { describe, expect, test } from "@jest/globals";
import { after as goOn, type Io, isPending, runIo, wait, yieldToLoop } from "../../src/core/io.js";

const later = <T>(value: T): Promise<T> => new Promise((resolve) => setImmediate(() => resolve(value)));

describe("a computation", () => {
  test("that never waits has its result at once", () => {
    function* sum(): Io<number> {
      return (yield* wait(1)) + (yield* wait(2));
    }
    expect(runIo(sum())).toBe(3);
  });

  test("that never waits fails at once", () => {
    function* fail(): Io<number> {
      throw new Error("at once");
    }
    expect(() => runIo(fail())).toThrow("at once");
  });

  test("that waits has its result later, each step in its turn", async () => {
    const steps: string[] = [];
    function* work(): Io<string> {
      steps.push("begun");
      const first = yield* wait(later("a"));
      steps.push(first);
      const second = yield* wait("b");
      steps.push(second);
      steps.push(yield* wait(later("c")));
      return "done";
    }
    const result = runIo(work());
    expect(steps).toEqual(["begun"]);
    expect(await result).toBe("done");
    expect(steps).toEqual(["begun", "a", "b", "c"]);
  });

  test("meets the failure of what it waits for where it waits, and may go on", async () => {
    function* work(): Io<string> {
      try {
        yield* wait(Promise.reject(new Error("broken")));
        return "never";
      } catch (error) {
        return `${(error as Error).message}, ${yield* wait(later("mended"))}`;
      }
    }
    expect(await runIo(work())).toBe("broken, mended");
  });

  test("fails with what it does not catch, before and after waiting, and cleans up", async () => {
    let cleaned = 0;
    function* work(beforehand: boolean): Io<void> {
      try {
        yield* wait(beforehand ? Promise.reject(new Error("waited for")) : later(undefined));
        throw new Error("thrown");
      } finally {
        cleaned++;
      }
    }
    await expect(runIo(work(true))).rejects.toThrow("waited for");
    await expect(runIo(work(false))).rejects.toThrow("thrown");
    expect(cleaned).toBe(2);
  });

  test("may be given up by its scope, and still runs to its end", async () => {
    let ended = false;
    function* work(): Io<string> {
      yield* wait(later(undefined));
      ended = true;
      return "late";
    }
    const scope = {
      race: <T>(work: Promise<T>): Promise<T> => Promise.race([work, Promise.reject(new Error("given up"))]),
    };
    await expect(runIo(work(), scope)).rejects.toThrow("given up");
    expect(ended).toBe(false);
    await later(undefined);
    await later(undefined);
    expect(ended).toBe(true);
  });

  test("that never waits does not ask its scope", () => {
    function* work(): Io<string> {
      return "now";
    }
    const scope = {
      race(): never {
        throw new Error("asked");
      },
    };
    expect(runIo(work(), scope)).toBe("now");
  });
});

describe("what has to be waited for", () => {
  const foreign: Promise<number> = runInNewContext("Promise.resolve(1)");

  test("is a promise of anybody's making", () => {
    expect(foreign).not.toBeInstanceOf(Promise);
    expect([isPending(Promise.resolve(1)), isPending(foreign)]).toEqual([true, true]);
  });

  test.each([[undefined], [null], [0], ["then"], [{}], [JSON.parse('{"then":1}')], [Buffer.alloc(1)], [() => {}]])(
    "is not %p",
    (value) => {
      expect(isPending<unknown>(value)).toBe(false);
    },
  );

  test("is waited for before going on; what is there is not", async () => {
    const double = (value: number) => value * 2;
    expect(goOn(2, double)).toBe(4);
    expect(await goOn(later(2), double)).toBe(4);
    expect(await goOn(foreign, double)).toBe(2);
    expect(await goOn(2, (value) => later(value))).toBe(2);
    await expect(goOn(Promise.reject(new Error("x")), double)).rejects.toThrow("x");
  });
});

describe("long work that yields", () => {
  test("goes on one piece in a turn of the loop, all by turns, however many are at work", async () => {
    const pieces: string[] = [];
    const work = async (name: string) => {
      for (let piece = 0; piece < 3; piece++) {
        await yieldToLoop();
        pieces.push(name);
      }
    };
    const all = Promise.all(["a", "b", "c"].map(work));
    for (let turn = 1; turn <= 9; turn++) {
      await later(undefined);
      expect(pieces).toHaveLength(turn);
    }
    await all;
    expect(pieces.join("")).toBe("abcabcabc");
  });

  test("that begins later waits for no more than one piece of each of the others", async () => {
    let isOver = false;
    const pieces: number[] = [];
    const work = async (name: number) => {
      while (!isOver) {
        await yieldToLoop();
        pieces.push(name);
      }
    };
    const others = [0, 1, 2].map(work);
    for (let turn = 0; turn < 5; turn++) await later(undefined);
    pieces.length = 0;
    await yieldToLoop();
    expect([...pieces].sort()).toEqual([0, 1, 2]);
    isOver = true;
    await Promise.all(others);
  });
});
