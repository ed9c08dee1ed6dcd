import fs, { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, jest, test } from "@jest/globals";
import { assembleAdapter } from "../../src/adapter/adapter.js";
import { parseFileConfig } from "../../src/config/load.js";
import type { Clock } from "../../src/core/clock.js";
import { ioError } from "../../src/core/errors/texts.js";
import type { ResolveAsset } from "../../src/core/ports/adapter.js";
import type { Backend, Written } from "../../src/core/ports/backend.js";
import { Repeats } from "../../src/dispatch/repeated-calls.js";
import { EventLog } from "../../src/feed/event-log.js";
import { failureOf, useGround } from "../ops/ground.js";
import { deferred, dispatchOn, turn } from "./fake.js";

describe("time limits", () => {
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
});

const WRITTEN: Written = { bytes: 1, created: true };
const alice = { callerDID: "did:key:alice", authentication: "static-token" } as const;
const bob = { callerDID: "did:key:bob", authentication: "static-token" } as const;

/** A root whose writes end when they are told to. */
function slowWrites() {
  const writes: ReturnType<typeof deferred<Written>>[] = [];
  const write: Backend["write"] = (_path, _body, _options, { scope }) => {
    const end = deferred<Written>();
    writes.push(end);
    return end.promise.then((written) => {
      scope.commit();
      return written;
    });
  };
  return { ...dispatchOn({ backend: { write } }), writes };
}

describe("a change with an operation id", () => {
  test("is made once, however often it is called, and answers the same", async () => {
    const { call } = dispatchOn();
    const append = () => call("append", { path: "log", content: "x", operationId: "a.1" });
    const answers = [await append(), await append(), await append()];
    expect(answers[0]).toMatchObject({ appended: 1, created: true, operationId: "a.1" });
    expect(answers).toEqual([answers[0], answers[0], answers[0]]);
    expect(await call("stat", { path: "log" })).toMatchObject({ size: 1 });
    expect(await call("append", { path: "log", content: "x" })).not.toHaveProperty("operationId");
  });

  test("has one effect when equal calls race", async () => {
    const { call, writes } = slowWrites();
    const calls = Array.from({ length: 5 }, () => call("write", { content: "x", operationId: "a" }));
    await turn();
    expect(writes).toHaveLength(1);
    writes[0]?.resolve(WRITTEN);
    const [first, ...others] = await Promise.all(calls);
    expect(others).toEqual(others.map(() => first));
    expect(writes).toHaveLength(1);
  });

  test("takes no place of the running calls while it waits for the first", async () => {
    const end = deferred<Written>();
    const { call } = dispatchOn({ backend: { write: () => end.promise }, limits: { maxConcurrent: 2 } });
    const calls = Array.from({ length: 4 }, () => call("write", { content: "x", operationId: "a" }));
    await turn();
    expect(await call("stat", {})).toEqual({ exists: false });
    end.resolve(WRITTEN);
    await Promise.all(calls);
  });

  test("is made by a repeat that waited where the first one failed before its commit", async () => {
    const { call, writes } = slowWrites();
    const input = { content: "x", operationId: "a" };
    const first = failureOf(call("write", input));
    const second = call("write", input);
    await turn();
    writes[0]?.reject(ioError({ root: "r", path: "file" }, "write"));
    expect((await first).code).toBe("IO_ERROR");
    await turn();
    expect(writes).toHaveLength(2);
    writes[1]?.resolve(WRITTEN);
    expect(await second).toMatchObject({ written: 1, operationId: "a" });
  });

  test("that fails after its commit is not made again: the failure is its answer", async () => {
    let made = 0;
    const write: Backend["write"] = (_path, _body, _options, { scope }) => {
      scope.commit();
      throw ioError({ root: "r", path: "file" }, `write ${++made}`);
    };
    const { call } = dispatchOn({ backend: { write } });
    const failures = [1, 2].map(() => failureOf(call("write", { content: "x", operationId: "a" })));
    const [first, second] = await Promise.all(failures);
    expect(second).toEqual(first);
    expect(made).toBe(1);
  });

  test.each([
    ["other content", "write", { content: "y" }],
    ["another path", "write", { content: "x", path: "other" }],
    ["a condition", "write", { content: "x", ifNoneMatch: "*" }],
    ["another operation", "append", { content: "x" }],
  ])("cannot be another: %s", async (_what, operation, input) => {
    const { call } = dispatchOn();
    await call("write", { content: "x", operationId: "a" });
    expect(await failureOf(call(operation, { ...input, operationId: "a" }))).toEqual({
      code: "CONFLICT",
      message: `'operationId' "a" belongs to another call of yours. Choose a new one for each change`,
      data: { operationId: "a" },
    });
  });

  test("counts fields in another order, and null, as the same input", async () => {
    const { call } = dispatchOn();
    await call("append", { content: "x", parents: true, operationId: "a" });
    await call("append", { operationId: "a", parents: true, ifMatch: null, content: "x" });
    expect(await call("stat", {})).toMatchObject({ size: 1 });
  });

  test("belongs to its caller", async () => {
    const { call } = dispatchOn();
    const append = (content: string, context = {}) => call("append", { content, operationId: "a" }, context);
    await append("x");
    await append("yy", alice);
    await append("zzz", bob);
    await append("yy", alice);
    expect(await call("stat", {})).toMatchObject({ size: 6 });
  });

  test("is refused to callers that nobody can tell apart", async () => {
    const { call } = dispatchOn();
    const anonymous = { callerDID: "did:web:venue:public", authentication: "public" } as const;
    expect(await failureOf(call("write", { content: "x", operationId: "a" }, anonymous))).toMatchObject({
      code: "INVALID_INPUT",
      data: { pointer: "/operationId" },
    });
    expect(await call("stat", {})).toEqual({ exists: false });
  });

  test.each(["", "a b", "ü", "x".repeat(65)])("has an id of a few characters only: %j", async (operationId) => {
    const { call } = dispatchOn();
    expect((await failureOf(call("write", { content: "x", operationId }))).code).toBe("INVALID_INPUT");
  });

  test.each([
    ["write", "write", { content: "x" }],
    ["edit", "edit", { oldText: "1", newText: "2" }],
    ["move", "move", { path: "numbers", to: "moved" }],
  ])("judges the rights of %s anew", async (_name, operation, given) => {
    const { call } = dispatchOn();
    await call("write", { path: "file", content: "1" });
    await call("write", { path: "numbers", content: "1" });
    const input = { ...given, operationId: "a" };
    await call(operation, input, alice);
    const readsOnly = { ...alice, caps: [{ with: "file://r/", can: "crud/read" }] };
    expect((await failureOf(call(operation, input, readsOnly))).code).toBe("CAPABILITY_DENIED");
    expect(await call(operation, input, alice)).toMatchObject({ operationId: "a" });
  });

  test("shows the difference it made to the first call only", async () => {
    const { call } = dispatchOn();
    await call("write", { content: "one\n" });
    const edit = () => call("edit", { oldText: "one", newText: "two", operationId: "a" });
    const first = (await edit()) as { etag: string };
    expect(first).toMatchObject({ diff: expect.stringContaining("+two"), applied: 1 });
    const { diff: _, diffTruncated: __, ...rest } = first as unknown as Record<string, unknown>;
    expect(await edit()).toEqual(rest);
  });

  test("is audited at each call, and moves bytes at the first only", async () => {
    const { call, audit } = dispatchOn();
    for (let time = 0; time < 2; time++) await call("write", { content: "xyz", operationId: "a" });
    expect(audit.map(({ outcome, bytes }) => ({ outcome, bytes }))).toEqual([
      { outcome: "OK", bytes: 3 },
      { outcome: "OK", bytes: 0 },
    ]);
  });

  test("is forgotten after an hour", async () => {
    let now = 0;
    const clock: Clock = { nowMs: () => now, monotonicMs: () => now };
    const { call } = dispatchOn({ clock });
    const append = () => call("append", { content: "x", operationId: "a" });
    await append();
    now = 3_599_000;
    await append();
    expect(await call("stat", {})).toMatchObject({ size: 1 });
    now = 3_600_000;
    await append();
    expect(await call("stat", {})).toMatchObject({ size: 2 });
  });

  test("makes room for later ones, the oldest first", async () => {
    const { call } = dispatchOn({ repeats: (clock) => new Repeats(clock, { mostBytes: 5000 }) });
    const append = (operationId: string) => call("append", { content: "x", operationId });
    for (let index = 0; index < 20; index++) await append(`id${index}`);
    await append("id19");
    expect(await call("stat", {})).toMatchObject({ size: 20 });
    await append("id0");
    expect(await call("stat", {})).toMatchObject({ size: 21 });
  });
});

