import { createHash } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import type { Journal, JournalEntry } from "../../../src/core/ports/changes/journal.js";
import type { PathCall } from "../../../src/core/ports/operation.js";
import { standsAt } from "../../../src/ops/undoing/conflict-check.js";
import { TreeHistory } from "../../../src/ops/undoing/tree-history.js";

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
