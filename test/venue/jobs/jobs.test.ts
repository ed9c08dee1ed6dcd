import { describe, expect, jest, test } from "@jest/globals";
import type { Caller } from "../../../src/core/call/caller.js";
import { FileAdapterError } from "../../../src/core/errors/errors.js";
import { aborted, notFound, timedOut } from "../../../src/core/errors/texts.js";
import type { JobRecord, Submission } from "../../../src/core/ports/job.js";
import type { Jobs } from "../../../src/venue/jobs/jobs.js";
import { estimateBytes } from "../../../src/venue/jobs/record.js";
import { gate } from "../catalogue/fake-adapter.js";
import {
  ALICE,
  ANYONE,
  BOB,
  call,
  callBy,
  NARROWED,
  OP_ASSET,
  OPERATOR,
  OTHERWISE,
  recordOf,
  store,
} from "./job-store.js";

describe("a record", () => {
  test("of a running job is STARTED and has neither output nor error", () => {
    const { jobs, clock } = store({ slow: () => gate().promise });
    const job = jobs.submit(call("file:slow", { root: "docs" }));
    expect(recordOf(jobs, job.id)).toEqual({
      id: `0x${job.id}`,
      op: OP_ASSET,
      name: "Fake slow",
      operation: "v/ops/file/slow",
      status: "STARTED",
      created: clock.now,
      updated: clock.now,
      caller: ALICE.did,
      input: { root: "docs" },
    });
  });

  test("names the asset by which the operation was called, if that is another", () => {
    const { jobs } = store({ read: () => 1 });
    const asset = "f".repeat(64);
    expect(jobs.submit(call("file:read", {}, { asset })).record().op).toBe(asset);
  });

  test("of a finished job has the output and the time of its end", async () => {
    const slow = gate();
    const { jobs, clock } = store({ slow: () => slow.promise });
    const created = clock.now;
    const job = jobs.submit(call("file:slow"));
    clock.now += 40;
    slow.open({ size: 3 });
    await expect(job.result).resolves.toEqual({ size: 3 });
    expect(job.record()).toMatchObject({ status: "COMPLETE", output: { size: 3 }, created, updated: created + 40 });
    expect(job.record()).not.toHaveProperty("error");
    expect(recordOf(jobs, job.id)).toEqual(job.record());
  });

  const failing = (error: unknown) => ({
    fail: () => {
      throw error;
    },
  });

  test("of a failed job has the error's text, code and data, and the result rejects with it", async () => {
    const error = notFound({ root: "docs", path: "nope" });
    const { jobs } = store(failing(error));
    const job = jobs.submit(call("file:fail"));
    await expect(job.result).rejects.toBe(error);
    const { error: text, errorCode, errorData, status } = job.record();
    expect({ text, errorCode, errorData, status }).toEqual({
      text: "Not found: docs:nope",
      errorCode: "NOT_FOUND",
      errorData: { root: "docs", path: "nope" },
      status: "FAILED",
    });
    expect(job.record()).not.toHaveProperty("output");
  });

  test("of a failure without data has no errorData", async () => {
    const { jobs } = store(failing(timedOut(30)));
    const record = await jobs.submit(call("file:fail")).settled(1000);
    expect(record).toMatchObject({ status: "FAILED", errorCode: "TIMEOUT" });
    expect(record).not.toHaveProperty("errorData");
  });

  const refuse = (): never => {
    throw new Error("no look");
  };
  const proxy = new Proxy({}, { getPrototypeOf: refuse, get: refuse, has: refuse, ownKeys: refuse });
  test.each<[string, unknown]>([
    ["without data", Object.assign(notFound({ root: "docs", path: "a" }), { data: undefined })],
    ["with data that cannot be looked at", Object.assign(notFound({ root: "docs", path: "a" }), { data: proxy })],
    ["that is a proxy", proxy],
    ["that is a text", "text"],
    ["that is nothing", undefined],
    ["that is null", null],
    ["that is a number", 1n],
  ])("of a failure %s is FAILED, and nothing runs on", async (_name, thrown) => {
    const { jobs } = store(failing(thrown));
    const job = jobs.submit(call("file:fail"));
    expect(await job.settled(10_000)).toMatchObject({ status: "FAILED", errorCode: "INTERNAL" });
    await expect(job.result).rejects.toMatchObject({ code: "INTERNAL" });
    await expect(jobs.run(call("file:fail")).result).rejects.toMatchObject({ code: "INTERNAL" });
    expect(jobs.running).toBe(0);
  });

  test("of an output that cannot be looked at is FAILED", async () => {
    const output = new Proxy({}, { get: (_target, key) => (key === "then" ? undefined : refuse()) });
    const { jobs } = store({ read: () => output });
    expect(await jobs.submit(call("file:read")).settled(10_000)).toMatchObject({ status: "FAILED" });
    expect(jobs.running).toBe(0);
  });

  test("of a cancelled job names the job", async () => {
    const { jobs } = store(failing(aborted()));
    const job = jobs.submit(call("file:fail"));
    await expect(job.settled(1000)).resolves.toMatchObject({
      status: "CANCELLED",
      error: `Job cancelled: ${job.id}`,
      errorCode: "ABORTED",
    });
    await expect(job.result).rejects.toMatchObject({ code: "ABORTED" });
  });

  test("of an unexpected failure shows no detail, and the failure is logged under what is shown", async () => {
    const cause = new TypeError("/home/alice/secret");
    const { jobs, logged } = store(failing(cause));
    const job = jobs.submit(call("file:fail"));
    await expect(job.result).rejects.toBeInstanceOf(FileAdapterError);
    expect(job.record()).toMatchObject({ error: `Internal error (${job.id})`, errorCode: "INTERNAL" });
    expect(logged).toEqual([[cause, job.id]]);
  });

  test("an adapter that throws instead of rejecting fails its job all the same", async () => {
    const { jobs, adapter } = store({ read: () => 1 });
    adapter.invoke = () => {
      throw notFound({ root: "r", path: "p" });
    };
    await expect(jobs.submit(call("file:read")).settled(1000)).resolves.toMatchObject({ errorCode: "NOT_FOUND" });
  });

  test.each(["content", "value", "bytes"])("hides %s, also when it is null", async (field) => {
    const { jobs, adapter } = store({ write: () => ({}) });
    const input = { root: "r", path: "p", [field]: null };
    const record = await jobs.submit(call("file:write", input)).settled(1000);
    expect(record.input).toEqual({ root: "r", path: "p", [field]: "HIDDEN" });
    expect(adapter.calls[0]?.input).toBe(input);
    expect(input[field]).toBeNull();
  });

  test("hides nothing of an operation without content", async () => {
    const { jobs } = store({ read: () => ({}) });
    const record = await jobs.submit(call("file:read", { content: "x" })).settled(1000);
    expect(record.input).toEqual({ content: "x" });
  });

  test("does not change when the caller changes its input afterwards", async () => {
    const { jobs } = store({ read: () => ({}) });
    const input = { root: "docs" };
    const job = jobs.submit(call("file:read", input));
    input.root = "other";
    expect(job.record().input).toEqual({ root: "docs" });
  });

  test.each([undefined, null, "text", [1]])("keeps an input that is no object: %j", async (input) => {
    const { jobs } = store({ write: () => ({}) });
    expect((await jobs.submit({ ...call("file:write"), input }).settled(1000)).input).toEqual(input);
  });

  test("is not made for a job that is only run", async () => {
    const { jobs } = store({
      read: () => "text",
      write: () => {
        throw notFound({ root: "r", path: "p" });
      },
    });
    const done = jobs.run(call("file:read", {}));
    const failed = jobs.run(call("file:write", {}));
    await expect(done.result).resolves.toBe("text");
    await expect(failed.result).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect([recordOf(jobs, done.id), recordOf(jobs, failed.id), jobs.size]).toEqual([undefined, undefined, 0]);
  });
});

