import { beforeEach, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { FileAdapterError } from "../../src/core/errors/errors.js";
import type { Value } from "../../src/drive/cad3/value.js";
import { dir, file, tombstone } from "../../src/drive/dlfs/node.js";
import { toMultiCell } from "../../src/drive/index.js";
import { createMemoryStore } from "../../src/drive/store/memory.js";
import type { FileOutputs } from "../../src/schema/types.js";
import { type Tap, tapped } from "../drive/engine/engines.js";
import { ALICE, BOB, useDrives } from "./ground.js";

// Changes of whole drives in the history: creation, deletion, import; each is told, compared and taken back.
describe("the history of drives", () => {
  type Entry = FileOutputs["file:history"]["entries"][number];

  const ground = useDrives();
  const base64 = (value: Value) => Buffer.from(toMultiCell(value)).toString("base64");
  const text = (content: string, utime: number): Value => file(Buffer.from(content), utime);
  const LATER = Date.now();

  async function history(limit = 500): Promise<readonly Entry[]> {
    const { entries } = (await ground.call("file:history", { root: "mine", limit })) as FileOutputs["file:history"];
    return entries;
  }

  async function undo(input: object): Promise<string> {
    const { group, id } = (await ground.call("file:undo", { root: "mine", ...input })) as FileOutputs["file:undo"];
    return group ?? id ?? "";
  }

  /** Paths, of files with content. */
  async function snapshot(path = ""): Promise<string[]> {
    const { entries } = (await ground.call("file:list", { root: "mine", path })) as FileOutputs["file:list"];
    const found: string[] = [];
    for (const { name, type } of entries) {
      const at = path === "" ? name : `${path}/${name}`;
      if (type === "directory") found.push(`${at}/`, ...(await snapshot(at)));
      else
        found.push(`${at} ${((await ground.call("file:hash", { root: "mine", path: at })) as { hash: string }).hash}`);
    }
    return found;
  }

  const write = (path: string, content: string) =>
    ground.call("dlfs:write", { drive: "notes", path, content, parents: true });
  const importOf = (root: Value) => ground.call("drive:import", { drive: "notes", bytes: base64(root) });
  const drives = async () => ((await ground.call("dlfs:list-drives", {})) as { drives: string[] }).drives;

  describe("a drive that is created or deleted", () => {
    test("has an entry for each, by whom, and only in its owner's history", async () => {
      await ground.call("dlfs:create-drive", { drive: "notes" });
      await ground.call("dlfs:create-drive", { drive: "notes" });
      await write("a/b", "one");
      await ground.call("dlfs:delete-drive", { drive: "notes" });
      await ground.call("dlfs:delete-drive", { drive: "notes" });
      await ground.call("dlfs:create-drive", { drive: "notes" }, BOB);
      const found = await history();
      expect(found.map(({ op, path, kind, actor, undoable }) => [op, path, kind, actor, undoable])).toEqual([
        ["delete-drive", "", "directory", ALICE.callerDID, true],
        ["write", "a/b", "file", ALICE.callerDID, true],
        ["create-drive", "", "directory", ALICE.callerDID, true],
      ]);
      expect(found.map(({ before, after }) => [before === null, after === null])).toEqual([
        [false, true],
        [true, false],
        [true, false],
      ]);
    });

    test("comes back with all it held, is listed in the trash until then, and is gone again by redo", async () => {
      for (const path of ["a", "d/b", "d/e/c"]) await write(path, path);
      const before = await snapshot();
      await ground.call("dlfs:delete-drive", { drive: "notes" });
      expect(await drives()).toEqual([]);
      expect(await ground.call("file:trash", { root: "mine" })).toMatchObject({
        entries: [{ path: "", kind: "directory" }],
      });
      const undone = await undo({ last: 1 });
      expect(await drives()).toEqual(["notes"]);
      expect(await snapshot()).toEqual(before);
      expect(await ground.call("file:trash", { root: "mine" })).toMatchObject({ entries: [] });
      const redone = await undo({ id: undone });
      expect(await drives()).toEqual([]);
      await undo({ id: redone });
      expect(await snapshot()).toEqual(before);
    });

    test("is left alone by an undo where something was written since", async () => {
      await ground.call("dlfs:create-drive", { drive: "notes" });
      await write("a", "one");
      await ground.call("dlfs:delete-drive", { drive: "notes" });
      await write("b", "two");
      const [written, deleted, , created] = await history();
      for (const { id } of [deleted, created] as Entry[]) {
        expect(await ground.fail("file:undo", { root: "mine", id })).toMatchObject({ code: "CONFLICT" });
      }
      await undo({ ids: [written?.id, deleted?.id] });
      expect(await snapshot()).toHaveLength(1);
      expect((await history()).filter(({ undoneBy }) => undoneBy !== undefined)).toHaveLength(2);
    });
  });

  describe("an import", () => {
    const other = dir(
      [
        ["a", text("theirs", LATER + 5000)],
        ["d", dir([["x", text("more", LATER)]], LATER)],
        ["gone", tombstone(LATER + 5000)],
      ],
      LATER + 5000,
    );

    test("is one entry, and is taken back whole, over what it replaced, added and deleted", async () => {
      for (const path of ["a", "d/b", "gone"]) await write(path, `ours ${path}`);
      const first = await snapshot();
      await importOf(other);
      const last = await snapshot();
      expect(last).not.toEqual(first);
      const [entry] = await history(1);
      expect(entry).toMatchObject({ op: "import", path: "", kind: "directory", undoable: true });
      const dry = await ground.call("file:undo", { root: "mine", id: entry?.id, dryRun: true });
      expect(dry).toMatchObject({ undone: [entry?.id], files: [{ path: "" }] });
      const undone = await undo({ id: entry?.id });
      expect(await snapshot()).toEqual(first);
      await undo({ id: undone });
      expect(await snapshot()).toEqual(last);
    });

    test("that changes nothing has no entry", async () => {
      await importOf(other);
      const before = await history();
      await importOf(other);
      expect(await history()).toEqual(before);
      expect(before.map(({ op, before: was }) => [op, was])).toEqual([["import", null]]);
    });

    test("counts what it replaced against the quota of the log, and purge lets go of it", async () => {
      await write("a", "ours");
      await importOf(other);
      expect(await ground.call("file:purge", { root: "mine", all: true })).toEqual({ purged: 2 });
      const [, entry] = await history();
      expect(entry).toMatchObject({ op: "import", undoable: false, reason: "purged" });
      expect(await ground.fail("file:undo", { root: "mine", id: entry?.id })).toMatchObject({ code: "NOT_SUPPORTED" });
      expect(await snapshot()).toHaveLength(3);
    });

    test("is undone together with later changes, newest first", async () => {
      await write("a", "ours");
      const first = await snapshot();
      await importOf(other);
      await write("d/x", "changed");
      await undo({ last: 1 });
      await undo({ last: 1 });
      expect(await snapshot()).toEqual(first);
    });
  });

  interface Step {
    readonly op:
      | "write"
      | "append"
      | "mkdir"
      | "move"
      | "copy"
      | "delete"
      | "patch"
      | "import"
      | "delete-drive"
      | "create-drive";
    readonly via: "file" | "dlfs";
    readonly path: string;
    readonly to: string;
    readonly content: string;
  }

  /** Of several cells. */
  const LARGE = "y".repeat(9000);
  const NAMES = ["a", "b", "d/a", "d/e/a", "d", "f/g"] as const;
  const step: fc.Arbitrary<Step> = fc.record({
    op: fc.constantFrom(
      "write",
      "write",
      "append",
      "mkdir",
      "move",
      "copy",
      "delete",
      "patch",
      "import",
      "delete-drive",
      "create-drive",
    ),
    via: fc.constantFrom("file", "dlfs"),
    path: fc.constantFrom(...NAMES),
    to: fc.constantFrom(...NAMES),
    content: fc.constantFrom("x\n", "", "large"),
  });

  /** A tree with a file at a path, later than what is there. */
  function treeWith(path: string, content: string, at: number): Value {
    const names = path.split("/");
    let node: Value = text(content, at);
    for (const name of names.reverse()) node = dir([[name, node]], at);
    return node;
  }

  async function take({ op, via, path, to, content: kind }: Step, place: number): Promise<unknown> {
    const content = kind === "large" ? LARGE : kind;
    const at = via === "file" ? { root: "mine" } : { drive: "notes" };
    switch (op) {
      case "import":
        return importOf(treeWith(path, content, Date.now() + place));
      case "create-drive":
      case "delete-drive":
        return ground.call(`dlfs:${op}`, { drive: "notes" });
      case "patch":
        return ground.call("file:patch", {
          root: "mine",
          patch: `*** Begin Patch\n*** Add File: ${path}\n+${place}\n*** Delete File: ${to}\n*** End Patch`,
        });
      case "write":
        return ground.call(`${via}:write`, { ...at, path, content, parents: true });
      case "append":
        return ground.call(`${via}:append`, { ...at, path, content: `${content}+` });
      case "mkdir":
        return ground.call(`${via}:mkdir`, { ...at, path, parents: true });
      case "delete":
        return ground.call(`${via}:delete`, { ...at, path, recursive: true });
      default:
        return ground.call(`file:${op}`, {
          root: "mine",
          path,
          to,
          overwrite: true,
          parents: true,
          ...(op === "copy" ? { recursive: true } : {}),
        });
    }
  }

  test("undoing all changes of files and of whole drives in reverse brings back the first tree, and redoing the last", async () => {
    const runs = fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 20 }), async (steps) => {
      await ground.call("dlfs:delete-drive", { drive: "notes" });
      for (const path of ["a", "d/a", "d/e/a"]) await write(path, `old\n${path}`);
      const first = await snapshot();
      const known = (await history(1))[0]?.id;
      for (const [place, one] of steps.entries()) {
        await take(one, place).catch((error: unknown) => {
          if (!(error instanceof FileAdapterError) || error.code === "INTERNAL") throw error;
        });
      }
      const last = await snapshot();
      const entries = await history();
      const fresh = entries.slice(
        0,
        entries.findIndex(({ id }) => id === known),
      );
      const undoAll = async (units: readonly string[]): Promise<string[]> => {
        const undos: string[] = [];
        for (const id of units) undos.unshift(await undo({ id }));
        return undos;
      };
      const undos = await undoAll([...new Set(fresh.map(({ id, group }) => group ?? id))]);
      expect(await snapshot()).toEqual(first);
      await undoAll(undos);
      expect(await snapshot()).toEqual(last);
    });
    await fc.assert(runs, { numRuns: 8 });
  });
});

