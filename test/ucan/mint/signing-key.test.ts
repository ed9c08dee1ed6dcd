import { createPublicKey, sign, verify } from "node:crypto";
import { inspect } from "node:util";
import { describe, expect, test } from "@jest/globals";
import { newSeed, parseSeed, signingKeyFromSeed } from "../../../src/ucan/mint/signing-key.js";

// RFC 8032 §7.1, test 1.
const SEED = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
const PUBLIC_KEY = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
const MULTIKEY = "z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw";

const seedOf = (text: string): Uint8Array => parseSeed(text) ?? new Uint8Array();

describe("the key of a seed", () => {
  test("has one DID, and signs as RFC 8032 says", () => {
    const key = signingKeyFromSeed(seedOf(SEED));
    expect(key).toMatchObject({ did: `did:key:${MULTIKEY}`, multikey: MULTIKEY });
    expect(Buffer.from(key.publicKey).toString("hex")).toBe(PUBLIC_KEY);
    expect(sign(null, Buffer.alloc(0), key.privateKey).toString("hex").slice(0, 32)).toBe(
      "e5564300c360ac729086e2cc806e828a",
    );
  });

  test("does not show the seed where it is printed", () => {
    const key = signingKeyFromSeed(seedOf(SEED));
    for (const shown of [inspect(key, { depth: 9, showHidden: true }), JSON.stringify(key)]) {
      expect(shown).not.toContain(SEED.slice(0, 8));
      expect(shown).not.toContain("PRIVATE KEY");
    }
  });

  test.each([0, 31, 33, 64])("is none for %i bytes", (length) => {
    expect(() => signingKeyFromSeed(new Uint8Array(length))).toThrow(
      `Cannot make a key: a seed has 32 bytes, not ${length}`,
    );
  });
});

test("a new seed is another one each time, and makes a key", () => {
  const [one, other] = [newSeed(), newSeed()];
  expect(one).toHaveLength(32);
  expect(Buffer.from(one).equals(other)).toBe(false);
  const { privateKey } = signingKeyFromSeed(one);
  const proof = sign(null, Buffer.from("x"), privateKey);
  expect(verify(null, Buffer.from("x"), createPublicKey(privateKey), proof)).toBe(true);
});

describe("the text of a seed", () => {
  test.each([SEED, SEED.toUpperCase()])("is %s", (text) => {
    expect(Buffer.from(seedOf(text)).toString("hex")).toBe(SEED);
  });

  test.each([
    "",
    SEED.slice(1),
    `${SEED}0`,
    `${SEED}\n`,
    ` ${SEED.slice(1)}`,
    SEED.replace("9", "g"),
    `0x${SEED.slice(2)}`,
  ])("is never %j", (text) => {
    expect(parseSeed(text)).toBeUndefined();
  });
});
