import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { parseJsonObject } from "../../../src/ucan/token/decode.js";

const parse = (text: string) => parseJsonObject(Buffer.from(text));
const nested = (levels: number) => `{"a":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`;

describe("a JSON object", () => {
  test("is read as JSON.parse reads it, white space and all", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.nat(3), (object, indent) => {
        const text = JSON.stringify(object, null, indent);
        expect(parse(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  test("may use a name again in another object, and as a value", () => {
    const text = String.raw`{"a":{"a":["a","a"],"b":[{"a":1},{"a":2}]},"b":"a\":\"b","c":":"}`;
    expect(parse(text)).toEqual(JSON.parse(text));
  });

  test.each([
    ["the same name twice", '{"a":1,"a":1}'],
    ["the same name twice in two spellings", String.raw`{"a":1,"\u0061":1}`],
    ["the same name twice with something between", '{"a":{"b":[1,{}]},"b":"x","a":1}'],
    ["the same name twice further in", '{"x":[0,{"y":{"a":1,"b":2,"a":3}}]}'],
    ["the same name twice behind a text with quotes", String.raw`{"x":"\\\"","a":"{","a":1}`],
    ["__proto__ twice", '{"__proto__":1,"__proto__":2}'],
    ["an empty name twice", '{"":1,"":2}'],
    ["an array", '["a"]'],
    ["a text", '"a"'],
    ["a number", "1"],
    ["null", "null"],
    ["nothing", ""],
    ["a comma at the end", '{"a":1,}'],
    ["something behind it", '{"a":1}x'],
    ["a byte order mark", '\ufeff{"a":1}'],
    ["33 levels", nested(33)],
  ])("is refused with %s", (_what, text) => {
    expect(parse(text)).toBeUndefined();
  });

  test("is refused with a name twice, wherever that is and whatever is around it", () => {
    const name = fc.oneof(fc.string(), fc.constantFrom("__proto__", '"', "\\", ":", "{"));
    fc.assert(
      fc.property(
        name,
        fc.array(fc.jsonValue({ maxDepth: 3 }), { maxLength: 3 }),
        fc.nat(3),
        (twice, values, depth) => {
          const key = JSON.stringify(twice);
          const members = [`${key}:1`, ...values.map((value, n) => `"${n} ${n}":${JSON.stringify(value)}`)];
          const wrap = (inner: string) => `{"x":[0,${"[".repeat(depth)}{${inner}}${"]".repeat(depth)}]}`;
          expect(parse(wrap(members.join(",")))).toBeDefined();
          expect(parse(wrap([...members, `${key}:2`].join(",")))).toBeUndefined();
        },
      ),
    );
  });

  test("may be nested 32 levels deep", () => {
    expect(parse(nested(32))).toBeDefined();
  });

  test.each([
    ["an overlong form", [0xc0, 0xa2]],
    ["half a character", [0xe2, 0x82]],
    ["a surrogate", [0xed, 0xa0, 0x80]],
  ])("is refused when it is not UTF-8 by %s", (_what, bytes) => {
    expect(parseJsonObject(Buffer.from([...Buffer.from('{"a":"'), ...bytes, ...Buffer.from('"}')]))).toBeUndefined();
  });

  test("keeps a name that means something to JavaScript as a name", () => {
    const parsed = parse('{"__proto__":{"iss":"x"}}');
    expect(parsed?.["iss"]).toBeUndefined();
  });
});
