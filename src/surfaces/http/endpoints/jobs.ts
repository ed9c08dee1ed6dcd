// Endpoints for jobs: their records, and their progress as server-sent events.

import type { ServerResponse } from "node:http";
import type { FastifyReply } from "fastify";
import type { Page, Paged } from "../../../core/call/page.js";
import { escapeText } from "../../../core/errors/texts.js";
import { attempt } from "../../../core/io.js";
import { isTerminal, type JobRecord, type JobRefusal } from "../../../core/ports/job.js";
import { fieldsOf } from "../../../core/unknown.js";
import { parseJson, readBody } from "../admission/read-body.js";
import type { HttpHost } from "../host.js";
import { type Endpoint, EVENT_STREAM, endpointsOf, json, object, pathParameter } from "../openapi/endpoint.js";
import type { JobPage } from "../passing/port.js";
import { ENDLESS_HEADERS, EVENT_HEADERS, recordJson, recordText, sendJson } from "../plumbing/answer.js";
import { beginStream, countStream, endWithCredential } from "../plumbing/connection.js";
import type { Exchange } from "../plumbing/exchange.js";
import { badRequest, echo, HttpError } from "../plumbing/http-error.js";
import { PAGE_PARAMETERS, parsePage } from "../plumbing/query.js";

/** Interval of comment lines; a second below the longest silence allowed, since timers may be late. */
const HEARTBEAT_MS = 14_000;

const HEX = { type: "string", pattern: "^(0[xX])?[0-9a-fA-F]+$" };
const described = endpointsOf("Jobs", [pathParameter("id", "Hex digits, with or without `0x`", HEX)]);

/** An endpoint of one job, which another instance of the venue may have to answer. */
const endpoint: typeof described = (route, handle, said) =>
  described(route, (host, exchange) => wherever(host, exchange, handle), said);

function wherever(host: HttpHost, exchange: Exchange, handle: Endpoint["handle"]): ReturnType<Endpoint["handle"]> {
  const { peers } = host;
  if (peers === undefined) return handle(host, exchange);
  return peers.job(exchange, parseJobId(exchange.target), ({ body, ...instead }) =>
    handle({ ...host, ...instead }, { ...exchange, body }),
  );
}

export const JOB_ENDPOINTS: readonly Endpoint[] = [
  described("GET /api/v1/jobs", listJobs, {
    operationId: "listJobs",
    summary: "List the ids of one's own jobs, newest first",
    parameters: PAGE_PARAMETERS,
    answers: { 200: json("Ids", "JobList") },
  }),
  endpoint("GET /api/v1/jobs/{id}", getJob, {
    operationId: "getJob",
    summary: "Read the record of a job",
    answers: { 200: json("The job", "JobRecord") },
    errors: [404],
  }),
  endpoint("POST /api/v1/jobs/{id}", refusing("Job takes no messages"), {
    operationId: "messageJob",
    summary: "Send a message to a job that waits for one",
    description: "The file operations take none.",
    answers: { 202: json("Queued", "MessageQueued") },
    errors: [404, 409],
  }),
  endpoint("GET /api/v1/jobs/{id}/sse", getEvents, {
    operationId: "watchJob",
    summary: "Follow a job until it ends",
    description:
      "Events `job-update`, the data of each a whole record on one line. The first is the state now; after the last the stream ends.",
    answers: { 200: { description: "Events", content: EVENT_STREAM } },
    errors: [404],
  }),
  endpoint("PUT /api/v1/jobs/{id}/cancel", cancelJob, {
    operationId: "cancelJob",
    summary: "Stop a job before its next effect",
    description: "The body may say why, as `{ reason }`, which becomes the `error` of the job.",
    answers: { 200: json("The job as it ended", "JobRecord") },
    errors: [404],
  }),
  endpoint("PUT /api/v1/jobs/{id}/pause", refusing("Job cannot be paused or resumed"), {
    operationId: "pauseJob",
    summary: "Pause a job; the file operations cannot be paused",
    answers: { 200: json("The job", "JobRecord") },
    errors: [404, 409],
  }),
  endpoint("PUT /api/v1/jobs/{id}/resume", refusing("Job cannot be paused or resumed"), {
    operationId: "resumeJob",
    summary: "Go on with a paused job",
    answers: { 200: json("The job", "JobRecord") },
    errors: [404, 409],
  }),
  endpoint("PUT /api/v1/jobs/{id}/delete", deleteJob, {
    operationId: "deleteJob",
    summary: "Stop a job if it runs, and forget it",
    answers: { 200: json("It is gone", object({ deleted: { const: true } })) },
    errors: [404],
  }),
];

async function listJobs(host: HttpHost, exchange: Exchange): Promise<FastifyReply> {
  const { request, reply, caller } = exchange;
  const own = (page: Page): Paged<string> => host.jobs.list(page, caller);
  const page = parsePage(request.query);
  const list: JobPage = host.peers === undefined ? own(page) : await host.peers.jobs(exchange, page, own);
  const { items, total, offset, limit, incomplete } = list;
  return sendJson(reply, 200, JSON.stringify({ items, total, offset, limit, incomplete }));
}

