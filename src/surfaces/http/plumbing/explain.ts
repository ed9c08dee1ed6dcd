import type { FastifyReply, FastifyRequest } from "fastify";
import { Overloaded } from "../../../core/errors/overload.js";
import type { HttpHost } from "../host.js";
import { badRequest, HttpError, internal, tooManyRequests, unsupportedMediaType } from "./http-error.js";

/** The answer to a request that failed. What nobody foresaw is logged, and the caller is given only its id. */
export function explain(
  error: unknown,
  host: HttpHost,
  exchange: { request: FastifyRequest; reply: FastifyReply },
): HttpError {
  if (error instanceof HttpError) return error;
  if (error instanceof Overloaded) return tooManyRequests(error.retryAfterMs);
  const { request, reply } = exchange;
  if (codeOf(error) === "FST_ERR_CTP_INVALID_MEDIA_TYPE") return unsupportedMediaType();
  // The client broke off while sending; what it sent is not worth a word in the log.
  if (request.raw.errored !== null || reply.raw.destroyed) return badRequest("Request incomplete");
  host.logInternal(error, request.id);
  return internal(request.id);
}

function codeOf(error: unknown): string | undefined {
  const { code }: { code?: unknown } = typeof error === "object" && error !== null ? error : {};
  return typeof code === "string" ? code : undefined;
}
