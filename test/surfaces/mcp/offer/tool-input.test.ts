import { describe, expect, test } from "@jest/globals";
import type { JsonObject, OperationMetadata } from "../../../../src/core/ports/adapter.js";
import { toolInput } from "../../../../src/surfaces/mcp/offer/tool-input.js";

const tool = (properties: JsonObject, more: Partial<OperationMetadata> = {}): OperationMetadata => ({
  ...{ name: "a:b", toolName: "a_b", title: "B", description: "B.", ability: "crud/read", changes: false },
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: { type: "object", properties },
  output: { type: "object" },
  hidden: [],
  ...more,
});

const FIELDS: JsonObject = {
  count: { type: "integer" },
  ratio: { type: "number" },
  flag: { type: "boolean" },
  text: { type: "string" },
  any: { description: "Anything" },
  either: { anyOf: [{ type: "string" }, { type: "integer" }] },
  list: {
    type: "array",
    items: { type: "object", properties: { n: { type: "integer" }, newText: { type: "integer" } } },
  },
  names: { type: "array", items: { type: "string" } },
  object: { type: "object", properties: { n: { type: "integer" } } },
  pattern: { type: "integer" },
  caps: { type: "array", items: { type: "object" } },
};

describe("a string in the arguments of a tool", () => {
  test.each<[string, unknown, unknown]>([
    ["count", "12", 12],
    ["count", "-3", -3],
    ["count", "0", 0],
    ["list", '[{"n": 1}]', [{ n: 1 }]],
    ["list", '[{"n": "1"}]', [{ n: 1 }]],
    ["list", ['{"n": "1"}'], [{ n: 1 }]],
    ["list", [{ n: "7" }], [{ n: 7 }]],
    ["list", "[]", []],
    ["object", '{"n":"2"}', { n: 2 }],
  ])("is read where the schema allows none: %s %j", (name, given, expected) => {
    expect(toolInput(tool(FIELDS), { [name]: given }, undefined).input).toEqual({ [name]: expected });
  });

  test.each<[string, unknown]>([
    ["count", "1.0"],
    ["count", "1e3"],
    ["count", "0x10"],
    ["count", " 1"],
    ["count", "+1"],
    ["count", "01"],
    ["count", ""],
    ["count", "9007199254740993"],
    ["ratio", "1.5"],
    ["flag", "true"],
    ["text", "12"],
    ["text", '{"a":1}'],
    ["any", "12"],
    ["either", "12"],
    ["list", '{"n":1}'],
    ["list", "[1"],
    ["list", `[${"[],".repeat(350_000)}[]]`],
    ["list", [{ newText: "1" }]],
    ["names", '["a"]'],
    ["object", "[1]"],
    ["pattern", "1"],
    ["caps", "[]"],
    ["unknown", "1"],
    ["toString", "1"],
  ])("stays what it is where it could be meant, or is nothing else: %s, %#", (name, given) => {
    expect(toolInput(tool(FIELDS), { [name]: given }, undefined).input).toEqual({ [name]: given });
  });

  test("never becomes anything's prototype", () => {
    const given = JSON.parse('{"__proto__":{"count":1},"list":"[{\\"__proto__\\":{}}]"}') as Record<string, unknown>;
    const { input } = toolInput(tool(FIELDS), given, undefined) as { input: Record<string, unknown> };
    expect(Object.keys(input)).toEqual(["__proto__", "list"]);
    expect(Object.getPrototypeOf(input)).toBe(Object.prototype);
  });
});

describe("a field that is left out of the arguments of a tool", () => {
  const search = tool({ ...FIELDS, root: { type: "string" } }, { modelDefaults: { text: "usual" } });

  test("gets the default for models, and the only root; what is given stays", () => {
    expect(toolInput(search, {}, undefined).input).toEqual({ text: "usual" });
    expect(toolInput(search, { text: null, root: null }, "r").input).toEqual({ text: "usual", root: "r" });
    const given = { text: "own", root: "other" };
    expect(toolInput(search, given, "r").input).toEqual(given);
    expect(toolInput(tool(FIELDS), {}, "r").input).toEqual({});
    expect(toolInput(search, {}, "r").root).toBe("r");
    expect(toolInput(search, given, "r")).not.toHaveProperty("root");
  });

  test("chooses only how the answer is shown where it says no more", () => {
    const shown = tool(FIELDS, { renderFields: { format: { type: "string", enum: ["text", "json"] } } });
    expect(toolInput(shown, { count: 1, format: "json" }, undefined)).toEqual({
      input: { count: 1 },
      shown: { count: 1, format: "json" },
    });
    expect(toolInput(shown, { format: null }, undefined)).toEqual({ input: {}, shown: {} });
    expect(toolInput(shown, { format: "xml" }, undefined).input).toEqual({ format: "xml" });
  });
});
