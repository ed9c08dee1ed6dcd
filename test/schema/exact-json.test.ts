import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  MAX_EXACT_CHARS,
  parseExact,
  parseInput,
  stringifyExact,
  TooManyValues,
  UnkeptNumber,
} from "../../src/schema/exact-json.js";

const refusal = (text: string): unknown => {
  try {
    return parseExact(text);
  } catch (error) {
    return error instanceof UnkeptNumber ? error.reason : error;
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

  test.each([
    ["1e309", "range"],
    ["-1e999", "range"],
    ["[1e0400]", "range"],
    ["1".repeat(1001), "range"],
    [`["${" ".repeat(MAX_EXACT_CHARS)}",9007199254740993]`, "size"],
    [`${"[".repeat(100_000)}9007199254740993${"]".repeat(100_000)}`, "depth"],
  ])("refuses what it cannot keep: %#", (text, reason) => {
    expect(refusal(text)).toBe(reason);
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

  test.each([
    ["fields", fields(100_000)],
    ["objects", list("{}", 100_000)],
    ["lists", list("[]", 100_000)],
    ["lists in lists", `${"[".repeat(100_000)}${"]".repeat(100_000)}`],
    ["items", list('"a"', 300_000)],
    ["fields below a text", `{"text":"\\\\","more":${fields(100_000)}}`],
    ["brackets that nobody closes", "[".repeat(100_000)],
    ["brackets before a text that does not end", `${"[".repeat(50_000)}"${"\\".repeat(50_000)}`],
  ])("is refused before it is parsed with too many %s", (_, text) => {
    expect(() => parseInput(text)).toThrow(TooManyValues);
  });

  test.each([
    ["as many fields as calls have", fields(9_000)],
    ["many items", list("1", 200_000)],
    ["a text that looks like fields", JSON.stringify({ content: `${fields(100_000)}"\\`, path: "a" })],
    ["spaces", `${" ".repeat(100_000)}1`],
  ])("is taken with %s", (_, text) => {
    expect(parseInput(text)).toEqual(JSON.parse(text));
  });

  test("is no JSON where it is none", () => {
    expect(() => parseInput(`["${"a".repeat(100_000)}`)).toThrow(SyntaxError);
  });

  test("is counted right whatever its texts hold", () => {
    const content = fc.string({ minLength: 1, unit: fc.constantFrom('"', "\\", ":", "[", "{", ",", "a") });
    const texts = fc.array(content, { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(texts, (parts) => {
        const value = { parts, long: ":[{,".repeat(17_000), more: Array(9_000).fill([]) };
        expect(parseInput(JSON.stringify(value))).toEqual(value);
        const tooMany = { ...value, more: Array(10_001).fill([]) };
        expect(() => parseInput(JSON.stringify(tooMany))).toThrow(TooManyValues);
      }),
      { numRuns: 10 },
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

  test("fails on what JSON.stringify fails on", () => {
    const circle: unknown[] = [];
    circle.push(circle);
    expect(() => stringifyExact(circle)).toThrow(TypeError);
    expect(() => stringifyExact([1n, circle])).toThrow(RangeError);
  });
});
