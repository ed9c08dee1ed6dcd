import type { Authentication } from "../../core/call/caller.js";
import type { Capability } from "../../core/call/capability.js";
import { LOOKS } from "../../core/ports/operation.js";
import type { OperationCall, VenueOperation } from "./operation.js";
import { callerOf, isOperator } from "./standing.js";

interface WhoAmI {
  readonly did: string;
  /** `process`: the caller started this venue, and nobody asked. */
  readonly authentication: Authentication | "process";
  readonly operator: boolean;
  readonly venue: string;
  /** What may be done in which roots, by this very call. */
  readonly grants: readonly Capability[];
  readonly grantsTruncated: boolean;
  /** Seconds since the epoch: when the UCAN by which the caller is known ends. */
  readonly expires?: number;
}

/** Tells every caller about itself, and of roots only those in which it holds something. */
export const authWhoami: VenueOperation<object> = {
  name: "auth:whoami",
  annotations: LOOKS,
  run(_input, { context, venue }): WhoAmI {
    const { grants, truncated } = venue.files.rights("auth:whoami", context).held();
    const expires = endOfIdentity({ context, venue });
    return {
      did: callerOf(context, venue),
      authentication: context.authentication ?? "process",
      operator: isOperator(context, venue),
      venue: venue.access.did,
      grants,
      grantsTruncated: truncated,
      ...(expires === undefined ? {} : { expires }),
    };
  },
};

/** The tokens of an identity were found good when the caller was; the first of them to end ends it. */
function endOfIdentity({ context, venue }: Pick<OperationCall, "context" | "venue">): number | undefined {
  const { identityTokens = [] } = context;
  if (identityTokens.length === 0) return undefined;
  const tokens = venue.access.verifier.read(identityTokens);
  const ends = tokens.map(({ decoded }) => decoded?.expiresAt).filter((end) => typeof end === "number");
  return ends.length === 0 ? undefined : Math.min(...ends);
}
