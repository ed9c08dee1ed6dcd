import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "@jest/globals";
import type { Clock } from "../../src/core/clock.js";
import type { ResolveAsset } from "../../src/core/ports/adapter.js";
import { failureOf, useGround } from "../ops/ground.js";
import { deferred, dispatchOn, turn } from "./fake.js";

/** Time that passes when it is told to, and by a step at each look if that is wished. */
function handClock(): Clock & { passMs(ms: number): void; stepMs: number } {
  let now = 0;
  const clock = {
    stepMs: 0,
    passMs: (ms: number) => {
      now += ms;
    },
    nowMs: () => now,
    monotonicMs: () => {
      now += clock.stepMs;
      return now;
    },
  };
  return clock;
}

const TIMEOUT = { code: "TIMEOUT", message: "Operation timed out after 1000 ms", data: {} };
const ABORTED = { code: "ABORTED", message: "Operation cancelled", data: {} };

/** One call of each operation, each of which would succeed. */
const CALLS: readonly [string, object][] = [
  ["list", { path: "" }],
  ["tree", { path: "" }],
  ["read", { path: "file" }],
  ["read", { path: "file", offset: 0, length: 1 }],
  ["stat", { path: "file" }],
  ["write", { path: "file", content: "new" }],
  ["write", { path: "a/b", content: "new", parents: true }],
  ["append", { path: "file", content: "new" }],
  ["append", { path: "a/b", content: "new", parents: true }],
  ["mkdir", { path: "a/b", parents: true }],
  ["delete", { path: "file" }],
  ["delete", { path: "dir", recursive: true }],
];

const clock = handClock();
const ground = useGround({ clock, limits: { timeoutMs: 1000 } });
const unchanged = () => {
  expect(ground.names()).toEqual(["dir", "file"]);
  expect(ground.get("file").toString()).toBe("old");
};

beforeEach(() => {
  clock.stepMs = 0;
  ground.put("file", "old");
  ground.put("dir/inner");
});

describe("the deadline of a call", () => {
  test.each(CALLS)("ends %s %j before it has any effect", async (name, input) => {
    clock.stepMs = 600;
    expect(await ground.fail(name, input)).toEqual(TIMEOUT);
    unchanged();
  });

  test.each(CALLS)("leaves a quick %s %j alone", async (name, input) => {
    clock.stepMs = 1;
    await expect(ground.adapter.invoke(`file:${name}`, { root: "r", ...input })).resolves.toBeDefined();
  });

  test.each(["write", "append"] as const)(
    "has passed when the content comes late: %s changes nothing",
    async (name) => {
      const resolveAsset: ResolveAsset = async () => {
        clock.passMs(1001);
        return { content: Buffer.from("late") };
      };
      for (const path of ["file", "a/b"]) {
        expect(await ground.fail(name, { path, asset: "x", parents: true }, { resolveAsset })).toEqual(TIMEOUT);
      }
      unchanged();
      expect(ground.staged()).toEqual([]);
    },
  );

  test("is seen within a long enumeration", async () => {
    for (let index = 0; index < 200; index++) writeFileSync(join(ground.dir, `dir/${index}`), "");
    mkdirSync(join(ground.dir, "empty"));
    // So slow that only the looks at the clock between entries can use up the second.
    clock.stepMs = 90;
    expect(await ground.run("list", { path: "empty" })).toMatchObject({ total: 0 });
    expect(await ground.run("tree", { path: "empty" })).toMatchObject({ complete: true });
    expect(await ground.fail("list", { path: "dir" })).toEqual(TIMEOUT);
    expect(await ground.fail("tree", { path: "" })).toEqual(TIMEOUT);
    clock.stepMs = 1;
    expect(await ground.run("list", { path: "dir" })).toMatchObject({ total: 201 });
  });
});

