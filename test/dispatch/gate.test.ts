import { describe, expect, test } from "@jest/globals";
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
