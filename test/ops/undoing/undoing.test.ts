import { createHash } from "node:crypto";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, jest, test } from "@jest/globals";
import fc from "fast-check";
import { assembleAdapter } from "../../../src/adapter/adapter.js";
import { parseFileConfig } from "../../../src/config/load.js";
import { FileAdapterError } from "../../../src/core/errors/errors.js";
import type { Journal, JournalEntry, JournalQuery } from "../../../src/core/ports/changes/journal.js";
import { silentLog } from "../../../src/core/ports/log.js";
import type { PathCall, PlacesCall } from "../../../src/core/ports/operation.js";
import { createMemoryStore } from "../../../src/drive/store/memory.js";
import { standsAt } from "../../../src/ops/undoing/conflict-check.js";
import { chooseEntries } from "../../../src/ops/undoing/select-entries.js";
import { TreeHistory } from "../../../src/ops/undoing/tree-history.js";
import type { FileOutputs } from "../../../src/schema/types.js";
import { openDrives } from "../../backend/drive/open-drives.js";
import { useShell } from "../../sandbox/ground.js";
import { anyOperation, inputOf, type OperationStep } from "./random-operations.js";

const TIME = 1_700_000_000_000;

/** Whether a change still stands whose file has the same version and size. */
function stands({
  now,
  age,
  size = now.length,
  isKept = false,
}: {
  now: string;
  age: number;
  size?: number;
  /** It lies in a tree that was deleted, and comes back with it. */
  isKept?: boolean;
}): Promise<boolean | "tail"> {
  const version = `1:2:${size}:${(TIME - age) * 1e6}:${(TIME - age) * 1e6}`;
  const sha256 = createHash("sha256").update("ours").digest("hex");
  const state = { size, modified: TIME, mode: 0o644, version };
  const entry = {
    id: "1",
    kind: "file",
    path: ["f"],
    time: TIME,
    after: { ...state, sha256 },
  } as unknown as JournalEntry;
  const content = Buffer.from(now);
  const file = {
    ...{ size: content.length, modified: TIME },
    read: (at: number, length: number) => content.subarray(at, at + length),
    close() {},
  };
  const call = { root: { backend: { open: async () => file } } } as unknown as PathCall;
  const journal = { query: async () => ({ entries: [], complete: true }) } as unknown as Journal;
  const parts = { journal, history: new TreeHistory(journal), planned: new Set<string>(), reads: () => call };
  const kept = { kept: { tree: entry, names: ["f"] }, content: { ...state, open: () => file } };
  return Promise.resolve(standsAt(parts, entry, { state, kind: "file", ...(isKept ? kept : { disk: ["f"] }) }));
}

describe("a file that looks as a change has left it", () => {
  test("is compared by content where its time is so new that another change may have the same", async () => {
    expect(await stands({ now: "ours", age: 1 })).toBe(true);
    expect(await stands({ now: "them", age: 1 })).toBe(false);
    expect(await stands({ now: "ours", age: 1, isKept: true })).toBe(true);
    expect(await stands({ now: "them", age: 1, isKept: true })).toBe(false);
  });

  test("is believed where its time is older, or it is large", async () => {
    expect(await stands({ now: "them", age: 1000 })).toBe(true);
    expect(await stands({ now: "them", age: 1, size: 2_000_000 })).toBe(true);
  });
});

describe("a tree that was copied", () => {
  /** @param changed time at which a file in it was changed, in milliseconds */
  function stillStands(changed: number) {
    const state = { size: 0, modified: TIME, mode: 0o755, version: `1:2:0:${TIME * 1e6}:${TIME * 1e6}` };
    const entry = { id: "1", kind: "directory", path: ["t"], time: TIME, files: 1, after: state } as unknown;
    const version = `1:3:4:${changed}:${changed}`;
    const walk = async (_: unknown, { visit }: { visit(file: object): void }) =>
      visit({ name: "f", depth: 1, type: "file", version, changed });
    const call = { root: { backend: { walk } } } as unknown as PathCall;
    const journal = { query: async () => ({ entries: [], complete: true }) } as unknown as Journal;
    const parts = { journal, history: new TreeHistory(journal), planned: new Set<string>(), reads: () => call };
    return standsAt(parts, entry as JournalEntry, { state, kind: "directory", disk: ["t"] });
  }

  test("stands where a file was made in the millisecond of its entry, which has no parts of one", async () => {
    expect(await stillStands(TIME + 0.7)).toBe(true);
    expect(await stillStands(TIME + 1)).toBe(false);
  });
});

