import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { createFileAdapter, createProfile } from "../../../src/index.js";
import { testFixed, whileFixed } from "../../ops/rights.js";
import { hashOf, KINDS, useBed } from "./bed.js";

const EDIT = { expected_hash: hashOf("x"), old_text: "x", new_text: "y" };
const CALLS = [
  ["read_file", {}, "crud/read"],
  ["write_file", { content: "y" }, "crud/write"],
  ["edit_file", EDIT, "crud/write"],
  ["list_directory", {}, "crud/read"],
  ["grep_files", { pattern: "x" }, "crud/read"],
  ["delete_file", {}, "crud/delete"],
  ["stat_file", {}, "crud/read"],
] as const;

describe.each(KINDS)("a caller on a %s root", (kind) => {
  const bed = useBed({ kind, binding: { prefix: "s" } });
  const { call, fail } = bed;
  const holding = (...abilities: string[]) => ({
    ...bed.context,
    caps: abilities.map((can) => ({ with: "file://r/s/", can })),
  });

  test.each(CALLS)("%s with %j needs %s, and the refusal tells nothing of what is there", async (tool, args, can) => {
    await call("write_file", { path: "there", content: "x" });
    const all = ["crud/read", "crud/write", "crud/delete"];
    for (const name of ["there", "not-there"]) {
      expect(await fail(tool, { path: name, ...args }, holding(...all.filter((one) => one !== can)))).toBe(
        `permission denied: requires ${can} on file://r/…/${name}`,
      );
    }
    const path = tool === "list_directory" || tool === "grep_files" ? "" : "there";
    expect(await call(tool, { path, ...args }, holding(can))).not.toHaveProperty("error");
  });

  test("one who may write and not read is told nothing of the content by an edit", async () => {
    await call("write_file", { path: "f", content: "x secret\n" });
    const blind = holding("crud/write");
    expect(await fail("edit_file", { path: "f", ...EDIT }, blind)).toBe(
      `File '/workspace/f' changed since the last read. Expected ${EDIT.expected_hash}. Read the file again before editing.`,
    );
    const expected_hash = hashOf("x secret\n");
    expect(await fail("edit_file", { path: "f", expected_hash, old_text: "x sekret", new_text: "" }, blind)).toBe(
      "Could not find an exact match for old_text: 'x sekret'",
    );
    expect(await call("edit_file", { path: "f", expected_hash, old_text: "x", new_text: "y" }, blind)).toEqual({
      ...{ path: "/workspace/f", size_bytes: 9, applied_edits: 1 },
    });
  });

  test("files outside the prefix are out of reach, for every caller", async () => {
    await bed.adapter.invoke("file:write", { root: "r", path: "beside", content: "x" }, bed.context);
    expect(await fail("read_file", { path: "/beside" })).toBe("File not found: /workspace/beside");
    expect(await fail("read_file", { path: "/../beside" })).toContain("path traversal rejected");
    expect(JSON.stringify(await call("grep_files", { pattern: "x" }))).not.toContain("beside");
  });
});

describe("read-only files", () => {
  const bed = useBed({ binding: { prefix: "s" } });
  const { call, fail } = bed;
  const changes = [
    ["write_file", { content: "y" }],
    ["edit_file", EDIT],
    ["delete_file", {}],
  ] as const;
  const seed = (...files: Parameters<NonNullable<typeof bed.profile.seed>>[0]) => bed.profile.seed?.(files);

  test("are put there by the host application, and stay as they are", async () => {
    await seed({ path: "/workspace/docs/guide.md", content: "x", readonly: true }, { path: "docs/free", content: "x" });
    await seed({ path: "bin", content: "AAE=", encoding: "base64" });
    const path = "/workspace/docs/guide.md";
    for (const [tool, args] of changes) {
      expect(await fail(tool, { path, ...args })).toBe(`Cannot modify readonly file: ${path}`);
    }
    for (const recursive of [true, false]) {
      expect(await fail("delete_file", { path: "docs", recursive })).toContain("Cannot modify readonly file");
    }
    expect(await call("read_file", { path })).toMatchObject({ content: "x" });
    expect(await call("read_file", { path: "bin" })).toMatchObject({ content: "AAE=" });
    expect(await call("stat_file", { path })).toMatchObject({ is_readonly: true });
    expect(await call("list_directory", { path: "docs" })).toMatchObject({
      entries: [
        { name: "free", is_readonly: false },
        { name: "guide.md", is_readonly: true },
      ],
    });
    expect(await call("edit_file", { path: "docs/free", ...EDIT })).toMatchObject({ applied_edits: 1 });
  });

  test("are told of only to callers with the right to change them", async () => {
    await seed({ path: "kept", content: "x", readonly: true });
    const caps = [{ with: "file://r/", can: "crud/read" }];
    for (const [tool, args] of changes) {
      expect(await fail(tool, { path: "kept", ...args }, { caps })).toMatch(/^permission denied: requires crud/);
    }
  });

  test("are free again when they are put there without the flag", async () => {
    await seed({ path: "again", content: "one", readonly: true });
    await seed({ path: "again", content: "two" });
    expect(await call("stat_file", { path: "again" })).toMatchObject({ is_readonly: false, size_bytes: 3 });
    expect(await call("delete_file", { path: "again" })).toMatchObject({ deleted: true });
  });

  test("a path that is none is not put there", async () => {
    await expect(seed({ path: "../x", content: "" })).rejects.toThrow();
    await expect(seed({ path: "b64", content: "@", encoding: "base64" })).rejects.toThrow();
  });
});

