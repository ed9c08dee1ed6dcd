import { describe, expect, test } from "@jest/globals";
import type { JsonObject } from "../../src/core/ports/adapter.js";
import { OPERATIONS } from "../../src/ops/registry.js";
import { loadOperationSchema } from "../../src/schema/load.js";
import { InputValidator } from "../../src/schema/validate.js";
import { type Failure, failureOf } from "../ops/ground.js";

const validator = new InputValidator();
const check = async (name: string, input: unknown): Promise<void> =>
  validator.check(name, loadOperationSchema(name).input, input);
const fault = (name: string, input: unknown): Promise<Failure> => failureOf(check(name, input));
const invalid = (message: string, pointer: string, expected: string): Failure => ({
  code: "INVALID_INPUT",
  message,
  data: { pointer, expected },
});

/** The least input that each operation takes. */
const least = (name: string): Record<string, unknown> => {
  const required = loadOperationSchema(name).input["required"] as string[];
  const special: Record<string, unknown> = { files: [{ path: "x" }], direction: "download" };
  return Object.fromEntries(required.map((field) => [field, special[field] ?? "x"]));
};

/** Every field of every operation that has a type. */
const FIELDS: readonly [string, string, string][] = OPERATIONS.flatMap(({ name }) =>
  Object.entries(loadOperationSchema(name).input["properties"] as Record<string, JsonObject>)
    .filter(([, { type }]) => type !== undefined)
    .map(([field, { type }]): [string, string, string] => [name, field, String(type)]),
);

const NOUNS: Readonly<Record<string, string>> = {
  string: "string",
  boolean: "boolean",
  integer: "whole number",
  array: "list",
};
const WRONG: Readonly<Record<string, readonly unknown[]>> = {
  string: [1, true, null, {}, [], ["x"]],
  boolean: ["true", 0, 1, null, {}, []],
  array: ["x", 1, true, null, {}],
  integer: ["1", 1.5, true, null, {}, [], Number.NaN, Number.POSITIVE_INFINITY, 1n],
};

const READ_FIELDS =
  "root, path, mode, line, limit, head, tail, offset, length, maxBytes, lineNumbers, encoding, version";

