// Endpoints for jobs and their records.

import type { FastifyReply } from "fastify";
import type { JobRecord, JobRefusal } from "../../../core/ports/job.js";
import type { HttpHost } from "../host.js";
import { recordJson, recordText, sendJson } from "../plumbing/answer.js";
import type { Exchange } from "../plumbing/exchange.js";
import { badRequest, echo, HttpError } from "../plumbing/http-error.js";
import { parsePage } from "../plumbing/query.js";

/** `GET /api/v1/jobs`: ids of the caller's own jobs. */
export function listJobs(host: HttpHost, { request, reply, caller }: Exchange): FastifyReply {
  const { items, total, offset, limit } = host.jobs.list(parsePage(request.query), caller);
  return sendJson(reply, 200, JSON.stringify({ items, total, offset, limit }));
}

/** `GET /api/v1/jobs/<id>`: the record. `HEAD` does not count as delivery, so it does not forget a private job. */
export function getJob(host: HttpHost, exchange: Exchange): FastifyReply {
  const { request, caller, target } = exchange;
  const id = parseJobId(target);
  const { jobs } = host;
  const { found } = ownJob(request.method === "HEAD" ? jobs.find(id, caller) : jobs.get(id, caller), id);
  return sendRecord(host, exchange, found);
}

/** `PUT /api/v1/jobs/<id>/cancel`: cancels a job; the response is its record, which is terminal or soon will be. */
export async function cancelJob(host: HttpHost, exchange: Exchange): Promise<FastifyReply> {
  const id = parseJobId(exchange.target);
  const { found } = ownJob(await host.jobs.cancel(id, exchange.caller), id);
  return sendRecord(host, exchange, found);
}

/** `PUT /api/v1/jobs/<id>/pause` and `/resume`: refused, since no operation here can be paused. */
export const pauseJob = (host: HttpHost, exchange: Exchange): FastifyReply =>
  refuse(host, exchange, "Job cannot be paused or resumed");

/** `PUT /api/v1/jobs/<id>/delete`: aborts the job if it is running, and deletes its record. */
export function deleteJob(host: HttpHost, { reply, caller, target }: Exchange): FastifyReply {
  const id = parseJobId(target);
  ownJob(host.jobs.delete(id, caller), id);
  return sendJson(reply, 200, '{"deleted":true}');
}

/** `POST /api/v1/jobs/<id>`: refused, since no operation here takes messages. */
export const messageJob = (host: HttpHost, exchange: Exchange): FastifyReply =>
  refuse(host, exchange, "Job takes no messages");

/** Refuses what no job can do, to those who may see the job. @throws HttpError 409, or why they may not */
function refuse(host: HttpHost, { caller, target }: Exchange, text: string): never {
  const id = parseJobId(target);
  ownJob(host.jobs.find(id, caller), id);
  throw new HttpError(409, `${text}: ${echo(id)}`);
}

/** Parses a job id: hex in any case, with or without `0x`. @throws HttpError 400 */
export function parseJobId(target: string): string {
  const hex = /^(?:0x)?([0-9a-f]+)$/i.exec(target)?.[1]?.toLowerCase();
  if (hex === undefined) throw badRequest(`Invalid job ID: ${echo(target)}`);
  return hex;
}

/** Unwraps the result of a lookup. @throws HttpError 403, 404 */
export function ownJob<T extends { readonly found: JobRecord }>(lookup: T | JobRefusal, id: string): T {
  if ("found" in lookup) return lookup;
  if (lookup.refused === "denied") throw new HttpError(403, `Access denied to job: ${echo(id)}`);
  throw new HttpError(404, `Job not found: ${echo(id)}`);
}

function sendRecord(host: HttpHost, { request, reply, memory }: Exchange, record: JobRecord): FastifyReply {
  // For HEAD only the length of the text is needed.
  const isSent = request.method !== "HEAD";
  return sendJson(reply, 200, isSent ? recordText(record, host, memory) : recordJson(record, host));
}