/** `HEAD` does not count as delivery, so it does not forget a private job. */
function getJob(host: HttpHost, exchange: Exchange): FastifyReply {
  const { request, caller, target } = exchange;
  const id = parseJobId(target);
  const { jobs } = host;
  const { found } = ownJob(request.method === "HEAD" ? jobs.find(id, caller) : jobs.get(id, caller), id);
  return sendRecord(host, exchange, found);
}

/** The response is the record, which is terminal or soon will be. */
async function cancelJob(host: HttpHost, exchange: Exchange): Promise<FastifyReply> {
  const id = parseJobId(exchange.target);
  const { found } = ownJob(await host.jobs.cancel(id, exchange.caller, await reasonIn(exchange)), id);
  return sendRecord(host, exchange, found);
}

const MAX_REASON_BYTES = 8192;
const MAX_REASON_CHARS = 1000;

/** Most clients send no body; a job is cancelled whatever one sends. */
async function reasonIn({ request, memory, body: known }: Exchange): Promise<string | undefined> {
  const body = known ?? (await readBody(request, { limit: MAX_REASON_BYTES, lease: memory }).catch(() => undefined));
  const { reason } = fieldsOf(attempt(() => parseJson(body, { json5: false })));
  return typeof reason === "string" && reason !== "" ? escapeText(reason.slice(0, MAX_REASON_CHARS)) : undefined;
}

async function deleteJob(host: HttpHost, { reply, caller, target }: Exchange): Promise<FastifyReply> {
  const id = parseJobId(target);
  ownJob(await host.jobs.delete(id, caller), id);
  return sendJson(reply, 200, '{"deleted":true}');
}

/** Refuses what no operation here can do, to those who may see the job. The handler throws HttpError 409, or why they may not. */
function refusing(text: string): Endpoint["handle"] {
  return (host, { caller, target }) => {
    const id = parseJobId(target);
    ownJob(host.jobs.find(id, caller), id);
    throw new HttpError(409, `${text}: ${echo(id)}`);
  };
}

/** Parses a job id: hex in any case, with or without `0x`. @throws HttpError 400 */
function parseJobId(target: string): string {
  const hex = /^(?:0x)?([0-9a-f]+)$/i.exec(target)?.[1]?.toLowerCase();
  if (hex === undefined) throw badRequest(`Invalid job ID: ${echo(target)}`);
  return hex;
}

/** Unwraps the result of a lookup. @throws HttpError 403, 404 */
function ownJob<T extends { readonly found: JobRecord }>(lookup: T | JobRefusal, id: string): T {
  if ("found" in lookup) return lookup;
  if (lookup.refused === "denied") throw new HttpError(403, `Access denied to job: ${echo(id)}`);
  throw new HttpError(404, `Job not found: ${echo(id)}`);
}

function sendRecord(host: HttpHost, { request, reply, memory }: Exchange, record: JobRecord): FastifyReply {
  // For HEAD only the length of the text is needed.
  const isSent = request.method !== "HEAD";
  return sendJson(reply, 200, isSent ? recordText(record, host, memory) : recordJson(record, host));
}

/**
 * `GET /api/v1/jobs/<id>/sse`: sends the whole record of a job now and at every change, until the job has ended or the
 * venue closes. `HEAD` tells only whether there would be a stream.
 */
export function getEvents(host: HttpHost, { request, reply, caller, target }: Exchange): FastifyReply {
  const id = parseJobId(target);
  if (request.method === "HEAD") {
    ownJob(host.jobs.find(id, caller), id);
    return reply.code(200).headers(EVENT_HEADERS).send();
  }
  const { raw } = reply;
  const watch = host.jobs.watch(id, caller, (record) => update(record));
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
  beginStream(reply, ENDLESS_HEADERS);
  countStream(host, raw);
  const update = eventsTo(raw, (record) => event(host, record));
  update(found);
  return reply;
}

function event(host: HttpHost, record: JobRecord): string {
  return `event: job-update\ndata: ${recordJson(record, host)}\n\n`;
}

/**
 * Sends events to one client. If it reads too slowly, intermediate events are dropped and only the latest is kept.
 * @returns takes each record; `undefined`: no more events will follow
 */
function eventsTo(raw: ServerResponse, format: (record: JobRecord) => string): (record: JobRecord | undefined) => void {
  let latest: JobRecord | undefined;
  /** Whether writes go out instead of being buffered here. */
  const takes = (): boolean => !raw.destroyed && !raw.writableEnded && !raw.writableNeedDrain;
  const flush = (): void => {
    if (latest === undefined || !takes()) return;
    const text = format(latest);
    if (isTerminal(latest.status)) raw.end(text);
    else raw.write(text);
    latest = undefined;
  };
  // No heartbeats to a client that does not read; the idle timeout closes its connection.
  const heartbeat = setInterval(() => {
    if (takes()) raw.write(":\n");
  }, HEARTBEAT_MS);
  raw.once("close", () => clearInterval(heartbeat));
  raw.on("drain", flush);
  return (record) => {
    latest = record;
    if (record !== undefined) flush();
    else if (!raw.destroyed) raw.end();
  };
}
