// Calls of operations. Reads are repeated when the venue comes back; changes never repeat by themselves.

import { ApiError, isOffline } from "./errors.js";
import { delay, request, whenOnline } from "./http.js";
import type { Inputs, OperationName, Outputs } from "./operations.js";

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

/** Runs an operation that changes nothing. */
export async function read<Name extends OperationName>(
  operation: Name,
  input: Inputs[Name],
  options: CallOptions = {},
): Promise<Outputs[Name]> {
  for (;;) {
    try {
      return await run(operation, input, { ...options, isPrivate: true });
    } catch (error) {
      if (!isOffline(error)) throw error;
      await whenOnline(options.signal);
    }
  }
}

/** Runs an operation that may change something, once. */
export const change = <Name extends OperationName>(
  operation: Name,
  input: Inputs[Name],
  options: CallOptions = {},
): Promise<Outputs[Name]> => run(operation, input, { ...options, isPrivate: false });

/** A private run has no record, and ends when its request does. */
async function run<Name extends OperationName>(
  operation: Name,
  input: Inputs[Name],
  { signal, isPrivate }: CallOptions & { readonly isPrivate: boolean },
): Promise<Outputs[Name]> {
  const body = JSON.stringify({ operation, input, ...(isPrivate ? { private: true } : {}) });
  const headers = { "content-type": "application/json" };
  try {
    const response = await request("/api/v1/run", { method: "POST", body, headers, signal });
    return (await response.json()) as Outputs[Name];
  } catch (error) {
    const job = error instanceof ApiError && error.status === 504 ? jobOf(error.message) : undefined;
    if (job === undefined) throw error;
    return (await finished(job, signal)) as Outputs[Name];
  }
}

const jobOf = (text: string): string | undefined => /\/api\/v1\/jobs\/[0-9a-f]+/.exec(text)?.[0];

interface JobRecord {
  readonly status: string;
  readonly output?: unknown;
  readonly error?: string;
  readonly errorCode?: string;
  readonly errorData?: Record<string, unknown>;
}

const POLL_MS = 1000;

/** Waits for the end of a job that took longer than a request may. */
async function finished(path: string, signal: AbortSignal | undefined): Promise<unknown> {
  for (;;) {
    const response = await request(path, { signal });
    const record = (await response.json()) as JobRecord;
    if (record.status === "COMPLETE") return record.output;
    if (record.status !== "PENDING" && record.status !== "STARTED") {
      throw new ApiError(record.errorCode ?? record.status, record.error ?? record.status, 0, record.errorData ?? {});
    }
    await delay(POLL_MS, signal);
  }
}
