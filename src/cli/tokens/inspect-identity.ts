// Inspects identity tokens and invocations.

import type { Grant } from "../../authz/grant.js";
import type { LinkReport, TokenReport } from "../../authz/token-report.js";
import { parseConfig } from "../../config/load.js";
import { isLoopbackListener } from "../../config/loopback.js";
import { systemClock } from "../../core/clock.js";
import type { DecodedToken } from "../../ucan/token/decode.js";
import type { TokenFault } from "../../ucan/token/fault.js";
import { tokenId } from "../../ucan/token/id.js";
import { verifyIdentityToken } from "../../ucan/token/identity-token.js";
import type { UcanVerifier } from "../../ucan/verify/proof.js";
import { createPublicKeys } from "../../ucan/verify/public-keys.js";
import type { Command } from "../arguments/arguments.js";
import { describeIdentity } from "../output/describe-token.js";
import type { VenueView } from "./venue-view.js";

/** Context of an inspection. */
export interface Inspection {
  readonly wanted: Extract<Command, { name: "token inspect" }>["wanted"];
  /** Absent: owners are unknown. */
  readonly view: VenueView | undefined;
  readonly verifier: UcanVerifier<Grant>;
  /** DID of the intended user of the tokens. Absent: not checked. */
  readonly caller: string | undefined;
}

/** An inspected token. */
export interface Inspected {
  readonly report: TokenReport;
  readonly text: string;
}

/** Inspects an identity token: it grants nothing, but can be valid or invalid. */
export function inspectIdentity(text: string, token: DecodedToken, inspection: Inspection): Inspected {
  const fault = faultOf(text, token, inspection);
  const { issuer, audience, expiresAt, notBefore } = token;
  const link: LinkReport = {
    id: tokenId(token.signedText),
    issuer,
    ...(audience === undefined ? {} : { audience }),
    ...(expiresAt === undefined ? {} : { expires: expiresAt }),
    ...(notBefore === undefined ? {} : { notBefore }),
    grants: [],
    depth: 0,
    reasons: fault === undefined ? [] : [fault],
  };
  const reasons = [...link.reasons];
  // It covers no capability, and no other caller can use it.
  if (inspection.wanted !== undefined) reasons.push("not_covered");
  if (inspection.caller !== undefined && inspection.caller !== issuer) reasons.push("wrong_audience");
  const valid = reasons.length === 0;
  const report: TokenReport = { valid, reasons, grants: [], chain: [link], expires: expiresAt ?? null };
  const nowSeconds = Math.floor(systemClock.nowMs() / 1000);
  return { report, text: describeIdentity(report, { nowSeconds, venueIsKnown: inspection.view?.did !== undefined }) };
}

/** Verifies it as the configured venue would, or without one, as the venue named by its audience. */
function faultOf(text: string, { audience }: DecodedToken, { view, verifier }: Inspection): TokenFault | undefined {
  const config = view?.config ?? parseConfig({}, { baseDir: "/" });
  const { auth } = config;
  const verdict = verifyIdentityToken(text, {
    venueDid: view?.did ?? audience ?? "",
    clock: systemClock,
    clockSkewSeconds: auth.clockSkew,
    maxLifetimeSeconds: auth.maxIdentityLifetime,
    acceptUnbound: auth.acceptUnboundIdentity ?? isLoopbackListener(config),
    keys: createPublicKeys(),
    revocations: view?.revocations ?? { has: () => false },
    verifier,
  });
  return "refused" in verdict ? verdict.refused : undefined;
}