describe("a job", () => {
  test("gives the adapter the caller's context and its own id", () => {
    const { jobs, adapter } = store({ read: () => 1 });
    const job = jobs.submit(call("file:read", {}, { context: { callerDID: "did:x", callCaps: [] } }));
    const context = {
      callerDID: "did:x",
      callCaps: [],
      jobId: job.id,
      signal: expect.anything(),
      cancellation: expect.anything(),
    };
    expect(adapter.calls[0]?.context).toEqual(context);
    expect(adapter.calls[0]?.context?.signal?.aborted).toBe(false);
  });

  test("gives the adapter what a surface adds to the context", () => {
    const { jobs, adapter } = store({ read: () => 1 });
    const more = {
      ...{ surface: "mcp", session: "s1", tool: "everruns:read", links: "refuse", takesBytes: true, ucans: ["u"] },
      ...{ within: [["docs"]], terms: { details: true }, isInternal: true, approval: "a" },
    };
    jobs.submit(call("file:read", {}, { context: { callerDID: "did:x", ...more } as Submission["context"] }));
    expect(adapter.calls[0]?.context).toMatchObject({ callerDID: "did:x", ...more });
  });

  test("of an operation nobody has is refused, and there is no record", () => {
    const { jobs } = store({ read: () => 1 });
    expect(() => jobs.submit(call("file:nope"))).toThrow(expect.objectContaining({ code: "UNKNOWN_OPERATION" }));
    expect(jobs.size).toBe(0);
  });

  test("has an id of its time, a counter and random bytes, and ids of one millisecond sort in order", () => {
    const { jobs, clock } = store({ read: () => 1 }, { max: 800 });
    const ids = Array.from({ length: 600 }, () => jobs.submit(call("file:read")).id);
    for (const id of ids) {
      expect(id).toMatch(/^[0-9a-f]{32}$/);
      expect(Number.parseInt(id.slice(0, 12), 16)).toBe(clock.now);
    }
    expect(ids.map((id) => Number.parseInt(id.slice(12, 16), 16))).toEqual(ids.map((_, i) => i));
    expect([...ids].sort()).toEqual(ids);
    expect(new Set(ids.map((id) => id.slice(16))).size).toBe(ids.length);
  });

  test("still running when the wait ends is shown as it stands, and goes on", async () => {
    const slow = gate();
    const { jobs } = store({ slow: () => slow.promise });
    const job = jobs.submit(call("file:slow"));
    await expect(job.settled(1)).resolves.toMatchObject({ status: "STARTED" });
    slow.open("late");
    await expect(job.settled(1000)).resolves.toMatchObject({ status: "COMPLETE", output: "late" });
  });

  test("may be waited for longer than a timer can", async () => {
    const slow = gate();
    const { jobs } = store({ slow: () => slow.promise });
    const waiting = jobs.submit(call("file:slow")).settled(Number.MAX_SAFE_INTEGER);
    setTimeout(() => slow.open("done"), 20);
    await expect(waiting).resolves.toMatchObject({ status: "COMPLETE" });
  });

  test("that fails with nobody looking at the result is no unhandled rejection", async () => {
    const unhandled = jest.fn();
    process.on("unhandledRejection", unhandled);
    try {
      const { jobs } = store({ fail: () => Promise.reject(new Error("boom")) });
      await jobs.submit(call("file:fail")).settled(1000);
      jobs.submit(call("file:fail"));
      await new Promise((resolve) => setImmediate(resolve));
      await new Promise((resolve) => setImmediate(resolve));
      expect(unhandled).not.toHaveBeenCalled();
    } finally {
      process.removeListener("unhandledRejection", unhandled);
    }
  });
});

