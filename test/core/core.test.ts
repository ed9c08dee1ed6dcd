import { createHash } from "node:crypto";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "@jest/globals";
import { base32nopad } from "@scure/base";
import fc from "fast-check";
import { isoTime } from "../../src/core/clock.js";
import { etagOf, expectedOf, hashText, isExpected } from "../../src/core/etag.js";
import { RecentContents, VersionCache } from "../../src/core/etag-cache.js";
import { after as goOn, type Io, isPending, runIo, wait, yieldToLoop } from "../../src/core/io.js";
import { later, loadAhead } from "../../src/core/later.js";
import { MemoryBudget, type MemoryLease, UNCOUNTED_BYTES } from "../../src/core/memory.js";
import { FairQueue } from "../../src/core/turns.js";
import { countValue, listValue, readValue, sliceValue } from "../../src/core/value-tree.js";

/** The last millisecond of a `Date`. */
const LAST_MS = 8.64e15;

test("a time is written as by Date.toISOString, before and after any other", () => {
  const times = fc.array(fc.integer({ min: -LAST_MS, max: LAST_MS }), { minLength: 1 });
  const near = fc.array(fc.integer({ min: -200_000_000, max: 200_000_000 }), { minLength: 1 });
  fc.assert(
    fc.property(fc.oneof(times, near), (all) => {
      for (const ms of all) expect(isoTime(ms)).toBe(new Date(ms).toISOString());
    }),
  );
  for (const ms of [0, -1, 86_399_999, 86_400_000, LAST_MS, -LAST_MS]) {
    expect(isoTime(ms)).toBe(new Date(ms).toISOString());
  }
});

test("a time that no Date can hold is refused", () => {
  for (const ms of [LAST_MS + 86_400_000, Number.NaN, Number.POSITIVE_INFINITY]) {
    expect(() => isoTime(ms)).toThrow(RangeError);
  }
});

const sha = (text: string) => createHash("sha256").update(text).digest("hex");

describe("an etag", () => {
  test("is the first 40 bits of the hash in base32", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const hash = createHash("sha256").update(text).digest();
        expect(etagOf(hash.toString("hex"))).toBe(base32nopad.encode(hash.subarray(0, 5)).toLowerCase());
      }),
    );
  });
});

describe("what a change expects", () => {
  test.each([
    [{ content: etagOf(sha("a")) }, sha("a"), true],
    [{ content: hashText(sha("a")) }, sha("a"), true],
    [{ content: etagOf(sha("a")) }, sha("b"), false],
    [{ content: hashText(sha("a")) }, sha("b"), false],
    [{ content: etagOf(sha("a")) }, undefined, false],
    ["nothing" as const, undefined, true],
    ["nothing" as const, sha("a"), false],
  ])("is judged by the content found: %j, %s: %s", (expected, found, answer) => {
    expect(isExpected(expected, found)).toBe(answer);
  });

  test.each([
    [{}, undefined],
    [{ ifMatch: "k3v5x2aq" }, { content: "k3v5x2aq" }],
    [{ ifMatch: hashText(sha("a")) }, { content: hashText(sha("a")) }],
    [{ ifNoneMatch: "*" }, "nothing"],
  ])("is read from %j", (input, expected) => {
    expect(expectedOf(input)).toEqual(expected);
  });

  test.each([
    [{ ifMatch: "K3V5X2AQ" }, "/ifMatch"],
    [{ ifMatch: "k3v5x2a1" }, "/ifMatch"],
    [{ ifMatch: "" }, "/ifMatch"],
    [{ ifMatch: `sha256:${"A".repeat(64)}` }, "/ifMatch"],
    [{ ifMatch: "*" }, "/ifMatch"],
    [{ ifNoneMatch: "k3v5x2aq" }, "/ifNoneMatch"],
    [{ ifMatch: "k3v5x2aq", ifNoneMatch: "*" }, "/ifNoneMatch"],
  ])("is refused in %j", (input, pointer) => {
    expect(() => expectedOf(input)).toThrow(
      expect.objectContaining({ code: "INVALID_INPUT", data: expect.objectContaining({ pointer }) }),
    );
  });
});

describe("hashes that are known", () => {
  test("are known by root and stamp, and not for a file that may still change unseen", () => {
    const cache = new VersionCache(() => createHash("sha256"));
    cache.put("a", "1:2", "x");
    cache.put("a", undefined, "y");
    expect([cache.get("a", "1:2"), cache.get("b", "1:2"), cache.get("a", undefined)]).toEqual([
      "x",
      undefined,
      undefined,
    ]);
  });

  test("are bounded in number; the oldest go first", () => {
    const cache = new VersionCache(() => createHash("sha256"));
    for (let index = 0; index <= 50_000; index += 1) cache.put("a", String(index), "x");
    expect([cache.get("a", "0"), cache.get("a", "1"), cache.get("a", "50000")]).toEqual([undefined, "x", "x"]);
  });
});

