import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import { Ajv, type ValidateFunction } from "ajv";
import type { JsonObject } from "../../src/core/ports/adapter.js";
import { fieldsOf } from "../../src/core/unknown.js";
import { loadGenerated } from "../../src/schema/generated.js";

const SCHEMAS = fileURLToPath(new URL("../../schemas/", import.meta.url));
const files = readdirSync(SCHEMAS, { recursive: true, encoding: "utf8" }).filter(
  (file) => file.endsWith(".json") && file !== "config.json",
);
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
