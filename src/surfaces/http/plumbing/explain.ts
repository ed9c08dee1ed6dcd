// Turns any failure into an HTTP error.

import type { FastifyReply, FastifyRequest } from "fastify";
import { Overloaded } from "../../../core/errors/errors.js";
import { codeOf } from "../../../core/unknown.js";
import type { HttpHost } from "../host.js";
import { badRequest, HttpError, internal, tooManyRequests, unsupportedMediaType } from "./http-error.js";

/** The HttpError of any failure. Unexpected errors are logged, and the caller sees only the request id. */
export function explain(
  error: unknown,
  host: HttpHost,
  exchange: { request: FastifyRequest; reply: FastifyReply },
): HttpError {
  if (error instanceof HttpError) return error;
  if (error instanceof Overloaded) return tooManyRequests(error.retryAfterMs);
  const { request, reply } = exchange;
  if (codeOf(error) === "FST_ERR_CTP_INVALID_MEDIA_TYPE") return unsupportedMediaType();
  // The client aborted the request while sending; not worth a log line.
  if (request.raw.errored !== null || reply.raw.destroyed) return badRequest("Request incomplete");
  host.logInternal(error, request.id);
  return internal(request.id);
}
