import { describe, expect, test } from "@jest/globals";
import { assetIdOf, canonicalJson, isAssetReference, parseAssetReference } from "../../../src/venue/assets/id.js";
import { DID, sha256 } from "./fixture.js";

const HEX = "0123456789abcdef".repeat(4);

describe("an id", () => {
  test.each([
    [
      "keys sorted by UTF-16 units",
      { "\u{1f600}": 1, "\ufb33": 2, b: 1, a: 2, 10: 1, 9: 2 },
      '{"10":1,"9":2,"a":2,"b":1,"😀":1,"\ufb33":2}',
    ],
    ["keys sorted at every level", { z: [{ y: 1, x: { w: 1, v: 2 } }] }, '{"z":[{"x":{"v":2,"w":1},"y":1}]}'],
    ["numbers in their shortest form", { n: [1e21, 1.0, -0, 0.000001, 1e-7] }, '{"n":[1e+21,1,0,0.000001,1e-7]}'],
    ["text as it is, with only the necessary escapes", { t: 'é"\\\n\u0001\u2028' }, '{"t":"é\\"\\\\\\n\\u0001\u2028"}'],
    ["own keys of any name", JSON.parse('{"__proto__":{"a":1},"toJSON":"x"}'), '{"__proto__":{"a":1},"toJSON":"x"}'],
    ["nothing", {}, "{}"],
  ])("of an operation is that of canonical JSON: %s", (_name, metadata, canonical) => {
    expect(canonicalJson(metadata)).toBe(canonical);
    expect(assetIdOf(canonicalJson(metadata))).toBe(sha256(canonical));
  });

  test("is the SHA-256 of the text as it is", () => {
    for (const json of ['{"a":1,"b":2}', '{"b":2,"a":1}', '{ "a":1, "b":2 }\n', '{"n":9007199254740993}']) {
      expect(assetIdOf(json)).toBe(sha256(json));
      expect(assetIdOf(Buffer.from(json))).toBe(sha256(json));
    }
  });
});

describe("a reference", () => {
  test.each([
    HEX,
    `0x${HEX}`,
    `0X${HEX}`,
    HEX.toUpperCase(),
    `a/${HEX}`,
    `/a/${HEX}`,
    `${DID}/a/${HEX}`,
    `/${DID}/a/${HEX}`,
  ])("may be %s", (reference) => {
    expect(parseAssetReference(reference, DID)).toBe(HEX);
    expect(isAssetReference(reference)).toBe(true);
  });

  test.each([
    `did:key:zOther/a/${HEX}`,
    `/did:web:example.com/a/${HEX}`,
    `${DID}x/a/${HEX}`,
    `did:key:z6Mktestvenue/a/${HEX}`,
  ])("to another venue has the form but leads nowhere: %s", (reference) => {
    expect(parseAssetReference(reference, DID)).toBeUndefined();
    expect(isAssetReference(reference)).toBe(true);
  });

  test.each([
    "",
    "a/",
    HEX.slice(1),
    `${HEX}0`,
    `${HEX.slice(1)}g`,
    `/${HEX}`,
    `//a/${HEX}`,
    `A/${HEX}`,
    `b/${HEX}`,
    `a/${HEX}/`,
    `a/0x${HEX}`,
    ` ${HEX}`,
    `${HEX}\n`,
    `${DID}/${HEX}`,
    `${DID}/o/${HEX}`,
    `key:zOther/a/${HEX}`,
    `did:key:x y/a/${HEX}`,
    `did:key:x/y/a/${HEX}`,
    "v/ops/file/read",
  ])("may not be %j", (reference) => {
    expect(parseAssetReference(reference, DID)).toBeUndefined();
    expect(isAssetReference(reference)).toBe(false);
  });
});
