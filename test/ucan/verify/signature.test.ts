import { createPublicKey, verify } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import { type DecodedToken, decodeToken } from "../../../src/ucan/token/decode.js";
import { didKeyFromPublicKey } from "../../../src/ucan/token/did-key.js";
import { checkSignature, createPublicKeys } from "../../../src/ucan/verify/public-keys.js";
import { alice, bob, encode, identityToken, NOW, signed } from "../tokens.js";
import { smallOrderKeys } from "./weak-keys.js";

const keys = createPublicKeys();
/** Order of the group, in which the scalar of a signature is counted. */
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;

function decoded(token: string): DecodedToken {
  const result = decodeToken(token);
  if ("fault" in result) throw new Error(result.fault);
  return result;
}

const check = (token: DecodedToken) => checkSignature(token, keys);

/** The token with a number added to the scalar of its signature. */
function shifted(token: DecodedToken, by: bigint): DecodedToken {
  const scalar = BigInt(`0x${Buffer.from(token.signature.subarray(32)).reverse().toString("hex")}`) + by;
  const bytes = Buffer.from(scalar.toString(16).padStart(64, "0"), "hex").reverse();
  return { ...token, signature: Buffer.concat([token.signature.subarray(0, 32), bytes]) };
}

describe("a signature", () => {
  test("of the issuer is right", () => {
    expect(check(decoded(identityToken()))).toBeUndefined();
  });

  // RFC 8032 §7.1, test 3, whose message is no token.
  test("is one of RFC 8032", () => {
    const token: DecodedToken = {
      ...decoded(identityToken()),
      issuer: didKeyFromPublicKey(
        Buffer.from("fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "hex"),
      ),
      signedText: Buffer.from("af82", "hex").toString("latin1"),
      signature: Buffer.from(
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
        "hex",
      ),
    };
    expect(check(token)).toBeUndefined();
    expect(check({ ...token, signedText: "ab" })).toBe("bad_signature");
  });

  test("of another is wrong, whatever the header names", () => {
    const header = { alg: "EdDSA", kid: alice.multikey, jwk: { kty: "OKP", crv: "Ed25519", x: encode("bob") } };
    const token = signed({ header, payload: { iss: alice.did, exp: NOW } }, bob.privateKey);
    expect(check(decoded(token))).toBe("bad_signature");
  });

  test("has one form: the same with a scalar that is not reduced is wrong", () => {
    const token = decoded(identityToken());
    expect(check(shifted(token, 0n))).toBeUndefined();
    expect(check(shifted(token, ORDER))).toBe("bad_signature");
    expect(check(shifted(token, 2n * ORDER))).toBe("bad_signature");
  });

  test.each(["did:web:example.org", "did:key:zDnaerDaTF5BXEavCrfRZEk316dpbLsfPDZ3WJ5hRTPFU2169", "alice"])(
    "needs a key that can be found: not %s",
    (issuer) => {
      expect(check({ ...decoded(identityToken()), issuer })).toBe("bad_did");
    },
  );

  test.each(smallOrderKeys())("needs a key that only one can sign with: not %s", (hex) => {
    const raw = Buffer.from(hex, "hex");
    const signature = Buffer.concat([Buffer.of(1), Buffer.alloc(63)]);
    const der = Buffer.concat([Buffer.from("302a300506032b6570032100", "hex"), raw]);
    const key = createPublicKey({ key: der, format: "der", type: "spki" });
    const texts = Array.from({ length: 200 }, (_, index) => `header.payload${index}`);
    const signedText = texts.find((text) => verify(null, Buffer.from(text), key, signature)) ?? "none";
    expect(texts).toContain(signedText);
    const forged = { ...decoded(identityToken()), issuer: didKeyFromPublicKey(raw), signedText, signature };
    expect(check(forged)).toBe("bad_did");
  });
});
