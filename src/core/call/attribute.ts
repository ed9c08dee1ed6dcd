import type { SurfaceContext } from "../ports/adapter.js";
import type { Caller, NameCaller } from "./caller.js";

type CallerContext = Pick<
  SurfaceContext,
  "callerDID" | "authentication" | "credential" | "tokenCaps" | "identityTokens" | "ambiguousCaller"
>;

/** Whose a call is, and what its adapter is told of them. */
export interface Attribution {
  readonly did: string;
  readonly context: CallerContext;
}

/**
 * Says whose a call is, once the tokens sent with it are known. One by several callers stays with the one who sent it,
 * and its adapter refuses it.
 */
export function attribute(sender: Caller, ucans: unknown, nameCaller: NameCaller): Attribution {
  const named = nameCaller(sender, ucans);
  if (named !== "ambiguous") return { did: named.did, context: contextOf(named) };
  return { did: sender.did, context: { ...contextOf(sender), ambiguousCaller: true } };
}

function contextOf({ did, authentication, credential, tokenCaps, identityTokens }: Caller): CallerContext {
  return {
    callerDID: did,
    authentication,
    ...(credential === undefined ? {} : { credential }),
    ...(tokenCaps === undefined ? {} : { tokenCaps }),
    ...(identityTokens === undefined ? {} : { identityTokens }),
  };
}
