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
  // Most callers have nothing else, and copies of nothing take time too.
  if ((credential ?? tokenCaps ?? identityTokens ?? access ?? entrance) === undefined)
    return { callerDID: did, authentication };
  return {
    callerDID: did,
    authentication,
    ...(credential === undefined ? {} : { credential }),
    ...(tokenCaps === undefined ? {} : { tokenCaps }),
    ...(identityTokens === undefined ? {} : { identityTokens }),
    ...(narrowedTo === undefined ? {} : { narrowedTo }),
    ...(access === undefined ? {} : { access }),
    ...(entrance === undefined ? {} : { entrance }),
  };
}

/**
 * A copy of a context with further fields, which count where they are given.
 *
 * Each field is written out, absent ones as `undefined`: the contexts of all calls have one shape then, which all that
 * reads them is compiled for, and a copy by a spread takes microseconds.
 */
export function extendContext(context: SurfaceContext, more: Partial<SurfaceContext>): SurfaceContext {
  const whole: { readonly [Key in keyof Required<SurfaceContext>]: SurfaceContext[Key] | undefined } = {
    callerDID: more.callerDID ?? context.callerDID,
    authentication: more.authentication ?? context.authentication,
    caps: more.caps ?? context.caps,
    ucans: more.ucans ?? context.ucans,
    signal: more.signal ?? context.signal,
    resolveAsset: more.resolveAsset ?? context.resolveAsset,
    report: more.report ?? context.report,
    callCaps: more.callCaps ?? context.callCaps,
    within: more.within ?? context.within,
    tokenCaps: more.tokenCaps ?? context.tokenCaps,
    credential: more.credential ?? context.credential,
    identityTokens: more.identityTokens ?? context.identityTokens,
    narrowedTo: more.narrowedTo ?? context.narrowedTo,
    access: more.access ?? context.access,
    ambiguousCaller: more.ambiguousCaller ?? context.ambiguousCaller,
    entrance: more.entrance ?? context.entrance,
    cancellation: more.cancellation ?? context.cancellation,
    approval: more.approval ?? context.approval,
    allowedRoot: more.allowedRoot ?? context.allowedRoot,
    changeGroup: more.changeGroup ?? context.changeGroup,
    client: more.client ?? context.client,
    surface: more.surface ?? context.surface,
    session: more.session ?? context.session,
    jobId: more.jobId ?? context.jobId,
    isInternal: more.isInternal ?? context.isInternal,
    transfer: more.transfer ?? context.transfer,
    memory: more.memory ?? context.memory,
    budget: more.budget ?? context.budget,
    takesBytes: more.takesBytes ?? context.takesBytes,
    links: more.links ?? context.links,
    terms: more.terms ?? context.terms,
    exactPaths: more.exactPaths ?? context.exactPaths,
    pathRules: more.pathRules ?? context.pathRules,
    tool: more.tool ?? context.tool,
  };
  // Fields that are `undefined` count as absent everywhere.
  return whole as SurfaceContext;
}
