import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { describe as metadataOf, withSchemas } from "../../../src/adapter/metadata.js";
import type { JsonObject, OperationMetadata } from "../../../src/core/ports/adapter.js";
import { DRIVE_OPERATIONS, OPERATIONS } from "../../../src/ops/registry.js";
import { advertisedTool } from "../../../src/surfaces/mcp/offer/advertised-tool.js";
import { toolInput } from "../../../src/surfaces/mcp/offer/tool-input.js";
import { cleanUp, makeFolder } from "../../cli/process.js";
import { EVERYDAY } from "./everyday.js";
import { rawHere } from "./here.js";
import type { ListedTool } from "./sessions.js";

afterAll(cleanUp);

/** Emptying the trash is for people. */
const OFFERED = OPERATIONS.filter(({ name }) => !["trash", "purge", "create"].includes(name));
const CHANGING = OFFERED.filter(({ changes }) => changes).map(({ name }) => `file_${name}`);

async function toolsOf(args: readonly string[], cwd: string): Promise<readonly ListedTool[]> {
  const raw = await rawHere(args, { cwd });
  const { result } = await raw.request("tools/list");
  await raw.process.stop();
  return result?.["tools"] as ListedTool[];
}

const folder = makeFolder({
  "docs/a.txt": "a",
  "read-only.json5": `{ file: { roots: { a: { path: "docs", readOnly: true }, b: { temp: true, readOnly: true } } } }`,
  "full.json5": `{ mcp: { tools: "full" } }`,
  "none.json5": "[]",
  "archives.json5": `{ mcp: { includeAdapters: ["file", "archive"] }, file: { roots: { r: { path: "docs" } } } }`,
});

let everyday: readonly ListedTool[];
let tools: readonly ListedTool[];
beforeAll(async () => {
  everyday = await toolsOf([], folder);
  tools = await toolsOf(["--tools", "full"], folder);
});

describe("the list of tools", () => {
  test.each([
    ["of one root", []],
    ["of two", ["--root", "a=docs", "--root", "b=docs"]],
  ])("costs at most 2,580 tokens a model, and 3,300 in all: %s", async (_, args) => {
    const list = args.length === 0 ? everyday : await toolsOf(args, folder);
    const tokens = (value: unknown) => encode(JSON.stringify(value)).length;
    const seen = list.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
    expect(tokens(seen)).toBeGreaterThan(1000);
    expect(tokens(seen)).toBeLessThanOrEqual(2580);
    expect(tokens(list)).toBeLessThanOrEqual(3300);
  });

  test("leaves bounds to the refusal that names them", () => {
    expect(JSON.stringify(everyday)).not.toMatch(/"(?:minimum|maximum|maxLength|additionalProperties)"/);
  });

  test("requires a root where there are several, and none where there is one", async () => {
    const required = (list: readonly ListedTool[]) =>
      list.filter(({ inputSchema }) => (inputSchema["required"] as string[] | undefined)?.includes("root")).length;
    const two = await toolsOf(["--root", "a=docs", "--root", "b=docs"], folder);
    expect([required(everyday), required(two)]).toEqual([0, everyday.length - 1]);
    for (const { name, inputSchema } of everyday.filter(({ name }) => name !== "file_roots")) {
      expect({ name, fields: Object.keys(inputSchema["properties"] as object) }).toMatchObject({
        fields: expect.arrayContaining(["root"]),
      });
    }
  });

  test("is the same in every root and for everybody", async () => {
    expect(await toolsOf(["--root", "docs=docs", "--caps", "none.json5"], folder)).toEqual(everyday);
  });

  test("has what is used every day first, and all of the rest only where that is asked for", async () => {
    const names = tools.map(({ name }) => name);
    expect(everyday.map(({ name }) => name)).toEqual(EVERYDAY);
    expect(names.slice(0, EVERYDAY.length)).toEqual(EVERYDAY);
    expect([...names].sort()).toEqual(OFFERED.map(({ name }) => `file_${name}`).sort());
    expect(await toolsOf(["--config", "full.json5"], folder)).toEqual(tools);
    expect(await toolsOf(["--config", "full.json5", "--tools", "default"], folder)).toEqual(everyday);
  });

  test("leaves out what changes something where no root can be written", async () => {
    const names = (await toolsOf(["--config", "read-only.json5"], folder)).map(({ name }) => name);
    const all = everyday.map(({ name }) => name);
    expect(names).toEqual(all.filter((name) => !CHANGING.includes(name)));
    expect(names.length).toBeGreaterThan(4);
  });

  test("has those where one root of several can be written", async () => {
    const names = (await toolsOf(["--root", "a=docs:ro", "--root", "b=docs"], folder)).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(CHANGING.filter((name) => EVERYDAY.includes(name))));
  });
});