const overloaded = (message: string) => expect.objectContaining({ name: "Overloaded", message, retryAfterMs: 1000 });

const MEGABYTES = 1024 * 1024;
const contentOf = (bytes: number) => ({ input: { content: new Uint8Array(bytes) } });

describe("running jobs", () => {
  const tooMany = overloaded("Too many jobs are running");
  const tooManyOfCaller = overloaded("Too many jobs of this caller are running");

  test.each([
    [10, 64],
    [70, 70],
  ])("of a store for %d records are at most %d, with or without one", async (max, most) => {
    const slow = gate();
    const { jobs, adapter } = store({ slow: () => slow.promise, read: () => 1 }, { max });
    const started = Array.from({ length: most }, (_, i) =>
      i % 2 === 0 ? jobs.submit(call("file:slow")) : jobs.run(callBy(BOB, "file:slow")),
    );
    expect(jobs.running).toBe(most);
    expect(() => jobs.submit(call("file:read"))).toThrow(tooMany);
    expect(() => jobs.run(call("file:read"))).toThrow(tooMany);
    expect(adapter.calls).toHaveLength(most);
    slow.open(1);
    await Promise.all(started.map((job) => job.result));
    expect(jobs.running).toBe(0);
    await expect(jobs.submit(call("file:read")).result).resolves.toBe(1);
  });

  test.each([
    [10, 64],
    [80, 64],
    [100, 75],
  ])("of one caller in a store for %d records are at most %d, so that others find room", async (max, most) => {
    const slow = gate();
    const { jobs } = store({ slow: () => slow.promise, read: () => 1 }, { max });
    const started = Array.from({ length: most }, () => jobs.submit(call("file:slow")));
    const refusal = max > most ? tooManyOfCaller : tooMany;
    expect(() => jobs.submit(call("file:read"))).toThrow(refusal);
    if (max > most) await expect(jobs.submit(callBy(BOB, "file:read")).result).resolves.toBe(1);
    slow.open(1);
    await Promise.all(started.map((job) => job.result));
    await expect(jobs.submit(call("file:read")).result).resolves.toBe(1);
  });

  test("hold a bounded amount of input, but one alone may have any", async () => {
    const gates = [gate(), gate(), gate()];
    const { jobs, adapter } = store({ slow: () => gates[adapter.calls.length - 1]?.promise, read: () => 1 });
    const submit = (bytes: number, caller = ALICE) => jobs.submit(callBy(caller, "file:slow", contentOf(bytes)));
    const huge = submit(300 * MEGABYTES);
    expect(() => submit(1)).toThrow(tooMany);
    gates[0]?.open(1);
    await huge.result;
    const half = submit(150 * MEGABYTES);
    expect(() => submit(150 * MEGABYTES)).toThrow(tooMany);
    expect(() => submit(150 * MEGABYTES, BOB)).toThrow(tooMany);
    const rest = submit(100 * MEGABYTES, BOB);
    gates[1]?.open(1);
    gates[2]?.open(1);
    await Promise.all([half.result, rest.result]);
    await expect(jobs.submit(call("file:read")).result).resolves.toBe(1);
  });

  test("of one caller hold three quarters of that, so that others find room; one alone may have more", async () => {
    const gates = [gate(), gate(), gate(), gate()];
    const { jobs, adapter } = store({ slow: () => gates[adapter.calls.length - 1]?.promise });
    const submit = (megabytes: number, caller = ALICE) =>
      jobs.submit(callBy(caller, "file:slow", contentOf(megabytes * MEGABYTES)));
    const first = submit(150);
    expect(() => submit(45)).toThrow(tooManyOfCaller);
    const second = submit(40);
    expect(() => submit(5)).toThrow(tooManyOfCaller);
    const other = submit(60, BOB);
    for (const index of [0, 2]) gates[index]?.open(1);
    await Promise.all([first.result, other.result]);
    expect(() => submit(200)).toThrow(tooManyOfCaller);
    gates[1]?.open(1);
    await second.result;
    const alone = submit(200);
    expect(() => submit(1)).toThrow(tooManyOfCaller);
    gates[3]?.open(1);
    await alone.result;
    expect(jobs.running).toBe(0);
  });
});

