import { describe, expect, test } from "@jest/globals";
import type { Capability } from "../../src/core/call/capability.js";
import { newEntryId } from "../../src/core/entry-id.js";
import type { SurfaceContext } from "../../src/core/ports/adapter.js";
import type { Journal, JournalEntry, JournalQuery } from "../../src/core/ports/changes/journal.js";
import type { HistoryOutput } from "../../src/schema/types.js";
import { type Dispatch, dispatchOn } from "../dispatch/fake.js";
import { failureOf, useGround } from "./ground.js";

const START = 1_700_000_000_000;

/** Entries of one write each, a second apart. */
function entriesAt(...paths: readonly (string | Partial<JournalEntry>)[]): JournalEntry[] {
  return paths.map((one, index) => {
    const { path = [], ...more } = typeof one === "string" ? { path: one.split("/") } : one;
    const time = START + index * 1000;
    const state = { size: 1, modified: time, mode: 0o644 };
    return {
      ...{ id: newEntryId(time), time, op: "write", scheme: "file", root: "r", path, action: "modified", kind: "file" },
      ...{ actor: "did:key:zA", via: "s1", surface: "mcp", before: state, after: state, undoable: true },
      ...more,
    };
  });
}

/** A journal that holds these entries and shows at most `most` of them to a query. */
function journalOf(entries: readonly JournalEntry[], most = Number.POSITIVE_INFINITY): Journal {
  const none = () => Promise.reject(new Error("Not needed"));
  const isAt = (path: readonly string[] | undefined, query: JournalQuery): boolean =>
    (query.path ?? []).every((name, index) => path?.[index] === name);
  return {
    mode: "on",
    query(query) {
      const older = entries.filter(({ id }) => query.before === undefined || id < query.before).reverse();
      const matching = older
        .slice(0, most)
        .filter((entry) => isAt(entry.path, query) || isAt(entry.from, query))
        .filter(({ actor }) => query.actor === undefined || actor === query.actor)
        .filter(({ time }) => time >= (query.since ?? 0))
        .filter(query.sees);
      const page = matching.slice(0, query.limit);
      const end = older.length > most ? older[most - 1]?.id : undefined;
      return { entries: page, complete: end === undefined, ...(end === undefined ? {} : { next: end }) };
    },
    entry: (id) => entries.find((one) => one.id === id),
    group: (id) => entries.filter(({ group }) => group === id),
    image: none,
    keptAt: () => undefined,
    keepsDeleted: false,
    note: none,
    trash: none,
    purge: none,
  };
}

const dispatchWith = (journal: Journal | undefined): Dispatch => dispatchOn({ journal });

const caps = (...below: string[]): SurfaceContext => ({
  caps: below.map((path): Capability => ({ with: `file://r/${path}`, can: "crud/read" })),
});

async function pathsOf(dispatch: Dispatch, input: object, context?: SurfaceContext) {
  const output = (await dispatch.dispatcher.invoke("file:history", input, context ?? {})) as HistoryOutput;
  return { ...output, entries: output.entries.map(({ path }) => path) };
}

