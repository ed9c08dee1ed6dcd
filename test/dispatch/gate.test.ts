import { afterEach, describe, expect, test } from "@jest/globals";
import { CallScope, cancelledBy } from "../../src/core/call/scope.js";
import { type Clock, systemClock } from "../../src/core/clock.js";
import type { ReadBytes } from "../../src/core/ports/backend.js";
import { Gate } from "../../src/dispatch/gate.js";
import { failureOf } from "../ops/ground.js";
import { deferred, dispatchOn, turn } from "./fake.js";

const scopeOf = (options: { timeoutMs?: number; signal?: AbortSignal } = {}) =>
  new CallScope({
    clock: systemClock,
    timeoutMs: options.timeoutMs ?? 10_000,
    cancellation: cancelledBy(options.signal),
  });

describe("a gate", () => {
  test("makes nobody wait while there is room", () => {
    const gate = new Gate(2);
    expect([gate.enter(scopeOf()), gate.enter(scopeOf())]).toEqual([undefined, undefined]);
    gate.leave();
    expect(gate.enter(scopeOf())).toBeUndefined();
  });

  test("lets those that wait in one by one, in the order in which they came", async () => {
    const gate = new Gate(1);
    gate.enter(scopeOf());
    const entered: number[] = [];
    for (const number of [1, 2, 3]) void gate.enter(scopeOf())?.then(() => entered.push(number));
    await turn();
    expect(entered).toEqual([]);
    for (const expected of [[1], [1, 2], [1, 2, 3]]) {
      gate.leave();
      await turn();
      expect(entered).toEqual(expected);
    }
    gate.leave();
    expect(gate.enter(scopeOf())).toBeUndefined();
  });

  test("lets nobody pass those that wait", async () => {
    const gate = new Gate(1);
    gate.enter(scopeOf());
    const first = gate.enter(scopeOf());
    gate.leave();
    const second = gate.enter(scopeOf());
    expect(second).toBeInstanceOf(Promise);
    await first;
    gate.leave();
    await second;
  });

  test("forgets who gives up, and lets the next one in", async () => {
    const gate = new Gate(1);
    gate.enter(scopeOf());
    const controller = new AbortController();
    const impatient = failureOf(gate.enter(scopeOf({ signal: controller.signal })) ?? Promise.resolve());
    const patient = gate.enter(scopeOf());
    controller.abort();
    expect(await impatient).toEqual({ code: "ABORTED", message: "Operation cancelled", data: {} });
    gate.leave();
    await patient;
    gate.leave();
    expect(gate.enter(scopeOf())).toBeUndefined();
  });

  test("hands on the room of someone who gave up just when it came free", async () => {
    const gate = new Gate(1);
    gate.enter(scopeOf());
    const controller = new AbortController();
    const impatient = failureOf(gate.enter(scopeOf({ signal: controller.signal })) ?? Promise.resolve());
    const patient = gate.enter(scopeOf());
    controller.abort();
    gate.leave();
    expect((await impatient).code).toBe("ABORTED");
    await patient;
  });

  test("does not keep anybody beyond the deadline", async () => {
    const gate = new Gate(1);
    gate.enter(scopeOf());
    const waiting = failureOf(gate.enter(scopeOf({ timeoutMs: 15 })) ?? Promise.resolve());
    expect(await waiting).toEqual({ code: "TIMEOUT", message: "Operation timed out after 15 ms", data: {} });
  });
});

describe("a gate between callers", () => {
  const ends: AbortController[] = [];
  afterEach(() => {
    for (const end of ends.splice(0)) end.abort();
  });

  /** Calls that enter under names like `a1`, of the caller `a`; a clock that the test moves. */
  function openGate(max: number) {
    let nowMs = 0;
    const gate = new Gate(max, () => nowMs);
    const inside: string[] = [];
    const end = new AbortController();
    ends.push(end);
    return {
      inside,
      enter: (...names: readonly string[]) => {
        for (const name of names) {
          const waiting = gate.enter(scopeOf({ signal: end.signal }), name[0]);
          if (waiting === undefined) inside.push(name);
          // Those that still wait at the end of a test give up.
          else
            void waiting.then(
              () => inside.push(name),
              () => {},
            );
        }
      },
      leave: async (caller: string) => {
        gate.leave(caller);
        await turn();
      },
      pass: (ms: number) => {
        nowMs += ms;
      },
    };
  }

  test("gives one caller three quarters of the places, and another finds one at once", async () => {
    const { enter, leave, inside } = openGate(4);
    enter("a1", "a2", "a3", "a4", "a5");
    expect(inside).toEqual(["a1", "a2", "a3"]);
    enter("b1");
    expect(inside).toEqual(["a1", "a2", "a3", "b1"]);
    await leave("b");
    expect(inside).toHaveLength(4);
    await leave("a");
    expect(inside).toEqual(["a1", "a2", "a3", "b1", "a4"]);
  });

  test("lets callers take turns where all wait", async () => {
    const { enter, leave, inside } = openGate(2);
    enter("a1", "b1", "a2", "a3", "a4", "b2", "c1");
    for (const caller of ["a", "a", "b", "b", "a", "a"]) await leave(caller);
    expect(inside).toEqual(["a1", "b1", "a2", "b2", "c1", "a3", "a4"]);
  });

  test("gives who has been alone for ten seconds all places, until another comes", async () => {
    const { enter, leave, inside, pass } = openGate(4);
    enter("a1", "a2", "a3", "a4");
    pass(10_000);
    enter("a5");
    expect(inside).toHaveLength(3);
    pass(1);
    enter("a6");
    await turn();
    // First come, first served: the call that waited goes before the one that came now.
    expect(inside).toEqual(["a1", "a2", "a3", "a4"]);
    enter("b1");
    await leave("a");
    expect(inside.at(-1)).toBe("b1");
    await leave("b");
    expect(inside).toHaveLength(5);
    await leave("a");
    expect(inside.at(-1)).toBe("a5");
  });

  test("gives an operator without a name all places", () => {
    const gate = new Gate(4);
    const entered = Array.from({ length: 5 }, () => gate.enter(scopeOf()));
    expect(entered.map((waiting) => waiting === undefined)).toEqual([true, true, true, true, false]);
    for (let index = 0; index < 5; index++) gate.leave();
  });
});

