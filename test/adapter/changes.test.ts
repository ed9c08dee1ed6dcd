import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { assembleAdapter, type HostedFileAdapter } from "../../src/adapter/adapter.js";
import { parseFileConfig } from "../../src/config/load.js";
import type { ChangeRecord } from "../../src/core/ports/changes/change.js";
import { createMemoryDrives } from "../../src/venue/start/drives.js";

const ALICE = "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK";

let home = "";
let adapter: HostedFileAdapter;
const heard: ChangeRecord[] = [];
let isFaulty = false;

const hear = (record: ChangeRecord): void => {
  heard.push(record);
  if (isFaulty) throw new Error("a sink against its contract");
};

const invoke = (op: string, input: object, context = {}): Promise<unknown> =>
  adapter.invoke(`file:${op}` as string, { root: "docs", ...input }, context);

beforeAll(async () => {
  home = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-changes-")));
  mkdirSync(join(home, "docs"));
  mkdirSync(join(home, "other"));
  writeFileSync(join(home, "docs", "a.txt"), "one\n");
  const roots = { docs: join(home, "docs"), other: join(home, "other"), own: { dlfs: "own" } };
  const config = parseFileConfig({ roots }, { baseDir: home });
  const capabilities = { operator: "did:key:z6MkOperator", publicCaps: [{ with: "file://", can: "*" }] };
  const parts = { drives: createMemoryDrives(), discloseHostPaths: false, capabilities, changeSinks: [hear] };
  adapter = await assembleAdapter(config, parts);
});
beforeEach(() => {
  heard.length = 0;
});
afterAll(async () => {
  await adapter.close();
  rmSync(home, { recursive: true });
});

describe("changes", () => {
  test("are heard with operation, caller, surface and session, once each and in order", async () => {
    await invoke("write", { path: "b.txt", content: "x" });
    await invoke("edit", { path: "b.txt", oldText: "x", newText: "y" }, { surface: "mcp", session: "s1" });
    await invoke("move", { path: "b.txt", to: "c.txt" }, { callerDID: "did:key:z6MkOperator", surface: "http" });
    await invoke("delete", { path: "c.txt" }, { tool: "jettson:jettson_files_delete" });
    await invoke("delete", { path: "c.txt" });
    const origins = heard.map(({ op, actor, surface, path, action }) => [op, actor, surface, path.join("/"), action]);
    expect(origins).toEqual([
      ["write", "operator", "library", "b.txt", "created"],
      ["edit", "operator", "mcp", "b.txt", "modified"],
      ["move", "operator", "http", "c.txt", "moved"],
      ["delete", "operator", "jettson", "c.txt", "deleted"],
    ]);
    expect(heard[1]?.via).toBe("s1");
    expect(heard[0]?.via).toMatch(/^p[0-9a-f]{16}$/);
    expect(heard[0]?.via).toBe(heard[3]?.via);
  });

  test("of an append say where it begins, and hash what was added for a journal alone", async () => {
    await invoke("write", { path: "log", content: "one " });
    await invoke("append", { path: "log", content: "two" });
    expect(heard[1]).toMatchObject({ op: "append", action: "modified" });
    expect(heard[1]?.addition).toEqual({ offset: 4 });
    await invoke("delete", { path: "log" });
  });

  test("of a caller on its own drive name it, and the owner of the drive", async () => {
    const context = { callerDID: ALICE, credential: { kind: "identity", id: "token-1" } };
    await adapter.invoke("file:write" as string, { root: "own", path: "n.txt", content: "x" }, context as object);
    expect(heard).toMatchObject([{ root: "own", actor: ALICE, driveOwner: ALICE, via: "token-1", scheme: "file" }]);
  });

  test("by copy over two roots tell where they come from; a move over two roots is one group of two", async () => {
    await invoke("copy", { path: "a.txt", toRoot: "other", to: "copied.txt" });
    expect(heard).toMatchObject([{ op: "copy", root: "other", from: ["a.txt"], fromRoot: "docs" }]);
    expect(heard[0]?.group).toBeUndefined();
    heard.length = 0;
    await adapter.invoke("file:move", { root: "other", path: "copied.txt", toRoot: "docs", to: "back.txt" });
    expect(heard).toMatchObject([
      { root: "docs", path: ["back.txt"], action: "created" },
      { root: "other", path: ["copied.txt"], action: "deleted" },
    ]);
    expect(heard[0]?.group).toMatch(/^g[0-9a-hjkmnp-tv-z]{21}$/);
    expect(heard[1]?.group).toBe(heard[0]?.group);
  });

  test("stand although a listener throws", async () => {
    isFaulty = true;
    try {
      await expect(invoke("write", { path: "d.txt", content: "x" })).resolves.toMatchObject({ written: 1 });
    } finally {
      isFaulty = false;
    }
    expect(existsSync(join(home, "docs", "d.txt"))).toBe(true);
    expect(heard).toHaveLength(1);
  });

  test("that fail are not heard", async () => {
    await expect(invoke("write", { path: "a.txt/b", content: "x" })).rejects.toThrow();
    await expect(invoke("write", { path: "a.txt", content: "x", ifNoneMatch: "*" })).rejects.toThrow();
    expect(heard).toEqual([]);
  });
});
