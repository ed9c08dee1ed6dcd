import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { type IdentityRules, verifyIdentityToken } from "../../src/ucan/identity-token.js";
import { createPublicKeys } from "../../src/ucan/public-keys.js";
import { alice, bob, type Changes, clock, delegation, identityToken, NOW, signed, venue } from "./tokens.js";

const rules: IdentityRules = {
  venueDid: venue.did,
  clock,
  clockSkewSeconds: 30,
  maxLifetimeSeconds: 3600,
  acceptUnbound: false,
  keys: createPublicKeys(),
};
const verify = (token: string, changes: Partial<IdentityRules> = {}) =>
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
    ["carries capabilities", "not_an_identity", { claims: { att: [] } }],
    ["carries capabilities in a map", "not_an_identity", { claims: { cap: {} } }],
  ];
  test.each(wrong)("is refused when it %s: %s", (_what, refused, changes) => {
    expect(verify(identityToken(changes))).toEqual({ refused });
  });

  test("is refused when another signed it", () => {
    const [head, body] = identityToken().split(".");
    const mark = identityToken({ by: bob }).split(".")[2];
    expect(verify(`${head}.${body}.${mark}`)).toEqual({ refused: "bad_signature" });
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
    expect(verify(unbound({ att: [] }), accepting)).toEqual({ refused: "not_an_identity" });
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
    ["is for the venue", "not_an_identity", delegation({ claims: { aud: venue.did } })],
    ["is for nobody", "not_an_identity", delegation({ claims: { aud: undefined } })],
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
