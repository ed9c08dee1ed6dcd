// Sends JSON responses, large ones in pieces.

import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import type { MemoryLease } from "../../../core/memory.js";
import type { JobRecord } from "../../../core/ports/job.js";
import { stringifyExact } from "../../../schema/exact-json.js";
import { jsonPieces } from "../../streams/json-pieces.js";
import { OWN_PAGES } from "../admission/host-and-origin.js";
import type { HttpHost } from "../host.js";
import type { HttpError } from "./http-error.js";

/** Headers of all responses, including errors. `Cross-Origin-Resource-Policy` depends on the request: `originHeaders`. */
export const COMMON_HEADERS = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
} as const;

/** Headers of a stream of events. `x-accel-buffering`: a buffering proxy would hold events back. */
export const EVENT_HEADERS = {
  ...COMMON_HEADERS,
  "content-type": "text/event-stream",
  "x-accel-buffering": "no",
} as const;

/** Headers of a stream that goes on until one side ends it: a reusable connection would delay the closing of the venue. */
export const ENDLESS_HEADERS = { ...EVENT_HEADERS, connection: "close" } as const;

/** A JSON text; a large one as a generator of pieces. */
export type JsonText = string | Generator<string>;

/** Sends a JSON response. */
export function sendJson(reply: FastifyReply, status: number, json: JsonText): FastifyReply {
  if (typeof json !== "string") {
    // Streamed, so that pieces are generated only as the client reads them.
    return reply
      .code(status)
      .headers(JSON_HEADERS)
      .send(Readable.from(json, { highWaterMark: 1 }));
  }
  // A serializer keeps Fastify from adding a charset, which application/json does not have. A string (unlike a Buffer)
  // is sent in one write with the headers.
  return reply.code(status).headers(JSON_HEADERS).serializer(passThrough).send(json);
}

/** Response bytes held, or characters of a text, from which it is written in pieces. */
const LARGE_BYTES = 1_048_576;
/** Only objects with fewer fields than this are searched for long texts; outputs with a text have few. */
const FEW_FIELDS = 64;
export const JSON_HEADERS = { ...COMMON_HEADERS, "content-type": "application/json" } as const;

const passThrough = (payload: unknown): string => String(payload);

/** Sends an error response. @param challenge replaces its `WWW-Authenticate` */
export function sendError(reply: FastifyReply, error: HttpError, challenge?: string): FastifyReply {
  reply.headers(error.headers);
  if (challenge !== undefined) reply.header("www-authenticate", challenge);
  return sendJson(reply, error.status, errorJson(error));
}

/** The JSON body of an error response. */
export function errorJson(error: HttpError): string {
  return JSON.stringify({ error: error.message, ...error.more });
}

/**
 * The JSON text of a record. If it cannot be serialized (nested too deeply, or not JSON), the record becomes that of a
 * failed job: the job exists, so the response must be a record.
 */
export function recordJson(record: JobRecord, host: HttpHost): string {
  return writeRecord(record, host, stringifyExact);
}

/** Like {@link recordJson}, in pieces if large. @param memory lease of the response */
export function recordText(record: JobRecord, host: HttpHost, memory: MemoryLease): JsonText {
  return writeRecord(record, host, (value) => textOf(value, memory));
}

function writeRecord<T>(record: JobRecord, host: HttpHost, write: (record: object) => T): T {
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

/** The JSON text of a finished job's output. @throws the error of serialization */
export function outputJson(record: JobRecord, memory: MemoryLease): JsonText {
  return textOf(record.output ?? null, memory);
}

/** In pieces if large, so that the whole text never exists in memory. */
const textOf = (value: unknown, memory: MemoryLease): JsonText =>
  memory.answers >= LARGE_BYTES || holdsLongText(value) ? jsonPieces(value) : stringifyExact(value);

/** Whether a value, or the `output` of a record, is a long text or has one as a field. */
function holdsLongText(value: unknown): boolean {
  const output: unknown = typeof value === "object" && value !== null && "output" in value ? value.output : value;
  const parts: unknown[] = typeof output === "object" && output !== null ? Object.values(output) : [output];
  return parts.length < FEW_FIELDS && parts.some((part) => typeof part === "string" && part.length >= LARGE_BYTES);
}

/** Headers of a response that closes the connection. */
export function finalHeaders(body: string): Record<string, string> {
  const length = `${Buffer.byteLength(body)}`;
  const framing = { "content-type": "application/json", "content-length": length, connection: "close" };
  return { ...COMMON_HEADERS, ...OWN_PAGES, ...framing };
}

/** Writes an error response to a raw socket, and closes it. */
export function answerSocket(socket: Socket, error: HttpError): void {
  const body = errorJson(error);
  const headers = Object.entries({ ...finalHeaders(body), ...error.headers });
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`);
  const { status } = error;
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}\r\n${body}`, () => socket.destroy());
}
