import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { Ajv, type ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { JsonObject } from "../../src/core/ports/adapter.js";
import { fieldsOf } from "../../src/core/unknown.js";
import { createFileAdapter, type FileAdapter, type FileInputs, type FileOutputs } from "../../src/index.js";
import { OPERATIONS } from "../../src/ops/registry.js";
import { loadGenerated } from "../../src/schema/generated.js";
import { loadOperationSchema } from "../../src/schema/load.js";
import { nearestName } from "../../src/schema/nearest.js";
import { withoutNulls } from "../../src/schema/validate.js";
import { failureOf, useGround } from "../ops/ground.js";

const folder = new URL("../../schemas/file/", import.meta.url);
const names = OPERATIONS.map(({ name }) => name);

/** What the schemas ask for; of the others `path`. A root may be named by a reference in `path` or `from`. */
const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  ...{ roots: [], history: [], undo: [], list: [], tree: [], du: [], watch: [], trash: [], purge: [], patch: [] },
  ...{ glob: ["pattern"], grep: ["pattern"], readMany: ["files"], create: [] },
  ...{ move: ["to"], copy: ["to"], restore: ["path", "to"], transfer: ["path", "direction"] },
};
/** Without a root these are about all of them. */
const ROOTLESS: readonly string[] = ["roots", "history", "undo"];
const each = test.each(names.map((name) => [name]));

describe("the schemas of the operations", () => {
  const files = readdirSync(folder);
  const ground = useGround({ roots: { other: { temp: true } } });
  /** What an input needs beside what its schema asks for. */
  const COMPLETED: Readonly<Record<string, object>> = {
    ...{ create: { path: "a" }, move: { path: "a" }, copy: { path: "a" }, readMany: { files: [{ path: "a" }] } },
    ...{
      write: { content: "x" },
      append: { content: "x" },
      edit: { oldText: "a", newText: "b" },
      purge: { all: true },
    },
    ...{ transfer: { direction: "download" }, patch: { changes: [{ op: "mkdir", path: "a" }] } },
  };

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
      expect(await call({ root: null })).toMatchObject(refusal);
    },
  );
});

const SCHEMAS = fileURLToPath(new URL("../../schemas/", import.meta.url));
const inputOf = (file: string): JsonObject => JSON.parse(readFileSync(join(SCHEMAS, file), "utf8")).input;

/** A schema as the generated validators carry it. */
const withoutDescriptions = (schema: JsonObject): JsonObject =>
  JSON.parse(JSON.stringify(schema), (key, value) =>
    key === "description" && typeof value === "string" ? undefined : value,
  );

const VALUES: readonly unknown[] = [
  undefined,
  null,
  "",
  "x",
  "auto",
  "€😀",
  0,
  -1,
  1.5,
  7,
  2 ** 53,
  9007199254740993n,
  Number.NaN,
  true,
  [],
  [""],
  ["a", 1],
  [{}],
  [{ oldText: "a", newText: "b" }],
  [{ path: "a", other: 1 }],
  {},
  { a: 1 },
];

interface Field {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly items?: Field;
  readonly minItems?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Field>>;
}

/** An acceptable value with nothing in it that may be left out. */
function sampleOf({
  type = "",
  enum: [first] = [],
  items = {},
  minItems = 0,
  required = [],
  properties,
}: Field): unknown {
  if (first !== undefined) return first;
  if (type === "array") return Array.from({ length: minItems }, () => sampleOf(items));
  if (type === "object") return Object.fromEntries(required.map((name) => [name, sampleOf(properties?.[name] ?? {})]));
  return type === "boolean" ? true : type === "integer" || type === "number" ? 1 : "x";
}

/** Inputs that differ from an acceptable one in a single field. */
function* inputsOf(schema: Field): Generator<unknown> {
  yield* VALUES;
  const { properties = {} } = schema;
  const plain = fieldsOf(sampleOf(schema));
  yield plain;
  yield { ...plain, unknownField: 1 };
  for (const name of Object.keys(properties)) {
    for (const value of [...VALUES, ...(properties[name]?.enum ?? [])]) yield { ...plain, [name]: value };
  }
}

const verdictOf = (validate: ValidateFunction, input: unknown) => ({
  isValid: validate(input),
  errors: validate.errors,
});

describe("validators that the build generates", () => {
  const files = readdirSync(SCHEMAS, { recursive: true, encoding: "utf8" }).filter(
    (file) => file.endsWith(".json") && file !== "config.json",
  );

  test("there are schemas", () => expect(files.length).toBeGreaterThan(40));

  test.each(files)("decide and explain as Ajv does: %s", async (file) => {
    const schema = inputOf(file);
    const generated = await loadGenerated(schema);
    if (generated === undefined) throw new Error(`There is none for ${file}: npm run build`);
    const compiled = new Ajv({ strict: true, verbose: true, messages: false, logger: false }).compile(
      withoutDescriptions(schema),
    );
    let valid = 0;
    for (const input of inputsOf(schema)) {
      const verdict = verdictOf(compiled, input);
      if (verdict.isValid) valid += 1;
      expect(verdictOf(generated, input)).toEqual(verdict);
    }
    expect(valid).toBeGreaterThan(0);
  });

  test("are not taken for a schema that differs in anything", async () => {
    const schema = inputOf(join("file", "read.json"));
    expect(await loadGenerated({ ...schema, required: [] })).toBeUndefined();
  });
});

