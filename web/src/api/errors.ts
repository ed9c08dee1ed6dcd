// Failures of calls, as the venue tells them.

import { texts } from "../texts.js";

export interface ErrorData {
  readonly [key: string]: unknown;
}

/** A failed call. `code` is an error code of the venue, `OFFLINE` without an answer, or `HTTP_<status>`. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  constructor(
    readonly code: string,
    message: string,
    readonly status: number = 0,
    readonly data: ErrorData = {},
    readonly requestId: string = "",
    /** Milliseconds to wait before the same call, for 429. */
    readonly retryAfterMs: number = 0,
  ) {
    super(message);
  }
}

export const isOffline = (error: unknown): boolean => error instanceof ApiError && error.code === "OFFLINE";
export const isAborted = (error: unknown): boolean => error instanceof DOMException && error.name === "AbortError";
export const codeOf = (error: unknown): string => (error instanceof ApiError ? error.code : "");

/** Any failure as an {@link ApiError}. */
export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError("PAGE", error instanceof Error ? error.message : String(error));
}

/** A failure for people: what went wrong, and what to do next, which may be empty. */
export function inWords(error: unknown): { readonly title: string; readonly next: string } {
  const { message, code, data } = asApiError(error);
  const denial = code === "CAPABILITY_DENIED" ? texts.denied(data) : "";
  return denial === ""
    ? { title: message, next: texts.nextSteps[code] ?? "" }
    : { title: texts.deniedTitle, next: denial };
}
