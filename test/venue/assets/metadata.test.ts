import { describe, expect, test } from "@jest/globals";
import { contentOf, parseMetadata, readMetadata, summaryOf } from "../../../src/venue/assets/metadata.js";
import { sha256 } from "./fixture.js";

const HEX = sha256("x");

/** An object with arrays in it, so many levels deep. */
function deep(levels: number): Record<string, unknown> {
  let value: unknown = [];
  for (let i = 2; i < levels; i += 1) value = [value];
  return { value };
}

describe("metadata", () => {
  test.each([{}, { a: [1, null, true, "é\u2028"] }, JSON.parse('{"__proto__":{"x":1}}'), deep(256)])(
    "is kept as it was written",
    (metadata) => {
      const { json } = parseMetadata(metadata);
      expect(json.toString()).toBe(JSON.stringify(metadata));
      expect(readMetadata(json)).toEqual(metadata);
    },
  );

  test("keeps the digits of a BigInt", () => {
    expect(parseMetadata({ a: 9007199254740993n }).json.toString()).toBe('{"a":9007199254740993}');
  });

  const unwritable: [string, Record<string, unknown>, string][] = [
    ["half a surrogate pair", { a: ["\ud800"] }, "not valid Unicode"],
    ["a key that is half a pair", { a: { "\udc00": 1 } }, "not valid Unicode"],
    ["NaN", { a: Number.NaN }, "not a JSON number"],
    ["Infinity", { a: [Number.NEGATIVE_INFINITY] }, "not a JSON number"],
    ["too many levels", deep(257), "nested deeper than 256 levels"],
    ["levels without end", deep(200_000), "nested deeper than 256 levels"],
    ["a function", { a: () => 1 }, "not a JSON value"],
    ["nothing at all", { a: undefined }, "not a JSON value"],
  ];
  test.each(unwritable)("with %s is refused", (_name, metadata, reason) => {
    expect(() => parseMetadata(metadata)).toThrow(
      expect.objectContaining({ fault: "invalid_metadata", data: { reason } }),
    );
  });

  test("may have one MiB as compact JSON in UTF-8, and not a byte more", () => {
    const frame = JSON.stringify({ text: "" }).length;
    const fits = { text: "é".repeat((1_048_576 - frame - 1) / 2) };
    expect(parseMetadata(fits).json.length).toBe(1_048_575);
    expect(parseMetadata({ text: `${fits.text}x` }).json.length).toBe(1_048_576);
    expect(() => parseMetadata({ text: `${fits.text}é` })).toThrow(
      expect.objectContaining({ fault: "too_large", data: { size: 1_048_577, limit: 1_048_576 } }),
    );
  });
});

describe("the content metadata asks for", () => {
  test.each([HEX, HEX.toUpperCase(), `0x${HEX}`, `0X${HEX.toUpperCase()}`])("has the hash %s", (hash) => {
    expect(contentOf({ content: { sha256: hash } })).toEqual({ sha256: HEX });
  });

  test("has a type and a name where they are texts", () => {
    const content = { sha256: HEX, contentType: "text/csv", fileName: "a.csv", length: 3 };
    expect(contentOf({ content })).toEqual({ sha256: HEX, contentType: "text/csv", fileName: "a.csv" });
    expect(contentOf({ content: { sha256: HEX, contentType: 1, fileName: null } })).toEqual({ sha256: HEX });
  });

  test.each([
    {},
    { content: null },
    { content: "text" },
    { content: [] },
    { content: {} },
    { content: { sha256: null } },
    { content: { sha256: HEX.slice(1) } },
    { content: { sha256: `${HEX}0` } },
    { content: { sha256: `a/${HEX}` } },
    { sha256: HEX },
    JSON.parse(`{"__proto__":{"content":{"sha256":"${HEX}"}}}`),
    JSON.parse(`{"content":{"__proto__":{"sha256":"${HEX}"}}}`),
  ])("is none in %j", (metadata) => {
    expect(contentOf(metadata)).toBeUndefined();
  });
});

describe("a summary", () => {
  test("has name, type and description where they are texts", () => {
    expect(summaryOf("i", { name: "n", type: "t", description: "d", other: 1 })).toEqual({
      id: "i",
      name: "n",
      type: "t",
      description: "d",
    });
    expect(summaryOf("i", { name: 1, type: ["t"] })).toEqual({ id: "i" });
  });

  test("cuts long texts between characters", () => {
    expect(summaryOf("i", { name: "n".repeat(1000) }).name).toBe("n".repeat(1000));
    expect(summaryOf("i", { name: "n".repeat(1001) }).name).toBe(`${"n".repeat(1000)}…`);
    expect(summaryOf("i", { name: `${"n".repeat(999)}😀` }).name).toBe(`${"n".repeat(999)}…`);
  });
});
