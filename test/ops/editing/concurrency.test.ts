import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { CallScope } from "../../../src/core/call/scope.js";
import { systemClock } from "../../../src/core/clock.js";
import { FileAdapterError } from "../../../src/core/errors/errors.js";
import { etagOf } from "../../../src/core/etag.js";
import type { Backend } from "../../../src/core/ports/backend.js";
import type { FileCall } from "../../../src/core/ports/operation.js";
import { Turns } from "../../../src/core/turns.js";
import { inTurn } from "../../../src/ops/editing/plan.js";
import { createMemoryBackend } from "../../backend/memory/memory.js";
import { deferred, dispatchOn, turn } from "../../dispatch/fake.js";
import { useDrives } from "../../drives/ground.js";
import { startChild } from "../../jail/start-child.js";
import { until } from "../../until.js";
import { failureOf, useGround } from "../ground.js";
import { sha256Of } from "./edit-fixture.js";

const WORKERS = 4;
const EDITS = 15;

type Invoke = (operation: string, input: object) => Promise<unknown>;

const counters = (count: number): string =>
  Array.from({ length: WORKERS }, (_, worker) => `worker ${worker}: ${count};\n`).join("");

/** Each counts up a line of its own, in a file they share, and tries again where another was faster. @returns the tries */
async function countUp(worker: number, edit: (input: object) => Promise<string>): Promise<number> {
  let tries = 0;
  for (let count = 0; count < EDITS; ) {
    tries++;
    const code = await edit({
      oldText: `worker ${worker}: ${count};`,
      newText: `worker ${worker}: ${count + 1};`,
    });
    if (code === "ok") count++;
    else expect(code).toBe("CONFLICT");
  }
  return tries;
}

const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => "ok",
    (error: unknown) => {
      if (error instanceof FileAdapterError) return error.code;
      throw error;
    },
  );

async function race(invoke: Invoke, place: object): Promise<unknown> {
  await invoke("write", { ...place, content: counters(0) });
  const edit = (input: object) => codeOf(invoke("edit", { ...place, ...input }));
  await Promise.all(Array.from({ length: WORKERS }, (_, worker) => countUp(worker, edit)));
  return invoke("read", place);
}

describe("edits of one file at the same time lose nothing", () => {
  const ground = useGround();
  const drives = useDrives();

  test("in a host root", async () => {
    const invoke: Invoke = (operation, input) => ground.adapter.invoke(`file:${operation}`, input);
    expect(await race(invoke, { root: "r", path: "a" })).toMatchObject({ content: counters(EDITS) });
    // The file that was replaced last stays for a while.
    await until(() => ground.staged().length === 0);
  });

  test("in a temp root and in a drive", async () => {
    const invoke: Invoke = (operation, input) => drives.call(`file:${operation}`, input);
    for (const root of ["tmp", "mine"]) {
      expect(await race(invoke, { root, path: "a" })).toMatchObject({ content: counters(EDITS) });
    }
  });

  test("in memory", async () => {
    const { call } = dispatchOn();
    expect(await race(call, {})).toMatchObject({ content: counters(EDITS) });
  });

  test("in two processes", async () => {
    const root = mkdtempSync(join(tmpdir(), "venue-edits-"));
    const config = { roots: { r: { path: root, durability: "none" as const } } };
    writeFileSync(join(root, "a"), counters(0));
    const children = [await startChild({ config }), await startChild({ config })];
    try {
      const tries = await Promise.all(
        Array.from({ length: WORKERS }, (_, worker) =>
          countUp(worker, async (input) => {
            const answer = await children[worker % 2]?.invoke("edit", { root: "r", path: "a", ...input });
            return answer?.code ?? "";
          }),
        ),
      );
      expect(readFileSync(join(root, "a"), "utf8")).toBe(counters(EDITS));
      expect(tries.every((one) => one >= EDITS)).toBe(true);
    } finally {
      for (const child of children) await child.kill();
    }
    expect(readdirSync(root).filter((name) => name !== ".venue-files")).toEqual(["a"]);
    rmSync(root, { recursive: true });
  });
});

describe("an edit whose file changes before its commit", () => {
  const ORIGINAL = "one\n";
  const input = { oldText: "one", newText: "two" };
  const etag = (content: string): string => etagOf(sha256Of(content));

  /** A root in which somebody else writes, or deletes, between an edit's read and its write. */
  function disturbed(meanwhile: string | undefined) {
    const memory = createMemoryBackend({ rootName: "r", clock: systemClock });
    let isDisturbed = false;
    const parts = dispatchOn({
      backend: {
        read: (...args: Parameters<Backend["read"]>) => memory.read(...args),
        async write(path, body, options, access) {
          if (isDisturbed && meanwhile === undefined) await memory.remove(path, { recursive: false }, access);
          else if (isDisturbed) {
            const load = () => Buffer.from(String(meanwhile));
            await memory.write(path, { load }, { parents: false }, access);
          }
          return memory.write(path, body, options, access);
        },
      },
    });
    const disturb = () => {
      isDisturbed = true;
    };
    return { ...parts, disturb };
  }

  test.each([
    ["something else", "other\n", `now ${etag("other\n")}`, etag("other\n")],
    ["something that would match", "one\none more\n", `now ${etag("one\none more\n")}`, etag("one\none more\n")],
    ["nothing", undefined, "now missing", null],
  ])("to %s is CONFLICT, and leaves that", async (_, meanwhile, text, current) => {
    const { call, disturb } = disturbed(meanwhile);
    await call("write", { content: ORIGINAL });
    disturb();
    expect(await failureOf(call("edit", input))).toEqual({
      code: "CONFLICT",
      message: `Cannot edit "file": it changed since you read it (expected ${etag(ORIGINAL)}, ${text}). Read it again`,
      data: { root: "r", path: "file", expected: etag(ORIGINAL), current },
    });
    if (meanwhile === undefined) expect((await failureOf(call("read"))).code).toBe("NOT_FOUND");
    else expect(await call("read")).toMatchObject({ content: meanwhile });
  });

  test("names the version that the caller gave", async () => {
    const { call, disturb } = disturbed("other\n");
    await call("write", { content: ORIGINAL });
    disturb();
    const ifMatch = `sha256:${sha256Of(ORIGINAL)}`;
    expect((await failureOf(call("edit", { ...input, ifMatch }))).data["expected"]).toBe(ifMatch);
  });

  test("tells no version to a caller that may not read", async () => {
    const { call, disturb } = disturbed("other\n");
    await call("write", { content: ORIGINAL });
    disturb();
    const caps = [{ with: "file://r/", can: "crud/write" }];
    expect(await failureOf(call("edit", input, { caps }))).toEqual({
      code: "CONFLICT",
      message: 'Cannot edit "file": it changed since you read it (expected unchanged). Read it again',
      data: { root: "r", path: "file", expected: "unchanged" },
    });
  });
});

// Changes of one file that are sent together, as agents do: each finds what the one before has left.
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