describe("watching", () => {
  const tooMany = overloaded("Too many streams are open");
  const watch = (jobs: Jobs, id: string, listener: (record: JobRecord | undefined) => void = () => {}) => {
    const watched = jobs.watch(id, ALICE, listener);
    if ("refused" in watched) throw new Error(watched.refused);
    return watched;
  };

  test("tells the state now and the end, once each", async () => {
    const slow = gate();
    const { jobs } = store({ slow: () => slow.promise });
    const job = jobs.submit(call("file:slow"));
    const seen: unknown[] = [];
    const { found, stop } = watch(jobs, job.id, (record) => seen.push(record));
    expect(found.status).toBe("STARTED");
    slow.open("text");
    await job.result;
    expect(seen).toEqual([job.record()]);
    expect(job.record()).toMatchObject({ status: "COMPLETE", output: "text" });
    stop();
  });

  test("a job that has ended tells that at once, and nothing later", async () => {
    const { jobs } = store({ read: () => "text" });
    const job = jobs.submit(call("file:read"));
    await job.result;
    const { found, stop } = watch(jobs, job.id, () => {
      throw new Error("told twice");
    });
    expect(found).toEqual(job.record());
    stop();
  });

  test("ends when it is stopped", async () => {
    const slow = gate();
    const { jobs } = store({ slow: () => slow.promise });
    const job = jobs.submit(call("file:slow"));
    const seen: unknown[] = [];
    const { stop } = watch(jobs, job.id, (record) => seen.push(record));
    stop();
    slow.open(1);
    await job.result;
    expect(seen).toEqual([]);
  });

  test("is refused beyond 32 streams of one job, and a place is free again once one has stopped", async () => {
    const slow = gate();
    const { jobs } = store({ slow: () => slow.promise });
    const [job, other] = [1, 2].map(() => jobs.submit(call("file:slow")));
    const id = job?.id ?? "";
    const watches = Array.from({ length: 32 }, () => watch(jobs, id));
    expect(() => watch(jobs, id)).toThrow(tooMany);
    expect(() => watch(jobs, other?.id ?? "")).not.toThrow();
    watches[0]?.stop();
    watches[0]?.stop();
    watch(jobs, id);
    expect(() => watch(jobs, id)).toThrow(tooMany);
  });

  test("is refused beyond 512 streams in all, but never of a job that has ended", async () => {
    const slow = gate();
    const { jobs } = store({ slow: () => slow.promise, read: () => 1 });
    const done = jobs.submit(call("file:read"));
    await done.result;
    const running = Array.from({ length: 17 }, () => jobs.submit(call("file:slow")));
    const watches = Array.from({ length: 512 }, (_, i) => watch(jobs, running[i % 16]?.id ?? ""));
    const last = running[16]?.id ?? "";
    expect(() => watch(jobs, last)).toThrow(tooMany);
    expect(watch(jobs, done.id).found.status).toBe("COMPLETE");
    slow.open(1);
    await Promise.all(running.map((job) => job.result));
    // What they were told may still be on its way to slow clients.
    const next = jobs.submit(call("file:slow"));
    expect(() => watch(jobs, next.id)).toThrow(tooMany);
    for (const { stop } of watches) stop();
    watch(jobs, next.id);
  });

  test("somebody else's job is refused before that, and takes no place", () => {
    const { jobs } = store({ slow: () => gate().promise });
    const job = jobs.submit(callBy(BOB, "file:slow"));
    for (let i = 0; i < 600; i += 1) expect(jobs.watch(job.id, ALICE, () => {})).toEqual({ refused: "denied" });
    expect(jobs.watch(job.id, BOB, () => {})).toHaveProperty("found");
  });
});

