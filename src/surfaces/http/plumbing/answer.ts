import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import type { MemoryLease } from "../../../core/memory.js";
import type { JobRecord } from "../../../core/ports/job.js";
import { stringifyExact } from "../../../schema/exact-json.js";
import { jsonPieces } from "../../streams/json-pieces.js";
import type { HttpHost } from "../host.js";
import type { HttpError } from "./http-error.js";

/** Headers of every response, errors included. */
export const COMMON_HEADERS = { "x-content-type-options": "nosniff", "cache-control": "no-store" } as const;

/** What has been set on a reply so far, for answers that bypass it. */
export function headersOf(reply: FastifyReply): Record<string, string> {
  const set = Object.entries(reply.getHeaders()).filter(([, value]) => value !== undefined);
  return Object.fromEntries(set.map(([name, value]) => [name, String(value)]));
}

/** A JSON text, or the pieces of a large one. */
export type JsonText = string | Generator<string>;

/** Answers with a JSON text. */
export function sendJson(reply: FastifyReply, status: number, json: JsonText): FastifyReply {
  if (typeof json !== "string") {
    // One piece at a time, as the client takes them.
    return reply
      .code(status)
      .headers(JSON_HEADERS)
      .send(Readable.from(json, { highWaterMark: 1 }));
  }
  // Serialised already: otherwise Fastify would add a charset, which application/json does not have. As text it leaves
  // in one piece with the headers.
  return reply.code(status).headers(JSON_HEADERS).serializer(asItIs).send(json);
}

/** Bytes held for an answer, or characters of a text, from which it is written in pieces. */
const LARGE_BYTES = 1_048_576;
/** Outputs with a text have few fields. */
const FEW_FIELDS = 64;
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
  return written(record, host, stringifyExact);
}

/** The same for an answer, in pieces where it is large. @param memory of the answer */
export function recordText(record: JobRecord, host: HttpHost, memory: MemoryLease): JsonText {
  return written(record, host, (value) => textOf(value, memory));
}

function written<T>(record: JobRecord, host: HttpHost, write: (record: object) => T): T {
  try {
    return write(record);
  } catch (error) {
    const requestId = host.requestId();
    host.logInternal(error, requestId);
    const { id, op, name, operation, created, updated, caller } = record;
    const failure = { status: "FAILED", error: `Internal error (${requestId})`, errorCode: "INTERNAL" };
    return write({ id, op, name, operation, created, updated, caller, ...failure });
  }
}

/** The JSON text of a finished job's output. @throws what makes it impossible to write */
export function outputJson(record: JobRecord, memory: MemoryLease): JsonText {
  return textOf(record.output ?? null, memory);
}

/** Of a large answer the text is not made as a whole. */
const textOf = (value: unknown, memory: MemoryLease): JsonText =>
  memory.answers >= LARGE_BYTES || holdsLongText(value) ? jsonPieces(value) : stringifyExact(value);

/** Whether an output, or that of a record, is a long text or has one: that of a job of which the record is asked for. */
function holdsLongText(value: unknown): boolean {
  const output: unknown = typeof value === "object" && value !== null && "output" in value ? value.output : value;
  const parts: unknown[] = typeof output === "object" && output !== null ? Object.values(output) : [output];
  return parts.length < FEW_FIELDS && parts.some((part) => typeof part === "string" && part.length >= LARGE_BYTES);
}
