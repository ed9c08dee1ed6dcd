import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { Grant } from "../../../src/authz/grant.js";
import { tokenId } from "../../../src/ucan/token/id.js";
import { type IdentityRules, verifyIdentityToken } from "../../../src/ucan/token/identity-token.js";
import { createPublicKeys } from "../../../src/ucan/verify/public-keys.js";
import { alice, bob, type Changes, clock, delegation, identityToken, NOW, signed, venue } from "../tokens.js";
import { revoking, verifierBy } from "../verify/judge.js";

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
    ["has a longer list than is looked at", "too_large", { claims: { att: Array(33).fill({ with: "x", can: "y" }) } }],
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