const WHOLE = { offset: 0, limit: 1000 };
const listed = (jobs: Jobs, caller: Caller): readonly string[] => jobs.list(WHOLE, caller).items;

describe("a list", () => {
  test("holds the caller's own jobs only, newest first, running ones too", async () => {
    const slow = gate();
    const { jobs } = store({ read: () => 1, slow: () => slow.promise });
    const alices = ["file:read", "file:slow", "file:read"].map((name) => jobs.submit(callBy(ALICE, name)));
    const bobs = jobs.submit(callBy(BOB, "file:read"));
    await alices[2]?.result;
    expect(listed(jobs, ALICE)).toEqual(alices.map(({ id }) => id).reverse());
    expect(listed(jobs, BOB)).toEqual([bobs.id]);
    expect(listed(jobs, OPERATOR)).toEqual([]);
    expect(jobs.users).toBe(2);
  });

  const pages: [number, number, number[]][] = [
    [0, 1000, [4, 3, 2, 1, 0]],
    [0, 2, [4, 3]],
    [1, 2, [3, 2]],
    [4, 2, [0]],
    [3, 1000, [1, 0]],
    [5, 10, []],
    [Number.MAX_SAFE_INTEGER, 10, []],
    [0, 0, []],
  ];
  test.each(pages)("from %d, at most %d", async (offset, limit, expected) => {
    const { jobs } = store({ read: () => 1 });
    const ids = [0, 1, 2, 3, 4].map(() => jobs.submit(callBy(ALICE, "file:read")).id);
    const items = expected.map((index) => ids[index]);
    expect(jobs.list({ offset, limit }, ALICE)).toEqual({ items, total: 5, offset, limit });
  });

  test.each([
    ["its caller's and its token's maker's", BOB.did, 2],
    ["its caller's alone where that is the maker", ALICE.did, 1],
  ])("has a job once among %s, and loses it everywhere", async (_whose, maker, callers) => {
    const { jobs } = store({ read: () => 1 });
    const access = { maker } as NonNullable<Submission["context"]["access"]>;
    const by = (): string => jobs.submit(callBy(ALICE, "file:read", { context: { callerDID: ALICE.did, access } })).id;
    const [first, second, third] = [by(), by(), by()] as const;
    const makers = maker === ALICE.did ? [] : [third, second, first];
    expect([listed(jobs, ALICE), listed(jobs, BOB), jobs.users]).toEqual([[third, second, first], makers, callers]);
    expect(jobs.list(WHOLE, ALICE).total).toBe(3);
    jobs.delete(second, ALICE);
    jobs.delete(third, ALICE);
    expect([listed(jobs, ALICE), listed(jobs, BOB)]).toEqual([[first], makers.slice(2)]);
    jobs.delete(first, ALICE);
    expect([listed(jobs, ALICE), listed(jobs, BOB), jobs.users]).toEqual([[], [], 0]);
  });

  test("of a caller whom tokens restrict holds what was made with the same ones, that of its DID all", () => {
    const { jobs } = store({ read: () => 1 });
    const [whole, one, two] = [ALICE, NARROWED, OTHERWISE].map((by) => jobs.submit(callBy(by, "file:read")).id);
    expect([NARROWED, OTHERWISE].map((by) => jobs.list(WHOLE, by))).toEqual(
      [one, two].map((id) => ({ items: [id], total: 1, ...WHOLE })),
    );
    expect(listed(jobs, ALICE)).toEqual([two, one, whole]);
  });

  test("loses what was deleted or dropped, and its caller when nothing is left", async () => {
    const { jobs, clock } = store({ read: () => 1 });
    const [first, second] = [1, 2].map(() => jobs.submit(callBy(ALICE, "file:read")));
    await second?.result;
    jobs.delete(first?.id ?? "", ALICE);
    expect(jobs.list(WHOLE, ALICE)).toMatchObject({ items: [second?.id], total: 1 });
    clock.now += 1000;
    expect(jobs.list(WHOLE, ALICE)).toMatchObject({ items: [], total: 0 });
    expect(jobs.users).toBe(0);
  });

  test.each([
    [true, 1],
    [false, 0],
  ])("of those without credentials, where that is allowed: %s", (listsAnonymous, total) => {
    const { jobs } = store({ read: () => 1 }, { listsAnonymous });
    const job = jobs.submit(callBy(ANYONE, "file:read"));
    jobs.submit(callBy(ALICE, "file:read"));
    expect(jobs.list(WHOLE, ANYONE)).toEqual({ items: total === 1 ? [job.id] : [], total, ...WHOLE });
    expect(jobs.list(WHOLE, ALICE).total).toBe(1);
    expect(jobs.get(job.id, ANYONE)).toHaveProperty("found");
  });
});