/** A root on which reads take until they are told to end. */
function slowReads(limits: { maxConcurrent: number; timeoutMs?: number }, clock: Clock = systemClock) {
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const on = dispatchOn({
    ...{ limits, clock },
    backend: {
      read(path) {
        started.push(path.text);
        const { promise, resolve } = deferred<ReadBytes>();
        ends.set(path.text, () => resolve({ bytes: Buffer.from(path.text), size: path.text.length }));
        return promise;
      },
    },
  });
  return { ...on, started, end: (path: string) => ends.get(path)?.() };
}

describe("calls at the same time", () => {
  test("are as many as the limit, the others follow in their order", async () => {
    const { call, started, end } = slowReads({ maxConcurrent: 2 });
    const calls = ["a", "b", "c", "d"].map((path) => call("read", { path }));
    await turn();
    expect(started).toEqual(["a", "b"]);
    end("b");
    await calls[1];
    await turn();
    expect(started).toEqual(["a", "b", "c"]);
    for (const path of ["a", "c"]) end(path);
    await turn();
    end("d");
    expect((await Promise.all(calls)).map((output) => (output as { content: string }).content)).toEqual([
      "a",
      "b",
      "c",
      "d",
    ]);
  });

  test("of one caller, however many, leave room for another's", async () => {
    const { call, started, end } = slowReads({ maxConcurrent: 4 });
    const [flood, other] = [{ callerDID: "did:key:zFlood" }, { callerDID: "did:key:zOther" }];
    const calls = Array.from({ length: 20 }, (_, index) => call("read", { path: `f${index}` }, flood));
    const answer = call("stat", { path: "none" }, other);
    expect(await answer).toEqual({ exists: false });
    expect(started).toEqual(["f0", "f1", "f2"]);
    for (let index = 0; index < 20; index++) {
      end(`f${index}`);
      await calls[index];
      await turn();
    }
    expect(started).toHaveLength(20);
  });

  test("that fail make room too", async () => {
    const { call } = dispatchOn({ limits: { maxConcurrent: 1 } });
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => failureOf(call("read", { path: "none" }))));
    expect(outcomes.map(({ code }) => code)).toEqual(Array.from({ length: 5 }, () => "NOT_FOUND"));
    expect(await call("stat", { path: "none" })).toEqual({ exists: false });
  });

  test("that are refused before the disk do not wait", async () => {
    const { call, end } = slowReads({ maxConcurrent: 1 });
    const first = call("read", { path: "a" });
    await turn();
    expect((await failureOf(call("read", { path: "../x" }))).code).toBe("PATH_ESCAPES_ROOT");
    expect((await failureOf(call("read", { path: "b" }, { caps: [] }))).code).toBe("CAPABILITY_DENIED");
    end("a");
    await first;
  });

  test("stop waiting when they are cancelled, and are never begun", async () => {
    const { call, started, end } = slowReads({ maxConcurrent: 1 });
    const first = call("read", { path: "a" });
    const controller = new AbortController();
    const waiting = failureOf(call("read", { path: "b" }, { signal: controller.signal }));
    await turn();
    controller.abort();
    expect((await waiting).code).toBe("ABORTED");
    end("a");
    await first;
    const third = call("read", { path: "c" });
    await turn();
    expect(started).toEqual(["a", "c"]);
    end("c");
    await third;
  });

  test("stop waiting at their deadline, of which waiting is a part", async () => {
    // Its clock stands still: only the timer of the call that waits ends it, also where the first takes long to begin.
    const still = { nowMs: () => 0, monotonicMs: () => 0 };
    const { call, started } = slowReads({ maxConcurrent: 1, timeoutMs: 20 }, still);
    // The first one is not stopped, since it never asks; it holds the only room.
    void call("read", { path: "a" }).catch(() => {});
    const waiting = failureOf(call("read", { path: "b" }));
    expect(await waiting).toMatchObject({ code: "TIMEOUT", message: "Operation timed out after 20 ms" });
    expect(started).toEqual(["a"]);
  });
});
