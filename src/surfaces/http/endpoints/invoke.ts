// Endpoints that run operations.

import type { FastifyReply } from "fastify";
import { attribute } from "../../../core/call/attribute.js";
import { httpStatusOf } from "../../../core/errors/errors.js";
import type { JsonObject } from "../../../core/ports/adapter.js";
import { isTerminal, type JobRecord, type RecordedJob } from "../../../core/ports/job.js";
import { fieldsOf, isObject } from "../../../core/unknown.js";
import { parseJson } from "../admission/read-body.js";
import type { HttpHost } from "../host.js";
import { type Endpoint, endpointsOf, json, jsonContent, location, queryParameter } from "../openapi/endpoint.js";
import { outputJson, recordText, sendError, sendJson } from "../plumbing/answer.js";
import { lacksScope } from "../plumbing/challenge.js";
import { hangUpOf } from "../plumbing/connection.js";
import { publicPath } from "../plumbing/entrance.js";
import type { Exchange } from "../plumbing/exchange.js";
import { badRequest, echo, HttpError } from "../plumbing/http-error.js";

const endpoint = endpointsOf("Jobs");
const WAIT = queryParameter("wait", "`true`: as `wait` in the body");

export const INVOKE_ENDPOINTS: readonly Endpoint[] = [
  endpoint("POST /api/v1/invoke", invoke, {
    operationId: "invoke",
    summary: "Run an operation as a job",
    description:
      "Answers 201 in every case in which there is a job, also for one that failed or that still runs. Other answers mean that nothing has happened: 403 also where the caller's token lacks nothing but a scope.",
    parameters: [WAIT],
    body: jsonContent("InvokeRequest"),
    answers: { 201: json("The job", "JobRecord", location("the job")) },
    errors: [413],
  }),
  endpoint("POST /api/v1/run", run, {
    operationId: "run",
    summary: "Run an operation and wait for its output",
    description:
      "Answers with the output alone. A failure of the operation is answered with the status of its code, and `errorCode` and `errorData` beside `error`.",
    body: jsonContent("InvokeRequest"),
    answers: { 200: json("The output", {}, location("the job")) },
    errors: [404, 413, 504],
  }),
];

/** A validated request to run an operation. */
interface InvokeRequest {
  readonly operation: string;
  readonly input: JsonObject;
  /** The caps list, unchecked: the adapter checks it, and denies everything if it is malformed. */
  readonly caps?: unknown;
  /** The UCANs, unchecked: the adapter checks them, so that a fault in them is a failure of the job. */
  readonly ucans?: unknown;
  readonly wait: boolean;
  readonly private: boolean;
}

/**
 * `POST /api/v1/invoke`: runs an operation as a job. Whenever a job exists the response is 201 with its record,
 * finished or not; the job continues when the wait ends or the client disconnects.
 */
async function invoke(host: HttpHost, exchange: Exchange): Promise<FastifyReply> {
  const { request, reply, memory } = exchange;
  const call = parseInvoke(parseJson(request.body, { json5: true }));
  const asksToWait = call.wait || fieldsOf(request.query)[WAIT.name] === "true";
  const { record } = await runCall(host, exchange, call, asksToWait ? host.limits.maxWaitMs : host.limits.inlineWaitMs);
  return sendJson(reply, 201, recordText(record, host, memory));
}

/**
 * Starts a job and waits for it; the response names it.
 * @throws HttpError for an unknown operation, or 403: clients of outside issuers know by the status that more scopes would
 * help; Overloaded
 */
async function runCall(
  host: HttpHost,
  exchange: Exchange,
  call: InvokeRequest,
  waitMs: number,
): Promise<{ readonly record: JobRecord; readonly location: string }> {
  const { request, reply } = exchange;
  const job = await submitCall(host, exchange, call);
  const record = await job.settled(waitMs, call.private ? hangUpOf(reply) : undefined);
  const { error = "", errorCode, errorData } = record;
  if (lacksScope(errorData)) throw new HttpError(403, error, {}, { errorCode, errorData });
  const location = publicPath(host, request.raw, `/api/v1/jobs/${job.id}`);
  reply.header("location", location);
  return { record, location };
}

/**
 * `POST /api/v1/run`: runs an operation and returns only its output, for clients that do not use jobs. A failure has a
 * status of its own; a job that outlasts the wait continues, and the response names it.
 */
async function run(host: HttpHost, exchange: Exchange): Promise<FastifyReply> {
  const { reply } = exchange;
  const call = parseInvoke(parseJson(exchange.request.body, { json5: true }));
  const { record, location } = await runCall(host, exchange, call, host.limits.maxWaitMs);
  if (record.status === "COMPLETE") return sendJson(reply, 200, outputJson(record, exchange.memory));
  if (!isTerminal(record.status)) throw new HttpError(504, `Still running: see ${location}`);
  const { error = "", errorCode, errorData } = record;
  const status = httpStatusOf(errorCode, errorData, call.operation);
  return sendError(reply, new HttpError(status, error, {}, { errorCode, errorData }));
}

async function submitCall(host: HttpHost, { caller, memory }: Exchange, call: InvokeRequest): Promise<RecordedJob> {
  const { assets } = host;
  if (call.ucans !== undefined) await host.fresh?.();
  let operation = host.operation(call.operation);
  if (operation === undefined) {
    // Another instance may have the asset that describes it.
    await assets.refresh(call.operation);
    operation = host.operation(call.operation);
  }
  if (operation === undefined) throw badRequest(`Cannot resolve operation: ${echo(call.operation)}`);
  const { did, context } = attribute(caller, call.ucans, host.nameCaller);
  const job = host.submit({
    operation: operation.name,
    asset: operation.asset,
    input: call.input,
    caller: did,
    context: {
      ...context,
      surface: "http",
      resolveAsset: assets.resolve,
      storeAsset: (content, about) => assets.store(content, about, caller),
      callCaps: call.caps,
      ucans: call.ucans,
      memory,
    },
    private: call.private,
  });
  // The job may outlive the request, so it holds the memory until it ends.
  const letGo = memory.share();
  job.result.then(letGo, letGo);
  return job;
}

/** @throws HttpError 400 */
function parseInvoke(body: unknown): InvokeRequest {
  const fields = isObject(body) ? body : {};
  const { operation, input, wait, private: isPrivate } = fields;
  if (typeof operation !== "string") throw badRequest("Invoke request requires an 'operation' parameter as a String");
  if (isGiven(input) && !isObject(input)) throw badRequest("'input' must be an object");
  // Ignoring an invalid value would keep a record that its owner believes forgotten.
  if (isGiven(isPrivate) && typeof isPrivate !== "boolean") throw badRequest("'private' must be a boolean");
  return {
    operation,
    input: isObject(input) ? input : {},
    caps: Object.hasOwn(fields, "caps") ? fields["caps"] : undefined,
    ucans: isGiven(fields["ucans"]) ? fields["ucans"] : undefined,
    wait: wait === true || wait === "true",
    private: isPrivate === true,
  };
}

/** Clients may send null for an absent field. */
const isGiven = (value: unknown): boolean => value !== undefined && value !== null;
