// auth:whoami: identity and grants of the caller.

import { type Authentication, accessIdOf } from "../../../core/call/caller.js";
import type { Capability } from "../../../core/call/capability.js";
import { LOOKS } from "../../../core/ports/operation.js";
import { callerOf, isOperator } from "../caller.js";
import type { OperationCall, VenueOperation } from "../operation.js";

interface WhoAmI {
  readonly did: string;
  /** `process`: the call comes from the process that started the venue, without authentication. */
  readonly authentication: Authentication | "process";
  readonly operator: boolean;
  readonly venue: string;
  /** Capabilities of this very call, by root. */
  readonly grants: readonly Capability[];
  readonly grantsTruncated: boolean;
  /** Expiry of the token that authenticates the caller, in seconds since the epoch. */
  readonly expires: number | undefined;
  /** Id of the access token or session. */
  readonly via: string | undefined;
}

/** Reports the caller's identity and grants; of the roots, only those in which it holds a grant. */
export const authWhoami: VenueOperation<object> = {
  name: "auth:whoami",
  annotations: LOOKS,
  run(_input, { context, venue }): WhoAmI {
    const { grants, truncated } = venue.files.rights("auth:whoami", context).held();
    return {
      did: callerOf(context, venue),
      authentication: context.authentication ?? "process",
      operator: isOperator(context, venue),
      venue: venue.access.did,
      grants,
      grantsTruncated: truncated,
      expires: endOfIdentity({ context, venue }),
      via: accessIdOf(context),
    };
  },
};

/** Expiry of the access token or the issuer's; else the earliest of the identity tokens, which were verified when the caller was authenticated. */
function endOfIdentity({ context, venue }: Pick<OperationCall, "context" | "venue">): number | undefined {
  const { credential, identityTokens = [] } = context;
  if (credential?.kind === "issuer") return venue.access.issuers?.expiresOf(credential.token);
  const via = accessIdOf(context);
  if (via !== undefined) {
    const entry = venue.access.accessTokens?.inForce(via);
    return entry && Math.floor(entry.expires / 1000);
  }
  if (identityTokens.length === 0) return undefined;
  const tokens = venue.access.verifier.read(identityTokens);
  const ends = tokens.map(({ decoded }) => decoded?.expiresAt).filter((end) => typeof end === "number");
  return ends.length === 0 ? undefined : Math.min(...ends);
}