/** A queue of items named after who sent them. */
function queueOf(...items: readonly string[]): FairQueue<string> {
  const queue = new FairQueue<string>();
  for (const item of items) queue.push(item[0], item);
  return queue;
}

function takeAll(queue: FairQueue<string>): string[] {
  const taken: string[] = [];
  for (let item = queue.take(); item !== undefined; item = queue.take()) taken.push(item);
  return taken;
}

test("senders take turns, and what one sends keeps its order", () => {
  const queue = queueOf("a1", "a2", "a3", "b1", "c1", "c2");
  expect(queue.size).toBe(6);
  expect(takeAll(queue)).toEqual(["a1", "b1", "c1", "a2", "c2", "a3"]);
  expect([queue.size, queue.take()]).toEqual([0, undefined]);
});

test("who comes while others wait is served after one of each", () => {
  const queue = queueOf("a1", "a2", "a3", "b1", "b2");
  expect(queue.take()).toBe("a1");
  queue.push("c", "c1");
  expect(takeAll(queue)).toEqual(["b1", "a2", "c1", "b2", "a3"]);
});

test("senders that may not go are passed over, and keep their places", () => {
  const queue = queueOf("a1", "b1", "a2", "b2");
  expect(queue.take((sender) => sender !== "a")).toBe("b1");
  expect(queue.take(() => false)).toBeUndefined();
  expect(queue.size).toBe(3);
  expect(takeAll(queue)).toEqual(["a1", "b2", "a2"]);
});

test("an item can be taken back while it waits, once", () => {
  const queue = queueOf("a1", "a2", "b1");
  expect([queue.remove("a", "a1"), queue.remove("a", "a1"), queue.remove("c", "c1")]).toEqual([true, false, false]);
  expect(queue.remove("b", "b1")).toBe(true);
  expect(queue.size).toBe(1);
  expect(takeAll(queue)).toEqual(["a2"]);
});

test("a sender without a name is one like the others", () => {
  const queue = queueOf("a1", "a2");
  queue.push(undefined, "x1");
  expect(takeAll(queue)).toEqual(["a1", "x1", "a2"]);
});

describe("input and output", () => {
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
});

const failing = (code: string) => async () => {
  throw Object.assign(new Error(code), { code, syscall: "open" });
};

describe("what is loaded ahead", () => {
  test("is loaded once, with what asks for it meanwhile, whatever fails", async () => {
    const loaded: string[] = [];
    const load = (name: string) => async () => void loaded.push(name);
    later(load("first"));
    for (const code of ["EMFILE", "MODULE_NOT_FOUND"]) later(failing(code));
    later(async () => {
      loaded.push("second");
      later(load("inner"));
    });
    const failures: unknown[] = [];
    for (let time = 0; time < 2; time++) await loadAhead((error) => failures.push(error));
    expect(loaded).toEqual(["first", "second", "inner"]);
    expect(failures).toMatchObject([{ code: "EMFILE" }]);
  });
});

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

const KB = 1024;

/** Keeps content under a key, with a hash that nobody computes. */
function keep(recent: RecentContents, key: string, { length, fill }: { length: number; fill: string }): Buffer {
  const bytes = recent.room(length).fill(fill);
  recent.keep(key, { bytes, sha256: `hash of ${key}` });
  return Buffer.from(bytes);
}

describe("contents that were kept", () => {
  test("are known by their bytes, and only under their key", () => {
    const recent = new RecentContents(() => createHash("sha256"));
    const bytes = keep(recent, "a", { length: 20 * KB, fill: "x" });
    expect(recent.hashOf("a", bytes)).toBe("hash of a");
    expect(recent.hashOf("b", bytes)).toBeUndefined();
    const changed = Buffer.from(bytes).fill("y", bytes.length - 1);
    expect(recent.hashOf("a", changed)).toBeUndefined();
    expect(recent.hashOf("a", bytes.subarray(1))).toBeUndefined();
  });

  test("stay as they were while other contents are written", () => {
    const recent = new RecentContents(() => createHash("sha256"));
    const first = keep(recent, "a", { length: 20 * KB, fill: "1" });
    for (const fill of ["2", "3", "4"]) keep(recent, "b", { length: 20 * KB, fill });
    recent.room(20 * KB).fill("5");
    expect(recent.hashOf("a", first)).toBe("hash of a");
  });

  test("give their memory to the next content of their file", () => {
    const recent = new RecentContents(() => createHash("sha256"));
    const buffers = new Set<unknown>();
    for (let turn = 0; turn < 20; turn++) {
      const bytes = recent.room(100 * KB + turn).fill(turn);
      buffers.add(bytes.buffer);
      recent.keep("a", { bytes, sha256: "hash" });
    }
    expect(buffers.size).toBe(2);
  });

  test("are at most 8 MiB in all, the oldest forgotten first, and none above 1 MiB", () => {
    const recent = new RecentContents(() => createHash("sha256"));
    const kept = ["a", "b", "c", "d", "e", "g", "h", "i", "j"].map((key) =>
      keep(recent, key, { length: 1024 * KB, fill: key }),
    );
    const [first = Buffer.alloc(0), second = Buffer.alloc(0)] = kept;
    expect(recent.hashOf("a", first)).toBeUndefined();
    expect(recent.hashOf("b", second)).toBe("hash of b");
    const large = keep(recent, "f", { length: 1024 * KB + 1, fill: "f" });
    expect(recent.hashOf("f", large)).toBeUndefined();
    expect(recent.hashOf("b", second)).toBe("hash of b");
  });

  test("are forgotten when the file gets too short to be worth it", () => {
    const recent = new RecentContents(() => createHash("sha256"));
    const bytes = keep(recent, "a", { length: 20 * KB, fill: "x" });
    keep(recent, "a", { length: 100, fill: "x" });
    expect(recent.hashOf("a", bytes)).toBeUndefined();
  });
});

