import { describe, expect, test } from "@jest/globals";
import { decodeToken, MAX_TOKEN_BYTES } from "../../../src/ucan/token/decode.js";
import { alice, bob, delegation, encode, identityToken, NOW, signed, venue } from "../tokens.js";

const faultOf = (token: string) => {
  const decoded = decodeToken(token);
  return "fault" in decoded ? decoded.fault : undefined;
};
const [head = "", body = "", mark = ""] = identityToken().split(".");
const claims = { iss: alice.did, exp: NOW };
const header = { alg: "EdDSA" };
const payload = (text: string) => signed({ header, payload: `{"iss":"${alice.did}","exp":1,${text}}` });

describe("a token that is well formed", () => {
  test("gives what was said and what was signed", () => {
    const { signature, ...decoded } = decodeToken(identityToken({ claims: { nbf: NOW } })) as Exclude<
      ReturnType<typeof decodeToken>,
      { fault: unknown }
    >;
    expect(decoded).toMatchObject({ kind: "identity", issuer: alice.did, audience: venue.did });
    expect(decoded).toMatchObject({ expiresAt: NOW + 300, notBefore: NOW, payload: { iat: NOW } });
    expect(decoded.signedText).toBe(
      identityToken({ claims: { nbf: NOW } })
        .split(".")
        .slice(0, 2)
        .join("."),
    );
    expect(decoded.header).toMatchObject({ alg: "EdDSA", kid: alice.multikey });
    // Not a piece of a larger buffer, which would live as long.
    expect(signature.buffer.byteLength).toBe(64);
  });

  test("says so when it has no end", () => {
    expect(decodeToken(signed({ header, payload: { iss: alice.did, exp: null } }))).toMatchObject({ expiresAt: null });
  });

  test.each([
    ["att", { att: [] }],
    ["cap", { cap: {} }],
  ])("is a UCAN with %s, whatever it holds", (_name, list) => {
    expect(decodeToken(signed({ header, payload: { ...claims, ...list } }))).toMatchObject({ kind: "ucan" });
  });

  test("may have claims and headers that mean nothing here", () => {
    const more = { fct: [{ a: { b: [] } }], nnc: "x", jti: 7 };
    expect(faultOf(signed({ header: { ...header, ucv: "0.8.1", jku: "x" }, payload: { ...claims, ...more } }))).toBe(
      undefined,
    );
  });

  test.each([
    ["the multikey", alice.multikey],
    ["the whole did:key", alice.did],
  ])("may name its key by %s", (_how, kid) => {
    expect(faultOf(identityToken({ header: { kid } }))).toBeUndefined();
  });
});

describe("a token is malformed", () => {
  test.each([
    ["when it is empty", ""],
    ["when it is no JWT", "not-a-token"],
    ["with two parts", `${head}.${body}`],
    ["with four parts", `${head}.${body}.${mark}.`],
    ["with a fourth part that is one", `${head}.${body}.${mark}.${mark}`],
    ["with a padded signature", `${head}.${body}.${mark}==`],
    ["with a padded header", `${head}=.${body}.${mark}`],
    ["without a signature", `${head}.${body}.`],
    ["with a short signature", `${head}.${body}.${Buffer.alloc(63).toString("base64url")}`],
    ["with a long signature", `${head}.${body}.${Buffer.alloc(65).toString("base64url")}`],
    ["with stray bits in its signature", `${head}.${body}.${mark.slice(0, -1)}${nextLetter(mark.at(-1))}`],
    ["with a space in it", `${head}. ${body}.${mark}`],
    ["with a header that is no JSON", signed({ header: "{", payload: claims })],
    ["with a header that is no object", signed({ header: ["EdDSA"], payload: claims })],
    ["with a payload that is no object", signed({ header, payload: null })],
    ["with a payload of two equal names", payload(`"exp":1`)],
    ["with a header of two equal names", signed({ header: '{"alg":"EdDSA","alg":"EdDSA"}', payload: claims })],
    ["with a subject that is not its issuer", identityToken({ claims: { sub: bob.did } })],
    ["with a subject of null", payload(`"sub":null`)],
    ["with several audiences", payload(`"aud":["${venue.did}"]`)],
    ["with an audience of null", payload(`"aud":null`)],
    ["with an audience that is no DID", payload(`"aud":"https://example.org"`)],
    ["with both kinds of capability lists", payload(`"att":[],"cap":{}`)],
    ["with att of null", payload(`"att":null`)],
    ["with att that is no array", payload(`"att":{}`)],
    ["with cap that is no object", payload(`"cap":[]`)],
    ["with cap of null", payload(`"cap":null`)],
    ["with proofs that are no array", payload(`"att":[],"prf":"x"`)],
    ["with a proof that is no text", payload(`"att":[],"prf":["x",1]`)],
  ])("%s", (_what, token) => {
    expect(faultOf(token)).toBe("malformed");
  });
});

