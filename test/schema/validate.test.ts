import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { JsonObject } from "../../src/core/ports/adapter.js";
import { OPERATIONS } from "../../src/ops/registry.js";
import { parseExact, parseInput, RefusedJson, stringifyExact } from "../../src/schema/exact-json.js";
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
  "root, path, mode, line, limit, head, tail, offset, length, maxBytes, pages, maxChars, lineNumbers, encoding, version";

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
    const modes = "auto, text, bytes, json, extract";
    expect(await mode("Text")).toEqual(invalid(`Unknown mode 'Text'. Expected: ${modes}`, "/mode", modes));
    expect((await mode("a\nb")).message).toBe(`Unknown mode 'a\\u{a}b'. Expected: ${modes}`);
    expect((await mode("m".repeat(1000))).message).toBe(`Unknown mode '${"m".repeat(100)}'. Expected: ${modes}`);
    for (const known of ["auto", "text", "bytes", "json", "extract", ""])
      await check("read", { ...least("read"), mode: known });
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

const MB = 1_048_576;

const refusal = (text: string): unknown => {
  try {
    return parseExact(text);
  } catch (error) {
    return error instanceof RefusedJson ? error.fault : error;
  }
};

describe("an integer", () => {
  test.each([
    ["9007199254740991", 9007199254740991],
    ["-9007199254740991", -9007199254740991],
    ["9007199254740992", 9007199254740992],
    ["9007199254740993", 9007199254740993n],
    ["-9007199254740993", -9007199254740993n],
    ["18446744073709551615", 18446744073709551615n],
    ["18446744073709551616", 18446744073709551616n],
    ["9007199254740993.0", 9007199254740993n],
    ["9007199254740993.000e0", 9007199254740993n],
    ["9.007199254740993e15", 9007199254740993n],
    ["900719925474099300e-2", 9007199254740993n],
    ["1e25", 1e25],
    ["100000000000000000000", 1e20],
    ["100000000000000000000000", 10n ** 23n],
    ["1".repeat(400), BigInt("1".repeat(400))],
    ["-0", -0],
  ])("%s is read as it is", (text, value) => {
    expect(parseExact(text)).toBe(value);
  });

  test("that changes nothing but its form stays a number", () => {
    expect(parseExact('[1, 2.5, 0.1234567890123456789, 9007199254740992.5, 1e300, "9007199254740993"]')).toEqual([
      1,
      2.5,
      0.12345678901234568,
      9007199254740992,
      1e300,
      "9007199254740993",
    ]);
  });

  test("of any size comes back with its digits", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.bigInt({ min: -(10n ** 60n), max: 10n ** 60n }), (value, n) => {
        const text = `{"a":${JSON.stringify(value)},"n":[${n}],"s":"\\"${n}\\\\"}`;
        const read = parseExact(text) as { n: [number | bigint]; s: string };
        expect(BigInt(read.n[0])).toBe(n);
        expect(read.s).toBe(`"${n}\\`);
        const { n: _, ...rest } = read;
        const { n: __, ...expected } = JSON.parse(text);
        expect(rest).toEqual(expected);
        expect(stringifyExact(read.n)).toBe(`[${n}]`);
      }),
      { numRuns: 500 },
    );
  });
});

describe("reading exactly", () => {
  test("gives own keys of any name, and the last of several alike", () => {
    const text = '{"__proto__":{"x":1},"constructor":1,"a":[1],"a":9007199254740993,"":null}';
    const read = parseExact(text);
    expect(Object.getPrototypeOf(read)).toBe(Object.prototype);
    expect(Object.entries(read as object)).toEqual([
      ["__proto__", { x: 1 }],
      ["constructor", 1],
      ["a", 9007199254740993n],
      ["", null],
    ]);
  });

  test.each(["", "{", "[1,]", "01", "9007199254740993 x", '{"n":9007199254740993', "NaN", '"\u0001'])(
    "refuses %j as JSON.parse does",
    (text) => {
      expect(refusal(text)).toBeInstanceOf(SyntaxError);
    },
  );

  test.each(["1e309", "-1e999", "[1e0400]", `[${"1".repeat(1001)},"${" ".repeat(MB)}"]`])(
    "refuses what it cannot keep: %#",
    (text) => {
      expect(refusal(text)).toBe("a number is too large");
    },
  );

  test.each([
    ["in a long text", `["${" ".repeat(MB)}",9007199254740993]`],
    ["of many digits", "1".repeat(100_000)],
    ["one after the other", `[${Array(100_000).fill("-9007199254740993").join(",")}]`],
    [
      "beside texts that look like them",
      '["9007199254740993","\\"9007199254740993",{"9007199254740993":9007199254740993}]',
    ],
    ["deep in lists and objects", `${'{"a":['.repeat(100_000)}9007199254740993${"]}".repeat(100_000)}`],
  ])("keeps integers %s", (_, text) => {
    expect(stringifyExact(parseExact(text)) === text).toBe(true);
  });

  test("takes no string for an integer, whatever it begins with", () => {
    const strings = fc.array(fc.string({ unit: "binary" }), { minLength: 1 });
    fc.assert(
      fc.property(strings, (parts) => {
        expect(parseExact(`{"parts":${JSON.stringify(parts)},"n":9007199254740993}`)).toEqual({
          parts,
          n: 9007199254740993n,
        });
      }),
    );
  });

  test("takes the same when no number changes", () => {
    const text = `["${"1234567890123456789".repeat(100_000)}",9007199254740992,"\\\\","1e999"]`;
    expect(parseExact(text)).toEqual(JSON.parse(text));
    const deep = `${"[".repeat(500)}"9007199254740993"${"]".repeat(500)}`;
    expect(stringifyExact(parseExact(deep))).toBe(deep);
  });
});

