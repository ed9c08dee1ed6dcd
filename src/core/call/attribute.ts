// Determines the caller of one call from its sender and the tokens sent with it.

import type { SurfaceContext } from "../ports/adapter.js";
import type { Caller, NameCaller } from "./caller.js";

/** The part of a caller that adapters get. */
export interface CallerContext
  extends Required<Pick<SurfaceContext, "callerDID" | "authentication">>,
    Pick<
      SurfaceContext,
      "credential" | "tokenCaps" | "identityTokens" | "narrowedTo" | "ambiguousCaller" | "access" | "entrance"
    > {}

/** The caller of one call, and what its adapter learns about the caller. */
export interface Attribution {
  readonly did: string;
  readonly context: CallerContext;
}

/**
 * Attributes a call to its caller, given the tokens sent with it. If they name several callers, the call stays with its
 * sender, and the adapter refuses it.
 */
export function attribute(sender: Caller, ucans: unknown, nameCaller: NameCaller): Attribution {
  const named = nameCaller(sender, ucans);
  if (named !== "ambiguous") {
    const { entrance } = sender;
    const context = contextOf(named);
    return { did: named.did, context: entrance === undefined ? context : { ...context, entrance } };
  }
  return { did: sender.did, context: { ...contextOf(sender), ambiguousCaller: true } };
}

/** The part of a caller that adapters get. */
export function contextOf(caller: Caller): CallerContext {
  const { did, authentication, credential, tokenCaps, identityTokens, narrowedTo, access, entrance } = caller;
  return {
    callerDID: did,
    authentication,
    ...(credential && { credential }),
    ...(tokenCaps && { tokenCaps }),
    ...(identityTokens && { identityTokens }),
    ...(narrowedTo === undefined ? {} : { narrowedTo }),
    ...(access && { access }),
    ...(entrance === undefined ? {} : { entrance }),
  };
}
