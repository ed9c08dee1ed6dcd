import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createFileAdapter, createProfile, type FileAdapter, type ToolProfile } from "../../../src/index.js";

const rejected = (text: string) => ({ error: `Jettson Files rejected the operation: ${text}` });

describe("Jettson Files", () => {
  let files: FileAdapter;
  let jettson: ToolProfile;
  const call = (tool: string, args: unknown) => jettson.call(`jettson_files_${tool}`, args);

  beforeAll(async () => {
    files = await createFileAdapter({ roots: { scratch: { temp: true } } });
    jettson = createProfile(files, { profile: "jettson", root: "scratch", prefix: "session" });
  });
  afterAll(() => files.close());

  test("what was written is read, listed and deleted", async () => {
    expect(await call("list", {})).toEqual({ path: ".", entries: [] });
    expect(await call("write", { path: "a//b.txt", content: "é\n" })).toEqual({ path: "a/b.txt", bytes_written: 3 });
    expect(await call("read", { path: "/workspace/a/b.txt" })).toEqual({
      ...{ path: "a/b.txt", content: "é\n", size_bytes: 3, truncated: false },
    });
    expect(await call("list", { path: "." })).toEqual({
      path: ".",
      entries: [{ name: "a", size_bytes: 0, is_dir: true }],
    });
    expect(await call("delete", { path: "a/b.txt" })).toEqual({ path: "a/b.txt", deleted: true });
    expect(await call("delete", { path: "a/b.txt" })).toEqual(rejected("no such file: a/b.txt"));
  });

  test("directories are not deleted, not even empty ones", async () => {
    await call("write", { path: "d/f", content: "" });
    await call("delete", { path: "d/f" });
    expect(await call("delete", { path: "d" })).toEqual(
      rejected("d is a directory — use Jettson Shell with rmdir for that."),
    );
  });
});