describe("a caller who is not answered", () => {
  const impatient = useGround({ limits: { timeoutMs: 25 } });

  test.each(["write", "append"] as const)(
    "is told at the deadline: %s, whose content then comes too late",
    async (name) => {
      impatient.put("file", "old");
      const late = deferred<{ content: Buffer }>();
      const failed = impatient.fail(name, { path: "file", asset: "x" }, { resolveAsset: () => late.promise });
      expect(await failed).toMatchObject({ code: "TIMEOUT", message: "Operation timed out after 25 ms" });
      late.resolve({ content: Buffer.from("late") });
      for (let turns = 0; turns < 5; turns++) await turn();
      expect(impatient.get("file").toString()).toBe("old");
      expect(impatient.staged()).toEqual([]);
    },
  );
});

describe("the longest time that can be configured", () => {
  const patient = useGround({ limits: { timeoutMs: 2_147_483_647 }, root: { io: "pool" } });

  test("does not pass at once", async () => {
    patient.put("file", "x");
    expect((await patient.run("read", { path: "file" })).content).toBe("x");
    const held = deferred<{ content: Buffer }>();
    const write = patient.run("write", { path: "file", asset: "x" }, { resolveAsset: () => held.promise });
    setTimeout(() => held.resolve({ content: Buffer.from("late") }), 15);
    expect(await write).toMatchObject({ written: 4, created: false });
  });
});

describe("a signal", () => {
  const roots = () => ground.adapter.invoke("file:roots", {}, { signal: AbortSignal.abort() });

  test.each(CALLS)("given already keeps %s %j from beginning", async (name, input) => {
    expect(await ground.fail(name, input, { signal: AbortSignal.abort() })).toEqual(ABORTED);
    unchanged();
  });

  test("given already keeps roots from being listed", async () => {
    expect(await failureOf(roots())).toEqual(ABORTED);
  });

  test("says nothing before what is wrong with a call", async () => {
    const signal = AbortSignal.abort();
    expect((await ground.fail("read", { path: "../x" }, { signal })).code).toBe("PATH_ESCAPES_ROOT");
    expect((await ground.fail("read", { path: "file" }, { signal, caps: [] })).code).toBe("CAPABILITY_DENIED");
  });

  test.each(["write", "append"] as const)("given while %s waits for content answers at once", async (name) => {
    const controller = new AbortController();
    const asked = deferred();
    const late = deferred<{ content: Buffer }>();
    const resolveAsset: ResolveAsset = (_reference, signal) => {
      expect(signal).toBe(controller.signal);
      asked.resolve();
      return late.promise;
    };
    const call = ground.fail(name, { path: "file", asset: "x" }, { resolveAsset, signal: controller.signal });
    await asked.promise;
    controller.abort();
    expect(await call).toEqual(ABORTED);
    late.resolve({ content: Buffer.from("late") });
    for (let turns = 0; turns < 5; turns++) await turn();
    unchanged();
  });

  test("given by the source of the content itself is heard", async () => {
    const controller = new AbortController();
    const late = deferred<{ content: Buffer }>();
    const resolveAsset: ResolveAsset = () => {
      controller.abort();
      return late.promise;
    };
    const call = ground.fail("write", { path: "file", asset: "x" }, { resolveAsset, signal: controller.signal });
    expect(await call).toEqual(ABORTED);
    late.resolve({ content: Buffer.from("late") });
  });

  test("given after the answer changes nothing", async () => {
    const controller = new AbortController();
    await ground.run("write", { path: "file", content: "new" }, { signal: controller.signal });
    controller.abort();
    expect(ground.get("file").toString()).toBe("new");
  });
});

describe("a call that has committed", () => {
  test.each([["deadline"], ["signal"]])("is not ended by the %s any more", async (by) => {
    const time = handClock();
    const controller = new AbortController();
    const { call } = dispatchOn({
      clock: time,
      limits: { timeoutMs: 1000 },
      backend: {
        async mkdir(_path, _options, access) {
          access.scope.commit();
          if (by === "deadline") time.passMs(5000);
          else controller.abort();
          access.scope.checkpoint();
          return { created: true };
        },
      },
    });
    expect(await call("mkdir", {}, { signal: controller.signal })).toEqual({ created: true, path: "file" });
  });
});
