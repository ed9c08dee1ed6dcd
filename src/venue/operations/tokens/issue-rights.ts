// Decides which callers may issue access tokens, and for whom these act.

import type { FileAdapterError } from "../../../core/errors/errors.js";
import type { SurfaceContext } from "../../../core/ports/adapter.js";
import type { AccessEntry, TokenMaker } from "../../identity/access-entry.js";
import { actsInFull, isAnonymous } from "../caller.js";
import type { OperationParts } from "../operation.js";
import { refusedOperation } from "../refusal.js";

/** The maker of a new token, and the session it is made through, if any. */
export interface Making {
  readonly maker: TokenMaker;
  readonly through?: AccessEntry;
}

/**
 * The maker that a caller is: the operator, an identity, a session or a static token, acting in full.
 *
 * @throws CAPABILITY_DENIED for anybody else
 */
export function makingBy(operation: string, context: SurfaceContext, venue: OperationParts): Making {
  const refuse = (requires: string): FileAdapterError => refusedOperation({ operation, requires });
  const { authentication, callerDID, credential } = context;
  if (isAnonymous(context)) throw refuse("an authenticated caller");
  if (authentication === "access-token") {
    throw refuse("a caller other than an access token with capabilities: these issue nothing");
  }
  if (authentication === "ucan") {
    throw refuse("a caller that authenticates otherwise than by UCANs. With these, call ucan:issue");
  }
  if (!actsInFull(context, venue)) throw refuse("a caller without narrower capabilities");
  if (callerDID === undefined || authentication === "local-token") return { maker: { kind: "operator" } };
  if (credential?.kind === "access-token") {
    const through = venue.access.accessTokens?.inForce(credential.id);
    if (through === undefined) throw refuse("a session in force");
    return { maker: through.maker, through };
  }
  if (credential?.kind === "static-token") {
    return { maker: { kind: "static-token", did: callerDID, sha256: credential.sha256 } };
  }
  return { maker: { kind: "identity", did: callerDID, ...(credential === undefined ? {} : { credential }) } };
}

/** DID of a maker. */
export const didOfMaker = (maker: TokenMaker, { access }: Pick<OperationParts, "access">): string =>
  maker.kind === "operator" ? access.operator : access.canonicalDid(maker.did);

/** For tokens of a venue that does not keep its key. */
export const KEY_ENDS =
  "The venue makes a new key at each start, and this token ends with the present one. Set 'seedFile' to keep it";
