import { describe, expect, test } from "@jest/globals";
import type { Clock } from "../../src/core/clock.js";
import { ioError } from "../../src/core/errors/texts.js";
import type { Backend, Written } from "../../src/core/ports/backend.js";
import { Repeats } from "../../src/dispatch/repeated-calls.js";
import { failureOf } from "../ops/ground.js";
import { deferred, dispatchOn, turn } from "./fake.js";

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
