import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { linesAt, plainText, terminatorsIn, withTerminator } from "../../../src/ops/content/terminators.js";

describe("terminators of a text", () => {
  test.each([
    ["", []],
    ["a", []],
    ["a\nb\n", ["\n"]],
    ["a\r\nb\r\n", ["\r\n"]],
    ["a\rb\r", ["\r"]],
    ["a\r\nb\r\nc\n", ["\r\n", "\n"]],
    ["\r\r\n", ["\r", "\r\n"]],
    ["a\r\nb\n", ["\r\n", "\n"]],
    ["a\r\nb\r\nc\n\nd\r", ["\r\n", "\n", "\r"]],
    ["\n\r", ["\n", "\r"]],
    ["a\r\nb\rc\r", ["\r", "\r\n"]],
  ])("%j are %j, the most frequent first, then the first", (text, expected) => {
    expect(terminatorsIn(text)).toEqual(expected);
  });

  test("become one", () => {
    expect(withTerminator("\r\n", "a\nb\rc\r\nd")).toBe("a\r\nb\r\nc\r\nd");
    expect(withTerminator("\r", "\n\r\n\r")).toBe("\r\r\r");
  });
});

describe("the newline-normalised view", () => {
  const anyText = fc.string({ unit: fc.constantFrom("a", "\r", "\n", "\r\n", "😀"), maxLength: 40 });

  test("leads back to the original from everywhere", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const plain = plainText(text);
        expect(plain.text).toBe(withTerminator("\n", text));
        let at = 0;
        for (let index = 0; index <= plain.text.length; index++) {
          expect(plain.original(index)).toBe(at);
          at += text.startsWith("\r\n", at) ? 2 : 1;
        }
      }),
    );
  });

  test("lines are counted as a read of lines does", () => {
    fc.assert(
      fc.property(anyText, fc.array(fc.nat()), (text, seeds) => {
        const positions = seeds.map((seed) => seed % (text.length + 1)).toSorted((left, right) => left - right);
        expect(linesAt(positions, text)).toEqual(positions.map((one) => text.slice(0, one).split("\n").length));
      }),
    );
  });
});