const BUDGET = { budget: { defaultBytes: 3, defaultLines: 1, maxBytes: 100 } };

/** At least one call for each shape that an answer can have. */
const CALLS: readonly [string, object, object?][] = [
  ["roots", {}],
  ["list", {}],
  ["list", { path: "dir", limit: 1 }],
  ["list", { offset: 100 }],
  ["glob", { pattern: "**" }],
  ["glob", { pattern: "**", limit: 1, type: "any" }],
  ["grep", { pattern: "e", context: 1 }],
  ["grep", { pattern: "e", output: "files" }],
  ["grep", { pattern: "e", output: "count", limit: 1 }],
  ["du", {}],
  ["du", { depth: 3, limit: 1 }],
  ["tree", { info: "size" }],
  ["tree", { maxEntries: 1 }],
  ["tree", { maxDepth: 1 }],
  ["read", { path: "dir/file.txt" }],
  ["read", { path: "dir/file.txt" }, BUDGET],
  ["read", { path: "dir/file.txt", offset: 2, length: 3 }],
  ["read", { path: "binary" }],
  ["read", { path: "binary", offset: 9 }],
  ["read", { path: "a.json", mode: "json" }],
  ["read", { path: "dir/file.txt", line: 2 }],
  ["read", { path: "dir/file.txt", tail: 1, maxBytes: 3, lineNumbers: true, encoding: "latin1" }],
  ["readMany", { files: [{ path: "dir/file.txt" }, { path: "binary" }, { path: "none" }] }],
  ["readMany", { files: [{ path: "dir/file.txt" }, { path: "dir/file.txt", line: 2 }], maxBytes: 7 }],
  ["hash", { path: "dir/file.txt" }],
  ["stat", { path: "dir/file.txt" }],
  ["stat", { path: "dir/file.txt", hash: true }],
  ["stat", { path: "link" }],
  ["stat", { path: "pipe" }],
  ["stat", { path: "none" }],
  ["create", { path: "made" }],
  ["create", { content: { inline: "x", contentType: "text/plain", fileName: "made.txt" }, operationId: "make-1" }],
  ["write", { path: "new", content: "x" }],
  ["write", { path: "binary", bytes: "" }],
  ["append", { path: "new", value: null }],
  ["append", { path: "binary", content: "x" }],
  ["edit", { path: "dir/file.txt", oldText: "more", newText: "less" }],
  ["edit", { path: "dir/file.txt", edits: [{ oldText: "e", newText: "e", expect: 2 }], dryRun: true }],
  [
    "edit",
    { path: "dir/file.txt", oldText: "t", newText: "T", expect: 2 },
    { caps: [{ with: "file://r/", can: "crud/write" }] },
  ],
  ["patch", { changes: [{ op: "edit", path: "dir/file.txt", edits: [{ oldText: "t", newText: "T", expect: 2 }] }] }],
  ["patch", { changes: [{ op: "write", path: "dir/other", content: "x" }], dryRun: true }],
  ["mkdir", { path: "a/b", parents: true }],
  ["mkdir", { path: "" }],
  ["move", { path: "a.json", to: "b.json" }],
  ["copy", { path: "dir", to: "copied", recursive: true }],
  ["delete", { path: "dir", recursive: true }],
  ["delete", { path: "none" }],
  ["history", {}],
  ["trash", {}],
  ["purge", { all: true }],
  ["watch", {}],
  ["watch", { cursor: "A".repeat(22) }],
];

describe("an answer", () => {
  const ground = useGround({ journal: true, roots: { tmp: { temp: true, description: "scratch" } } });

  beforeEach(() => {
    ground.put("dir/file.txt", "text\nmore\n");
    ground.put("binary", Buffer.of(0, 255));
    ground.put("a.json", "[null]");
    symlinkSync("dir", join(ground.dir, "link"));
    execFileSync("mkfifo", [join(ground.dir, "pipe")]);
    writeFileSync(Buffer.concat([Buffer.from(`${ground.dir}/`), Buffer.of(0xff)]), "");
  });

  test.each(CALLS)("of file:%s %j is what its schema says", async (name, input, context = {}) => {
    const operation = ground.adapter.operations.find((one) => one.name === `file:${name}`);
    const validate = new Ajv({ strict: true, allErrors: true }).compile(operation?.output ?? false);
    const output = await ground.adapter.invoke(
      `file:${name}`,
      name === "roots" ? {} : { root: "r", ...input },
      context,
    );
    validate(output);
    expect(validate.errors).toBeNull();
    // It is plain JSON: nothing is lost on the way to a client.
    expect(JSON.parse(JSON.stringify(output))).toEqual(output);
  });

  test("is checked above for every operation that needs no venue, and no history of its own", () => {
    const names = OPERATIONS.map(({ name }) => name).filter((name) => !["transfer", "undo", "restore"].includes(name));
    expect(new Set(CALLS.map(([name]) => name))).toEqual(new Set(names));
  });

  test("of another shape would be noticed", () => {
    const stat = ground.adapter.operations.find(({ name }) => name === "file:stat");
    const validate = new Ajv({ strict: true }).compile(stat?.output ?? {});
    expect(validate({ exists: true, size: "1" })).toBe(false);
    expect(validate({ exists: false, inode: 1 })).toBe(false);
  });
});

