import { describe, expect, test } from "@jest/globals";
import { adapterError } from "../../src/core/errors/errors.js";
import type { CellStore } from "../../src/drive/store/cell-store.js";
import { createMemoryStore } from "../../src/drive/store/memory.js";
import { ALICE, useDrives } from "./ground.js";

describe("what a drive refuses", () => {
  const ground = useDrives({ limits: { maxFileBytes: 10, maxDriveBytes: 25, maxEntries: 3 } });
  const place = (path: string) => ({ root: "mine", path });
  const put = (path: string, content: string) => ground.fail("file:write", { root: "mine", path, content });

  test("a file that is too large, also by what is added", async () => {
    const data = { ...place("a"), size: 11, limit: 10 };
    const expected = { code: "TOO_LARGE", message: "Content too large: 11 bytes, limit 10", data };
    expect(await put("a", "01234567890")).toEqual(expected);
    await ground.call("file:write", { root: "mine", path: "a", content: "0123456789" });
    expect(await ground.fail("file:append", { root: "mine", path: "a", content: "x" })).toMatchObject({
      code: "TOO_LARGE",
    });
  });

  test("more than the drives of one owner may hold, and more entries than a directory may", async () => {
    for (const path of ["a", "b"]) await ground.call("file:write", { root: "mine", path, content: "0123456789" });
    const full = await put("c", "0123456789");
    expect(full).toMatchObject({ code: "QUOTA_EXCEEDED", data: { ...place("c"), limit: 25, unit: "bytes" } });
    expect(full.message).toMatch(/^Quota of root 'mine' exceeded: \d+ of 25 bytes used, \d+ more requested$/);
    await ground.call("file:mkdir", { root: "mine", path: "c" });
    const many = await put("d", "");
    expect(many).toMatchObject({ code: "QUOTA_EXCEEDED", data: { ...place("d"), limit: 3, unit: "entries" } });
  });

  test("paths of more names than it takes", async () => {
    const path = Array.from({ length: 257 }, () => "d").join("/");
    expect(await ground.fail("file:mkdir", { root: "mine", path, parents: true })).toEqual({
      code: "INVALID_PATH",
      message: expect.stringMatching(/^Invalid path 'd\/d.*': too deep$/),
      data: place(path),
    });
  });

  test.each(["", ".", "..", "a/b", "a\\b", "a\u0000", "a\u0085", "x".repeat(129), "é".repeat(65), "\ud800"])(
    "the name %j",
    async (drive) => {
      for (const operation of ["dlfs:list", "dlfs:create-drive", "dlfs:delete-drive"]) {
        expect(await ground.fail(operation, { drive })).toMatchObject({
          code: "INVALID_INPUT",
          data: { pointer: "/drive" },
        });
      }
    },
  );
});

describe("a drive to make or to delete", () => {
  const ground = useDrives();

  test("is named by 'drive', by 'name', or by both alike, and answered by both", async () => {
    const made = await ground.call("dlfs:create-drive", { name: "notes" });
    expect(made).toEqual({ name: "notes", drive: "notes", created: true });
    const again = await ground.call("dlfs:create-drive", { drive: "notes", name: "notes" });
    expect(again).toEqual({ name: "notes", drive: "notes", created: false });
    expect(await ground.call("dlfs:list-drives", {})).toEqual({ drives: ["notes"] });
    const gone = await ground.call("dlfs:delete-drive", { name: "notes" });
    expect(gone).toEqual({ name: "notes", drive: "notes", deleted: true, existed: true });
  });

  test.each(["dlfs:create-drive", "dlfs:delete-drive"])("is one drive: %s", async (operation) => {
    expect(await ground.fail(operation, { drive: "a", name: "b" })).toMatchObject({
      code: "INVALID_INPUT",
      data: { pointer: "/name" },
    });
    expect(await ground.fail(operation, {})).toMatchObject({
      code: "INVALID_INPUT",
      message: "'drive' is required",
      data: { pointer: "/drive" },
    });
    expect(await ground.fail(operation, { name: "a/b" })).toMatchObject({ code: "INVALID_INPUT" });
    expect(await ground.call("dlfs:list-drives", {})).toEqual({ drives: [] });
  });
});

describe("a store that fails", () => {
  let failure: Error | undefined;
  const failing = (): CellStore => {
    failure = undefined;
    return new Proxy(createMemoryStore(), {
      get(store, key) {
        const method: unknown = Reflect.get(store, key);
        if (typeof method !== "function") return method;
        return (...given: unknown[]) => {
          if (failure !== undefined && (key === "roots" || key === "pin")) throw failure;
          return Reflect.apply(method, store, given);
        };
      },
    });
  };
  const ground = useDrives({ store: failing });

  const calls = [
    ["dlfs:read", { drive: "notes", path: "a" }],
    ["dlfs:list", { drive: "notes", path: "a" }],
    ["file:read", { root: "mine", path: "a" }],
  ] as const;
  test.each(calls)("is told of by %s in the words of the table, and nothing of its own", async (operation, input) => {
    await ground.call("dlfs:write", { drive: "notes", path: "a", content: "x" });
    failure = adapterError("STORE_UNAVAILABLE", "Drive store cannot be used: /secret/place");
    const root = operation.startsWith("file") ? "mine" : "notes";
    expect(await ground.fail(operation, input, ALICE)).toEqual({
      code: "STORE_UNAVAILABLE",
      message: "Drive store is not reachable: notes",
      data: { root, path: "a" },
    });
  });

  test("is told of by the operations on whole drives too", async () => {
    await ground.call("dlfs:create-drive", { drive: "old" });
    failure = adapterError("STORE_UNAVAILABLE", "Drive store cannot be used: /secret/place");
    expect(await ground.fail("dlfs:list-drives", {})).toMatchObject({ message: "Drive store is not reachable" });
    expect(await ground.fail("dlfs:create-drive", { drive: "notes" })).toMatchObject({
      code: "STORE_UNAVAILABLE",
      message: "Drive store is not reachable: notes",
    });
  });
});
