import { describe, expect, test } from "@jest/globals";
import { FILE_SEMANTICS } from "../../../src/authz/grant.js";
import { mintIdentity } from "../../../src/ucan/mint/claims.js";
import { verifyIdentityToken } from "../../../src/ucan/token/identity-token.js";
import { createPublicKeys } from "../../../src/ucan/verify/public-keys.js";
import { createUcanVerifier } from "../../../src/ucan/verify/verifier.js";
import { clock, NOW } from "../tokens.js";
import { lead, parts, rules } from "./fixture.js";

const audience = "did:web:venue.example";
const request = { key: lead, audience, clock };

function verdictFor(token: string, venueDid = audience) {
  const shared = { ...rules, keys: createPublicKeys(), revocations: { has: () => false } };
  const verifier = createUcanVerifier({
    ...shared,
    semantics: FILE_SEMANTICS,
    canonicalDid: (did) => did,
    allowNoExpiry: false,
    acceptUnversionedCovia: false,
  });
  return verifyIdentityToken(token, { ...shared, venueDid, maxLifetimeSeconds: 3600, acceptUnbound: false, verifier });
}

describe("an identity token", () => {
  test("has the SDK's form, and lives for five minutes", () => {
    const [header, payload] = parts(mintIdentity(request));
    expect(header).toEqual({ alg: "EdDSA", typ: "JWT", kid: lead.multikey });
    expect(payload).toEqual({ sub: lead.did, iss: lead.did, iat: NOW, exp: NOW + 300, aud: audience });
    expect(Object.keys(payload)).toEqual(["sub", "iss", "iat", "exp", "aud"]);
  });

  test("says who its signer is, to the venue it is for", () => {
    const token = mintIdentity({ ...request, lifetimeSeconds: 3600 });
    expect(verdictFor(token)).toEqual({ did: lead.did });
    expect(verdictFor(token, "did:web:other.example")).toEqual({ refused: "wrong_audience" });
  });

  test("has whole seconds whatever the clock says", () => {
    const payload = parts(mintIdentity({ ...request, clock: { ...clock, nowMs: () => NOW * 1000 + 999 } }))[1];
    expect(payload).toMatchObject({ iat: NOW, exp: NOW + 300 });
  });

  test.each([0, -1, 0.5, Number.NaN, 1e12])("is not made for %d seconds", (lifetimeSeconds) => {
    expect(() => mintIdentity({ ...request, lifetimeSeconds })).toThrow(/^The lifetime is not a positive number/);
  });

  test.each(["", "venue.example", "did:key:z6Mk", "did:web:venue.example#key"])("is not made for %j", (wrong) => {
    expect(() => mintIdentity({ ...request, audience: wrong })).toThrow(/^The audience is not a DID/);
  });
});
