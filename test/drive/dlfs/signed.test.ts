import { describe, expect, test } from "@jest/globals";
import { encode, hashOf, isEmbedded } from "../../../src/drive/cad3/encoding/cell.js";
import { decode } from "../../../src/drive/cad3/encoding/multi-cell.js";
import { map } from "../../../src/drive/cad3/maps/hash-map.js";
import { index } from "../../../src/drive/cad3/maps/index-map.js";
import { Signed, sign, signedMessage, verify } from "../../../src/drive/cad3/signed.js";
import { keyword, type Value } from "../../../src/drive/cad3/value.js";
import { fromHex, parseValue, parseVectors, toHex } from "../cad3/notation.js";

interface Encoded {
  readonly length: number;
  readonly embedded: boolean;
  readonly encoding?: string;
  readonly hash: string;
}

interface Vector
  extends Readonly<Record<"name" | "seed" | "publicKey" | "message" | "signature" | "valueHash", string>> {
  readonly value: unknown;
  readonly signed: Encoded;
  readonly ownerMap: Encoded;
  readonly regionDlfs: Encoded;
  readonly regionFs: Encoded;
}

const { vectors } = parseVectors<{ readonly vectors: readonly Vector[] }>("signed");
const named = vectors.map((vector) => [vector.name, vector] as const);

function isEncodedAs(value: Value, { length, embedded, encoding, hash }: Encoded): void {
  expect(encode(value).length).toBe(length);
  expect(isEmbedded(value)).toBe(embedded);
  if (encoding !== undefined) expect(toHex(encode(value))).toBe(encoding);
  expect(hashOf(value)).toBe(hash);
}

describe("a value signed by the reference", () => {
  test.each(named)("is signed the same way: %s", (_, vector) => {
    const value = parseValue(vector.value);
    const signed = sign(value, fromHex(vector.seed));
    expect(toHex(signedMessage(value))).toBe(vector.message);
    expect(toHex(signed.publicKey)).toBe(vector.publicKey);
    expect(toHex(signed.signature)).toBe(vector.signature);
    expect(hashOf(signed.value)).toBe(vector.valueHash);
    expect(verify(signed)).toBe(true);
    isEncodedAs(signed, vector.signed);
  });

  test.each(named)("stands in a region: %s", (_, vector) => {
    const owners = map([[fromHex(vector.publicKey), sign(parseValue(vector.value), fromHex(vector.seed))]]);
    isEncodedAs(owners, vector.ownerMap);
    isEncodedAs(index([[keyword("dlfs"), owners]]), vector.regionDlfs);
    isEncodedAs(index([[keyword("fs"), owners]]), vector.regionFs);
  });

  test.each(named)("is verified as it comes: %s", (_, vector) => {
    if (vector.signed.encoding === undefined) return;
    const signed = decode(fromHex(vector.signed.encoding));
    expect(verify(parseSigned(signed))).toBe(true);
    expect(hashOf(signed)).toBe(vector.signed.hash);
  });
});

/** What is verified may be anything. */
const parseSigned = (value: unknown): Signed => value as Signed;

describe("a signature", () => {
  const seed = new Uint8Array(32).fill(1);
  const signed = sign("text", seed);
  const flipped = (bytes: Uint8Array): Uint8Array => bytes.with(5, (bytes[5] ?? 0) ^ 1);
  const wrong: readonly [string, unknown][] = [
    ["of another value", new Signed(signed.publicKey, signed.signature, "texts")],
    ["by another key", new Signed(sign("text", seed.with(0, 2)).publicKey, signed.signature, "text")],
    ["that was changed", new Signed(signed.publicKey, flipped(signed.signature), "text")],
    ["with a key that was changed", new Signed(flipped(signed.publicKey), signed.signature, "text")],
    ["with a key that is no point", new Signed(new Uint8Array(32).fill(255), signed.signature, "text")],
    ["of zeros", new Signed(signed.publicKey, new Uint8Array(64), "text")],
    ["with too short a key", { ...signed, publicKey: signed.publicKey.subarray(1) }],
    ["that is too long", { ...signed, signature: new Uint8Array(65) }],
    ["of what is no value", { ...signed, value: undefined }],
    ["that is not there", "text"],
    ["of nil", null],
  ];
  test.each(wrong)("is not good: %s", (_, value) => {
    expect(verify(signed)).toBe(true);
    expect(verify(parseSigned(value))).toBe(false);
  });

  test("is made by 32 bytes and no others, which no error shows", () => {
    for (const length of [0, 31, 33, 64]) {
      const act = () => sign(1, new Uint8Array(length).fill(0x5a));
      expect(act).toThrow(RangeError);
      expect(act).not.toThrow(/5a|90/i);
    }
  });

  test("has a length of its own", () => {
    expect(() => new Signed(signed.publicKey, new Uint8Array(63), 1)).toThrow(RangeError);
    expect(() => new Signed(new Uint8Array(33), signed.signature, 1)).toThrow(RangeError);
  });
});
