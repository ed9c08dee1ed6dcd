import { createPublicKey, verify } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { Grant } from "../../../src/authz/grant.js";
import { decodeBase64url, decodeToken, MAX_TOKEN_BYTES, parseJsonObject } from "../../../src/ucan/token/decode.js";
import { didKeyFromPublicKey, multikeyFromPublicKey, publicKeyFromDidKey } from "../../../src/ucan/token/did-key.js";
import { tokenId } from "../../../src/ucan/token/id.js";
import { type IdentityRules, verifyIdentityToken } from "../../../src/ucan/token/identity-token.js";
import { createPublicKeys } from "../../../src/ucan/verify/public-keys.js";
import { gives, lead, owner } from "../chains.js";
import { alice, bob, type Changes, clock, delegation, encode, identityToken, NOW, signed, venue } from "../tokens.js";
import { revoking, verifierBy } from "../verify/judge.js";
import { smallOrderKeys } from "../verify/weak-keys.js";

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

const token = (claims: object): string => gives(owner, lead, {}, { claims: { att: undefined, ...claims } });
const grant = { with: "file://docs/", can: "crud/read" };
const map = { "file://docs/": { "crud/read": [{}] } };

test.each<[string, string, boolean]>([
  ["a list of capabilities", token({ att: [grant] }), true],
  ["a list that grants nothing we know", token({ att: [{ with: "my:", can: "*" }] }), true],
  ["a map of capabilities", token({ cap: map }), true],
  ["an empty list", token({ att: [] }), false],
  ["an empty map", token({ cap: {} }), false],
  ["no list: it says who somebody is", token({}), false],
  ["an empty list and no version", token({ att: [], ucv: undefined }), false],
  ["a list and no version", token({ att: [grant], ucv: undefined }), true],
  ["a list too long to be taken", token({ att: Array(33).fill(grant) }), true],
  ["both kinds, which no token may have", token({ att: [], cap: {} }), true],
  ["nothing that can be read", "nonsense", true],
  ["an empty text", "", true],
])("a token with %s", (_what, text, carries) => {
  expect(verifierBy().read([text])[0]?.carriesCapabilities).toBe(carries);
});

// Public keys and DIDs of https://w3c-ccg.github.io/did-key-spec/ and of RFC 8032 §7.1, tests 1 and 2.
const KNOWN = [
  [
    "3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29",
    "did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp",
  ],
  [
    "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
    "did:key:z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw",
  ],
] as const;
const DID = KNOWN[0][1];

describe("the did:key of an Ed25519 key", () => {
  test.each(KNOWN)("%s is %s", (key, did) => {
    expect(didKeyFromPublicKey(Buffer.from(key, "hex"))).toBe(did);
    expect(`did:key:${multikeyFromPublicKey(Buffer.from(key, "hex"))}`).toBe(did);
  });

  test.each([0, 31, 33])("is refused for %i bytes", (length) => {
    expect(() => didKeyFromPublicKey(new Uint8Array(length))).toThrow(RangeError);
  });
});