describe("a file that the process may not write", () => {
  const bed = useBed();

  testFixed("is refused by an edit, whatever it would have found or changed", async () => {
    bed.put("f", "x secret\n");
    const expected_hash = hashOf("x secret\n");
    const edits = [
      { expected_hash, old_text: "x", new_text: "y" },
      { expected_hash, old_text: "x", new_text: "x" },
      { expected_hash, old_text: "x sekret", new_text: "" },
      { expected_hash, old_text: "e", new_text: "" },
      EDIT,
    ];
    const refusals = await whileFixed(join(bed.dir, "f"), async () => {
      const all: string[] = [];
      for (const edit of edits) all.push(await bed.fail("edit_file", { path: "f", ...edit }));
      return all;
    });
    expect(new Set(refusals)).toEqual(new Set(["Cannot modify readonly file: /workspace/f"]));
    expect(bed.get("f")).toBe("x secret\n");
  });
});

describe("read-only files on a drive", () => {
  const bed = useBed({ kind: "drive" });

  test("are put there for their owner", async () => {
    await expect(bed.profile.seed?.([{ path: "f", content: "x" }])).rejects.toThrow();
    await bed.profile.seed?.([{ path: "f", content: "x", readonly: true }], bed.context);
    expect(await bed.fail("delete_file", { path: "f" })).toBe("Cannot modify readonly file: /workspace/f");
  });
});

describe("a read-only root", () => {
  const bed = useBed({ root: { readOnly: true } });

  test("makes every file read-only", async () => {
    bed.put("f", "x");
    expect(await bed.call("stat_file", { path: "f" })).toMatchObject({ is_readonly: true });
    expect(await bed.call("list_directory")).toMatchObject({ entries: [{ name: "f", is_readonly: true }] });
    expect(await bed.call("read_file", { path: "f" })).toMatchObject({ content: "x" });
    for (const [tool, args] of [
      ["write_file", { content: "y" }],
      ["edit_file", EDIT],
      ["delete_file", {}],
    ] as const) {
      expect(await bed.fail(tool, { path: "f", ...args })).toBe("Cannot modify readonly file: /workspace/f");
    }
    await expect(bed.profile.seed?.([{ path: "f", content: "y" }])).rejects.toThrow();
    expect(bed.get("f")).toBe("x");
  });
});

describe("what the operator denies or limits", () => {
  const denied = useBed({ root: { deny: [".env"] } });
  const limited = useBed({ root: { quota: { bytes: 10 } } });

  test("is told as such", async () => {
    denied.put(".env", "SECRET=1\n");
    const text = "/workspace/.env is denied by policy";
    for (const [tool, args] of CALLS) expect(await denied.fail(tool, { path: ".env", ...args })).toBe(text);
    expect(await denied.call("list_directory")).toMatchObject({ count: 0 });
    expect(await denied.call("grep_files", { pattern: "SECRET" })).toMatchObject({ match_count: 0 });
    expect(await limited.fail("write_file", { path: "f", content: "x".repeat(11) })).toContain("quota exceeded");
  });
});

test("files of two instances are out of each other's reach", async () => {
  const adapter = await createFileAdapter({ roots: { r: { temp: true } } });
  try {
    const [one, two] = ["one", "two"].map((prefix) =>
      createProfile(adapter, { profile: "everruns", root: "r", prefix }),
    );
    await one?.call("write_file", { path: "f", content: "mine" });
    expect(await two?.call("read_file", { path: "f" })).toEqual({ error: "File not found: /workspace/f" });
    expect(await two?.call("read_file", { path: "/workspace/../one/f" })).toMatchObject({
      error: expect.stringContaining("path traversal rejected"),
    });
  } finally {
    await adapter.close();
  }
});

test("an unknown tool is none", async () => {
  const adapter = await createFileAdapter({ roots: { r: { temp: true } } });
  const profile = createProfile(adapter, { profile: "everruns", root: "r" });
  await expect(profile.call("bash", { command: "true" })).rejects.toThrow();
  await adapter.close();
});