describe("a file in a folder that an undo has brought back as a copy", () => {
  const state = (inode: number, modified: number, changed: number) => ({
    ...{ size: 4, modified, mode: 0o644 },
    version: `1:${inode}:4:${modified * 1e6}:${changed * 1e6}`,
  });
  const entry = { id: "1", kind: "file", path: ["d", "f"], time: TIME, after: state(2, TIME, TIME) };
  const undo = { id: "3", kind: "directory", path: ["d"], time: TIME + 5000, action: "created", undoes: ["2"] };
  /** @param now when the copy was last modified and changed, in milliseconds after the change that is undone */
  const standsAs = (undos: readonly object[], now: readonly [modified: number, changed: number]) => {
    const query = async ({ path, sees }: Parameters<Journal["query"]>[0]) => {
      const here = (undos as JournalEntry[]).filter((one) => path === undefined || one.path.length === path.length);
      return { entries: here.filter(sees), complete: true };
    };
    const journal = { query } as unknown as Journal;
    const parts = { journal, history: new TreeHistory(journal), planned: new Set<string>(), reads: () => undefined };
    const [modified, changed] = now.map((after) => TIME + after);
    const copy = { state: state(9, modified ?? 0, changed ?? 0), kind: "file" as const, disk: ["d", "f"] };
    return Promise.resolve(standsAt(parts, entry as unknown as JournalEntry, copy));
  };

  test("stands while nothing has touched it since", async () => {
    expect(await standsAs([undo], [0, 4990])).toBe(true);
  });

  test("does not where it was changed before the copy, after it, or replaced by another program", async () => {
    expect(await standsAs([undo], [3, 4990])).toBe(false);
    expect(await standsAs([undo], [0, 6000])).toBe(false);
    expect(await standsAs([], [0, 4990])).toBe(false);
  });
});

const entry = (id: number, more: Partial<JournalEntry> = {}): JournalEntry =>
  ({
    id: `${id}`.padStart(5, "0"),
    op: "write",
    root: "r",
    path: ["f"],
    actor: "operator",
    via: "p",
    ...more,
  }) as never;

/** How many entries are looked at to find the newest that stand. */
async function lookedAt(entries: readonly JournalEntry[], last: number): Promise<[string[], number]> {
  let looks = 0;
  const journal = {
    query: async ({ limit, before, sees }: JournalQuery) => {
      const found: JournalEntry[] = [];
      for (const one of entries) {
        if (before !== undefined && one.id >= before) continue;
        if (found.length === limit) return { entries: found, next: found.at(-1)?.id, complete: true };
        looks += 1;
        if (sees(one)) found.push(one);
      }
      return { entries: found, complete: true };
    },
    group: async (id: string) => entries.filter(({ group }) => group === id),
  } as unknown as Journal;
  const root = { name: "r", readOnly: false, journal: { mode: "on", open: () => journal } };
  const view = { root, isVisible: true, allows: () => true };
  const call = { roots: () => [view], at: () => {}, origin: { actor: "operator", via: "p" } } as unknown as PlacesCall;
  const chosen = await chooseEntries({ last }, call);
  return [chosen.flatMap((one) => one.entries.map(({ id }) => id)), looks];
}

test("the newest changes are found without a look at what was undone before them", async () => {
  const undone = Array.from({ length: 1000 }, (_, index) => entry(1000 - index, { undoneBy: "x" }));
  const newest = [entry(2003), entry(2002, { group: "g1" }), entry(2001, { group: "g1" })];
  expect(await lookedAt([...newest, ...undone], 1)).toEqual([["02003"], 1]);
  expect(await lookedAt([...newest, ...undone], 2)).toEqual([["02003", "02002", "02001"], 2]);
});

test("a group of many counts as one change, and what is behind it is found", async () => {
  const group = Array.from({ length: 300 }, (_, index) => entry(3000 - index, { group: "g1" }));
  const [ids] = await lookedAt([...group, entry(2), entry(1)], 2);
  expect(ids).toHaveLength(301);
  expect(ids.at(-1)).toBe("00002");
});

