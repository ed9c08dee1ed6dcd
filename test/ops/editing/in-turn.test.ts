// Changes of one file that are sent together, as agents do: each finds what the one before has left.

import { describe, expect, test } from "@jest/globals";
import { CallScope } from "../../../src/core/call/scope.js";
import { systemClock } from "../../../src/core/clock.js";
import type { FileCall } from "../../../src/core/ports/operation.js";
import { Turns } from "../../../src/core/turns.js";
import { inTurn } from "../../../src/ops/editing/plan.js";
import { createMemoryBackend } from "../../backend/memory/memory.js";
import { deferred, dispatchOn, turn } from "../../dispatch/fake.js";
import { useDrives } from "../../drives/ground.js";
import { failureOf, useGround } from "../ground.js";

const CALLS = 12;
const LINES = [...Array(CALLS).keys()];
const textOf = (word: string): string => LINES.map((line) => `${word} ${line};\n`).join("");

type Call = (operation: string, input: object) => Promise<unknown>;

/** Edits and patches of one file at once. @returns what it holds then */
async function together(call: Call): Promise<string> {
  await call("write", { path: "a", content: textOf("old") });
  const change = (line: number): Promise<unknown> => {
    const one = { oldText: `old ${line};`, newText: `new ${line};` };
    const isEdit = line % 3 > 0;
    return isEdit
      ? call("edit", { path: "a", ...one })
      : call("patch", { path: "", changes: [{ op: "edit", path: "a", edits: [one] }] });
  };
  await Promise.all(LINES.map(change));
  return String(((await call("read", { path: "a" })) as { content: string }).content);
}

describe("changes of one file that are sent together are all made", () => {
  const plain = useGround();
  const flushed = useGround({ root: { durability: "flush" }, journal: true });
  const drives = useDrives();
  const on =
    (invoke: (operation: string, input: object) => Promise<unknown>, root: string): Call =>
    (operation, input) =>
      invoke(`file:${operation}`, { root, ...input });

  test.each<[string, () => Call]>([
    ["a host root", () => on((...parts) => plain.adapter.invoke(...parts), "r")],
    ["a root that is flushed and has a journal", () => on((...parts) => flushed.adapter.invoke(...parts), "r")],
    ["a temp root", () => on((...parts) => drives.call(...parts), "tmp")],
    ["a drive", () => on((...parts) => drives.call(...parts), "mine")],
  ])("in %s", async (_where, caller) => {
    expect(await together(caller())).toBe(textOf("new"));
  });
});

/** A root in memory with the files `a` and `b`, in which the first write of `a` waits until it is let go. */
async function heldRoot(timeoutMs = 5000) {
  const memory = createMemoryBackend({ rootName: "r", clock: systemClock });
  const [begun, gate] = [deferred(), deferred()];
  const reads: string[] = [];
  let isHeld = false;
  const { call } = dispatchOn({
    limits: { timeoutMs },
    backend: {
      read(...args) {
        reads.push(args[0].text);
        return memory.read(...args);
      },
      async write(...args) {
        if (isHeld && args[0].text === "a") {
          isHeld = false;
          begun.resolve();
          await gate.promise;
        }
        return memory.write(...args);
      },
    },
  });
  for (const path of ["a", "b"]) await call("write", { path, content: textOf("old") });
  const edit = (path: string, line: number, context = {}) =>
    call("edit", { path, oldText: `old ${line};`, newText: `new ${line};` }, context);
  const content = async (path: string) => ((await call("read", { path })) as { content: string }).content;
  isHeld = true;
  const first = edit("a", 0);
  await begun.promise;
  return { call, edit, content, reads, first, release: () => gate.resolve() };
}

const changed = (...lines: readonly number[]): string =>
  LINES.map((line) => `${lines.includes(line) ? "new" : "old"} ${line};\n`).join("");

describe("a change that waits for an earlier one", () => {
  test("begins when that has ended; reads, dry runs and other files do not wait", async () => {
    const { call, edit, content, first, release } = await heldRoot();
    const later: string[] = [];
    const second = edit("a", 1).then(() => later.push("second"));
    const third = edit("a", 2).then(() => later.push("third"));
    await edit("b", 2);
    expect(await content("a")).toBe(changed());
    expect(await call("edit", { path: "a", oldText: "old 3;", newText: "x", dryRun: true })).toMatchObject({
      applied: 1,
    });
    expect(later).toEqual([]);
    release();
    await Promise.all([first, second, third]);
    expect(later).toEqual(["second", "third"]);
    expect([await content("a"), await content("b")]).toEqual([changed(0, 1, 2), changed(2)]);
  });

  test("is answered when its caller gives up or its time is over, and is not made", async () => {
    const { edit, content, reads, first, release } = await heldRoot(1000);
    const gone = new AbortController();
    const given = failureOf(edit("a", 1, { signal: gone.signal }));
    const late = failureOf(edit("a", 2));
    await turn();
    gone.abort();
    expect(await given).toMatchObject({ code: "ABORTED" });
    expect(await late).toMatchObject({ code: "TIMEOUT" });
    const next = edit("a", 3);
    release();
    await next;
    await Promise.allSettled([first]);
    // By the first and the last: who waits in vain reads nothing.
    expect(reads).toEqual(["a", "a"]);
    expect(await content("a")).toMatch(/^(old|new) 0;\nold 1;\nold 2;\nnew 3;/);
  });

  test("is made when the earlier one failed", async () => {
    const { edit, content, first, release } = await heldRoot();
    const wrong = failureOf(edit("a", CALLS));
    const next = edit("a", 1);
    release();
    expect(await wrong).toMatchObject({ code: "NO_MATCH" });
    await Promise.all([first, next]);
    expect(await content("a")).toBe(changed(0, 1));
  });
});

describe("turns", () => {
  const turns = new Turns();
  const at = (path: string, owner?: string): FileCall => {
    const scope = new CallScope({ clock: systemClock, timeoutMs: 5000 });
    const root = { name: "mine", backend: {}, ...(owner === undefined ? {} : { owner }) };
    return { turns, root, path: { text: path }, access: { scope } } as unknown as FileCall;
  };

  test("of the same path of two owners are two, and take no memory once they are over", async () => {
    const gate = deferred();
    const held = inTurn([at("a", "did:key:alice")], () => gate.promise);
    await inTurn([at("a", "did:key:bob")], async () => {});
    expect(turns.isFree("did:key:alice mine/a")).toBe(false);
    gate.resolve();
    await held;
    expect(turns.isFree("did:key:alice mine/a")).toBe(true);
  });

  test("of several files are taken in one order, whatever order they are asked in", async () => {
    const done: string[] = [];
    const change = (name: string, first: string, second: string) =>
      inTurn([at(first), at(second), at(first)], async () => {
        await turn();
        done.push(name);
      });
    await Promise.all([
      change("one", "a", "b"),
      change("two", "b", "a"),
      change("three", "b", "c"),
      change("four", "c", "a"),
    ]);
    expect(done.toSorted()).toEqual(["four", "one", "three", "two"]);
  });
});
