import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { assembleAdapter, type HostedFileAdapter } from "../../../src/adapter/adapter.js";
import { parseFileConfig } from "../../../src/config/load.js";
import { FileAdapterError } from "../../../src/core/errors/errors.js";
import { silentLog } from "../../../src/core/ports/log.js";
import { createMemoryStore } from "../../../src/drive/store/memory.js";
import type { FileOutputs } from "../../../src/schema/types.js";
import { openDrives, type TestDrives } from "../../backend/drive/open-drives.js";
import {
  anyOperation,
  anyPicked,
  inputOf,
  MOVED_TREES,
  type OperationStep,
  type Picked,
  stepOf,
} from "./random-operations.js";
import { anySurface, make, type Step } from "./surface-steps.js";
import { undoAndRedo } from "./undo-and-redo.js";
import { type Kind, openVenueGround, snapshotOf, type VenueGround } from "./venue-ground.js";

/** Those of folders with a slash at the end. */
const pathsIn = (dir: string): string[] =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .map((entry) => `${join(entry.parentPath, entry.name).slice(dir.length + 1)}${entry.isDirectory() ? "/" : ""}`)
    .filter((path) => !path.startsWith(".venue-files"))
    .sort();

describe.each(["host", "temp"])("undoing everything in reverse, on a %s root,", (kind) => {
  let home = "";
  let dir = "";
  let adapter: HostedFileAdapter;
  beforeAll(async () => {
    home = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-undo-")));
    for (const name of ["r", "state"]) mkdirSync(join(home, name));
    const root = kind === "host" ? { path: join(home, "r"), durability: "none" as const } : { temp: true as const };
    const config = parseFileConfig({ roots: { r: { ...root, journal: "on" } } }, { baseDir: home });
    const journals = {
      openState: () => join(home, "state"),
      lookAtState: () => join(home, "state"),
      byDefault: true,
      log: silentLog,
    };
    adapter = await assembleAdapter(config, { journals, discloseHostPaths: false });
    dir = (adapter.roots[0] as { hostPath?: string }).hostPath ?? "";
  });
  afterAll(async () => {
    await adapter.close();
    rmSync(home, { recursive: true, force: true });
  });

  const invoke = <T>(op: string, input: object): Promise<T> =>
    adapter.invoke(`file:${op}` as never, input as never) as Promise<T>;

  /** Ids of the newest entries, or of their groups, newest first, down to a known one. */
  async function unitsSince(known: string | undefined): Promise<string[]> {
    const { entries } = await invoke<FileOutputs["file:history"]>("history", { root: "r", limit: 500 });
    const end = entries.findIndex(({ id }) => id === known);
    const fresh = end < 0 ? entries : entries.slice(0, end);
    return [...new Set(fresh.map(({ id, group }) => group ?? id))];
  }

  const newestId = async () =>
    (await invoke<FileOutputs["file:history"]>("history", { root: "r", limit: 1 })).entries[0]?.id;

  const undoAll = async (units: readonly string[]): Promise<string[]> => {
    const undos: string[] = [];
    for (const id of units) {
      const { group, id: one } = await invoke<FileOutputs["file:undo"]>("undo", { id });
      undos.unshift(group ?? one ?? "");
    }
    return undos;
  };

  /** Makes random changes. @returns how it was and is, and the newest id from before */
  async function changed(steps: readonly (OperationStep | Picked)[]) {
    for (const name of readdirSync(dir)) if (name !== ".venue-files") rmSync(join(dir, name), { recursive: true });
    mkdirSync(join(dir, "d", "e"), { recursive: true });
    for (const [index, name] of ["a", "d/a", "d/e/a"].entries()) {
      writeFileSync(join(dir, name), `old\n${index}`);
      chmodSync(join(dir, name), 0o640 + index);
      utimesSync(join(dir, name), 1_600_000_000, 1_600_000_000 + index + 0.4567);
    }
    const first = snapshotOf(dir);
    const known = await newestId();
    for (const step of steps) {
      const one = "entry" in step ? stepOf(step, pathsIn(dir)) : step;
      await invoke(one.what, inputOf("r", one)).catch((error: unknown) => {
        if (!(error instanceof FileAdapterError) || error.code === "INTERNAL") throw error;
      });
    }
    return { first, last: snapshotOf(dir), known };
  }

  const anySteps = fc.array(anyOperation, { minLength: 3, maxLength: 14 });
  const runs = { numRuns: 6, examples: MOVED_TREES };

  test("brings back the first state, and undoing that the last, byte for byte", async () => {
    const property = fc.asyncProperty(anySteps, async (steps) => {
      const { first, last, known } = await changed(steps);
      const undos = await undoAll(await unitsSince(known));
      expect(snapshotOf(dir)).toEqual(first);
      const redos = await undoAll(undos);
      expect(snapshotOf(dir)).toEqual(last);
      await undoAll(redos);
      expect(snapshotOf(dir)).toEqual(first);
    });
    await fc.assert(property, runs);
  });

  test("brings them back one by one wherever folders were moved in between", async () => {
    const steps = fc.array(anyPicked, { minLength: 3, maxLength: 8 });
    const property = fc.asyncProperty(steps, async (some) => {
      const { first, last, known } = await changed(some);
      const undos = await undoAll(await unitsSince(known));
      expect(snapshotOf(dir)).toEqual(first);
      await undoAll(undos);
      expect(snapshotOf(dir)).toEqual(last);
    });
    await fc.assert(property, { numRuns: 15 });
  });

  test("does so in one call", async () => {
    const property = fc.asyncProperty(anySteps, async (steps) => {
      const { first, last, known } = await changed(steps);
      const ids = await unitsSince(known);
      if (ids.length === 0) return;
      let unit = await invoke<FileOutputs["file:undo"]>("undo", { ids });
      expect(snapshotOf(dir)).toEqual(first);
      for (const state of [last, first]) {
        unit = await invoke<FileOutputs["file:undo"]>("undo", { id: unit.group ?? unit.id });
        expect(snapshotOf(dir)).toEqual(state);
      }
    });
    await fc.assert(property, runs);
  });
});

