import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { Ajv } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { OPERATIONS } from "../../src/ops/registry.js";
import { loadOperationSchema } from "../../src/schema/load.js";

const folder = new URL("../../schemas/file/", import.meta.url);
const files = readdirSync(folder);
const names = OPERATIONS.map(({ name }) => name);
const each = test.each(names.map((name) => [name]));

describe("the schemas of the operations", () => {
  test("are one for each operation, and no more", () => {
    expect(files.sort()).toEqual(names.map((name) => `${name}.json`).sort());
  });

  each("compile strictly, as what they claim to be: %s", (name) => {
    const { $schema, $id, input, output } = JSON.parse(readFileSync(new URL(`${name}.json`, folder), "utf8"));
    expect([$schema, $id]).toEqual(["https://json-schema.org/draft/2020-12/schema", `file/${name}`]);
    for (const schema of [input, output]) {
      expect(() => new Ajv({ strict: true }).compile(schema)).not.toThrow();
      expect(() => new Ajv2020({ strict: true }).compile(schema)).not.toThrow();
    }
  });

  test("would be noticed if they were wrong", () => {
    const strict = new Ajv({ strict: true });
    expect(() => strict.compile({ type: "object", properties: { a: { tpye: "string" } } })).toThrow("tpye");
  });

  each("say what they are, in words for an agent: %s", (name) => {
    const { title, description } = loadOperationSchema(name);
    expect(title).toMatch(/^[A-Z].{2,30}$/);
    expect(description).toMatch(/^[A-Z].{10,150}$/);
  });

  each("let nothing pass that they do not name: %s", (name) => {
    const { input, output } = loadOperationSchema(name);
    expect([input["additionalProperties"], output["additionalProperties"]]).toEqual([false, false]);
  });

  each("ask for a root, and for a path unless the root is meant: %s", (name) => {
    const expected: Readonly<Record<string, string[]>> = {
      ...{ roots: [], history: [], undo: [], list: ["root"], tree: ["root"] },
      ...{ readMany: ["root", "files"], patch: ["root"] },
      ...{ move: ["root", "path", "to"], copy: ["root", "path", "to"] },
      ...{ glob: ["root", "pattern"], grep: ["root", "pattern"], du: ["root"], watch: ["root"] },
      ...{ restore: ["root", "path", "to"], trash: ["root"], purge: ["root"] },
      transfer: ["root", "path", "direction"],
    };
    expect(loadOperationSchema(name).input["required"]).toEqual(expected[name] ?? ["root", "path"]);
  });
});
