import { createAuthorities } from "../../src/authz/authorities.js";
import type { Authority } from "../../src/authz/authority.js";
import type { CapabilityRules } from "../../src/authz/capability-rules.js";
import type { Grant } from "../../src/authz/grant.js";
import type { SurfaceContext } from "../../src/core/ports/adapter.js";
import type { UcanVerifier } from "../../src/ucan/verify/proof.js";

/** Reads no tokens: for rights that rest on none. */
const noProofs: UcanVerifier<Grant> = { read: () => [], issuersOf: () => undefined };

/** The authority of one caller. Without a context it is that of the operator. */
export function authorityOf(
  context: SurfaceContext = {},
  rules: CapabilityRules = {},
  roots: readonly { name: string; owner?: string }[] = [],
): Authority {
  return createAuthorities({ verifier: noProofs, ...rules }, roots).of(context);
}

/** The authority of somebody who holds these grants and nothing else. */
export const holding = (grants: readonly Grant[]): Authority =>
  authorityOf({ callerDID: "did:key:z6MkSomebody" }, { publicCaps: grants.map(({ written }) => written) });