describe("generated types", () => {
  let adapter: FileAdapter;
  beforeAll(async () => {
    adapter = await createFileAdapter();
  });
  afterAll(() => adapter.close());

  /** `true` only for two types that are the same; anything else is an error of the compiler. */
  type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : never;
  const same = <A, B>(proof: Same<A, B>): boolean => proof;

  describe("the generated types", () => {
    test("are what the schemas say", async () => {
      const script = new URL("../../scripts/generate-types.mjs", import.meta.url).href;
      const { generateTypes } = (await import(script)) as { generateTypes: () => Promise<string> };
      const types = readFileSync(new URL("../../src/schema/types.ts", import.meta.url), "utf8");
      expect(types).toBe(await generateTypes());
    });
  });

  // What follows is checked by the compiler; that it runs shows that the types are not a promise alone.
  describe("a typed call", () => {
    test("gives the output of its operation", async () => {
      const written = adapter.invoke("file:write", { root: "tmp", path: "a", content: "x" });
      expect(same<typeof written, Promise<FileOutputs["file:write"]>>(true)).toBe(true);
      expect((await written).created).toBe(true);
      const read = await adapter.invoke("file:read", { root: "tmp", path: "a", mode: "text" });
      expect(same<typeof read.content, string | undefined>(true)).toBe(true);
      expect(same<typeof read.encoding, string | undefined>(true)).toBe(true);
      expect(read.content).toBe("x");
      const listed = await adapter.invoke("file:list", { root: "tmp" });
      expect(same<(typeof listed.entries)[number]["type"], "file" | "directory" | "symlink" | "other">(true)).toBe(
        true,
      );
      expect(listed.entries.map(({ name }) => name)).toEqual(["a"]);
    });

    test("takes any JSON value for a value", async () => {
      expect(same<FileInputs["file:write"]["value"], unknown>(true)).toBe(true);
      for (const value of [null, 1, "text", true, [1], { a: 1 }]) {
        await adapter.invoke("file:write", { root: "tmp", path: "a.json", value });
        const read = await adapter.invoke("file:read", { root: "tmp", path: "a.json", mode: "json" });
        expect(read.value).toEqual(value);
      }
    });

    test("does not compile with an input that is not its own", async () => {
      const { invoke } = adapter;
      const typed = <Name extends keyof FileInputs>(name: Name, input: FileInputs[Name]) => invoke(name, input);
      // @ts-expect-error path is missing
      await expect(typed("file:read", { root: "tmp" })).rejects.toThrow("'path' is required");
      // @ts-expect-error no such mode
      await expect(typed("file:read", { root: "tmp", path: "a", mode: "yaml" })).rejects.toThrow("Unknown mode 'yaml'");
      // @ts-expect-error a misspelt field
      await expect(typed("file:delete", { root: "tmp", path: "a", recusive: true })).rejects.toThrow("recursive");
      // @ts-expect-error no such operation
      await expect(typed("file:raed", { root: "tmp", path: "a" })).rejects.toThrow("Unknown file operation");
    });

    test("of an operation that only its name tells is not typed", async () => {
      const name: string = "file:stat";
      const stat = adapter.invoke(name, { root: "tmp", path: "" });
      expect(same<typeof stat, Promise<unknown>>(true)).toBe(true);
      expect(await stat).toMatchObject({ exists: true });
    });
  });
});

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
    ["stays where something is required", "readMany", { root: null, files: null }, { files: null }],
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

const KEYS = ["name", "hostname", "port", "auth", "maxRequestBytes", "jobs", "mcp", "audit", "file"];
const ROOT_KEYS = ["path", "temp", "prefix", "readOnly", "description", "durability", "crossDevice", "hardLinks", "io"];

describe("the nearest key", () => {
  test.each([
    ["prot", KEYS, "port"],
    ["PORT", KEYS, "port"],
    ["host", KEYS, "hostname"],
    ["files", KEYS, "file"],
    ["auht", KEYS, "auth"],
    ["max_request_bytes", KEYS, "maxRequestBytes"],
    ["readonly", ROOT_KEYS, "readOnly"],
    ["read-only", ROOT_KEYS, "readOnly"],
    ["desc", ROOT_KEYS, "description"],
    ["tmp", ROOT_KEYS, "temp"],
    ["oi", ROOT_KEYS, undefined],
    ["colour", KEYS, undefined],
    ["a", ROOT_KEYS, undefined],
    ["", KEYS, undefined],
    ["roots", [], undefined],
  ])("to %j is found only when it is near", (key, known, expected) => {
    expect(nearestName(key, known)).toBe(expected);
  });
});
