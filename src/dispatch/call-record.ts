import type { AuditRecord } from "../audit/record.js";
import type { Authoriser } from "../authz/authorise.js";
import { printResource, type Scheme } from "../authz/grant.js";
import type { SurfaceContext } from "../core/adapter.js";

/** What is known of a call so far; the audit record is written from it. */
export interface Progress {
  /** Root and path, as far as they could be understood. */
  resource: readonly string[] | undefined;
  /** The other places of a call on several. */
  readonly others: (readonly string[])[];
  bytes: number;
  authoriser?: Authoriser;
}

/** A call that has ended. */
export interface CallEnd {
  readonly operation: string;
  readonly context: SurfaceContext;
  readonly progress: Progress;
  /** `OK` or an error code. */
  readonly outcome: string;
  readonly ms: number;
  /** Milliseconds since the epoch. */
  readonly time: number;
}

/** What the audit keeps of it. */
export function recordOf({ operation, context, progress, outcome, ms, time }: CallEnd, scheme: Scheme): AuditRecord {
  const { resource, others, bytes, authoriser } = progress;
  return {
    time,
    caller: context.callerDID === undefined ? "operator" : context.callerDID,
    operation,
    ...(context.tool === undefined ? {} : { tool: context.tool }),
    resource: resource === undefined ? "" : printResource(resource, scheme),
    ...(others.length === 0 ? {} : { others: others.map((other) => printResource(other, scheme)) }),
    outcome,
    bytes,
    ms: Math.round(ms * 1000) / 1000,
    ...(context.jobId === undefined ? {} : { job: context.jobId }),
    ...(authoriser?.chain === undefined ? {} : { chain: authoriser.chain }),
  };
}