describe("the hash of new content", () => {
  const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

  /** Changes a byte, and says how many are before it. */
  function editAt(recent: RecentContents, before: Buffer, at: number): { bytes: Buffer; unchanged: number } {
    const bytes = recent.room(before.length);
    before.copy(bytes);
    bytes[at] = (bytes[at] ?? 0) ^ 0xff;
    return { bytes, unchanged: at };
  }

  test.each([
    ["from its start to its end", [0, 1, 63, 64, 65, 9_000, 50_000, 99_999]],
    ["from its end to its start", [99_999, 50_000, 9_000, 65, 64, 63, 1, 0]],
    ["at one place", [50_000, 50_000, 50_000]],
    ["to and fro", [50_000, 99_999, 10, 60_000, 20, 99_998, 0, 70_000]],
  ])("is right when a file is edited %s", (_, places) => {
    const recent = new RecentContents(() => createHash("sha256"));
    let before = Buffer.alloc(100_000, "some text ");
    for (const at of places) {
      const { bytes, unchanged } = editAt(recent, before, at);
      const content = recent.hash("a", bytes, unchanged);
      expect(content?.sha256).toBe(sha256(bytes));
      before = Buffer.from(bytes);
      if (content !== undefined) recent.keep("a", content);
    }
  });

  test.each([
    ["too few", 10],
    ["too many", 90_000],
    ["all", 100_000],
  ])("is right where %s bytes are said to be unchanged, also the next time", (_, unchanged) => {
    const recent = new RecentContents(() => createHash("sha256"));
    let before = Buffer.alloc(100_000, "some text ");
    for (const at of [50_000, 95_000, 20_000]) {
      const { bytes } = editAt(recent, before, at);
      const content = recent.hash("a", bytes, unchanged);
      expect(content?.sha256).toBe(sha256(bytes));
      before = Buffer.from(bytes);
      if (content !== undefined) recent.keep("a", content);
    }
  });

  test("is right after others have changed the file, and when it gets shorter than what was hashed", () => {
    const recent = new RecentContents(() => createHash("sha256"));
    const first = recent.room(100_000).fill("x");
    const kept = recent.hash("a", first, 90_000);
    if (kept !== undefined) recent.keep("a", kept);
    for (const [length, fill] of [
      [100_000, "y"],
      [50_000, "x"],
    ] as const) {
      const bytes = Buffer.alloc(length, fill);
      expect(recent.hash("a", bytes, 40_000)?.sha256).toBe(sha256(bytes));
    }
  });

  test("goes on from the bytes before the last change: what is behind it is all that is hashed here", () => {
    const recent = new RecentContents(() => createHash("sha256"));
    const bytes = recent.room(1_000_000).fill("x");
    // Too much at once: somebody else hashes that.
    expect(recent.hash("a", bytes, 900_000)).toBeUndefined();
    const start = createHash("sha256").update(bytes.subarray(0, 900_000));
    recent.keep("a", { bytes, sha256: "hash", start: { length: 900_000, state: start } });
    const next = Buffer.from(bytes).fill("y", 950_000);
    for (const unchanged of [950_000, 900_000, 0]) expect(recent.hash("a", next, unchanged)?.sha256).toBe(sha256(next));
    // The same bytes of another file have been hashed by nobody.
    expect(recent.hash("b", next, 950_000)).toBeUndefined();
  });

  test("is not computed for content that is not kept", () => {
    const recent = new RecentContents(() => createHash("sha256"));
    expect(recent.hash("a", Buffer.alloc(16_383), 100)).toBeUndefined();
    expect(recent.hash("a", Buffer.alloc(1_048_577), 100)).toBeUndefined();
  });
});

