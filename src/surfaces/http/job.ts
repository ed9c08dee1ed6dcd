import type { FastifyReply, FastifyRequest } from "fastify";
import { recordJson, sendJson } from "./answer.js";
import type { HttpHost } from "./host.js";
import { badRequest, echo, HttpError } from "./http-error.js";

/** Last segments that name something of a job or an asset rather than being part of its id. */
const SUFFIX = /\/(?:content|sse|cancel|pause|resume|delete)$/;

/** Whether what follows `/api/v1/jobs/` is an endpoint that exists. */
export function isJobTarget(target: string): boolean {
  return target !== "" && !SUFFIX.test(target);
}

/** `GET /api/v1/jobs/<id>`: the record, for its owner. */
export async function getJob(
  host: HttpHost,
  target: string,
  exchange: { request: FastifyRequest; reply: FastifyReply },
): Promise<FastifyReply> {
  const hex = /^(?:0x)?([0-9a-f]+)$/i.exec(target)?.[1]?.toLowerCase();
  if (hex === undefined) throw badRequest(`Invalid job ID: ${echo(target)}`);
  const lookup = host.job(hex, exchange.request.getDecorator<string>("caller"));
  if ("found" in lookup) return sendJson(exchange.reply, 200, recordJson(lookup.found, host));
  if (lookup.refused === "denied") throw new HttpError(403, `Access denied to job: ${echo(hex)}`);
  throw new HttpError(404, `Job not found: ${echo(hex)}`);
}
