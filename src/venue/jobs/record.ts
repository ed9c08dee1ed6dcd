// Job records: at the start of a job, from its outcome; their ids and sizes.

import { randomBytes } from "node:crypto";
import { errorCodeOf, FileAdapterError } from "../../core/errors/errors.js";
import { aborted, internalError } from "../../core/errors/texts.js";
import type { JobRecord, Submission } from "../../core/ports/job.js";
import { isObject } from "../../core/unknown.js";
import type { HostedOperation } from "../catalogue/catalogue.js";

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

/** A failure, whatever was thrown: a proxy may throw at every look at it. Failures that no caller may see are logged. */
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

/** Estimates the bytes a finished record keeps in memory. @param inputBytes those of its input, if they are known */
export function recordBytes({ input, output, error = "", errorData }: JobRecord, inputBytes?: number): number {
  const known = inputBytes ?? estimateBytes(input);
  return RECORD_BYTES + error.length + known + estimateBytes(output) + estimateBytes(errorData);
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

const CONTAINER_BYTES = 24;
const PLACE_BYTES = 8;
/** Bytes counted per string, besides its characters: short ones are mostly this. */
const STRING_BYTES = 16;
const SCALAR_BYTES = 8;
/** Maximum values visited; also ends the walk of a cyclic value. */
const MAX_VALUES = 5_000_000;

/**
 * Estimates the bytes a value keeps alive; a character counts as one byte, and each key as a string of its own. Text is
 * not encoded, so long texts cost no more time than short ones. Iterative, so deep values cannot overflow the stack.
 *
 * @returns bytes; `Infinity` for more than five million values
 */
export function estimateBytes(value: unknown): number {
  if (typeof value === "string") return STRING_BYTES + value.length;
  if (typeof value !== "object" || value === null) return SCALAR_BYTES;
  if (ArrayBuffer.isView(value)) return CONTAINER_BYTES + value.byteLength;
  const containers: object[] = [];
  let bytes = 0;
  let values = 0;
  const count = (part: unknown) => {
    values += 1;
    bytes += PLACE_BYTES;
    if (typeof part === "string") bytes += STRING_BYTES + part.length;
    else if (typeof part !== "object" || part === null) bytes += SCALAR_BYTES;
    else if (ArrayBuffer.isView(part)) bytes += CONTAINER_BYTES + part.byteLength;
    else containers.push(part);
  };
  containers.push(value);
  for (let container = containers.pop(); container !== undefined; container = containers.pop()) {
    bytes += CONTAINER_BYTES;
    if (Array.isArray(container)) {
      for (const part of container) count(part);
    } else {
      for (const key of Object.keys(container)) {
        bytes += STRING_BYTES + key.length;
        count(Reflect.get(container, key));
      }
    }
    if (values > MAX_VALUES) return Number.POSITIVE_INFINITY;
  }
  return bytes;
}

const RANDOM_BYTES = 8;
/** Ids per call to the random generator: one call costs more than the rest of a short job. */
const BATCH = 512;

/**
 * Creates a generator of job ids: 6 bytes of time, 2 of a counter, 8 cryptographically random, as 32 hex digits. Ids
 * sort in order of creation (up to 65,536 per millisecond) and cannot be guessed from one another.
 *
 * @param instance number that stands in place of the counter; then ids of one millisecond have no order
 * @returns a function from the time (milliseconds since the epoch) to the next id
 */
export function createJobIds(instance?: () => number): (nowMs: number) => string {
  let random = Buffer.alloc(0);
  let offset = 0;
  let lastMs = -1;
  let time = "";
  let counter = 0;
  return (nowMs) => {
    if (nowMs === lastMs) {
      counter = (counter + 1) % 0x10000;
    } else {
      lastMs = nowMs;
      time = Math.trunc(nowMs).toString(16).padStart(12, "0").slice(-12);
      counter = 0;
    }
    if (offset === random.length) {
      random = randomBytes(BATCH * RANDOM_BYTES);
      offset = 0;
    }
    const count = (instance?.() ?? counter).toString(16).padStart(4, "0");
    const tail = random.toString("hex", offset, offset + RANDOM_BYTES);
    offset += RANDOM_BYTES;
    return time + count + tail;
  };
}
