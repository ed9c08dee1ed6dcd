// The context of the call that a job makes.

import type { SurfaceContext } from "../../core/ports/adapter.js";
import type { JobRun } from "./running.js";

/**
 * A submission's context with the id and the cancellation of its job.
 *
 * Each field is written out, absent ones as `undefined`: the contexts of all calls have one shape then, which all that
 * reads them is compiled for, and a copy by a spread takes microseconds.
 */
export function contextOfJob(context: SurfaceContext, run: JobRun): SurfaceContext {
  const whole: { readonly [Key in keyof Required<SurfaceContext>]: SurfaceContext[Key] | undefined } = {
    callerDID: context.callerDID,
    authentication: context.authentication,
    caps: context.caps,
    ucans: context.ucans,
    signal: context.signal,
    resolveAsset: context.resolveAsset,
    report: context.report,
    callCaps: context.callCaps,
    within: context.within,
    tokenCaps: context.tokenCaps,
    credential: context.credential,
    identityTokens: context.identityTokens,
    access: context.access,
    ambiguousCaller: context.ambiguousCaller,
    cancellation: context.cancellation ?? run,
    approval: context.approval,
    allowedRoot: context.allowedRoot,
    changeGroup: context.changeGroup,
    client: context.client,
    surface: context.surface,
    session: context.session,
    jobId: context.jobId ?? run.id,
    isInternal: context.isInternal,
    transfer: context.transfer,
    memory: context.memory,
    budget: context.budget,
    takesBytes: context.takesBytes,
    links: context.links,
    terms: context.terms,
    pathRules: context.pathRules,
    tool: context.tool,
  };
  // Fields that are `undefined` count as absent everywhere.
  return whole as SurfaceContext;
}
