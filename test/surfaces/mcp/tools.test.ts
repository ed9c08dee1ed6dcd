import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { OPERATIONS } from "../../../src/ops/registry.js";
import { cleanUp, makeFolder } from "../../cli/process.js";
import { EVERYDAY } from "./everyday.js";
import { startRaw } from "./raw.js";
import type { ListedTool } from "./sessions.js";

afterAll(cleanUp);

/** Emptying the trash is for people. */
const OFFERED = OPERATIONS.filter(({ name }) => !["trash", "purge", "create"].includes(name));
const CHANGING = OFFERED.filter(({ changes }) => changes).map(({ name }) => `file_${name}`);

async function toolsOf(args: readonly string[], cwd: string): Promise<readonly ListedTool[]> {
  const raw = await startRaw(args, { cwd });
  const { result } = await raw.request("tools/list");
  await raw.process.stop();
  return result?.["tools"] as ListedTool[];
}

const folder = makeFolder({
  "docs/a.txt": "a",
  "read-only.json5": `{ file: { roots: { a: { path: "docs", readOnly: true }, b: { temp: true, readOnly: true } } } }`,
  "full.json5": `{ mcp: { tools: "full" } }`,
  "none.json5": "[]",
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
  const raw = await startRaw(["--root", "docs=docs:ro"], { cwd: folder });
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
