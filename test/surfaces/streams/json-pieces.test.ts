import { describe, expect, test } from "@jest/globals";
import { jsonPieces } from "../../../src/surfaces/streams/json-pieces.js";

const long = (unit: string, times: number): string => unit.repeat(times);

describe("JSON in pieces", () => {
  test.each<[string, unknown]>([
    ["a short text", "abc"],
    ["a long text alone", long("abc\n", 50_000)],
    [
      "long texts in a record",
      { a: 1, b: { content: long('quo"te\\ \u0001', 20_000), rest: [null, true] }, c: long("ä", 99_999) },
    ],
    ["the same long text twice", { files: [{ content: long("x", 70_000) }, { content: long("x", 70_000) }], end: "…" }],
    ["surrogate pairs at every place where a piece may end", `x${long("😀", 60_000)}`],
    ["surrogates that stand alone", `${long("\ud83d", 40_000)}${long("\ude00", 40_000)}`],
    ["values that are left out", { a: undefined, b: [undefined], c: new Date(0), d: long("y", 40_000) }],
    ["no long text at all", { a: [1, 2, { b: "c" }] }],
  ])("is that which is written at once: %s", (_name, value) => {
    expect([...jsonPieces(value)].join("")).toBe(JSON.stringify(value));
  });

  test("keeps the digits of integers that no double holds", () => {
    const value = { a: long("a", 100_000), number: 9007199254740993n, b: long("b", 100_000) };
    const text = `{"a":"${value.a}","number":9007199254740993,"b":"${value.b}"}`;
    expect([...jsonPieces(value)].join("")).toBe(text);
  });

  test("has no piece of more than a bounded size, whatever the text", () => {
    const pieces = [...jsonPieces({ content: long("a", 3_000_000) })];
    expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThan(40_000);
  });

  test("fails before there is a piece where JSON cannot hold the value", () => {
    const endless: Record<string, unknown> = { content: long("a", 100_000) };
    endless["self"] = endless;
    expect(() => jsonPieces(endless)).toThrow(TypeError);
  });
});
