// Builds the audit record of a call. A command is recorded as a hash and its first 200 characters only.

import { createHash } from "node:crypto";
import { type AuditRecord, deniedBy } from "../../audit/record.js";
import { printResource, type Scheme } from "../../authz/grant.js";
import type { FileAdapterError } from "../../core/errors/errors.js";
import type { SurfaceContext } from "../../core/ports/adapter.js";
import { type CallState, viaOf } from "./state.js";

const COMMAND_CHARS = 200;

/** What a record tells of a call itself. */
type RecordedCall = Pick<CallState, "context" | "resource"> &
  Partial<Pick<CallState, "others" | "bytes" | "exit" | "approvedBy" | "chain">>;

export interface CallEnd {
  readonly operation: string;
  /** `OK` or an error code. */
  readonly outcome: string;
  readonly failure?: FileAdapterError | undefined;
  readonly ms: number;
  /** Milliseconds since the epoch. */
  readonly time: number;
}

/** The audit record of a call that has ended. */
export function recordOf(call: RecordedCall, end: CallEnd, scheme: Scheme): AuditRecord {
  const { operation, outcome, failure, ms, time } = end;
  const { context, resource, others = [], bytes = 0, exit, approvedBy, chain } = call;
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
    via: viaOf(context),
    ...deniedBy(failure),
    ...(failure?.data["made"] === true ? { made: true as const } : {}),
    ...commandOf(context),
    ...(exit === undefined ? {} : { exitCode: exit.exitCode }),
    ...(approvedBy === undefined ? {} : { approvedBy }),
    ...(chain === undefined ? {} : { proofs: chain }),
  };
}

function commandOf({ transfer }: SurfaceContext): Pick<AuditRecord, "command"> {
  if (transfer === undefined || !("command" in transfer)) return {};
  const { argv, command = argv.join(" ") } = transfer.command.request;
  const sha256 = createHash("sha256").update(command).digest("hex");
  return { command: { sha256, start: firstCharacters(command) } };
}

/** Cuts at code points, so that no surrogate pair is split. */
const firstCharacters = (text: string): string =>
  [...text.slice(0, 2 * COMMAND_CHARS)].slice(0, COMMAND_CHARS).join("");