const TREE = {
  map: { b: 1, a: { deep: "é" }, "": 0 },
  vector: ["x", { y: [true] }, null],
  text: "text",
  long: 12,
  double: 1.5,
  yes: true,
  nothing: null,
  empty: {},
};
const PAGE = { offset: 0, limit: 1000 };
const ABSENT = { exists: false };

describe("a value", () => {
  test.each([
    ["map/b", 1, "Long"],
    ["/map/a/deep", "é", "String"],
    ["map/", 0, "Long"],
    ["vector/0", "x", "String"],
    ["vector/1/y/0", true, "Boolean"],
    ["vector/2", null, "Null"],
    ["vector", TREE.vector, "Vector"],
    ["double", 1.5, "Double"],
    ["nothing", null, "Null"],
    ["empty", {}, "Map"],
    ["", TREE, "Map"],
    ["/", TREE, "Map"],
  ])("at %j is read, with its type and its size as JSON", (path, value, type) => {
    const valueBytes = Buffer.byteLength(JSON.stringify(value));
    expect(readValue(TREE, path)).toEqual({ exists: true, value, type, valueBytes });
  });

  test.each([
    "nope",
    "map/nope",
    "map/a/deep/0",
    "//map",
    "text/0",
    "text/length",
    "nothing/x",
    "vector/3",
    "vector/-1",
    "vector/01",
    "vector/1.0",
    "vector/ 1",
    "vector/length",
    "vector/map",
    "__proto__",
    "constructor",
    "map/__proto__",
    "map/toString",
    "vector/constructor/name",
    "w/x",
  ])("at %j does not exist, whatever is asked", (path) => {
    for (const answer of [
      readValue(TREE, path),
      readValue(TREE, path, 0),
      listValue(TREE, path, PAGE),
      sliceValue(TREE, path, PAGE),
      countValue(TREE, path),
    ]) {
      expect(answer).toEqual(ABSENT);
    }
  });

  test("that really has a key like __proto__ shows it", () => {
    const tree = JSON.parse('{"__proto__":{"x":1}}');
    expect(readValue(tree, "__proto__/x")).toMatchObject({ exists: true, value: 1 });
  });

  test("over the size asked for is left out", () => {
    const truncated = { exists: true, truncated: true, type: "String", valueBytes: 4 };
    expect(readValue(TREE, "map/a/deep", 3)).toEqual(truncated);
    expect(readValue(TREE, "map/a/deep", 4)).toMatchObject({ value: "é" });
    expect(readValue(TREE, "nothing", 0)).toEqual({ exists: true, truncated: true, type: "Null", valueBytes: 4 });
  });
});

describe("the parts of a value", () => {
  test("of a map are its keys, in pages", () => {
    expect(listValue(TREE, "map", PAGE)).toEqual({
      exists: true,
      type: "Map",
      count: 3,
      offset: 0,
      keys: ["b", "a", ""],
    });
    expect(listValue(TREE, "map", { offset: 1, limit: 1 })).toEqual({
      exists: true,
      type: "Map",
      count: 3,
      offset: 1,
      keys: ["a"],
    });
    expect(listValue(TREE, "map", { offset: 5, limit: 1 })).toMatchObject({ count: 3, offset: 5, keys: [] });
  });

  test("of anything else are only counted by list", () => {
    expect(listValue(TREE, "vector", PAGE)).toEqual({ exists: true, type: "Vector", count: 3, offset: 0 });
    expect(listValue(TREE, "text", PAGE)).toEqual({ exists: true, type: "String", count: 0, offset: 0 });
  });

  test("are sliced as items, or as keys with values", () => {
    expect(sliceValue(TREE, "vector", { offset: 1, limit: 1 })).toEqual({
      exists: true,
      type: "Vector",
      values: [{ y: [true] }],
      count: 3,
      offset: 1,
    });
    expect(sliceValue(TREE, "map", { offset: 1, limit: 9 })).toEqual({
      exists: true,
      type: "Map",
      values: [
        { key: "a", value: { deep: "é" } },
        { key: "", value: 0 },
      ],
      count: 3,
      offset: 1,
    });
    expect(sliceValue(TREE, "long", PAGE)).toEqual({ exists: true, type: "Long", values: [], count: 0, offset: 0 });
  });

  test.each([
    ["map", { exists: true, count: 3 }],
    ["vector", { exists: true, count: 3 }],
    ["empty", { exists: true, count: 0 }],
    ["text", ABSENT],
    ["nothing", ABSENT],
  ])("of %s are counted", (path, counted) => {
    expect(countValue(TREE, path)).toEqual(counted);
  });
});
