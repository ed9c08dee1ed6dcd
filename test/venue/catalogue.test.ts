import { describe, expect, test } from "@jest/globals";
import { createCatalogue } from "../../src/venue/catalogue.js";
import { fakeAdapter } from "./fake-adapter.js";

const DID = "did:key:zVenue";
const one = () => 1;
const file = fakeAdapter({ read: one, list: one });
const notes = fakeAdapter({ add: one }, "notes");
const catalogue = createCatalogue({ did: DID, adapters: [file, notes] });

describe("an operation is found by", () => {
  test.each([
    "v/ops/file/read",
    "/v/ops/file/read",
    "file:read",
    "/file:read",
    `${DID}/v/ops/file/read`,
    `/${DID}/v/ops/file/read`,
  ])("%s", (reference) => {
    expect(catalogue.resolve(reference)).toMatchObject({ path: "v/ops/file/read", adapter: file });
  });

  test("its dispatch name alone", () => {
    expect(catalogue.named("notes:add")).toMatchObject({ path: "v/ops/notes/add", adapter: notes });
    expect(catalogue.named("v/ops/notes/add")).toBeUndefined();
  });
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
    description: "Does read",
    input: { type: "object", title: "read" },
    output: { type: "object" },
  });
});

test("two operations of one name are refused", () => {
  expect(() => createCatalogue({ did: DID, adapters: [file, fakeAdapter({ read: one })] })).toThrow(
    'Cannot host "file:read": registered twice',
  );
});

test("an operation that is not named after its adapter is refused", () => {
  expect(() => createCatalogue({ did: DID, adapters: [{ ...file, name: "docs" }] })).toThrow(
    'Cannot host "file:read": the name must start with "docs:"',
  );
});
