// Builds job records: at the start of a job, and from its outcome.

import { errorCodeOf } from "../../core/errors/error-output.js";
import { FileAdapterError } from "../../core/errors/errors.js";
import { aborted, internalError } from "../../core/errors/texts.js";
import type { JobRecord, Submission } from "../../core/ports/job.js";
import { isObject } from "../../core/unknown.js";
import type { HostedOperation } from "../catalogue/catalogue.js";
import { estimateBytes } from "./record-size.js";

/** Bytes counted per record, besides its texts and values. */
const RECORD_BYTES = 512;

/** The outcome of a job, as in its record. */
export type Outcome = Pick<JobRecord, "status" | "output" | "error" | "errorCode" | "errorData">;

/** The record of a job that has just started. */
export function startRecord(options: {
  id: string;
  operation: HostedOperation;
  submission: Submission;
  nowMs: number;
}): JobRecord {
  const { id, operation, submission, nowMs } = options;
  return {
    id: `0x${id}`,
    op: submission.asset ?? operation.asset,
    name: operation.metadata.title,
    operation: operation.path,
    status: "STARTED",
    created: nowMs,
    updated: nowMs,
    caller: submission.caller,
    input: hide(submission.input, operation.metadata.hidden),
  };
}

/** A failure, whatever was thrown: a proxy may throw at every look at it. Those that no caller may see are logged. */
export function failureOf(
  error: unknown,
  id: string,
  logInternal: (error: unknown, id: string) => void,
): { readonly fault: FileAdapterError; readonly outcome: Outcome } {
  try {
    if (error instanceof FileAdapterError) return { fault: error, outcome: failure(error, id) };
  } catch {}
  logInternal(error, id);
  const fault = internalError(id);
  return { fault, outcome: failure(fault, id) };
}

function failure(fault: FileAdapterError, id: string): Outcome {
  if (fault.code === "ABORTED") return { status: "CANCELLED", error: `Job cancelled: ${id}`, errorCode: fault.code };
  const outcome: Outcome = { status: "FAILED", error: fault.message, errorCode: fault.code };
  return Object.keys(fault.data).length === 0 ? outcome : { ...outcome, errorData: fault.data };
}

/** The outcome of a job with output, which may itself report a failure. A cancelled job is CANCELLED in any case. */
export function outcomeOf(
  output: unknown,
  hidden: readonly string[] | undefined,
  { id, aborted: wasAborted }: { readonly id: string; readonly aborted: boolean },
): Outcome {
  const errorCode = errorCodeOf(output);
  if (errorCode === "ABORTED" && wasAborted) return failure(aborted(), id);
  const kept = hidden === undefined ? output : hide(output, hidden);
  return errorCode === undefined
    ? { status: "COMPLETE", output: kept }
    : { status: "COMPLETE", output: kept, errorCode };
}

/** The record of a job that has ended. @param record as of {@link startRecord} */
export function endRecord(record: JobRecord, outcome: Outcome, updated: number): JobRecord {
  const { id, op, name, operation, created, caller, input } = record;
  const { status, output, errorCode } = outcome;
  // Written out: objects made by spreads have no common shape, which makes all that reads them slow.
  if (status === "COMPLETE" && errorCode === undefined)
    return { id, op, name, operation, status, created, updated, caller, input, output };
  const common = { id, op, name, operation, status, created, updated, caller, input };
  return { ...common, ...outcome };
}

/** Estimates the bytes a finished record keeps in memory. */
export function recordBytes({ input, output, error = "", errorData }: JobRecord): number {
  return RECORD_BYTES + error.length + estimateBytes(input) + estimateBytes(output) + estimateBytes(errorData);
}

/** A shallow copy of an input or output without the hidden fields. */
function hide(input: unknown, hidden: readonly string[]): unknown {
  if (!isObject(input)) return input;
  const shown: Record<string, unknown> = { ...input };
  for (const field of hidden) {
    if (Object.hasOwn(shown, field)) shown[field] = "HIDDEN";
  }
  return shown;
}
