import type { FastifyReply, FastifyRequest } from "fastify";
import type { JsonObject } from "../../core/adapter.js";
import { recordJson, sendJson } from "./answer.js";
import type { HttpHost } from "./host.js";
import { badRequest, echo } from "./http-error.js";
import { parseJson } from "./json-body.js";

/** A checked request to run an operation. */
interface InvokeRequest {
  readonly operation: string;
  readonly input: JsonObject;
  /** As given by the caller, whatever it is: the adapter judges it, and refuses everything on nonsense. */
  readonly caps?: unknown;
  readonly wait: boolean;
  readonly private: boolean;
}

/**
 * `POST /api/v1/invoke`: runs an operation as a job. 201 with its record in every case where a job exists, finished or
 * not; the job goes on when the wait ends or the client hangs up.
 */
export async function invoke(host: HttpHost, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const call = parseInvoke(await parseJson(request.body, { json5: true }));
  const operation = host.operation(call.operation);
  if (operation === undefined) throw badRequest(`Cannot resolve operation: ${echo(call.operation)}`);
  const caller = request.getDecorator<string>("caller");
  const job = host.submit({
    operation: operation.name,
    input: call.input,
    caller,
    context: { callerDID: caller, ...("caps" in call ? { callCaps: call.caps } : {}) },
    private: call.private,
  });
  const wait = call.wait || asksToWait(request.query);
  const record = await job.settled(wait ? host.limits.maxWaitMs : host.limits.inlineWaitMs);
  return sendJson(reply.header("location", `/api/v1/jobs/${job.id}`), 201, recordJson(record, host));
}

function parseInvoke(body: unknown): InvokeRequest {
  const fields = isObject(body) ? body : {};
  const { operation, input, ucans, caps, wait, private: isPrivate } = fields;
  if (typeof operation !== "string") throw badRequest("Invoke request requires an 'operation' parameter as a String");
  if (input !== undefined && !isObject(input)) throw badRequest("'input' must be an object");
  refuseTokens(ucans);
  // Taking a misspelt wish for privacy as none would keep a record its owner believes forgotten.
  if (isPrivate !== undefined && typeof isPrivate !== "boolean") throw badRequest("'private' must be a boolean");
  return {
    operation,
    input: input ?? {},
    ...(Object.hasOwn(fields, "caps") ? { caps } : {}),
    wait: wait === true || wait === "true",
    private: isPrivate === true,
  };
}

function refuseTokens(ucans: unknown): void {
  if (ucans === undefined) return;
  if (!Array.isArray(ucans) || !ucans.every((token) => typeof token === "string")) {
    throw badRequest("'ucans' must be an array of strings");
  }
  if (ucans.length > 0) throw badRequest("not supported yet: 'ucans'");
}

function asksToWait(query: unknown): boolean {
  const { wait } = isObject(query) ? query : {};
  return wait === "true";
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