describe("an input", () => {
  test.each(OPERATIONS.map(({ name }) => [name]))("of the least that is asked for is taken: %s", async (name) => {
    await expect(check(name, least(name))).resolves.toBeUndefined();
  });

  test.each(FIELDS)("of %s has its type in '%s': %s", async (name, field, type) => {
    for (const wrong of WRONG[type] ?? []) {
      const expected = invalid(`'${field}' must be a ${NOUNS[type]}`, `/${field}`, type);
      expect({ wrong, fault: await fault(name, { ...least(name), [field]: wrong }) }).toEqual({
        wrong,
        fault: expected,
      });
    }
  });

  const missing = OPERATIONS.flatMap(({ name }) => Object.keys(least(name)).map((field) => [name, field] as const));
  test.each(missing)("of %s has its '%s'", async (name, field) => {
    const { [field]: _, ...rest } = least(name);
    expect(await fault(name, rest)).toEqual(invalid(`'${field}' is required`, `/${field}`, "a value"));
    expect(await fault(name, { ...rest, [field]: undefined })).toEqual(
      invalid(`'${field}' is required`, `/${field}`, "a value"),
    );
  });

  test.each([
    ["read", { root: "a", pth: "b" }, "'path' is required. Unknown field 'pth' - did you mean 'path'?"],
    ["read", { rot: "a", path: "b" }, "Unknown field 'rot' - did you mean 'root'?"],
    ["read", { root: "a", frobnicate: "b" }, "'path' is required"],
    ["move", { root: "a", path: "b", too: "c" }, "'to' is required. Unknown field 'too' - did you mean 'to'?"],
  ])("of %s from %j says which field was meant", async (name, input, message) => {
    expect(await fault(name, input)).toMatchObject({ message });
  });

  test.each([[[]], ["text"], [1], [true], [["root", "path"]]])("is an object: never %j", async (input) => {
    expect(await fault("read", input)).toEqual(invalid("'input' must be a JSON object", "", "object"));
  });

  const unknown: readonly [string, string, string, string][] = [
    ["delete", "recusive", " - did you mean 'recursive'?", "root, path, recursive, permanent, ifMatch, operationId"],
    ["delete", "Recursive", " - did you mean 'recursive'?", "root, path, recursive, permanent, ifMatch, operationId"],
    [
      "write",
      "contents",
      " - did you mean 'content'?",
      "root, path, content, value, bytes, asset, contentRef, parents, encoding, ifMatch, ifNoneMatch, operationId",
    ],
    ["mkdir", "parent", " - did you mean 'parents'?", "root, path, parents, ifNoneMatch, operationId"],
    ["read", "lenght", " - did you mean 'length'?", READ_FIELDS],
    ["read", "charset", `. Known fields: ${READ_FIELDS}`, READ_FIELDS],
    [
      "tree",
      "max_depth",
      " - did you mean 'maxDepth'?",
      "root, path, maxDepth, maxEntries, info, links, ignore, exclude",
    ],
    ["roots", "root", ". Known fields: none", "no fields"],
    ["stat", "__proto__", ". Known fields: root, path, hash, version", "root, path, hash, version"],
    ["stat", "constructor", ". Known fields: root, path, hash, version", "root, path, hash, version"],
    ["stat", "", ". Known fields: root, path, hash, version", "root, path, hash, version"],
  ];
  test.each(unknown)("of %s with the field %j is refused, with the nearest one", async (name, field, advice, known) => {
    const input = JSON.parse(JSON.stringify({ ...least(name), [`${field}?`]: 1 }).replace(`${field}?`, field));
    expect(await fault(name, input)).toEqual(invalid(`Unknown field '${field}'${advice}`, `/${field}`, known));
  });

  test("of a part of the input is refused with the fields of that part", async () => {
    const files = [{ path: "a", colour: 1 }];
    const { message, data } = await fault("readMany", { root: "r", files });
    expect(message).toBe("Unknown field 'colour'. Known fields: path, line, limit, maxBytes, encoding");
    expect(data["pointer"]).toBe("/files/0/colour");
  });

  test("is refused in one short line, with a pointer that is one", async () => {
    const { message, data } = await fault("stat", { ...least("stat"), "a/b~c\nd": 1 });
    expect(message).toBe("Unknown field 'a/b~c\\u{a}d'. Known fields: root, path, hash, version");
    expect(data["pointer"]).toBe("/a~1b~0c\\u{a}d");
    const long = await fault("stat", { ...least("stat"), ["x".repeat(1_000_000)]: 1 });
    expect(long.message).toBe(`Unknown field '${"x".repeat(100)}'. Known fields: root, path, hash, version`);
  });

  test("has one of the modes", async () => {
    const mode = (given: unknown) => fault("read", { ...least("read"), mode: given });
    const modes = "auto, text, bytes, json";
    expect(await mode("Text")).toEqual(invalid(`Unknown mode 'Text'. Expected: ${modes}`, "/mode", modes));
    expect((await mode("a\nb")).message).toBe(`Unknown mode 'a\\u{a}b'. Expected: ${modes}`);
    expect((await mode("m".repeat(1000))).message).toBe(`Unknown mode '${"m".repeat(100)}'. Expected: ${modes}`);
    for (const known of ["auto", "text", "bytes", "json", ""]) await check("read", { ...least("read"), mode: known });
  });

  test("has one of the words that a field takes", async () => {
    expect(await fault("tree", { root: "x", info: "all" })).toEqual(
      invalid("'info' must be one of: size", "/info", "size"),
    );
  });

  test.each([["offset"], ["length"]])("has its %s between the bounds", async (field) => {
    for (const value of [-1, 2 ** 53, -1e300]) {
      expect(await fault("read", { ...least("read"), [field]: value })).toEqual(
        invalid(`'${field}' must be between 0 and 9007199254740991`, `/${field}`, "0..9007199254740991"),
      );
    }
    for (const value of [0, -0, 2 ** 53 - 1]) await check("read", { ...least("read"), [field]: value });
  });

  test("may be out of bounds where those are clamped", async () => {
    for (const value of [-1, 0, 1e300]) {
      await check("list", { root: "x", offset: value, limit: value });
      await check("tree", { root: "x", maxDepth: value, maxEntries: value });
    }
  });

  test("is judged alike by the first check, which compiles, and by later ones", async () => {
    const fresh = new InputValidator();
    const { input } = loadOperationSchema("stat");
    const first = fresh.check("stat", input, { root: "x", path: "x" });
    expect(first).toBeInstanceOf(Promise);
    await first;
    expect(fresh.check("stat", input, { root: "x", path: "x" })).toBeUndefined();
    expect(() => fresh.check("stat", input, { root: "x" })).toThrow("'path' is required");
  });

  test("is not changed", async () => {
    const input = Object.freeze({ root: "x", path: "x", offset: 5 });
    await check("read", input);
    expect(input).toEqual({ root: "x", path: "x", offset: 5 });
  });
});
