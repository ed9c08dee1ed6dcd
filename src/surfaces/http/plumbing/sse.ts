import type { ServerResponse } from "node:http";
import type { FastifyReply } from "fastify";
import { isTerminal, type JobRecord } from "../../../core/ports/job.js";
import { ownJob, parseJobId } from "../endpoints/jobs.js";
import type { HttpHost } from "../host.js";
import { COMMON_HEADERS, recordJson } from "./answer.js";
import type { Exchange } from "./exchange.js";

/** A second less than the longest silence that is allowed, because timers are late. */
const HEARTBEAT_MS = 14_000;

/** A proxy that gathers an answer before it passes it on would hold events back. */
const HEADERS = { ...COMMON_HEADERS, "content-type": "text/event-stream", "x-accel-buffering": "no" } as const;

/** `GET`, `HEAD /api/v1/jobs/<id>/sse`: {@link streamJob}, or whether there would be a stream. */
export function getEvents(host: HttpHost, exchange: Exchange): FastifyReply {
  const { request, reply, caller, target } = exchange;
  if (request.method !== "HEAD") return streamJob(host, exchange);
  const id = parseJobId(target);
  ownJob(host.jobs.find(id, caller), id);
  return reply.code(200).headers(HEADERS).send();
}

/**
 * `GET /api/v1/jobs/<id>/sse`: the state of a job now and whenever it changes, each the whole record, until it has ended
 * or the venue closes.
 *
 * @param options.heartbeatMs longest silence; a comment line breaks it
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
    // Nothing will follow, so it is an answer like any other.
    const body = Buffer.from(event(host, found));
    return reply.code(200).headers(HEADERS).send(body);
  }
  if (raw.destroyed) {
    stop();
    return reply.hijack();
  }
  raw.once("close", stop);
  reply.hijack();
  // A connection used again would stay open for a while when the venue closes.
  for (const [name, value] of Object.entries({ ...reply.getHeaders(), ...HEADERS, connection: "close" })) {
    if (value !== undefined) raw.setHeader(name, value);
  }
  raw.writeHead(200);
  const stream = new EventStream(raw, (record) => event(host, record), heartbeatMs);
  stream.update(found);
  return reply;
}

function event(host: HttpHost, record: JobRecord): string {
  return `event: job-update\ndata: ${recordJson(record, host)}\n\n`;
}

/** Events on their way to one client. Of those it is too slow for, only the latest is kept. */
class EventStream {
  readonly #raw: ServerResponse;
  readonly #format: (record: JobRecord) => string;
  #latest: JobRecord | undefined;

  constructor(raw: ServerResponse, format: (record: JobRecord) => string, heartbeatMs: number) {
    this.#raw = raw;
    this.#format = format;
    // One who reads nothing is sent nothing either; the server ends a connection on which nothing moves.
    const heartbeat = setInterval(() => {
      if (this.#takes) raw.write(":\n");
    }, heartbeatMs);
    raw.once("close", () => clearInterval(heartbeat));
    raw.on("drain", () => this.#flush());
  }

  /** @param record `undefined`: there will be no more */
  update(record: JobRecord | undefined): void {
    this.#latest = record;
    if (record !== undefined) this.#flush();
    else if (!this.#raw.destroyed) this.#raw.end();
  }

  /** Whether what is written goes out instead of piling up here. */
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