describe("what a caller sends", () => {
  const fields = (count: number): string => `{${Array.from({ length: count }, (_, at) => `"k${at}":""`).join(",")}}`;
  const list = (item: string, count: number): string => `[${Array(count).fill(item).join(",")}]`;
  const spaces = " ".repeat(MB);

  test.each([
    ["fields", fields(150_000) + spaces],
    ["objects", list("{}", 350_000)],
    ["lists", list("[]", 350_000)],
    ["lists in lists", `${"[".repeat(530_000)}${"]".repeat(530_000)}`],
    ["items", list("1", 4_200_000)],
    ["integers beyond 2^53", list("9007199254740993", 500_001)],
    ["fields below a text", `{"text":"\\\\","more":${fields(150_000)}}${spaces}`],
    ["brackets that nobody closes", "[".repeat(2 * MB)],
    ["brackets before a text that does not end", `${"[".repeat(200_000)}"${"\\".repeat(MB)}`],
  ])("is refused before it is parsed if longer than 1 MB with too many %s", (_, text) => {
    expect(() => parseInput(text)).toThrow(RefusedJson);
  });

  test.each([
    ["any number of objects", list("{}", 349_525)],
    ["lists in lists", `${"[".repeat(MB / 2)}${"]".repeat(MB / 2)}`],
    ["items", list("1", MB / 2 - 1)],
  ])("is taken up to 1 MB with %s", (_, text) => {
    expect(text.length).toBeLessThanOrEqual(MB);
    expect(stringifyExact(parseInput(text)) === text).toBe(true);
  });

  test.each([
    ["149,000 fields", fields(149_000).padEnd(8 * MB)],
    ["items", list("1", 4 * MB - 1)],
    ["a text that looks like fields", JSON.stringify({ content: `${fields(200_000)}"\\`, path: "a" })],
    ["spaces", `${" ".repeat(8 * MB)}1`],
  ])("is taken above with %s", (_, text) => {
    expect(stringifyExact(parseInput(text)) === text.trim()).toBe(true);
  });

  test("is no JSON where it is none", () => {
    expect(() => parseInput(`["${"a".repeat(2 * MB)}`)).toThrow(SyntaxError);
  });

  test("is counted right whatever its texts hold", () => {
    const content = fc.string({ minLength: 1, unit: fc.constantFrom('"', "\\", ":", "[", "{", ",", "a") });
    const texts = fc.array(content, { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(texts, (parts) => {
        const value = { parts, long: ":[{,".repeat(300_000), more: Array(149_990).fill([]) };
        expect(stringifyExact(parseInput(JSON.stringify(value))) === JSON.stringify(value)).toBe(true);
        const tooMany = { ...value, more: Array(150_001).fill([]) };
        expect(() => parseInput(JSON.stringify(tooMany))).toThrow(RefusedJson);
      }),
      { numRuns: 5 },
    );
  });
});

describe("writing exactly", () => {
  test("is JSON.stringify where there is no bigint", () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => expect(stringifyExact(value)).toBe(JSON.stringify(value))));
  });

  test("writes digits, and the rest like JSON.stringify", () => {
    const rest = { a: undefined, b: [undefined, null, 1e21, -0], c: 'é"\u2028\ud800', d: new Date(0), "10": 1, "9": 2 };
    expect(stringifyExact({ ...rest, n: 123n })).toBe(JSON.stringify({ ...rest, n: 123 }));
  });

  test.each([
    ["what is no JSON", { a: undefined, b: [undefined, () => 1, Symbol("a")], [Symbol("b")]: 1, c: Number.NaN }],
    [
      "what says how it is written",
      [new Date(0), { toJSON: (key: string) => `of ${key}` }, { toJSON: () => undefined }],
    ],
    ["wrappers", [new Number(1), new String("a"), new Boolean(false)]],
    ["empty parts, and the same part twice", ((part) => [part, part, {}, [], [[], {}]])({ a: [1] })],
    ["texts", ['"\\\u0001\ud800é', { '"\n': 1, "": 2, "10": 3, a: 4 }]],
  ])("with an integer is JSON.stringify for %s", (_, value) => {
    expect(stringifyExact([1n, value])).toBe(JSON.stringify([1, value]));
    const replace = (key: string, one: unknown): unknown => (key === "a" ? "replaced" : one);
    expect(stringifyExact([1n, value], () => replace)).toBe(JSON.stringify([1, value], replace));
  });

  test("with an integer is JSON.stringify for any JSON", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => expect(stringifyExact([1n, value])).toBe(JSON.stringify([1, value]))),
    );
  });

  test("fails on what JSON.stringify fails on", () => {
    const circle: unknown[] = [];
    circle.push(circle);
    expect(() => stringifyExact(circle)).toThrow(TypeError);
    expect(() => stringifyExact([1n, circle])).toThrow(TypeError);
    const endless = (): object => ({
      get next() {
        return endless();
      },
    });
    expect(() => stringifyExact(endless())).toThrow(RangeError);
  });
});
