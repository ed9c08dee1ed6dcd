import { linkSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { ContentCopy } from "../../src/backend/host/changes/content-copy.js";
import { CallScope, cancelledBy } from "../../src/core/call/scope.js";
import { type Clock, systemClock } from "../../src/core/clock.js";
import { MemoryBudget } from "../../src/core/memory.js";
import type { ReadBytes } from "../../src/core/ports/backend.js";
import type { EntryChange } from "../../src/core/ports/changes/change.js";
import { Gate } from "../../src/dispatch/gate.js";
import { failure, failureOf, type Ground, useGround } from "../ops/ground.js";
import { deferred, dispatchOn, turn } from "./fake.js";

afterEach(() => {
  jest.restoreAllMocks();
});

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

const CREATED: EntryChange = {
  ...{ action: "created", kind: "file", path: ["f"], before: null },
  after: { size: 1, modified: 0, sha256: "0".repeat(64) },
};

test.each([
  ["delete", "elsewhere", undefined],
  ["all", "elsewhere", "CONFLICT"],
  ["all", "looked-at", "APPROVAL_REQUIRED"],
] as const)("a root that asks about %s, with links that lead %s when it looks", async (asks, seen, code) => {
  const made: string[] = [];
  const { call } = dispatchOn({
    approve: { for: [asks], minutes: 10 },
    backend: {
      // The link has been turned since the backend arrived.
      stat: (_path, access) => void access.real([seen, "f"]),
      async write(path, _body, _options, access) {
        access.real(["looked-at", "f"]);
        await access.approve?.([{ change: CREATED, at: { path, access } }]);
        made.push("f");
        return { bytes: 1, created: true };
      },
    },
  });
  const answer = call("write", { path: "link/f", content: "x" }, { surface: "mcp" });
  if (code === undefined) expect(await answer).toMatchObject({ created: true });
  else await expect(answer).rejects.toMatchObject({ code });
  expect(made).toEqual(code === undefined ? ["f"] : []);
});

test("whatever a precondition refuses is not asked about", async () => {
  const { call } = dispatchOn({ approve: { for: ["all"], minutes: 10 } });
  await call("write", { path: "f", content: "x" });
  for (const condition of [{ ifMatch: "aaaaaaaa" }, { ifNoneMatch: "*" }]) {
    const answer = call("write", { path: "f", content: "y", ...condition }, { surface: "mcp" });
    await expect(answer).rejects.toMatchObject({ code: "CONFLICT" });
  }
});

const kept = (verb: string, path: string) =>
  failure(
    "DENIED_BY_POLICY",
    `Cannot ${verb} "${path}": protected by policy of root "r" (may be read, not changed). Do not retry`,
    path,
  );

/** Every operation that changes one path, and what it needs beside it. */
const CHANGES: readonly [string, object][] = [
  ["write", { content: "x" }],
  ["write", { content: "x", parents: true }],
  ["append", { content: "x" }],
  ["edit", { edits: [{ oldText: "a", newText: "b" }] }],
  ["mkdir", {}],
  ["mkdir", { parents: true }],
  ["delete", {}],
  ["delete", { recursive: true }],
];

const PATHS = [
  ...[".git", ".git/config", ".git/none", "none/.git", "dir/sub/.git", "dir/sub/.git/none"],
  ...["locked", "locked/a", "locked/none/deeper", "dir/./../.git/config"],
];

describe("what a root protects", () => {
  const ground = useGround({
    root: { protect: ["@git", "locked/**", "links/fixed"], deny: ["@secrets"], hardLinks: true },
    roots: { other: { temp: true, protect: ["@git"] }, free: { temp: true } },
  });

  beforeEach(() => {
    ground.put(".git/config", "[core]");
    ground.put(".git/hooks/pre-commit", "#!/bin/sh");
    ground.put("locked/a", "a");
    ground.put("dir/file", "f");
    ground.put("dir/sub/.git", "gitdir: elsewhere");
    ground.put("plain/fixed", "by its other name");
    symlinkSync("../.git/config", join(ground.dir, "plain/to-config"));
    symlinkSync(".git", join(ground.dir, "to-git"));
    symlinkSync("plain", join(ground.dir, "links"));
  });

  const elsewhere = (operation: string, input: object): Promise<unknown> =>
    ground.adapter.invoke(`file:${operation}`, input, {});

  test.each(PATHS.flatMap((path) => CHANGES.map(([name, more]) => [name, path, more] as const)))(
    "is the same refusal whether it exists: %s of %s, %j",
    async (name, path, more) => {
      const canonical = path === "dir/./../.git/config" ? ".git/config" : path;
      expect(await ground.fail(name, { path, ...more })).toEqual(kept(name, canonical));
    },
  );

  test("may be read, listed and found", async () => {
    expect((await ground.run("read", { path: ".git/config" })).content).toBe("[core]");
    expect((await ground.run("list", { path: ".git" })).entries.map(({ name }) => name)).toEqual(["config", "hooks"]);
    expect((await ground.run("tree", { path: "dir" })).tree).toBe("r/dir/\n\tfile\n\tsub/\n\t\t.git\n");
    expect((await ground.run("stat", { path: "locked/a" })).size).toBe(1);
    expect((await ground.run("grep", { pattern: "a", path: "locked" })).matches).toHaveLength(1);
  });

  test.each(CHANGES)("is not changed through links by %s %j", async (name, more) => {
    const through = ["plain/to-config", "to-git/config", "to-git/none", "to-git/none/deeper"];
    for (const path of name === "delete" ? through.slice(1) : through) {
      expect(await ground.fail(name, { path, ...more })).toEqual(kept(name, path));
    }
    expect(ground.get(".git/config").toString()).toBe("[core]");
  });

  test("lets a link itself be removed that leads to it", async () => {
    await ground.run("delete", { path: "to-git" });
    await ground.run("delete", { path: "plain/to-config" });
    expect(ground.get(".git/config").toString()).toBe("[core]");
  });

  test("is judged by the requested path too", async () => {
    expect(await ground.fail("write", { path: "links/fixed", content: "x" })).toEqual(kept("write", "links/fixed"));
    await ground.run("write", { path: "plain/fixed", content: "x" });
  });

  test("is not changed in place through another hard link, even where the root appends so", async () => {
    linkSync(join(ground.dir, ".git/config"), join(ground.dir, "same"));
    await ground.run("append", { path: "same", content: "evil" });
    await ground.run("write", { path: "same", content: "evil" });
    expect(ground.get(".git/config").toString()).toBe("[core]");
  });

  test.each([
    ["dir", "moved"],
    ["dir/sub", "moved"],
    [".git", "git2"],
    [".git/config", "config"],
    ["locked/a", "a"],
  ])("is not moved away, nor with a directory that holds it: %s", async (path, to) => {
    expect(await ground.fail("move", { path, to })).toEqual(kept("move", path));
    expect(readdirSync(ground.dir)).not.toContain(to);
    expect(await ground.fail("move", { path, toRoot: "free", to })).toEqual(kept("move", path));
    expect(await elsewhere("list", { root: "free", path: "" })).toMatchObject({ total: 0 });
    expect(ground.get("dir/sub/.git").toString()).toBe("gitdir: elsewhere");
  });

  test("is not replaced by a move or a copy, nor filled by one", async () => {
    for (const to of [".git/config", ".git/new", "locked/new", "to-git/new", "none/.git/x"]) {
      const input = { path: "dir/file", to, overwrite: true, parents: true };
      expect(await ground.fail("move", input)).toEqual(kept("move", to));
      expect(await ground.fail("copy", input)).toEqual(kept("copy", to));
    }
    expect(ground.get("dir/file").toString()).toBe("f");
  });

  test.each(["move", "copy"])("does not come to be with a directory: %s", async (name) => {
    ground.put("repo/git/hooks/x", "x");
    expect(await ground.fail(name, { path: "repo/git", to: "repo/.git", recursive: true })).toMatchObject({
      code: name === "copy" ? "DENIED_BY_POLICY" : expect.stringMatching(/DENIED_BY_POLICY|INVALID_INPUT/),
    });
    expect(readdirSync(join(ground.dir, "repo"))).toEqual(["git"]);
  });

  test("is left out where a directory that holds it is copied within roots that protect it, and counted", async () => {
    const copied = await ground.run("copy", { path: "dir", to: "twin", recursive: true });
    expect(copied).toMatchObject({ files: 1, hidden: { policy: 1 } });
    expect(readdirSync(join(ground.dir, "twin/sub"))).toEqual([]);
    await ground.run("copy", { path: "dir", toRoot: "free", to: "twin", recursive: true });
    const whole = await elsewhere("read", { root: "free", path: "twin/sub/.git" });
    expect(whole).toMatchObject({ content: "gitdir: elsewhere" });
  });

  test("is not brought in from a root that does not protect it", async () => {
    await elsewhere("write", { root: "free", path: "repo/.git/config", content: "x", parents: true });
    const failed = await ground.fail("move", { root: "free", path: "repo", toRoot: "other", to: "repo" });
    expect(failed).toMatchObject({ code: "DENIED_BY_POLICY", data: { root: "free", path: "repo" } });
    expect(await elsewhere("list", { root: "other", path: "" })).toMatchObject({ total: 0 });
    expect(await elsewhere("read", { root: "free", path: "repo/.git/config" })).toMatchObject({ content: "x" });
  });

  test.each(["dir", "dir/sub"])("keeps a directory that holds some of it from being removed: %s", async (path) => {
    expect(await ground.fail("delete", { path, recursive: true })).toEqual(kept("delete", path));
    expect(ground.get("dir/sub/.git").toString()).toBe("gitdir: elsewhere");
    expect(ground.get("dir/file").toString()).toBe("f");
  });

  test("is not a directory made on the way", async () => {
    expect(await ground.fail("mkdir", { path: "new/.git/hooks", parents: true })).toEqual(
      kept("mkdir", "new/.git/hooks"),
    );
    expect(ground.names()).not.toContain("new");
  });

  test("lets everything else be changed", async () => {
    ground.put(".gitignore", "dist");
    await ground.run("write", { path: ".gitignore", content: "dist\n" });
    await ground.run("write", { path: "dir/sub/new", content: "x" });
    await ground.run("delete", { path: "plain", recursive: true });
    mkdirSync(join(ground.dir, "git"));
    await ground.run("move", { path: "git", to: "git2" });
  });

  test("comes after the grant, and what is denied is said to be denied", async () => {
    expect(await ground.fail("write", { path: ".git/x", content: "" }, { caps: [] })).toMatchObject({
      code: "CAPABILITY_DENIED",
    });
    expect(await ground.fail("write", { path: ".git/.env", content: "" })).toEqual(
      failure(
        "DENIED_BY_POLICY",
        'Cannot write ".git/.env": denied by policy of root "r" (".env" of "@secrets" in file.roots.r.deny). Do not retry',
        ".git/.env",
      ),
    );
  });
});

describe("a closed dispatcher", () => {
  test("takes no more calls", async () => {
    const { dispatcher, call, audit } = dispatchOn();
    await dispatcher.close();
    expect(await failureOf(call("write", { content: "x" }))).toEqual({
      code: "ABORTED",
      message: "Operation cancelled",
      data: {},
    });
    expect(audit).toEqual([]);
  });

  test("waits for the calls that run, and for those that wait for their turn", async () => {
    const ends = [deferred(), deferred()];
    let reads = 0;
    const { dispatcher, call } = dispatchOn({
      limits: { maxConcurrent: 1 },
      backend: {
        async read() {
          await ends[reads++]?.promise;
          return { bytes: Buffer.from("x"), size: 1 };
        },
      },
    });
    const calls = [call("read"), call("read")];
    let closed = false;
    const closing = dispatcher.close().then(() => {
      closed = true;
    });
    for (const end of ends) {
      await turn();
      expect(closed).toBe(false);
      end.resolve();
    }
    await closing;
    expect(await Promise.all(calls)).toHaveLength(2);
  });

  test("does not wait for ever", async () => {
    jest.useFakeTimers({ now: 0 });
    try {
      const { dispatcher, call } = dispatchOn({ backend: { read: () => new Promise(() => {}) } });
      void call("read");
      let closed = false;
      const closing = dispatcher.close().then(() => {
        closed = true;
      });
      await jest.advanceTimersByTimeAsync(4999);
      expect(closed).toBe(false);
      await jest.advanceTimersByTimeAsync(1);
      await closing;
    } finally {
      jest.useRealTimers();
    }
  });

  test("waits for a call that has only begun", async () => {
    let looked = false;
    const { dispatcher, call } = dispatchOn({
      backend: {
        stat() {
          looked = true;
          return undefined;
        },
      },
    });
    const first = call("stat");
    expect(looked).toBe(false);
    await dispatcher.close();
    expect(looked).toBe(true);
    expect(await first).toEqual({ exists: false });
  });
});

const SIZE = 100_000;
const TEXT = "line\n".repeat(SIZE / 5);

/** A budget that is all taken, and what gives it back. */
function fullBudget(): { budget: MemoryBudget; free: () => void } {
  const budget = new MemoryBudget(SIZE, 1);
  const other = budget.lease("other");
  other.tryHold(SIZE);
  return { budget, free: () => other.release() };
}

describe("an answer for which there is no room", () => {
  const turn = () => new Promise((resolve) => setImmediate(resolve));

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

describe("copies that nobody is asked about", () => {
  const COPIES = [
    { path: "f", to: "n" },
    { path: "f", to: "g", overwrite: true },
    { path: "t", to: "n", recursive: true },
  ];

  /** Copies for a caller who is asked about. @returns for each file whether the system may copy it */
  async function copied(ground: Ground, input: (typeof COPIES)[number]): Promise<readonly boolean[]> {
    for (const path of ["f", "g", "t/a"]) ground.put(path, path);
    const copy = ContentCopy.prototype.copy;
    const bySystem: boolean[] = [];
    jest.spyOn(ContentCopy.prototype, "copy").mockImplementation(function (this: ContentCopy, file, to) {
      bySystem.push(file.descriptor !== undefined);
      return copy.call(this, file, to);
    });
    await ground.adapter.invoke("file:copy", { root: "r", ...input }, { surface: "mcp" });
    return bySystem;
  }

  const asksElse = useGround({ root: { approve: { for: ["delete", "exec"] } } });
  const asksIfLarge = useGround({ root: { approve: { for: ["all"], over: { bytes: 1_000 } } } });

  test.each(COPIES)("a copy that nobody is asked about is made as in any root: %j", async (input) => {
    expect(await copied(asksElse, input)).toEqual([true]);
  });

  test.each(COPIES)("a copy that may turn out to be large is read: %j", async (input) => {
    expect(await copied(asksIfLarge, input)).toEqual([false]);
  });
});
