// Endpoints for monitoring.

import type { FastifyReply } from "fastify";
import type { Caller } from "../../../core/call/caller.js";
import type { HttpHost, HttpMetrics } from "../host.js";
import { COMMON_HEADERS, sendJson } from "../plumbing/answer.js";
import type { Exchange } from "../plumbing/exchange.js";
import { authenticationRequired, endpointNotFound, HttpError } from "../plumbing/http-error.js";

/** `GET /healthz`: confirms that requests are answered; to everybody, since it says nothing else. */
export function health(_host: HttpHost, { reply }: Exchange): FastifyReply {
  return sendJson(reply, 200, '{"status":"ok"}');
}

/** `GET /metrics`: the venue's metrics in Prometheus format. @throws HttpError 401, 403 */
export async function metrics(host: HttpHost, { reply, caller }: Exchange): Promise<FastifyReply> {
  const { contentType, body } = await requireMetrics(host, caller, "/metrics").text();
  return reply.code(200).headers(COMMON_HEADERS).header("content-type", contentType).send(Buffer.from(body));
}

/** The metrics, if the caller may read them. */
function requireMetrics(host: HttpHost, caller: Caller, path: string): HttpMetrics {
  if (host.metrics === undefined) throw endpointNotFound("GET", path);
  if (host.metrics.readers === "public" || caller.isOperator) return host.metrics;
  throw caller.authentication === "public"
    ? authenticationRequired()
    : new HttpError(403, "Only the operator may read this");
}
