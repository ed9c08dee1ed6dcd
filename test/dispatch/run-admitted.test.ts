import { describe, expect, test } from "@jest/globals";
import { MemoryBudget } from "../../src/core/memory.js";
import { failureOf, useGround } from "../ops/ground.js";

const SIZE = 100_000;
const TEXT = "line\n".repeat(SIZE / 5);
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A budget that is all taken, and what gives it back. */
function fullBudget(): { budget: MemoryBudget; free: () => void } {
  const budget = new MemoryBudget(SIZE, 1);
  const other = budget.lease("other");
  other.tryHold(SIZE);
  return { budget, free: () => other.release() };
}

describe("an answer for which there is no room", () => {
  const ground = useGround({ limits: { maxConcurrent: 1, timeoutMs: 20_000 }, roots: { tmp: { temp: true } } });
  const read = (input: object, budget: MemoryBudget) => {
    const memory = budget.lease("caller");
    const answer = ground.adapter.invoke("file:read", { root: "r", path: "a.txt", ...input }, { memory });
    return { memory, answer };
  };

  test.each<[string, object, number]>([
    ["as it is", {}, SIZE * 3],
    ["as text", { mode: "text" }, SIZE * 3],
    ["as bytes", { mode: "bytes" }, SIZE * 3],
    ["a range of bytes", { mode: "bytes", offset: 0, length: 50_000 }, 150_000],
    ["a range of text", { offset: 0, length: 50_000 }, 150_000],
    ["lines", { line: 1, limit: 10_000 }, 150_000],
    ["cut", { maxBytes: 50_000 }, 150_000],
    ["as JSON", { path: "a.json", mode: "json" }, 1_000_020],
  ])("waits, without keeping other calls waiting, and is counted: %s", async (_name, input, counted) => {
    ground.put("a.txt", TEXT);
    ground.put("a.json", JSON.stringify("x".repeat(SIZE)));
    const { budget, free } = fullBudget();
    const { memory, answer } = read(input, budget);
    let isAnswered = false;
    void answer.then(() => {
      isAnswered = true;
    });
    while (budget.waiting === 0) await turn();
    // The only place in which a call may run is free.
    expect(await ground.adapter.invoke("file:stat", { root: "r", path: "a.txt" })).toMatchObject({ size: SIZE });
    expect([isAnswered, memory.bytes]).toEqual([false, 0]);
    free();
    await answer;
    expect([memory.bytes, budget.bytes]).toEqual([counted, counted]);
  });

  test("waits where several files are read", async () => {
    ground.put("a.txt", TEXT);
    const { budget, free } = fullBudget();
    const memory = budget.lease("caller");
    const input = { root: "r", files: [{ path: "a.txt" }, { path: "a.txt" }], maxBytes: 2 * SIZE };
    const answer = ground.adapter.invoke("file:readMany", input, { memory } as object);
    while (budget.waiting === 0) await turn();
    free();
    expect((await answer).files.map(({ ok }) => ok)).toEqual([true, true]);
    expect(memory.bytes).toBe(6 * SIZE);
  });

  test("is never one of a small file", async () => {
    ground.put("a.txt", "small");
    const { budget } = fullBudget();
    const { memory, answer } = read({}, budget);
    expect(await answer).toMatchObject({ content: "small" });
    expect(memory.bytes).toBe(0);
  });

  test("is not waited for any longer than the call lasts, and holds nothing then", async () => {
    ground.put("a.txt", TEXT);
    const { budget, free } = fullBudget();
    const gone = new AbortController();
    const memory = budget.lease("caller");
    const context = { memory, signal: gone.signal };
    const answer = ground.adapter.invoke("file:read", { root: "r", path: "a.txt" }, context as object);
    while (budget.waiting === 0) await turn();
    gone.abort();
    expect(await failureOf(answer)).toMatchObject({ code: "ABORTED" });
    free();
    await turn();
    expect([budget.waiting, budget.bytes]).toEqual([0, 0]);
  });
});

describe("a call that waits for room past its deadline", () => {
  const ground = useGround({ limits: { timeoutMs: 50 } });

  test("is answered TIMEOUT", async () => {
    ground.put("a.txt", TEXT);
    const { budget } = fullBudget();
    const answer = ground.adapter.invoke("file:read", { root: "r", path: "a.txt" }, {
      memory: budget.lease("caller"),
    } as object);
    expect(await failureOf(answer)).toMatchObject({ code: "TIMEOUT" });
    expect(budget.waiting).toBe(0);
  });
});
