import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { decodeBase64url } from "../../../src/ucan/token/decode.js";

describe("base64url", () => {
  test("gives back the bytes that were encoded", () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        const text = Buffer.from(bytes).toString("base64url");
        expect([...(decodeBase64url(text) ?? [])]).toEqual([...bytes]);
      }),
    );
  });

  test.each([
    ["padding", "_-8="],
    ["the standard alphabet", "/+8"],
    ["stray bits behind the last byte", "_-9"],
    ["a single character", "A"],
    ["a space", "_ -8"],
    ["a line break at the end", "_-8\n"],
    ["a character outside ASCII", "_-8é"],
  ])("is refused with %s", (_what, text) => {
    expect(decodeBase64url(text)).toBeUndefined();
  });

  test("may be empty", () => {
    expect(decodeBase64url("")).toHaveLength(0);
  });
});