describe("a header is bad", () => {
  test.each([
    ["without an algorithm", { alg: undefined }],
    ["with no algorithm at all", { alg: "none" }],
    ["with a shared secret", { alg: "HS256" }],
    ["with another name of the algorithm", { alg: "Ed25519" }],
    ["with another spelling of it", { alg: "eddsa" }],
    ["with several algorithms", { alg: ["EdDSA"] }],
    ["with another type", { typ: "at+jwt" }],
    ["with another spelling of the type", { typ: "jwt" }],
    ["with a type of null", { typ: null }],
    ["with extensions that must be understood", { crit: ["x"] }],
    ["with no such extension", { crit: [] }],
    ["with an unencoded payload", { b64: false }],
    ["with a payload that is said to be encoded", { b64: true }],
  ])("%s", (_what, changes) => {
    expect(faultOf(identityToken({ header: changes }))).toBe("bad_header");
  });

  test("may leave out its type and its key", () => {
    expect(faultOf(identityToken({ header: { typ: undefined, kid: undefined } }))).toBeUndefined();
  });
});

describe("a key is that of the issuer", () => {
  test.each([
    ["another's", bob.multikey],
    ["another's DID", bob.did],
    ["in another form", `${alice.did}#${alice.multikey}`],
    ["empty", ""],
    ["null", null],
  ])("so a name of it is refused that is %s", (_what, kid) => {
    expect(faultOf(identityToken({ header: { kid } }))).toBe("kid_mismatch");
  });

  test.each([
    ["missing", undefined],
    ["null", null],
    ["a number", 1],
    ["a list", [alice.did]],
  ])("so an issuer is refused that is %s", (_what, iss) => {
    expect(faultOf(identityToken({ claims: { iss } }))).toBe("bad_did");
  });
});

describe("a time", () => {
  const texts: readonly [string, string, boolean][] = [
    ["0", "the first second", true],
    ["99999999999", "the last second", true],
    ["100000000000", "the second behind it", false],
    ["1.79e9", "whole in another notation", true],
    [`${NOW * 1000}`, "milliseconds", false],
    ["-1", "negative", false],
    ["1.5", "a fraction", false],
    ["1e400", "infinite", false],
    [`"${NOW}"`, "a text", false],
    ["true", "a truth", false],
    ["[]", "a list", false],
  ];
  test.each(texts)("%s is %s: taken %s", (text, _what, taken) => {
    const token = (name: string) => signed({ header, payload: `{"iss":"${alice.did}","${name}":${text}}` });
    expect(faultOf(token("exp"))).toBe(taken ? undefined : "bad_exp");
    expect(faultOf(token("nbf"))).toBe(taken ? undefined : "bad_nbf");
  });

  test("before which a token does not hold is no null", () => {
    expect(faultOf(payload(`"nbf":null`))).toBe("bad_nbf");
  });
});

test("a token has at most 8192 bytes", () => {
  const sized = (size: number) => {
    const plain = { ...claims, nnc: "" };
    const frame = `${encode(header)}..${mark}`.length;
    const room = Math.floor(((size - frame) * 3) / 4) - JSON.stringify(plain).length;
    const token = signed({ header, payload: { ...plain, nnc: "x".repeat(room) } });
    return `${token}`;
  };
  const largest = [8190, 8191, 8192, 8193].map(sized).filter((token) => token.length === MAX_TOKEN_BYTES)[0] ?? "";
  expect(largest).toHaveLength(8192);
  expect(faultOf(largest)).toBeUndefined();
  expect(faultOf(`${largest}A`)).toBe("too_large");
});

test("the list of a delegation does not matter to its form", () => {
  expect(decodeToken(delegation())).toMatchObject({ kind: "ucan", issuer: alice.did, audience: bob.did });
});

/** The next letter of base64url, which differs in bits that stand for nothing at the end of 64 bytes. */
function nextLetter(letter = ""): string {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  return alphabet[alphabet.indexOf(letter) + 1] ?? "";
}
