// Turns any failure into an HTTP error.

import type { IncomingMessage, ServerResponse } from "node:http";
import { Overloaded } from "../../../core/errors/errors.js";
import { codeOf } from "../../../core/unknown.js";
import type { HttpHost } from "../host.js";
import { badRequest, HttpError, internal, tooManyRequests, unsupportedMediaType } from "./http-error.js";

/** A request that failed. */
interface Failed {
  readonly id: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** The HttpError of any failure. Unexpected errors are logged, and the caller sees only the request id. */
export function explain(error: unknown, host: HttpHost, { id, request, response }: Failed): HttpError {
  if (error instanceof HttpError) return error;
  if (error instanceof Overloaded) return tooManyRequests(error.retryAfterMs);
  if (codeOf(error) === "FST_ERR_CTP_INVALID_MEDIA_TYPE") return unsupportedMediaType();
  // The client aborted the request while sending; not worth a log line.
  if (request.errored !== null || response.destroyed) return badRequest("Request incomplete");
  host.logInternal(error, id);
  return internal(id);
}