describe("a job", () => {
  const ways: [string, (jobs: Jobs, id: string, caller: Caller) => unknown][] = [
    ["find", (jobs, id, caller) => jobs.find(id, caller)],
    ["get", (jobs, id, caller) => jobs.get(id, caller)],
    ["watch", (jobs, id, caller) => jobs.watch(id, caller, () => {})],
    ["cancel", (jobs, id, caller) => jobs.cancel(id, caller)],
    ["delete", (jobs, id, caller) => jobs.delete(id, caller)],
  ];
  const submitted = (by = ALICE) => {
    const { jobs, adapter } = store({ slow: () => gate().promise }, { inlineWaitMs: 1 });
    const { id } = jobs.submit(callBy(by, "file:slow"));
    return { jobs, id, signal: adapter.calls[0]?.context?.signal };
  };

  test.each(ways)("is there for its caller and the operator: %s", async (_name, reach) => {
    for (const caller of [ALICE, OPERATOR]) {
      const { jobs, id } = submitted();
      expect(await reach(jobs, id, caller)).toMatchObject({ found: { id: `0x${id}` } });
    }
  });

  test.each(ways)("is neither shown to another, nor touched by it: %s", async (_name, reach) => {
    const { jobs, id, signal } = submitted();
    for (const caller of [BOB, ANYONE, NARROWED]) expect(await reach(jobs, id, caller)).toEqual({ refused: "denied" });
    expect(signal?.aborted).toBe(false);
    expect(jobs.size).toBe(1);
  });

  test.each(ways)(
    "made by a caller whom a token restricts is there for that token and its DID: %s",
    async (_name, reach) => {
      for (const caller of [NARROWED, ALICE, OPERATOR]) {
        const { jobs, id } = submitted(NARROWED);
        expect(await reach(jobs, id, OTHERWISE)).toEqual({ refused: "denied" });
        expect(await reach(jobs, id, caller)).toMatchObject({ found: { id: `0x${id}` } });
      }
    },
  );

  test.each(ways)("that nobody knows is unknown to all: %s", async (_name, reach) => {
    const { jobs } = submitted();
    for (const caller of [ALICE, BOB, OPERATOR]) {
      expect(await reach(jobs, "0123456789abcdef", caller)).toEqual({ refused: "unknown" });
    }
  });
});

