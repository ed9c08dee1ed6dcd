import { FILE_SEMANTICS, type Grant } from "../../../src/authz/grant.js";
import type { Revocations, UcanVerifier } from "../../../src/ucan/verify/proof.js";
import { createPublicKeys } from "../../../src/ucan/verify/public-keys.js";
import { createUcanVerifier, type UcanRules } from "../../../src/ucan/verify/verifier.js";
import { clock } from "../tokens.js";

/** What is revoked, as a test says it. */
export const revoking = (...entries: string[]): Revocations => ({ has: (entry) => entries.includes(entry) });

/** A verifier by the rules of an unconfigured venue. */
export const verifierBy = (rules: Partial<UcanRules<Grant>> = {}): UcanVerifier<Grant> =>
  createUcanVerifier({
    semantics: FILE_SEMANTICS,
    keys: createPublicKeys(),
    revocations: revoking(),
    canonicalDid: (did) => did,
    clock,
    clockSkewSeconds: 30,
    maxLifetimeSeconds: 31_622_400,
    allowNoExpiry: false,
    acceptUnversionedCovia: false,
    ...rules,
  });