describe("file:history", () => {
  const entries = entriesAt("a", "d/b", "secret/c", "d/e", { path: ["d", "f"], from: ["secret", "c"], op: "move" });

  test("answers the newest first, of all roots or one, and of what moved away from a path", async () => {
    const dispatch = dispatchWith(journalOf(entries));
    expect(await pathsOf(dispatch, {})).toEqual({ entries: ["d/f", "d/e", "secret/c", "d/b", "a"], complete: true });
    expect((await pathsOf(dispatch, { root: "r", path: "d" })).entries).toEqual(["d/f", "d/e", "d/b"]);
    expect((await pathsOf(dispatch, { root: "r", path: "secret" })).entries).toEqual(["d/f", "secret/c"]);
    expect((await pathsOf(dispatch, { root: "r", since: START + 3000 })).entries).toEqual(["d/f", "d/e"]);
    expect((await pathsOf(dispatch, { actor: "did:key:zB" })).entries).toEqual([]);
  });

  test("pages go on where the last one ended, for the same call only", async () => {
    const dispatch = dispatchWith(journalOf(entries));
    const first = await pathsOf(dispatch, { root: "r", limit: 2 });
    expect(first).toMatchObject({ entries: ["d/f", "d/e"], complete: false, reason: "limit" });
    const cursor = first.nextCursor;
    const second = await pathsOf(dispatch, { root: "r", limit: 9, cursor });
    expect(second).toEqual({ entries: ["secret/c", "d/b", "a"], complete: true });
    for (const other of [{ cursor }, { root: "r", path: "d", cursor }, { root: "r", actor: "x", cursor }]) {
      expect(await failureOf(pathsOf(dispatch, other))).toMatchObject({ code: "INVALID_INPUT" });
    }
  });

  test("a search that ended early says so and goes on", async () => {
    const dispatch = dispatchWith(journalOf(entries, 3));
    const first = await pathsOf(dispatch, { root: "r", path: "a" });
    expect(first).toMatchObject({ entries: [], complete: false, reason: "visited" });
    const next = { root: "r", path: "a", cursor: first.nextCursor };
    expect(await pathsOf(dispatch, next)).toEqual({ entries: ["a"], complete: true });
  });

  test("what the caller may not read, at either end of a move, is left out and not counted", async () => {
    const dispatch = dispatchWith(journalOf(entries));
    expect(await pathsOf(dispatch, { root: "r" }, caps("d"))).toEqual({ entries: ["d/e", "d/b"], complete: true });
    expect(await pathsOf(dispatch, {}, caps("d"))).toEqual({ entries: ["d/e", "d/b"], complete: true });
    const denied = await failureOf(pathsOf(dispatch, { root: "r", path: "secret" }, caps("d")));
    expect(denied.code).toBe("CAPABILITY_DENIED");
  });

  test("a group of which the caller may not know every member is partial", async () => {
    const grouped = entriesAt({ path: ["d", "x"], group: "g1" }, { path: ["secret"], group: "g1" }, "d/y");
    const { dispatcher } = dispatchWith(journalOf(grouped));
    const partsOf = async (context: SurfaceContext) => {
      const { entries: found } = (await dispatcher.invoke("file:history", {}, context)) as HistoryOutput;
      return found.map(({ path, partial }) => [path, partial]);
    };
    expect(await partsOf(caps("d"))).toEqual([
      ["d/y", undefined],
      ["d/x", true],
    ]);
    expect((await partsOf({})).map(([, partial]) => partial)).toEqual([undefined, undefined, undefined]);
  });

  test("a root without a journal has no history; an unknown one is refused like any unknown root", async () => {
    const dispatch = dispatchWith(undefined);
    expect(await pathsOf(dispatch, { root: "r" })).toEqual({ entries: [], complete: true });
    expect(await failureOf(pathsOf(dispatch, { root: "x" }))).toMatchObject({ code: "UNKNOWN_ROOT" });
    expect(await failureOf(pathsOf(dispatch, { path: "a" }))).toMatchObject({ code: "INVALID_INPUT" });
  });
});

describe("a version of a file whose folder is gone", () => {
  const ground = useGround({ journal: true });
  const { run } = ground;
  const newest = async (path: string) => (await run("history", { path, limit: 1 })).entries[0]?.id ?? "";

  test("is read from the trash, and put back", async () => {
    await run("write", { path: "a/b/f", content: "one", parents: true });
    const first = await newest("a/b/f");
    await run("write", { path: "a/b/f", content: "two" });
    const second = await newest("a/b/f");
    await run("delete", { path: "a", recursive: true });
    const read = (version: string) => run("read", { path: "a/b/f", version });
    expect(await read(`${second}:after`)).toMatchObject({ content: "two" });
    expect(await read(`${first}:after`)).toMatchObject({ content: "one" });
    await run("write", { path: "a/b/f", content: "three", parents: true });
    expect(await read(`${second}:after`)).toMatchObject({ content: "two" });
    await run("restore", { path: "a/b/f", to: second });
    expect(ground.get("a/b/f").toString()).toBe("two");
  });

  test("is read where the folder was moved to, and not if it was changed there", async () => {
    await run("write", { path: "d/e/f", content: "one", parents: true });
    const id = await newest("d/e/f");
    await run("move", { path: "d", to: "moved" });
    await run("move", { path: "moved", to: "again" });
    expect(await run("read", { path: "d/e/f", version: `${id}:after` })).toMatchObject({ content: "one" });
    await run("write", { path: "again/e/f", content: "two" });
    expect(await run("read", { path: "d/e/f", version: `${id}:after` })).toMatchObject({ content: "one" });
    ground.put("again/e/f", "theirs");
    const other = await newest("again/e/f");
    await expect(run("read", { path: "again/e/f", version: `${other}:after` })).rejects.toMatchObject({
      code: "NOT_FOUND",
    });
  });
});
