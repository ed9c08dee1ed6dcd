import { describe, expect, test } from "@jest/globals";
import { describe as metadataOf, withSchemas } from "../../../../src/adapter/metadata.js";
import type { JsonObject, OperationMetadata } from "../../../../src/core/ports/adapter.js";
import { DRIVE_OPERATIONS, OPERATIONS } from "../../../../src/ops/registry.js";
import { advertisedTool } from "../../../../src/surfaces/mcp/offer/advertised-tool.js";

const OWN = [
  ...withSchemas("file", OPERATIONS).map((one) => metadataOf("file", one)),
  ...withSchemas("dlfs", DRIVE_OPERATIONS).map((one) => metadataOf("dlfs", one)),
];
const WAYS = { brief: { isBrief: true, hasOnlyRoot: true }, whole: { isBrief: false, hasOnlyRoot: false } };

/** A schema with all schemas in it, and where they are. */
function* nodes(schema: JsonObject, at: string): Generator<{ at: string; node: JsonObject }> {
  yield { at, node: schema };
  for (const [name, field] of Object.entries((schema["properties"] as JsonObject | undefined) ?? {})) {
    yield* nodes(field as JsonObject, `${at}.${name}`);
  }
  if (schema["items"] !== undefined) yield* nodes(schema["items"] as JsonObject, `${at}[]`);
}

/** What OpenAI refuses in the schema of a function that is not strict. */
function refusedByOpenAI(node: JsonObject): string | undefined {
  if (Array.isArray(node["type"])) return "several types";
  if (node["type"] === "array" && typeof node["items"] !== "object") return "a list without items";
  if (node["type"] === "object" && typeof node["properties"] !== "object") return "an object without properties";
  return undefined;
}

const OF_GEMINI = new Set([
  ...["type", "format", "title", "description", "nullable", "enum", "maxItems", "minItems", "properties", "required"],
  ...["minProperties", "maxProperties", "minLength", "maxLength", "pattern", "items", "minimum", "maximum"],
]);

/** What Gemini refuses: it takes a subset of OpenAPI 3.0. */
function refusedByGemini(node: JsonObject): string | undefined {
  const other = Object.keys(node).find((key) => !OF_GEMINI.has(key));
  if (other !== undefined) return other;
  const { type, enum: values, required = [], properties = {} } = node as Readonly<Record<string, unknown[]>>;
  if (values?.some((value) => typeof value !== "string" || value === "") === true) return "an empty value in an enum";
  if (values !== undefined && String(type) !== "string") return "an enum of something else than texts";
  return required.every((name) => Object.hasOwn(properties, String(name)))
    ? undefined
    : "a required field that is none";
}

describe.each(Object.entries(WAYS))("a schema in a list of tools (%s)", (_, way) => {
  const listed = OWN.map((tool) => advertisedTool(tool, way));

  test.each(listed.map((tool) => [tool.toolName, tool] as const))("is taken by OpenAI and Gemini: %s", (name, tool) => {
    expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    for (const { at, node } of nodes(tool.input, name)) {
      expect({ at, openai: refusedByOpenAI(node), gemini: refusedByGemini(node) }).toEqual({ at });
      if (!/\.value$/.test(at))
        expect({ at, type: node["type"] }).toEqual({ at, type: expect.stringMatching(/^[a-z]+$/) });
      if (/\.\w+$/.test(at))
        expect({ at, description: node["description"] }).toEqual({ at, description: expect.stringMatching(/./) });
      expect(at).toMatch(/^[\w.[\]-]+$/);
    }
  });

  test("keeps every field, and what is required but the root", () => {
    for (const [index, tool] of OWN.entries()) {
      const isForPrograms = (name: string) =>
        way.isBrief &&
        ["operationId", "expect", "expectedSize", "asset", "contentRef", "from", "maxFileBytes"].includes(name);
      const fields = Object.keys((tool.input["properties"] ?? {}) as object).filter((name) => !isForPrograms(name));
      const shown = listed[index]?.input as { properties: object; required?: string[] };
      expect(Object.keys(shown.properties)).toEqual(expect.arrayContaining(fields));
      const own = (tool.input["required"] ?? []) as string[];
      // Programs may give references in their place.
      const isNamed = way.isBrief && fields.includes("root") && !/:(?:history|undo)$/.test(tool.name);
      const named = isNamed ? ["root", ...(/:(?:move|copy)$/.test(tool.name) ? ["path"] : [])] : [];
      const required = [...new Set([...named, ...own])].filter((name) => !way.hasOnlyRoot || name !== "root");
      expect(shown.required ?? []).toEqual(required);
    }
  });
});

describe("a schema of somebody else in a list of tools", () => {
  const shown = (input: JsonObject): JsonObject => {
    const [first] = OWN;
    if (first === undefined) throw new Error("there are operations");
    const tool: OperationMetadata = { ...first, input };
    return advertisedTool(tool, WAYS.whole).input;
  };

  test("has one type a node, whatever it allowed", () => {
    const input = {
      type: "object",
      properties: {
        a: { anyOf: [{ type: "string" }, { type: "array", items: { type: "string" } }], description: "A" },
        b: { type: ["integer", "null"], default: 1, minimum: 1 },
        c: { oneOf: [{ type: "null" }, { type: "number" }] },
        d: { const: "x" },
        e: { type: "array" },
        f: { type: "string", enum: ["", "y"] },
        g: { type: "integer", enum: [1, 2] },
        h: { properties: { i: { type: "boolean" } }, additionalProperties: false },
      },
      required: ["a"],
      additionalProperties: false,
    };
    expect(shown(input)).toEqual({
      type: "object",
      properties: {
        a: { type: "array", items: { type: "string" }, description: "A" },
        b: { type: "integer", minimum: 1, description: "b" },
        c: { type: "number", description: "c" },
        d: { type: "string", enum: ["x"], description: "d" },
        e: { type: "array", items: { type: "string" }, description: "e" },
        f: { type: "string", enum: ["y"], description: "f" },
        g: { type: "integer", description: "g" },
        h: { type: "object", properties: { i: { type: "boolean", description: "i" } }, description: "h" },
      },
      required: ["a"],
    });
  });

  test("is an object without fields where it says nothing", () => {
    expect(shown({ type: "object" })).toEqual({ type: "object", properties: {} });
    expect(shown({})).toEqual({ type: "object", properties: {} });
  });
});
