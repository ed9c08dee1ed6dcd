import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { Ajv } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { OPERATIONS } from "../../src/ops/registry.js";
import { loadOperationSchema } from "../../src/schema/load.js";
import { failureOf, useGround } from "../ops/ground.js";

const folder = new URL("../../schemas/file/", import.meta.url);
const files = readdirSync(folder);
const names = OPERATIONS.map(({ name }) => name);
const ground = useGround({ roots: { other: { temp: true } } });

/** What the schemas ask for; of the others `path`. A root may be named by a reference in `path` or `from`. */
const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  ...{ roots: [], history: [], undo: [], list: [], tree: [], du: [], watch: [], trash: [], purge: [], patch: [] },
  ...{ glob: ["pattern"], grep: ["pattern"], readMany: ["root", "files"], create: [] },
  ...{ move: ["to"], copy: ["to"], restore: ["path", "to"], transfer: ["path", "direction"] },
};
/** Without a root these are about all of them. */
const ROOTLESS: readonly string[] = ["roots", "history", "undo"];
/** What an input needs beside what its schema asks for. */
const COMPLETED: Readonly<Record<string, object>> = {
  ...{ create: { path: "a" }, move: { path: "a" }, copy: { path: "a" }, readMany: { files: [{ path: "a" }] } },
  ...{ write: { content: "x" }, append: { content: "x" }, edit: { oldText: "a", newText: "b" }, purge: { all: true } },
  ...{ transfer: { direction: "download" }, patch: { changes: [{ op: "mkdir", path: "a" }] } },
};
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

  each("ask for a path unless the root is meant, and for a root where no path can be a reference: %s", (name) => {
    expect(loadOperationSchema(name).input["required"]).toEqual(REQUIRED[name] ?? ["path"]);
  });

  test.each(names.filter((name) => !ROOTLESS.includes(name)).map((name) => [name]))(
    "ask for a root where nothing else names one, and say which there are: %s",
    async (name) => {
      const fields = (REQUIRED[name] ?? ["path"]).filter((field) => field !== "root");
      const input = { ...Object.fromEntries(fields.map((field) => [field, "a"])), ...COMPLETED[name] };
      const call = (given: object) => failureOf(ground.adapter.invoke(`file:${name}`, { ...input, ...given }));
      const refusal = { code: "INVALID_INPUT", message: "'root' is required. Configured: [r, other]" };
      expect(await call({})).toMatchObject(refusal);
      // To a field that has to be there, `null` is a wrong value.
      const isAsked = REQUIRED[name]?.includes("root") ?? false;
      expect(await call({ root: null })).toMatchObject(isAsked ? { message: "'root' must be a string" } : refusal);
    },
  );
});
