import { describe, expect, test } from "@jest/globals";
import type { Caller } from "../../../src/core/call/caller.js";
import type { Submission } from "../../../src/core/ports/job.js";
import type { Jobs } from "../../../src/venue/jobs/jobs.js";
import { gate } from "../catalogue/fake-adapter.js";
import { ALICE, ANYONE, BOB, callBy, NARROWED, OPERATOR, OTHERWISE, store } from "./job-store.js";

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