describe("the Ed25519 key of a did:key", () => {
  test.each(KNOWN)("is %s of %s", (key, did) => {
    expect(Buffer.from(publicKeyFromDidKey(did) ?? []).toString("hex")).toBe(key);
  });

  test.each([
    ["nothing", ""],
    ["another method", DID.replace("did:key:", "did:kex:")],
    ["capital letters", DID.replace("did:", "DID:")],
    ["another multibase", DID.replace(":z6Mk", ":u6Mk")],
    ["a fragment", `${DID}#${DID.slice(8)}`],
    ["a bare multikey", DID.slice(8)],
    ["a space behind it", `${DID} `],
    ["a space in place of a character", `${DID.slice(0, -1)} `],
    ["a character that base58 does not have", `${DID.slice(0, -1)}0`],
    ["one character less", DID.slice(0, -1)],
    ["one character more", `${DID}1`],
    ["a leading zero byte", DID.replace(":z6", ":z16")],
    // The example of https://w3c-ccg.github.io/did-key-spec/ with an X25519 key, as long as ours.
    ["a key of X25519", "did:key:z6LSbysY2xFMRpGMhb7tFTLMpeuPRaqaWM1yECx2AtzE3KCc"],
    ["a key of P-256", "did:key:zDnaerDaTF5BXEavCrfRZEk316dpbLsfPDZ3WJ5hRTPFU2169"],
  ])("is refused for %s", (_what, did) => {
    expect(publicKeyFromDidKey(did)).toBeUndefined();
  });

  test("has one DID only", () => {
    const edit = fc.record({ at: fc.nat(DID.length), cut: fc.nat(2), put: fc.string({ maxLength: 2 }) });
    fc.assert(
      fc.property(edit, ({ at, cut, put }) => {
        const text = DID.slice(0, at) + put + DID.slice(at + cut);
        const key = publicKeyFromDidKey(text);
        expect(key === undefined ? text : didKeyFromPublicKey(key)).toBe(text);
      }),
    );
  });

  test("is the key that the DID was made of", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (bytes) => {
        // Clear of the top of the field, where no key is.
        const key = Uint8Array.from(bytes, (byte, index) =>
          index === 30 ? byte & 0x7f : index === 29 ? byte | 1 : byte,
        );
        expect(publicKeyFromDidKey(didKeyFromPublicKey(key))).toEqual(key);
      }),
    );
  });
});

describe("a key with which anybody can sign", () => {
  /** The neutral element and nothing else: no secret is needed for it. */
  const NOBODYS = Buffer.concat([Buffer.of(1), Buffer.alloc(63)]);

  test.each(smallOrderKeys())("is no did:key, though OpenSSL takes it: %s", (hex) => {
    const raw = Buffer.from(hex, "hex");
    const header = Buffer.from("302a300506032b6570032100", "hex");
    const key = createPublicKey({ key: Buffer.concat([header, raw]), format: "der", type: "spki" });
    const messages = Array.from({ length: 200 }, (_, index) => Buffer.from(`message ${index}`));
    expect(messages.some((message) => verify(null, message, key, NOBODYS))).toBe(true);
    expect(publicKeyFromDidKey(didKeyFromPublicKey(raw))).toBeUndefined();
  });

  test("is any other way to write a key, too", () => {
    for (let low = 0xed; low <= 0xff; low++) {
      for (const high of [0x7f, 0xff]) {
        const raw = Uint8Array.of(low, ...Array<number>(30).fill(0xff), high);
        expect(publicKeyFromDidKey(didKeyFromPublicKey(raw))).toBeUndefined();
      }
    }
    // The largest coordinate but one is no point of small order, and below the prime.
    const raw = Uint8Array.of(0xeb, ...Array<number>(30).fill(0xff), 0x7f);
    expect(publicKeyFromDidKey(didKeyFromPublicKey(raw))).toEqual(raw);
  });
});