describe("changes of drives", () => {
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
      adapter.invoke(
        op as never,
        { root: "d", ...input } as never,
        { callerDID, authority: "owner" } as never,
      ) as never;

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
      expect((await invoke("file:history", { limit: 1 })).entries).toMatchObject([
        { op: "delete", reason: "permanent" },
      ]);
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

  describe("a tree of a drive that was deleted", () => {
    const changes = {
      "a file written": { op: "file:write", path: "d/a", content: "new" },
      "a file appended to": { op: "file:append", path: "d/a", content: " and more" },
      "a file created with its folders": { op: "file:write", path: "d/x/y/z", content: "z", parents: true },
      "a folder made": { op: "file:mkdir", path: "d/x" },
      "a file moved": { op: "file:move", path: "d/a", to: "d/e/a" },
      "a file deleted": { op: "file:delete", path: "d/e/a2" },
      "a tree copied": { op: "file:copy", path: "d/e", to: "d/x", recursive: true },
    };

    async function treeOf(invoke: Invoke): Promise<string[]> {
      for (const path of ["d/a", "d/b", "d/e/a2"]) await invoke("file:write", { path, content: path, parents: true });
      return snapshot(invoke);
    }

    test.each(Object.entries(changes))("comes back as it was before %s, in one call", async (_, { op, ...input }) => {
      const invoke = invokeOn(await ground());
      const first = await treeOf(invoke);
      await invoke(op as "file:write", input);
      await invoke("file:delete", { path: "d", recursive: true });
      const ids = (await invoke("file:history", { limit: 2 })).entries.map(({ id }) => id);
      await invoke("file:undo", { ids });
      expect(await snapshot(invoke)).toEqual(first);
    });

    test("is not taken apart where a change in it is left out", async () => {
      const invoke = invokeOn(await ground());
      await treeOf(invoke);
      await invoke("file:copy", { path: "d/e", to: "d/x", recursive: true });
      await invoke("file:write", { path: "d/x/a2", content: "of somebody" });
      await invoke("file:delete", { path: "d", recursive: true });
      const [deleted, , copied] = (await invoke("file:history", { limit: 3 })).entries.map(({ id }) => id);
      const failed = await invoke("file:undo", { ids: [deleted, copied] }).catch((error: unknown) => error);
      expect(failed).toMatchObject({ code: "CONFLICT", data: { blocked: [{ id: copied, path: "d/x" }] } });
      expect(await snapshot(invoke)).toEqual([]);
    });

    test("nor where that change was made while the tree was elsewhere", async () => {
      const invoke = invokeOn(await ground());
      await treeOf(invoke);
      await invoke("file:copy", { path: "d/e", to: "d/x", recursive: true });
      await invoke("file:move", { path: "d", to: "t" });
      await invoke("file:write", { path: "t/x/a2", content: "of somebody" });
      await invoke("file:delete", { path: "t", recursive: true });
      const [deleted, , moved, copied] = (await invoke("file:history", { limit: 4 })).entries.map(({ id }) => id);
      const failed = await invoke("file:undo", { ids: [deleted, moved, copied] }).catch((error: unknown) => error);
      expect(failed).toMatchObject({
        code: "CONFLICT",
        data: { blocked: [{ id: moved }, { id: copied, path: "d/x" }] },
      });
    });
  });

  /** Makes random changes in a drive. @returns how it was and is, and the ids of the changes, newest first */
  async function changed(invoke: Invoke, steps: readonly OperationStep[]) {
    for (const path of ["a", "d/a", "d/e/a"])
      await invoke("file:write", { path, content: `old\n${path}`, parents: true });
    const first = await snapshot(invoke);
    const known = (await invoke("file:history", { limit: 1 })).entries[0]?.id;
    for (const one of steps) {
      await invoke(`file:${one.what}` as "file:write", inputOf("d", one)).catch((error: unknown) => {
        if (!(error instanceof FileAdapterError) || error.code === "INTERNAL") throw error;
      });
    }
    const { entries } = await invoke("file:history", { limit: 500 });
    const fresh = entries.slice(
      0,
      entries.findIndex(({ id }) => id === known),
    );
    return { first, last: await snapshot(invoke), fresh };
  }

  const anySteps = fc.array(anyOperation, { minLength: 3, maxLength: 24 });
  const RUNS = { numRuns: 6, examples: MOVED_TREES };

  test("undoing everything in reverse on a drive brings back the first tree, and undoing that the last", async () => {
    const runs = fc.asyncProperty(anySteps, async (steps) => {
      const invoke = invokeOn(await ground());
      const { first, last, fresh } = await changed(invoke, steps);
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
    await fc.assert(runs, RUNS);
  });

  test("so does undoing everything in one call, with what lies in trees that were deleted later", async () => {
    const runs = fc.asyncProperty(anySteps, async (steps) => {
      const invoke = invokeOn(await ground());
      const { first, last, fresh } = await changed(invoke, steps);
      if (fresh.length === 0) return;
      let unit = await invoke("file:undo", { ids: fresh.map(({ id }) => id) });
      expect(await snapshot(invoke)).toEqual(first);
      for (const state of [last, first]) {
        unit = await invoke("file:undo", { id: unit.group ?? unit.id });
        expect(await snapshot(invoke)).toEqual(state);
      }
    });
    await fc.assert(runs, RUNS);
  });
});

const KINDS = ["host", "temp", "drive"] as const;

const done = new Map<string, number>();

describe.each(KINDS)("undoing in reverse what all surfaces have changed, on a %s root,", (kind) => {
  let ground: VenueGround;
  beforeAll(async () => {
    ground = await openVenueGround(KINDS, { driver: "just-bash" });
  });
  afterAll(() => ground.close());
  async function makeAll(kind: Kind, steps: readonly Step[]): Promise<void> {
    for (const step of steps) {
      const isMade = await make(ground, kind, step);
      done.set(step.by, (done.get(step.by) ?? 0) + Number(isMade));
    }
  }

  test("brings back the first state, and undoing that the last, byte for byte", async () => {
    const runs = fc.asyncProperty(fc.array(anySurface, { minLength: 6, maxLength: 16 }), async (steps) => {
      await ground.reset(kind);
      await undoAndRedo(ground, kind, () => makeAll(kind, steps));
    });
    await fc.assert(runs, { numRuns: 3 });
  });

  test("and what each of them has changed in turn", async () => {
    await ground.reset(kind);
    const at = (path: string, to = "b"): Pick<Step, "path" | "to" | "content"> => ({ path, to, content: "x\n" });
    const steps: readonly Step[] = [
      { by: "library", what: "patch", ...at("a") },
      { by: "http", what: "edit", ...at("d/a") },
      { by: "mcp", what: "move", ...at("d/e", "moved") },
      { by: "files", what: "PUT", ...at("a") },
      { by: "webdav", what: "MOVE", ...at("a", "c") },
      { by: "acp", what: "write", ...at("new/folder/f") },
      { by: "profile", what: "write", ...at("d/a") },
      { by: "command", what: "echo 1 > d/a; rm -rf moved; mkdir n; echo 2 > n/m; mv c n/c", ...at("") },
    ];
    done.clear();
    await undoAndRedo(ground, kind, () => makeAll(kind, steps));
    expect(Object.fromEntries(done)).toEqual(Object.fromEntries(steps.map(({ by }) => [by, 1])));
  });

  test("and a folder that took the place of a file", async () => {
    await ground.reset(kind);
    const copy: Step = { by: "webdav", what: "COPY", path: "d", to: "a", content: "" };
    await undoAndRedo(ground, kind, async () => expect(await make(ground, kind, copy)).toBe(true));
  });
});