describe("polls that end", () => {
  const eventLog = new EventLog();
  const on = useGround({ eventLog });

  test("a poll of changes that waits answers with what there is when the adapter is about to close; later ones do not wait", async () => {
    const { cursor } = await on.run("watch", {});
    // As long as a test may take: an answer at the end of the wait would be too late.
    const waiting = on.run("watch", { cursor, waitMs: 30_000 });
    await on.run("stat", { path: "" });
    eventLog.end();
    expect(await waiting).toMatchObject({ overflow: false });
    expect(await on.run("watch", { cursor, waitMs: 30_000 })).toMatchObject({ overflow: false });
  });

  test("a poll that the end of the adapter answers has missed nothing, and watches nothing anew", async () => {
    const home = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-close-")));
    const watch = jest.spyOn(fs, "watch");
    try {
      const config = parseFileConfig({ roots: { docs: home } }, { baseDir: home });
      const adapter = await assembleAdapter(config, { discloseHostPaths: false });
      const poll = (more: object) => adapter.invoke("file:watch" as string, { root: "docs", ...more });
      const { cursor } = (await poll({})) as unknown as { cursor: string };
      const waiting = poll({ cursor, waitMs: 30_000 });
      await adapter.invoke("file:stat" as string, { root: "docs", path: "" });
      const watched = watch.mock.calls.length;
      await adapter.close();
      expect(await waiting).toMatchObject({ events: [], overflow: false });
      expect(watch).toHaveBeenCalledTimes(watched);
    } finally {
      watch.mockRestore();
      rmSync(home, { recursive: true });
    }
  });
});