describe("identity tokens", () => {
  const rules: IdentityRules<Grant> = {
    venueDid: venue.did,
    clock,
    clockSkewSeconds: 30,
    maxLifetimeSeconds: 3600,
    acceptUnbound: false,
    keys: createPublicKeys(),
    revocations: revoking(),
    verifier: verifierBy(),
  };
  const verify = (token: string, changes: Partial<IdentityRules<Grant>> = {}) =>
    verifyIdentityToken(token, { ...rules, ...changes });
  const ALICE = { did: alice.did };

  describe("an identity token", () => {
    test("as the TypeScript client makes it says who sends it", () => {
      expect(verify(identityToken())).toEqual(ALICE);
    });

    const right: readonly [string, Changes][] = [
      ["names its key by the whole did:key", { header: { kid: alice.did } }],
      ["names neither key nor type", { header: { kid: undefined, typ: undefined } }],
      ["does not say when it was made", { claims: { iat: undefined } }],
      ["ended just now, by a clock that differs", { claims: { exp: NOW - 29 } }],
      ["lives as long as it may, by a clock that differs", { claims: { exp: NOW + 3630 } }],
      ["begins soon, by a clock that differs", { claims: { nbf: NOW + 30, iat: NOW + 30 } }],
      ["began long ago", { claims: { nbf: 0, iat: 0 } }],
      ["has other claims", { claims: { jti: "x", scope: "all", ucv: "0.10.0" } }],
    ];
    test.each(right)("is taken when it %s", (_what, changes) => {
      expect(verify(identityToken(changes))).toEqual(ALICE);
    });

    const wrong: readonly [string, string, Changes][] = [
      ["uses another algorithm", "bad_header", { header: { alg: "none" } }],
      ["has extensions", "bad_header", { header: { crit: ["exp"] } }],
      ["has another type", "bad_header", { header: { typ: "ucan/1.0" } }],
      ["names another's key", "kid_mismatch", { header: { kid: bob.multikey } }],
      ["is issued by a DID of another method", "bad_did", { header: { kid: undefined }, claims: webIssuer() }],
      ["has no subject", "malformed", { claims: { sub: undefined } }],
      ["has another subject", "malformed", { claims: { sub: bob.did } }],
      ["is for another venue", "wrong_audience", { claims: { aud: bob.did } }],
      ["is for a fragment of the venue", "wrong_audience", { claims: { aud: `${venue.did}#${venue.multikey}` } }],
      ["is for several", "malformed", { claims: { aud: [venue.did] } }],
      ["is for nobody in particular", "wrong_audience", { claims: { aud: undefined } }],
      ["has no end", "no_exp", { claims: { exp: undefined } }],
      ["says that it never ends", "bad_exp", { claims: { exp: null } }],
      ["counts its end in milliseconds", "bad_exp", { claims: { exp: (NOW + 300) * 1000 } }],
      ["has ended", "expired", { claims: { exp: NOW - 30 } }],
      ["lives too long", "bad_exp", { claims: { exp: NOW + 3631 } }],
      ["begins later", "not_yet_valid", { claims: { nbf: NOW + 31 } }],
      ["was made later", "not_yet_valid", { claims: { iat: NOW + 31 } }],
      ["was made at no time", "malformed", { claims: { iat: "now" } }],
      ["was made at null", "malformed", { claims: { iat: null } }],
      ["carries proofs", "malformed", { claims: { prf: [] } }],
      ["carries capabilities, of no known version", "bad_version", { claims: { att: [] } }],
      ["carries capabilities in a map, of no known version", "bad_version", { claims: { cap: {} } }],
    ];
    test.each(wrong)("is refused when it %s: %s", (_what, refused, changes) => {
      expect(verify(identityToken(changes))).toEqual({ refused });
    });

    test("is refused when another signed it", () => {
      const [head, body] = identityToken().split(".");
      const mark = identityToken({ by: bob }).split(".")[2];
      expect(verify(`${head}.${body}.${mark}`)).toEqual({ refused: "bad_signature" });
    });

    test.each([
      ["itself", tokenId(identityToken().slice(0, -87))],
      ["whoever it is of", alice.did],
    ])("is refused when %s was revoked", (_what, entry) => {
      expect(verify(identityToken(), { revocations: revoking(entry) })).toEqual({ refused: "revoked" });
      expect(verify(identityToken({ by: bob }), { revocations: revoking(entry) })).toEqual({ did: bob.did });
    });

    test("is refused when any character of it is another", () => {
      const token = identityToken();
      const letters = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/ "];
      const change = fc.tuple(fc.nat(token.length - 1), fc.constantFrom(...letters));
      fc.assert(
        fc.property(change, ([at, letter]) => {
          fc.pre(token[at] !== letter);
          expect(verify(token.slice(0, at) + letter + token.slice(at + 1))).not.toHaveProperty("did");
        }),
        { numRuns: 300 },
      );
    });

    test("is judged by what the clock says then", () => {
      let nowMs = NOW * 1000;
      const moving = { ...rules, clock: { nowMs: () => nowMs, monotonicMs: () => 0 } };
      expect(verifyIdentityToken(identityToken(), moving)).toEqual(ALICE);
      nowMs = (NOW + 330) * 1000 - 1;
      expect(verifyIdentityToken(identityToken(), moving)).toEqual(ALICE);
      nowMs += 1;
      expect(verifyIdentityToken(identityToken(), moving)).toEqual({ refused: "expired" });
    });

    test("is judged with the skew and the lifetime that are set", () => {
      const strict = { clockSkewSeconds: 0, maxLifetimeSeconds: 300 };
      expect(verify(identityToken(), strict)).toEqual(ALICE);
      expect(verify(identityToken({ claims: { exp: NOW + 301 } }), strict)).toEqual({ refused: "bad_exp" });
      expect(verify(identityToken({ claims: { exp: NOW } }), strict)).toEqual({ refused: "expired" });
      expect(verify(identityToken({ claims: { iat: NOW + 1 } }), strict)).toEqual({ refused: "not_yet_valid" });
    });
  });

  describe("a token for no venue in particular, as the Java client makes it", () => {
    const unbound = (claims: Changes["claims"] = {}) => identityToken({ claims: { aud: undefined, ...claims } });
    const accepting = { acceptUnbound: true };

    test("is taken only where that was allowed", () => {
      expect(verify(unbound(), accepting)).toEqual(ALICE);
      expect(verify(unbound())).toEqual({ refused: "wrong_audience" });
    });

    test.each([
      ["does not say when it was made", "malformed", { iat: undefined }],
      ["lives longer than five minutes", "bad_exp", { exp: NOW + 301 }],
      ["was made in the past and lives longer", "bad_exp", { iat: NOW - 200, exp: NOW + 101 }],
      ["has no subject", "malformed", { sub: undefined }],
    ])("is refused when it %s: %s", (_what, refused, claims) => {
      expect(verify(unbound(claims), accepting)).toEqual({ refused });
    });

    test("does not make tokens for others acceptable", () => {
      expect(verify(identityToken({ claims: { aud: bob.did } }), accepting)).toEqual({ refused: "wrong_audience" });
      expect(verify(identityToken({ claims: { aud: null } }), accepting)).toEqual({ refused: "malformed" });
    });

    test("is never one with capabilities", () => {
      for (const claims of [{ att: [] }, { att: [], ucv: "0.10.0", prf: [] }]) {
        expect(verify(unbound(claims), accepting)).toEqual({ refused: "malformed" });
      }
    });
  });

  describe("a UCAN for the venue", () => {
    const invocation = ({ claims, ...changes }: Changes = {}) =>
      delegation({ ...changes, claims: { aud: venue.did, exp: NOW + 300, ...claims } });

    test("says who sends it, and comes with its list", () => {
      const verdict = verify(invocation());
      expect(verdict).toMatchObject({ did: alice.did });
      expect("did" in verdict && verdict.ucan?.own).toMatchObject([{ segments: ["docs"], words: ["crud", "read"] }]);
    });

    const right: readonly [string, Changes][] = [
      ["has an empty list", { claims: { att: [] } }],
      ["has a map of capabilities", { claims: { att: undefined, cap: { "file://docs/": { "crud/read": [{}] } } } }],
      ["is of version 0.8", { header: { ucv: "0.8.1" }, claims: { ucv: undefined } }],
      ["names its key by the whole did:key", { header: { kid: alice.did } }],
      ["names its subject", { claims: { sub: alice.did } }],
      ["lives as long as it may, by a clock that differs", { claims: { exp: NOW + 3630 } }],
      ["ended just now, by a clock that differs", { claims: { exp: NOW - 29 } }],
      ["begins and was made soon, by a clock that differs", { claims: { nbf: NOW + 30, iat: NOW + 30 } }],
      ["rests on a proof that is none", { claims: { prf: ["a.b.c"] } }],
      ["rests on a proof that is not there", { claims: { prf: ["bafkrei"] } }],
      [
        "rests on a proof that is over",
        { claims: { prf: [delegation({ by: bob, claims: { aud: alice.did, exp: 1 } })] } },
      ],
    ];
    test.each(right)("is taken when it %s", (_what, changes) => {
      expect(verify(invocation(changes))).toMatchObject({ did: alice.did });
    });

    const wrong: readonly [string, string, Changes][] = [
      ["uses another algorithm", "bad_header", { header: { alg: "HS256" } }],
      ["names another's key", "kid_mismatch", { header: { kid: bob.multikey } }],
      ["has another subject", "malformed", { claims: { sub: bob.did } }],
      ["is for several", "malformed", { claims: { aud: [venue.did] } }],
      ["is of no version", "bad_version", { claims: { ucv: undefined } }],
      ["is of a version to come", "bad_version", { claims: { ucv: "1.0.0" } }],
      ["has both kinds of list", "malformed", { claims: { cap: {} } }],
      ["has no end", "no_exp", { claims: { exp: undefined } }],
      ["says that it never ends", "bad_exp", { claims: { exp: null } }],
      ["counts its end in milliseconds", "bad_exp", { claims: { exp: (NOW + 300) * 1000 } }],
      ["has ended", "expired", { claims: { exp: NOW - 30 } }],
      ["lives too long to say who somebody is", "bad_exp", { claims: { exp: NOW + 3631 } }],
      ["begins later", "not_yet_valid", { claims: { nbf: NOW + 31 } }],
      ["was made later", "not_yet_valid", { claims: { iat: NOW + 31 } }],
      ["was made at no time", "malformed", { claims: { iat: "now" } }],
      [
        "has a longer list than is looked at",
        "too_large",
        { claims: { att: Array(33).fill({ with: "x", can: "y" }) } },
      ],
      ["has more proofs than are looked at", "too_many_proofs", { claims: { prf: Array(5).fill("bafkrei") } }],
    ];
    test.each(wrong)("is refused when it %s: %s", (_what, refused, changes) => {
      expect(verify(invocation(changes))).toEqual({ refused });
    });

    test("never lasts for ever, even where delegations may", () => {
      const verifier = verifierBy({ allowNoExpiry: true });
      expect(verify(invocation({ claims: { exp: null } }), { verifier })).toEqual({ refused: "bad_exp" });
    });

    test("is refused when another signed it", () => {
      expect(verify(invocation().slice(0, -86) + invocation({ by: bob }).slice(-86))).toEqual({
        refused: "bad_signature",
      });
    });

    test("is refused when it was revoked", () => {
      const verifier = verifierBy({ revocations: revoking(alice.did) });
      expect(verify(invocation(), { verifier })).toEqual({ refused: "revoked" });
      expect(verify(invocation({ by: bob }), { verifier })).toMatchObject({ did: bob.did });
    });
  });

  describe("a delegation", () => {
    test("says nothing about who sends it, and whom it is for is told", () => {
      expect(verify(delegation())).toEqual({ refused: "wrong_audience", delegatedTo: bob.did });
    });

    test("that is over is still one", () => {
      expect(verify(delegation({ claims: { exp: 1 } }))).toEqual({ refused: "wrong_audience", delegatedTo: bob.did });
    });

    test("with a map of capabilities is one, too", () => {
      const claims = { att: undefined, cap: { "file://docs/": { "crud/read": [{}] } } };
      expect(verify(delegation({ claims }))).toEqual({ refused: "wrong_audience", delegatedTo: bob.did });
    });

    const silent: readonly [string, string, string][] = [
      ["is not signed by its issuer", "bad_signature", `${delegation().slice(0, -86)}${"A".repeat(86)}`],
      ["is for nobody", "malformed", delegation({ claims: { aud: undefined } })],
      ["has no end", "no_exp", delegation({ claims: { exp: undefined } })],
      ["has a list that is none", "malformed", delegation({ claims: { att: "all" } })],
      ["is for what is no DID to show", "wrong_audience", delegation({ claims: { aud: "did:key:<b>\n" } })],
      ["is for a DID too long to show", "wrong_audience", delegation({ claims: { aud: `did:x:${"y".repeat(257)}` } })],
    ];
    test.each(silent)("is not told of when it %s: %s", (_what, refused, token) => {
      expect(verify(token)).toEqual({ refused });
    });
  });

  test("what is no token at all is refused", () => {
    for (const token of ["", ".", "..", "a.b.c", "x".repeat(100_000), signed({ header: {}, payload: {} })]) {
      expect(verify(token)).toHaveProperty("refused");
    }
  });

  function webIssuer() {
    return { iss: "did:web:example.org", sub: "did:web:example.org" };
  }
});

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
