import { describe, expect, test } from "@jest/globals";
import { loadOperationSchema } from "../../src/schema/load.js";
import { withoutNulls } from "../../src/schema/validate.js";

const strip = (operation: string, input: unknown) => withoutNulls(input, loadOperationSchema(operation).input);

describe("null in an input", () => {
  test.each<[string, string, unknown, unknown]>([
    ["for an optional field is left out", "list", { root: "r", path: null, limit: 2 }, { root: "r", limit: 2 }],
    ["for a list or text too", "glob", { root: "r", pattern: "*", exclude: null }, { root: "r", pattern: "*" }],
    [
      "in a list of objects too",
      "edit",
      { root: "r", path: "p", edits: [{ oldText: "a", newText: "b", expect: null }] },
      { root: "r", path: "p", edits: [{ oldText: "a", newText: "b" }] },
    ],
    [
      "is JSON where it is the value",
      "write",
      { root: "r", path: "p", value: null },
      { root: "r", path: "p", value: null },
    ],
    ["stays where something is required", "readMany", { root: null, files: null }, { root: null, files: null }],
    ["for a root, which a reference may name, is left out", "stat", { root: null, path: null }, { path: null }],
    ["stays where nothing is known", "stat", { root: "r", path: "p", pat: null }, { root: "r", path: "p", pat: null }],
    ["is no object", "edit", { root: "r", path: "p", edits: [null] }, { root: "r", path: "p", edits: [null] }],
  ])("%s", (_, operation, input, expected) => {
    expect(strip(operation, input)).toEqual(expected);
  });

  test("where there is none, leaves the input as it is", () => {
    const input = { root: "r", path: "p", edits: [{ oldText: "a", newText: "b" }] };
    expect(strip("edit", input)).toBe(input);
    for (const other of [null, undefined, 1, "x", [null]]) expect(strip("edit", other)).toBe(other);
  });

  test("is kept where the schema names it", () => {
    const schema = { type: "object", properties: { a: { type: ["integer", "null"] }, b: { type: "integer" } } };
    expect(withoutNulls({ a: null, b: null }, schema)).toEqual({ a: null });
  });
});
