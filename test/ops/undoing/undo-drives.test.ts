import { afterEach, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { assembleAdapter, type HostedFileAdapter } from "../../../src/adapter/adapter.js";
import { parseFileConfig } from "../../../src/config/load.js";
import { FileAdapterError } from "../../../src/core/errors/errors.js";
import { createMemoryStore } from "../../../src/drive/store/memory.js";
import type { FileOutputs } from "../../../src/schema/types.js";
import { openDrives, type TestDrives } from "../../backend/drive/open-drives.js";

const ALICE = "did:key:z6MkAlice";
const BOB = "did:key:z6MkBob";
const LARGE = "y".repeat(70_000);

interface Ground {
  readonly adapter: HostedFileAdapter;
  readonly drives: TestDrives;
}

const open: Ground[] = [];
afterEach(async () => {
  for (const { adapter, drives } of open.splice(0)) {
    await adapter.close();
    await drives.close();
  }
});

async function ground(store = createMemoryStore()): Promise<Ground> {
  const drives = openDrives({ store });
  const config = parseFileConfig({ roots: { d: { dlfs: "work" }, other: { dlfs: "other" } } }, { baseDir: "/" });
  const adapter = await assembleAdapter(config, { drives, discloseHostPaths: false });
  open.push({ adapter, drives });
  return { adapter, drives };
}

type Invoke = <K extends keyof FileOutputs>(op: K, input: object, caller?: string) => Promise<FileOutputs[K]>;

const invokeOn =
  ({ adapter }: Ground): Invoke =>
  (op, input, callerDID = ALICE) =>
    adapter.invoke(op as never, { root: "d", ...input } as never, { callerDID, authority: "owner" } as never) as never;

/** Paths, of files with content. */
async function snapshot(invoke: Invoke, path = ""): Promise<string[]> {
  const { entries } = await invoke("file:list", { path });
  const found: string[] = [];
  for (const { name, type } of entries) {
    const at = path === "" ? name : `${path}/${name}`;
    if (type === "directory") found.push(`${at}/`, ...(await snapshot(invoke, at)));
    else found.push(`${at} ${(await invoke("file:hash", { path: at })).hash}`);
  }
  return found;
}

const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "no error",
    (error: unknown) => (error instanceof FileAdapterError ? error.code : error),
  );

describe("the history of a drive", () => {
  test("names who changed what, newest first, and only of the caller's own drive", async () => {
    const invoke = invokeOn(await ground());
    await invoke("file:write", { path: "a/b.txt", content: "one", parents: true });
    await invoke("file:append", { path: "a/b.txt", content: " two" });
    await invoke("file:write", { root: "other", path: "x", content: "x" });
    await invoke("file:write", { path: "secret", content: "bob" }, BOB);
    const { entries, complete } = await invoke("file:history", {});
    expect(complete).toBe(true);
    expect(entries.map(({ op, path, actor, undoable }) => [op, path, actor, undoable])).toEqual([
      ["append", "a/b.txt", ALICE, true],
      ["write", "a/b.txt", ALICE, true],
    ]);
    expect(entries[1]?.made).toEqual(["a"]);
    expect(entries.map(({ id }) => id)).toEqual([...entries.map(({ id }) => id)].sort().reverse());
  });

  test("gives former versions, and brings them back", async () => {
    const invoke = invokeOn(await ground());
    await invoke("file:write", { path: "f", content: "one" });
    await invoke("file:write", { path: "f", content: LARGE });
    await invoke("file:delete", { path: "f" });
    const [deleted, second, first] = (await invoke("file:history", { path: "f" })).entries;
    const read = async (version: string) => (await invoke("file:read", { path: "f", version })).content;
    expect(await read(`${first?.id}:after`)).toBe("one");
    expect(await read(`${second?.id}:before`)).toBe("one");
    expect((await invoke("file:stat", { path: "f", version: `${deleted?.id}:before` })).size).toBe(LARGE.length);
    await invoke("file:restore", { path: "f", to: `${first?.id}` });
    expect((await invoke("file:read", { path: "f" })).content).toBe("one");
  });

  test("a deleted tree is in the trash, and comes back whole", async () => {
    const invoke = invokeOn(await ground());
    for (const path of ["t/a", "t/b/c"]) await invoke("file:write", { path, content: path, parents: true });
    const before = await snapshot(invoke);
    const { id } = await invoke("file:delete", { path: "t", recursive: true });
    const { entries } = await invoke("file:trash", {});
    expect(entries).toMatchObject([{ id, path: "t", kind: "directory", by: ALICE }]);
    const undone = await invoke("file:undo", { id });
    expect(undone.undone).toEqual([id]);
    expect(await snapshot(invoke)).toEqual(before);
    expect((await invoke("file:trash", {})).entries).toEqual([]);
    expect((await invoke("file:history", { limit: 2 })).entries.map((one) => one.undoneBy)).toEqual([
      undefined,
      undone.id,
    ]);
  });

  test("what was changed since is blocked, with who did it, and nothing changes", async () => {
    const invoke = invokeOn(await ground());
    for (const content of ["one", "two", "three"]) await invoke("file:write", { path: "f", content });
    const [third, second] = (await invoke("file:history", {})).entries;
    const failed = await invoke("file:undo", { id: second?.id }).catch((error: unknown) => error);
    expect(failed).toMatchObject({ code: "CONFLICT", data: { blocked: [{ path: "f", laterId: third?.id }] } });
    expect((await invoke("file:read", { path: "f" })).content).toBe("three");
  });

  test("nothing is kept of what was deleted for good", async () => {
    const invoke = invokeOn(await ground());
    await invoke("file:write", { path: "f", content: "one" });
    const { id, existed } = await invoke("file:delete", { path: "f", permanent: true });
    expect(existed).toBe(true);
    expect((await invoke("file:history", { limit: 1 })).entries).toMatchObject([{ op: "delete", reason: "permanent" }]);
    expect((await invoke("file:trash", {})).entries).toEqual([]);
    expect(await codeOf(invoke("file:undo", { id }))).toBe("NOT_SUPPORTED");
  });

  test("a move is not undone over a file of equal content", async () => {
    const invoke = invokeOn(await ground());
    await invoke("file:write", { path: "a", content: "same" });
    await invoke("file:move", { path: "a", to: "b" });
    const [moved] = (await invoke("file:history", {})).entries;
    await invoke("file:write", { path: "a", content: "same" });
    const failed = await invoke("file:undo", { id: moved?.id }).catch((error: unknown) => error);
    expect(failed).toMatchObject({ code: "CONFLICT", data: { blocked: [{ path: "a" }] } });
  });

  test("purged content is gone, and the purge is told", async () => {
    const invoke = invokeOn(await ground());
    await invoke("file:write", { path: "f", content: "one" });
    await invoke("file:write", { path: "f", content: "two" });
    const [second] = (await invoke("file:history", {})).entries;
    expect(await invoke("file:purge", { all: true })).toEqual({ purged: 2 });
    expect(await codeOf(invoke("file:read", { path: "f", version: `${second?.id}:before` }))).toBe("NOT_FOUND");
    expect(await codeOf(invoke("file:undo", { id: second?.id }))).toBe("NOT_SUPPORTED");
    expect((await invoke("file:history", {})).entries.map(({ op }) => op)).toEqual(["purge", "write", "write"]);
    expect((await invoke("file:read", { path: "f" })).content).toBe("two");
  });

  test("a collection keeps what the log needs, and nothing that was purged", async () => {
    const { drives, ...rest } = await ground();
    const invoke = invokeOn({ drives, ...rest });
    await invoke("file:write", { path: "f", content: LARGE });
    await invoke("file:write", { path: "f", content: "two" });
    const [second] = (await invoke("file:history", {})).entries;
    const collect = () => drives.store.collect({ graceMs: -1000 });
    expect((await collect()).missing).toBe(0);
    expect((await invoke("file:read", { path: "f", version: `${second?.id}:before` })).content).toHaveLength(
      LARGE.length,
    );
    await invoke("file:purge", { ids: [second?.id] });
    const before = (await drives.store.collect({ graceMs: -1000, dryRun: true })).live;
    await invoke("file:purge", { all: true });
    await collect();
    expect((await drives.store.collect({ graceMs: -1000, dryRun: true })).live).toBeLessThanOrEqual(before);
    expect((await invoke("file:read", { path: "f" })).content).toBe("two");
  });
});