test("a tool that is left out is unknown", async () => {
  const raw = await rawHere(["--root", "docs=docs:ro"], { cwd: folder });
  const { error } = await raw.request("tools/call", { name: "file_write", arguments: {} });
  expect(error).toEqual({ code: -32602, message: "Unknown tool: file_write" });
});

describe("each tool", () => {
  const NAMES = OFFERED.map(({ name }) => `file_${name}`);
  const tool = (name: string) => tools.find((one) => one.name === name);

  test.each<[string, boolean, boolean, boolean]>([
    ["file_roots", true, false, true],
    ["file_list", true, false, true],
    ["file_tree", true, false, true],
    ["file_read", true, false, true],
    ["file_readMany", true, false, true],
    ["file_stat", true, false, true],
    ["file_hash", true, false, true],
    ["file_write", false, true, true],
    ["file_edit", false, true, false],
    ["file_patch", false, true, false],
    ["file_append", false, false, false],
    ["file_mkdir", false, false, true],
    ["file_move", false, true, false],
    ["file_copy", false, true, false],
    ["file_delete", false, true, true],
    ["file_transfer", false, false, false],
  ])("has its hints: %s", (name, readOnlyHint, destructiveHint, idempotentHint) => {
    expect(tool(name)?.annotations).toEqual({ readOnlyHint, destructiveHint, idempotentHint, openWorldHint: false });
  });

  test.each(NAMES)("has what a model needs and nothing else: %s", (name) => {
    const entry = tool(name);
    expect(Object.keys(entry ?? {}).filter((key) => key !== "outputSchema")).toEqual([
      "name",
      "title",
      "description",
      "inputSchema",
      "annotations",
    ]);
    expect(entry?.title).toMatch(/^[A-Z]/);
    expect(entry?.description).toMatch(/^[A-Z].*\.$/);
    expect(entry?.inputSchema).toMatchObject({ type: "object" });
    // `ucans` goes beside the fields; inside of a field nothing does.
    expect(entry?.inputSchema).not.toHaveProperty("additionalProperties");
    expect(JSON.stringify(entry)).not.toContain("ucans");
  });

  test("has an output schema if its answers are small, and none if they are bodies", () => {
    const withSchema = tools.filter(({ outputSchema }) => outputSchema !== undefined).map(({ name }) => name);
    const rendered = ["file_edit", "file_patch", "file_undo"];
    const small = ["file_roots", "file_stat", ...CHANGING.filter((name) => !rendered.includes(name))];
    for (const { outputSchema } of tools) expect(outputSchema ?? { type: "object" }).toEqual({ type: "object" });
    expect([...withSchema].sort()).toEqual([...small, "file_hash", "file_transfer"].sort());
  });
});

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

describe("the refusal of what archives cannot do", () => {
  const CALLS: readonly (readonly [name: string, args: object])[] = [
    ["file_write", { path: "x.zip!/a", content: "x" }],
    ["file_edit", { path: "x.zip!/a", oldText: "a", newText: "b" }],
    ["file_delete", { path: "x.zip!/a" }],
    ["file_copy", { path: "x.zip!/a", to: "a" }],
    ["file_du", { path: "x.zip!" }],
    ["file_read", { path: "x.zip!/y.zip!/a" }],
  ];
  const NAMES = /\b(?:file|archive)[_:]\w+/g;

  async function adviceOf(args: readonly string[]) {
    const listed = (await toolsOf(args, folder)).map(({ name }) => name);
    const raw = await rawHere(args, { cwd: folder });
    const texts: string[] = [];
    for (const [name, input] of CALLS.filter(([name]) => listed.includes(name))) {
      const { result: answer } = await raw.call(name, input);
      expect(answer._meta).toMatchObject({ "venue-files/error": { errorCode: "NOT_SUPPORTED" } });
      texts.push(answer.content.map((one) => ("text" in one ? one["text"] : "")).join("\n"));
    }
    await raw.process.stop();
    return { listed, texts };
  }

  test.each([
    ["default", []],
    ["full", ["file_list"]],
  ] as const)("names tools that are in the %s list", async (list, more) => {
    const { listed, texts } = await adviceOf(["--tools", list]);
    expect(listed).not.toContain("archive_extract");
    const named = texts.map((text) => text.replace(/^file:du/, "").match(NAMES) ?? []);
    for (const name of named.flat()) expect(listed).toContain(name);
    expect(named.map(([name]) => name)).toEqual([...Array(4).fill("file_write"), ...more, undefined]);
    expect(texts.at(-1)).toContain("Ask for the outer one to be extracted");
  });

  test("names the tool that extracts where it is offered", async () => {
    const { listed, texts } = await adviceOf(["--config", "archives.json5"]);
    expect(listed).toContain("archive_extract");
    for (const text of texts) expect(text).toContain("archive:extract");
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
