// Server-sent events: the progress of a job.

import type { ServerResponse } from "node:http";
import type { FastifyReply } from "fastify";
import { isTerminal, type JobRecord } from "../../../core/ports/job.js";
import { ownJob, parseJobId } from "../endpoints/jobs.js";
import type { HttpHost } from "../host.js";
import { EVENT_HEADERS, recordJson } from "./answer.js";
import { beginStream } from "./connection.js";
import type { Exchange } from "./exchange.js";

/** Interval of comment lines; a second below the longest silence allowed, since timers may be late. */
const HEARTBEAT_MS = 14_000;

/** A stream ends within this time after its credential was revoked. */
const CREDENTIAL_MS = 800;

/** `GET`, `HEAD /api/v1/jobs/<id>/sse`: {@link streamJob}; for HEAD only whether there would be a stream. */
export function getEvents(host: HttpHost, exchange: Exchange): FastifyReply {
  const { request, reply, caller, target } = exchange;
  if (request.method !== "HEAD") return streamJob(host, exchange);
  const id = parseJobId(target);
  ownJob(host.jobs.find(id, caller), id);
  return reply.code(200).headers(EVENT_HEADERS).send();
}

/**
 * `GET /api/v1/jobs/<id>/sse`: sends the whole record of a job now and at every change, until the job has ended or the
 * venue closes.
 *
 * @param options.heartbeatMs interval of the comment lines that break silence, in milliseconds
 */
export function streamJob(
  host: HttpHost,
  { reply, caller, target }: Exchange,
  { heartbeatMs }: { readonly heartbeatMs: number } = { heartbeatMs: HEARTBEAT_MS },
): FastifyReply {
  const id = parseJobId(target);
  const { raw } = reply;
  const watch = host.jobs.watch(id, caller, (record) => stream.update(record));
  const { found, stop } = ownJob(watch, id);
  if (isTerminal(found.status)) {
    // The job has ended, so a single event is sent as an ordinary response.
    const body = Buffer.from(event(host, found));
    return reply.code(200).headers(EVENT_HEADERS).send(body);
  }
  if (raw.destroyed) {
    stop();
    return reply.hijack();
  }
  raw.once("close", stop);
  endWithCredential(raw, () => host.stillHolds(caller));
  beginStream(reply, EVENT_HEADERS);
  host.streams.open++;
  raw.once("close", () => host.streams.open--);
  const stream = new EventStream(raw, (record) => event(host, record), heartbeatMs);
  stream.update(found);
  return reply;
}

/** Ends a stream when the credential that opened it has ended. */
function endWithCredential(raw: ServerResponse, holds: () => boolean): void {
  const look = setInterval(() => {
    if (!holds()) raw.destroy();
  }, CREDENTIAL_MS);
  raw.once("close", () => clearInterval(look));
}

function event(host: HttpHost, record: JobRecord): string {
  return `event: job-update\ndata: ${recordJson(record, host)}\n\n`;
}

/** Events for one client. If it reads too slowly, intermediate events are dropped and only the latest is kept. */
class EventStream {
  readonly #raw: ServerResponse;
  readonly #format: (record: JobRecord) => string;
  #latest: JobRecord | undefined;

  constructor(raw: ServerResponse, format: (record: JobRecord) => string, heartbeatMs: number) {
    this.#raw = raw;
    this.#format = format;
    // No heartbeats to a client that does not read; the idle timeout closes its connection.
    const heartbeat = setInterval(() => {
      if (this.#takes) raw.write(":\n");
    }, heartbeatMs);
    raw.once("close", () => clearInterval(heartbeat));
    raw.on("drain", () => this.#flush());
  }

  /** @param record `undefined`: no more events will follow */
  update(record: JobRecord | undefined): void {
    this.#latest = record;
    if (record !== undefined) this.#flush();
    else if (!this.#raw.destroyed) this.#raw.end();
  }

  /** Whether writes go out instead of being buffered here. */
  get #takes(): boolean {
    return !this.#raw.destroyed && !this.#raw.writableEnded && !this.#raw.writableNeedDrain;
  }

  #flush(): void {
    const record = this.#latest;
    if (record === undefined || !this.#takes) return;
    this.#latest = undefined;
    const text = this.#format(record);
    if (isTerminal(record.status)) this.#raw.end(text);
    else this.#raw.write(text);
  }
}
