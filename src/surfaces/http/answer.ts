import type { FastifyReply } from "fastify";
import type { JobRecord } from "../../core/job.js";
import { stringifyExact } from "../../schema/exact-json.js";
import type { HttpHost } from "./host.js";
import type { HttpError } from "./http-error.js";

/** Headers of every response, errors included. */
export const COMMON_HEADERS = { "x-content-type-options": "nosniff", "cache-control": "no-store" } as const;

/** What has been set on a reply so far, for answers that bypass it. */
export function headersOf(reply: FastifyReply): Record<string, string> {
  const set = Object.entries(reply.getHeaders()).filter(([, value]) => value !== undefined);
  return Object.fromEntries(set.map(([name, value]) => [name, String(value)]));
}

/** Answers with a JSON text. */
export function sendJson(reply: FastifyReply, status: number, json: string): FastifyReply {
  // Serialised already: otherwise Fastify would add a charset, which application/json does not have. As text it leaves
  // in one piece with the headers.
  return reply.code(status).headers(JSON_HEADERS).serializer(asItIs).send(json);
}

const JSON_HEADERS = { ...COMMON_HEADERS, "content-type": "application/json" } as const;

const asItIs = (payload: unknown): string => String(payload);

/** Answers with an error. */
export function sendError(reply: FastifyReply, error: HttpError): FastifyReply {
  return sendJson(reply.headers(error.headers), error.status, errorJson(error));
}

/** The body of an error. */
export function errorJson(error: HttpError): string {
  return JSON.stringify({ error: error.message, ...error.more });
}

/**
 * The JSON text of a record. An answer that cannot be written as JSON (too deep, or no JSON at all) becomes a failed
 * job: the job exists, so its reply must be a record.
 */
export function recordJson(record: JobRecord, host: HttpHost): string {
  try {
    return stringifyExact(record);
  } catch (error) {
    const requestId = host.requestId();
    host.logInternal(error, requestId);
    const { id, op, name, operation, created, updated, caller } = record;
    const failure = { status: "FAILED", error: `Internal error (${requestId})`, errorCode: "INTERNAL" };
    return JSON.stringify({ id, op, name, operation, created, updated, caller, ...failure });
  }
}

/** The JSON text of a finished job's output. @throws what makes it impossible to write */
export function outputJson(record: JobRecord): string {
  return stringifyExact(record.output ?? null);
}