describe("deleted trees", () => {
  const ground = useShell({ journal: true, shell: { unsafe: true } });

  const invoke = <K extends keyof FileOutputs>(op: K, input: object): Promise<FileOutputs[K]> =>
    ground.adapter.invoke(op as never, { root: "r", ...input } as never) as never;
  const newest = async (limit: number): Promise<string[]> =>
    (await invoke("file:history", { limit })).entries.map(({ id }) => id);

  /** Everything in the root, files with mode, time in milliseconds and content. */
  function seen(): readonly string[] {
    return readdirSync(ground.dir, { recursive: true, encoding: "utf8" })
      .filter((path) => !path.startsWith(".venue-files"))
      .sort()
      .map((path) => {
        const at = join(ground.dir, path);
        const stat = statSync(at);
        if (stat.isDirectory()) return `${path}/ ${stat.mode}`;
        const hash = createHash("sha256").update(readFileSync(at)).digest("hex");
        return `${path} ${stat.mode} ${Math.floor(stat.mtimeMs)} ${hash}`;
      });
  }

  beforeEach(() => {
    for (const path of ["d/a", "d/b", "d/e/c"]) {
      ground.put(path, path);
      utimesSync(join(ground.dir, path), 1e9, 1e9 + 0.123);
    }
  });

  /** By a command that begins in the millisecond of the last change, which was made before it all the same. */
  async function removeByCommand(): Promise<void> {
    const { entries } = await invoke("file:history", { limit: 1 });
    const clock = jest.spyOn(Date, "now").mockReturnValue(entries[0]?.time ?? Date.now());
    const starting = ground.adapter.exec(ground.request("rm -r d", { snapshot: true }));
    const running = await starting.finally(() => clock.mockRestore());
    await running.exited;
  }

  const deletions = [
    ["file:delete", () => invoke("file:delete", { path: "d", recursive: true })],
    ["a command, of which a copy is kept,", removeByCommand],
  ] as const;

  describe.each(deletions)("a tree that was deleted by %s", (_, remove) => {
    test.each<[string, () => Promise<unknown>, number]>([
      ["a file written", () => invoke("file:write", { path: "d/a", content: "new" }), 1],
      ["a file appended to", () => invoke("file:append", { path: "d/a", content: " and more" }), 1],
      [
        "a file created with its folders",
        () => invoke("file:write", { path: "d/x/y/z", content: "z", parents: true }),
        1,
      ],
      ["a folder made", () => invoke("file:mkdir", { path: "d/x" }), 1],
      ["a file moved", () => invoke("file:move", { path: "d/a", to: "d/e/a" }), 1],
      [
        "a folder moved and then changed",
        async () => {
          await invoke("file:move", { path: "d/e", to: "d/f" });
          await invoke("file:write", { path: "d/f/c", content: "new" });
        },
        2,
      ],
      [
        "a file deleted, and another in its place",
        async () => {
          await invoke("file:delete", { path: "d/a" });
          await invoke("file:write", { path: "d/a", content: "new" });
        },
        2,
      ],
    ])("comes back as it was before, with %s in it, in one call, and goes again", async (__, change, count) => {
      const first = seen();
      await change();
      await remove();
      const last = seen();
      const undone = await invoke("file:undo", { ids: await newest(count + 1) });
      expect(seen()).toEqual(first);
      await invoke("file:undo", { id: undone.group ?? undone.id });
      expect(seen()).toEqual(last);
    });

    test("stays away where somebody else has changed a file in it before", async () => {
      await invoke("file:write", { path: "d/a", content: "mine" });
      writeFileSync(join(ground.dir, "d/a"), "else");
      await remove();
      const last = seen();
      const work = invoke("file:undo", { ids: await newest(2) });
      await expect(work).rejects.toMatchObject({ code: "CONFLICT", data: { blocked: [{ path: "d/a" }] } });
      expect(seen()).toEqual(last);
    });

    test("keeps a folder that was made in it where somebody else has put something into it", async () => {
      await invoke("file:mkdir", { path: "d/x" });
      ground.put("d/x/theirs", "theirs");
      await remove();
      const work = invoke("file:undo", { ids: await newest(2) });
      await expect(work).rejects.toMatchObject({ code: "CONFLICT", data: { blocked: [{ path: "d/x" }] } });
    });

    test("does not lose a change in a tree that was copied into it, which is left out", async () => {
      await invoke("file:copy", { path: "d/e", to: "d/x", recursive: true });
      await invoke("file:write", { path: "d/x/c", content: "of somebody" });
      await remove();
      const [deleted, , copied] = await newest(3);
      const work = invoke("file:undo", { ids: [deleted, copied] });
      await expect(work).rejects.toMatchObject({ code: "CONFLICT", data: { blocked: [{ path: "d/x" }] } });
    });

    test("nor one that was made while the tree was elsewhere", async () => {
      await invoke("file:copy", { path: "d/e", to: "d/x", recursive: true });
      await invoke("file:move", { path: "d", to: "t" });
      await invoke("file:write", { path: "t/x/c", content: "of somebody" });
      await invoke("file:move", { path: "t", to: "d" });
      await remove();
      const [deleted, back, , moved, copied] = await newest(5);
      const work = invoke("file:undo", { ids: [deleted, back, moved, copied] });
      await expect(work).rejects.toMatchObject({
        code: "CONFLICT",
        data: { blocked: [{ path: "t" }, { path: "d/x" }] },
      });
    });
  });
});