interface Step {
  readonly op: "write" | "append" | "edit" | "mkdir" | "move" | "copy" | "delete";
  readonly path: string;
  readonly to: string;
  readonly content: string;
}

const NAMES = ["a", "b", "c", "d/a", "d/b", "d/e/a", "d", "d/e", "f/g"] as const;
const step: fc.Arbitrary<Step> = fc.record({
  op: fc.constantFrom("write", "write", "append", "edit", "mkdir", "move", "copy", "delete"),
  path: fc.constantFrom(...NAMES),
  to: fc.constantFrom(...NAMES),
  content: fc.constantFrom("x\n", "old\n", "", LARGE),
});

function inputOf({ op, path, to, content }: Step): object {
  if (op === "write") return { path, content, parents: true };
  if (op === "append") return { path, content: `${content}+` };
  if (op === "edit") return { path, oldText: "old", newText: "new" };
  if (op === "mkdir") return { path, parents: true };
  if (op === "delete") return { path, recursive: true };
  return { path, to, overwrite: true, parents: true, ...(op === "copy" ? { recursive: true } : {}) };
}

test("undoing everything in reverse on a drive brings back the first tree, and undoing that the last", async () => {
  const runs = fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 24 }), async (steps) => {
    const invoke = invokeOn(await ground());
    for (const path of ["a", "d/a", "d/e/a"])
      await invoke("file:write", { path, content: `old\n${path}`, parents: true });
    const first = await snapshot(invoke);
    const known = (await invoke("file:history", { limit: 1 })).entries[0]?.id;
    for (const one of steps) {
      await invoke(`file:${one.op}`, inputOf(one)).catch((error: unknown) => {
        if (!(error instanceof FileAdapterError) || error.code === "INTERNAL") throw error;
      });
    }
    const last = await snapshot(invoke);
    const { entries } = await invoke("file:history", { limit: 500 });
    const fresh = entries.slice(
      0,
      entries.findIndex(({ id }) => id === known),
    );
    const undoAll = async (units: readonly string[]): Promise<string[]> => {
      const undos: string[] = [];
      for (const id of units) {
        const { group, id: one } = await invoke("file:undo", { id });
        undos.unshift(group ?? one ?? "");
      }
      return undos;
    };
    const undos = await undoAll([...new Set(fresh.map(({ id, group }) => group ?? id))]);
    expect(await snapshot(invoke)).toEqual(first);
    const redos = await undoAll(undos);
    expect(await snapshot(invoke)).toEqual(last);
    await undoAll(redos);
    expect(await snapshot(invoke)).toEqual(first);
  });
  await fc.assert(runs, {
    endOnFailure: process.env["UNDO_RUNS"] !== undefined,
    numRuns: Number(process.env["UNDO_RUNS"] ?? 8),
  });
}, 120_000);
