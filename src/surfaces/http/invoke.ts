import type { FastifyReply } from "fastify";
import type { JsonObject, SurfaceContext } from "../../core/adapter.js";
import { FileAdapterError } from "../../core/errors.js";
import { parseUcans } from "../../core/ucans.js";
import { recordJson, sendJson } from "./answer.js";
import type { Exchange } from "./exchange.js";
import type { HttpHost } from "./host.js";
import { badRequest, echo } from "./http-error.js";
import { parseJson } from "./json-body.js";

/** A checked request to run an operation. */
interface InvokeRequest {
  readonly operation: string;
  readonly input: JsonObject;
  /** As given by the caller, whatever it is: the adapter judges it, and refuses everything on nonsense. */
  readonly caps?: unknown;
  readonly ucans?: readonly string[];
  /** What is wrong with `ucans`: there is a job, which fails with it. */
  readonly fault?: FileAdapterError;
  readonly wait: boolean;
  readonly private: boolean;
}

/**
 * `POST /api/v1/invoke`: runs an operation as a job. 201 with its record in every case where a job exists, finished or
 * not; the job goes on when the wait ends or the client hangs up.
 */
export async function invoke(host: HttpHost, exchange: Exchange): Promise<FastifyReply> {
  const { request, reply, caller } = exchange;
  const call = parseInvoke(await parseJson(request.body, { json5: true }));
  const operation = host.operation(call.operation);
  if (operation === undefined) throw badRequest(`Cannot resolve operation: ${echo(call.operation)}`);
  const job = host.submit({
    operation: operation.name,
    ...(operation.asset === undefined ? {} : { asset: operation.asset }),
    input: call.input,
    caller: caller.did,
    context: contextOf(host, exchange, call),
    private: call.private,
    ...(call.fault === undefined ? {} : { fault: call.fault }),
  });
  const wait = call.wait || asksToWait(request.query);
  const ms = wait ? host.limits.maxWaitMs : host.limits.inlineWaitMs;
  const record = await job.settled(ms, call.private ? hangUpOf(reply) : undefined);
  return sendJson(reply.header("location", `/api/v1/jobs/${job.id}`), 201, recordJson(record, host));
}

function contextOf(host: HttpHost, { caller }: Exchange, call: InvokeRequest): SurfaceContext {
  return {
    callerDID: caller.did,
    authentication: caller.authentication,
    resolveAsset: host.assets.resolve,
    ...(caller.tokenCaps === undefined ? {} : { tokenCaps: caller.tokenCaps }),
    ...("caps" in call ? { callCaps: call.caps } : {}),
    ...(call.ucans === undefined ? {} : { ucans: call.ucans }),
  };
}

function parseInvoke(body: unknown): InvokeRequest {
  const fields = isObject(body) ? body : {};
  const { operation, input, wait, private: isPrivate } = fields;
  if (typeof operation !== "string") throw badRequest("Invoke request requires an 'operation' parameter as a String");
  // Clients without an input send null.
  if (input !== undefined && input !== null && !isObject(input)) throw badRequest("'input' must be an object");
  // Taking a misspelt wish for privacy as none would keep a record its owner believes forgotten.
  if (isPrivate !== undefined && typeof isPrivate !== "boolean") throw badRequest("'private' must be a boolean");
  return {
    operation,
    input: input ?? {},
    ...(Object.hasOwn(fields, "caps") ? { caps: fields["caps"] } : {}),
    ...(Object.hasOwn(fields, "ucans") ? tokensOf(fields["ucans"]) : {}),
    wait: wait === true || wait === "true",
    private: isPrivate === true,
  };
}

function tokensOf(value: unknown): Pick<InvokeRequest, "ucans" | "fault"> {
  try {
    const ucans = parseUcans(value);
    return ucans.length === 0 ? {} : { ucans };
  } catch (error) {
    if (error instanceof FileAdapterError) return { fault: error };
    throw error;
  }
}

/** Aborted when the client goes away before it has been answered. */
function hangUpOf({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  if (raw.destroyed) gone.abort();
  else raw.once("close", () => gone.abort());
  return gone.signal;
}

function asksToWait(query: unknown): boolean {
  const { wait } = isObject(query) ? query : {};
  return wait === "true";
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