type Ground = Awaited<ReturnType<typeof openGround>>;

/** An empty root with a journal. */
async function openGround(kind: "host" | "drive") {
  const home = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-undo-")));
  for (const name of ["r", "state"]) mkdirSync(join(home, name));
  const drives = openDrives({ store: createMemoryStore() });
  const host = { path: join(home, "r"), durability: "none", journal: "on" } as const;
  const config = parseFileConfig({ roots: { r: kind === "drive" ? { dlfs: "work" } : host } }, { baseDir: home });
  const journals = {
    openState: () => join(home, "state"),
    lookAtState: () => join(home, "state"),
    byDefault: true,
    log: silentLog,
  };
  const adapter = await assembleAdapter(config, { journals, drives, discloseHostPaths: false });
  const context = kind === "drive" ? { callerDID: "did:key:z6MkAlice", authority: "owner" } : undefined;
  const invoke = <K extends keyof FileOutputs>(op: K, input: object): Promise<FileOutputs[K]> =>
    adapter.invoke(op as never, { root: "r", ...input } as never, context as never) as never;
  const close = async (): Promise<void> => {
    await adapter.close();
    await drives.close();
    rmSync(home, { recursive: true, force: true });
  };
  return { invoke, close };
}

/** Everything in the root: folders, and files with their content. */
async function seenIn({ invoke }: Ground, path = ""): Promise<string[]> {
  const found: string[] = [];
  for (const { name, type } of (await invoke("file:list", { path })).entries) {
    const at = path === "" ? name : `${path}/${name}`;
    if (type === "directory") found.push(`${at}/`, ...(await seenIn({ invoke } as Ground, at)));
    else found.push(`${at} ${(await invoke("file:read", { path: at })).content}`);
  }
  return found;
}

/** @returns whether it was done; what is refused changes nothing */
const attempt = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => true,
    (error: unknown) => {
      if (!(error instanceof FileAdapterError) || error.code === "INTERNAL") throw error;
      return false;
    },
  );

/** Changes of two writers, each content of which says whose it is. @returns the ids of ours, newest first, and all marks of theirs */
async function changed({ invoke }: Ground, steps: readonly (OperationStep & { readonly isOurs: boolean })[]) {
  for (const path of ["a", "d/a", "d/e/a"]) await invoke("file:write", { path, content: "old", parents: true });
  const newest = async () => (await invoke("file:history", { limit: 1 })).entries[0];
  const ours = new Set<string>();
  const theirs: string[] = [];
  let last = await newest();
  for (const [index, step] of steps.entries()) {
    const mark = `${step.isOurs ? "our" : "their"} ${index};`;
    const content = mark + step.content.slice(2);
    const input = {
      ...inputOf("r", { ...step, content }),
      ...(step.what === "edit" ? { newText: `old ${mark}` } : {}),
    };
    if (!(await attempt(invoke(`file:${step.what}` as "file:write", input)))) continue;
    const entry = await newest();
    if (entry !== undefined && entry.id !== last?.id && step.isOurs) ours.add(entry.group ?? entry.id);
    if (!step.isOurs) theirs.push(mark);
    last = entry;
  }
  return { ours: [...ours].reverse(), theirs };
}

// A copy of theirs that we made is ours to undo.
const anyStep = anyOperation
  .filter(({ what }) => what !== "copy")
  .chain((step) => fc.boolean().map((isOurs) => ({ ...step, isOurs })));

describe.each(["host", "drive"] as const)("undoing the changes of one of two writers, on a %s root,", (kind) => {
  test("loses nothing of the other, and what is refused changes nothing", async () => {
    const property = fc.asyncProperty(
      fc.array(anyStep, { minLength: 4, maxLength: 16 }),
      fc.boolean(),
      async (steps, atOnce) => {
        const ground = await openGround(kind);
        try {
          const { ours, theirs } = await changed(ground, steps);
          const before = await seenIn(ground);
          const standing = theirs.filter((mark) => before.some((one) => one.includes(mark)));
          for (const input of atOnce && ours.length > 0 ? [{ ids: ours }] : ours.map((id) => ({ id }))) {
            const then = await seenIn(ground);
            if (!(await attempt(ground.invoke("file:undo", input)))) expect(await seenIn(ground)).toEqual(then);
          }
          const after = await seenIn(ground);
          expect(standing.filter((mark) => !after.some((one) => one.includes(mark)))).toEqual([]);
        } finally {
          await ground.close();
        }
      },
    );
    await fc.assert(property, { numRuns: 15 });
  });
});
