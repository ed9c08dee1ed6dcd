// Builds the audit record of a call. A command is recorded as a hash and its first 200 characters only.

import { createHash } from "node:crypto";
import { type AuditRecord, deniedBy } from "../../audit/record.js";
import type { Authoriser } from "../../authz/authorise.js";
import { printResource, type Scheme } from "../../authz/grant.js";
import type { FileAdapterError } from "../../core/errors/errors.js";
import type { SurfaceContext } from "../../core/ports/adapter.js";
import type { AnyOperation } from "../../core/ports/operation.js";
import type { SandboxExit } from "../../core/ports/sandbox.js";
import { viaOf } from "./changes.js";

const COMMAND_CHARS = 200;

/** Facts collected during a call for its audit record. */
export interface Progress {
  /** Root and path segments, as far as they could be parsed. */
  resource: readonly string[] | undefined;
  /** Resources of the other paths, where a call is on several. */
  readonly others: (readonly string[])[];
  bytes: number;
  exit?: SandboxExit;
  /** The person who approved the call, where the root asks for approval. */
  approvedBy?: string;
  authoriser?: Authoriser;
}

/** Notes a place of a call: its root, and once that is known, the resource. */
export function notePlace(progress: Progress, root: string): (resource: readonly string[]) => void {
  const isFirst = progress.resource === undefined;
  if (isFirst) progress.resource = [root];
  return (resource) => {
    if (isFirst) progress.resource = resource;
    else progress.others.push(resource);
  };
}

/** Notes the bytes of an output. @returns the output */
export function noteBytes(operation: AnyOperation, output: unknown, progress: Progress): unknown {
  progress.bytes = operation.bytes?.(output) ?? 0;
  return output;
}

/** Notes the exit of the command that an output tells of. @returns the output */
export function noteExit(operation: AnyOperation, output: unknown, progress: Progress): unknown {
  const exit = operation.exitOf?.(output);
  if (exit !== undefined) progress.exit = exit;
  return output;
}

export interface CallEnd {
  readonly operation: string;
  readonly context: SurfaceContext;
  readonly progress: Progress;
  /** `OK` or an error code. */
  readonly outcome: string;
  readonly failure?: FileAdapterError | undefined;
  readonly ms: number;
  /** Milliseconds since the epoch. */
  readonly time: number;
}

/** The audit record of a call that has ended. */
export function recordOf(end: CallEnd, scheme: Scheme): AuditRecord {
  const { operation, context, progress, outcome, failure, ms, time } = end;
  const { resource, others, bytes, exit, approvedBy, authoriser } = progress;
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
    ...(authoriser?.chain === undefined ? {} : { proofs: authoriser.chain }),
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