describe("the size of a record", () => {
  test.each<[string, unknown, number]>([
    ["a text", "hello", 16 + 5],
    ["a number", 1, 8],
    ["nothing", undefined, 8],
    ["an empty object", {}, 24],
    ["an object: keys and values", { ab: "cd", n: 1 }, 24 + (18 + 8 + 18) + (17 + 8 + 8)],
    ["an array", ["ab", null], 24 + (8 + 18) + (8 + 8)],
    ["nested parts", { a: [{ b: "c" }] }, 24 + (17 + 8 + 24) + (8 + 24) + (17 + 8 + 17)],
    ["bytes", new Uint8Array(100), 24 + 100],
  ])("counts %s", (_name, value, bytes) => {
    expect(estimateBytes(value)).toBe(bytes);
  });

  test("counts a list of small entries as at least what its strings, objects and numbers take", () => {
    const entries = Array.from({ length: 1000 }, (_, at) => ({ name: `file-${at}.txt`, type: "file", size: at }));
    // Two strings, an object of three places and a number, in a 64-bit process.
    expect(estimateBytes({ entries })).toBeGreaterThan(1000 * (2 * 24 + 48));
  });

  test("does not grow the stack with the depth of the value", () => {
    let value: unknown = "x";
    for (let i = 0; i < 200_000; i += 1) value = [value];
    expect(estimateBytes(value)).toBe(200_000 * (24 + 8) + 17);
  });

  test("ends on a value that contains itself", () => {
    const value: Record<string, unknown> = {};
    Object.assign(value, { a: value, b: value });
    expect(estimateBytes(value)).toBe(Number.POSITIVE_INFINITY);
  });
});