/** So long that it is a cell of its own, which is read only with the file. */
const content = (name: string): string => name.padEnd(4000, ".");

describe("a drive whose store has lost a cell, by operations on files", () => {
  let tap: Tap;
  const ground = useDrives({
    // What was written last is in memory, and is read although the store has lost it.
    cacheBytes: 0,
    store: () => {
      const watched = tapped(createMemoryStore());
      tap = watched.tap;
      return watched.store;
    },
  });
  const at = (path: string) => ({ root: "mine", path });
  const damaged = (path: string, shown = path) => ({
    code: "STORE_DAMAGED",
    message: `Drive store is damaged: notes:${shown}`,
    data: at(path),
  });

  beforeEach(async () => {
    for (const folder of ["one", "two"]) {
      for (let file = 0; file < 12; file += 1) {
        const path = `${folder}/${folder}-${file}`;
        await ground.call("file:write", { ...at(path), content: content(path), parents: true });
      }
    }
  });

  test("a file of which content is gone: it is named, and all others are read, changed and listed", async () => {
    const lost = tap.puts.filter(({ bytes }) => Buffer.from(bytes).includes("one/one-7."));
    expect(lost).toHaveLength(1);
    for (const { hash } of lost) tap.lost.add(hash);
    expect(await ground.fail("file:read", at("one/one-7"))).toMatchObject(damaged("one/one-7"));
    expect(await ground.call("file:read", at("one/one-8"))).toMatchObject({ content: content("one/one-8") });
    expect(await ground.call("file:list", at("one"))).toMatchObject({ total: 12 });
    await ground.call("file:write", { ...at("one/new"), content: "x" });
    await ground.call("file:write", { ...at("one/one-7"), content: "mended" });
    expect(await ground.call("file:read", at("one/one-7"))).toMatchObject({ content: "mended" });
  });

  test("a directory of which names are gone: it is named, and what lies beside it is served", async () => {
    const nodes = tap.puts.filter(({ bytes }) => bytes[0] === 0x84 && Buffer.from(bytes).includes("two-11"));
    expect(nodes.length).toBeGreaterThan(0);
    for (const { hash } of nodes) tap.lost.add(hash);
    expect(await ground.fail("file:list", at("two"))).toMatchObject(damaged("two"));
    expect(await ground.fail("file:read", at("two/two-11"))).toMatchObject(damaged("two/two-11"));
    expect(await ground.fail("file:tree", { root: "mine", path: "" })).toMatchObject(damaged("", "two"));
    expect(await ground.call("file:list", at(""))).toMatchObject({ total: 2 });
    expect(await ground.call("file:read", at("one/one-3"))).toMatchObject({ content: content("one/one-3") });
    await ground.call("file:write", { ...at("one/new"), content: "x" });
  });
});
