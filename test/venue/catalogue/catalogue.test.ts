import { describe, expect, test } from "@jest/globals";
import type { Adapter, JsonObject, OperationMetadata } from "../../../src/core/ports/adapter.js";
import { type Catalogue, createCatalogue } from "../../../src/venue/catalogue/catalogue.js";
import { fakeAdapter } from "./fake-adapter.js";

const DID = "did:key:zVenue";
const one = () => 1;
const file = fakeAdapter({ read: one, list: one });
const notes = fakeAdapter({ add: one }, "notes");
/** Assets whose ids count up; `MINE` is somebody's asset that stands for `notes:add`. */
const MINE = "f".repeat(64);
const assets = new Map<string, JsonObject>([
  [MINE, { name: "My notes", operation: { adapter: "notes:add" } }],
  ["0".repeat(64), { name: "No operation" }],
  ["1".repeat(64), { name: "Of another venue", operation: { adapter: "paint:mix" } }],
]);

function hosting(...adapters: Adapter[]): Catalogue {
  const made = createCatalogue({
    did: DID,
    registerOperation: (metadata) => {
      const id = `${assets.size}`.padStart(64, "a");
      assets.set(id, metadata);
      return id;
    },
    findAsset: (id) => {
      const metadata = assets.get(id);
      return metadata && { id, metadata };
    },
  });
  for (const adapter of adapters) made.add(adapter);
  return made;
}

const catalogue = hosting(file, notes);
const assetOf = (name: string) => catalogue.named(name)?.asset ?? "";

describe("an operation is found by", () => {
  test.each([
    "v/ops/file/read",
    "/v/ops/file/read",
    "file:read",
    "/file:read",
    `${DID}/v/ops/file/read`,
    `/${DID}/v/ops/file/read`,
  ])("%s", (reference) => {
    expect(catalogue.resolve(reference)).toMatchObject({ operation: { path: "v/ops/file/read", adapter: file } });
  });

  test("its own asset", () => {
    expect(catalogue.resolve(assetOf("notes:add"))).toEqual({ operation: catalogue.named("notes:add") });
  });

  test("an asset that stands for it, which is then told", () => {
    expect(catalogue.resolve(MINE)).toEqual({ operation: catalogue.named("notes:add"), asset: MINE });
  });

  test("its dispatch name alone", () => {
    expect(catalogue.named("notes:add")).toMatchObject({ path: "v/ops/notes/add", adapter: notes });
    expect(catalogue.named("v/ops/notes/add")).toBeUndefined();
  });
});

test("assets of operations are hashed when one is asked for, and those of later adapters from then on", () => {
  const before = assets.size;
  const made = hosting(file, notes);
  expect(made.resolve("file:read")?.operation.path).toBe("v/ops/file/read");
  expect(assets.size).toBe(before);
  expect(made.resolve("e".repeat(64))).toBeUndefined();
  expect(assets.size).toBe(before + 3);
  made.add(fakeAdapter({ mix: one }, "paint"));
  expect(assets.size).toBe(before + 4);
  const mixed = made.named("paint:mix");
  expect(mixed?.listing.asset).toBe(mixed?.asset);
  expect(assets.size).toBe(before + 4);
});

describe("no operation is found by", () => {
  test.each([
    "",
    "/",
    "read",
    "file",
    "file:",
    "file/read",
    "v/ops/file",
    "v/ops/file/",
    "v/ops/file/read/",
    "v/ops//file/read",
    "//v/ops/file/read",
    "V/OPS/FILE/READ",
    "v/ops/file:read",
    `${DID}/file:read`,
    `${DID}//v/ops/file/read`,
    "did:key:zOther/v/ops/file/read",
    "__proto__",
    "constructor",
    "file:constructor",
    "0".repeat(64),
    "1".repeat(64),
    "2".repeat(64),
  ])("%j", (reference) => {
    expect(catalogue.resolve(reference)).toBeUndefined();
  });
});

test("the list has every operation in the order of registration, with its schemas", () => {
  expect(catalogue.list().map((operation) => operation.path)).toEqual([
    "v/ops/file/read",
    "v/ops/file/list",
    "v/ops/notes/add",
  ]);
  expect(catalogue.list()[0]?.listing).toEqual({
    name: "v/ops/file/read",
    asset: assetOf("file:read"),
    description: "Does read",
    input: { type: "object", title: "read" },
    output: { type: "object" },
  });
});

test("the asset of an operation says what it is", () => {
  expect(assets.get(assetOf("file:list"))).toEqual({
    name: "Fake list",
    description: "Does list",
    operation: {
      adapter: "file:list",
      toolName: "file_list",
      input: { type: "object", title: "list" },
      output: { type: "object" },
    },
  });
});

test("its revision changes with every adapter", () => {
  const growing = hosting(file);
  const before = growing.revision;
  growing.add(notes);
  expect(growing.revision).not.toBe(before);
  expect(growing.adapters).toEqual([file, notes]);
});

describe("refuses, and adds nothing of,", () => {
  const named = (name: string) => ({ ...(fakeAdapter({ x: one }).operations[0] as OperationMetadata), name });
  test.each<[string, Adapter, string]>([
    ["a second adapter of one name", fakeAdapter({ other: one }), 'Cannot host "file": registered twice'],
    [
      "two operations of one name",
      { ...notes, name: "memo", operations: [named("memo:a"), named("memo:a")] },
      'Cannot host "memo:a": registered twice',
    ],
    [
      "an operation that is not named after its adapter",
      { ...file, name: "docs" },
      'Cannot host "file:read": the name must start with "docs:"',
    ],
    ["an adapter whose name is no plain word", { ...file, name: "my/files" }, 'Cannot host "my/files": names are'],
    [
      "an operation whose name is no plain word",
      { ...file, name: "docs", operations: [named("docs:a/b")] },
      'Cannot host "docs:a/b": names are',
    ],
  ])("%s", (_what, adapter, text) => {
    const growing = hosting(file);
    expect(() => growing.add(adapter)).toThrow(text);
    expect(growing.adapters).toEqual([file]);
    expect(growing.list()).toHaveLength(2);
  });
});
