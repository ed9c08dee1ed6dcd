// The `/mcp` endpoint: bridges Fastify requests to the web-standard MCP handler.

import type { FastifyReply } from "fastify";
import { fieldsOf } from "../../../core/unknown.js";
import { parseJson } from "../admission/json-body.js";
import type { HttpHost, McpHandler } from "../host.js";
import { COMMON_HEADERS, headersOf, sendJson } from "../plumbing/answer.js";
import { hangUpOf } from "../plumbing/connection.js";
import type { Exchange } from "../plumbing/exchange.js";
import { HttpError } from "../plumbing/http-error.js";
import { sendWebResponse, toWebRequest } from "../plumbing/web-bridge.js";

const PARSE_ERROR = -32700;
/** Copies counted for each byte of a response: its text is built as a whole, and encoded once more. */
const WEIGHT = 2;

/** `/mcp`: passes the request to the MCP endpoint, and aborts it when the client disconnects. */
export async function serveMcp(host: HttpHost, mcp: McpHandler, exchange: Exchange): Promise<FastifyReply> {
  const { request, reply, caller, memory } = exchange;
  const body = Buffer.isBuffer(request.body) ? request.body : undefined;
  let parsed: { readonly parsedBody?: unknown } = {};
  try {
    if (request.method === "POST") parsed = { parsedBody: await parseJson(body, { json5: false }) };
  } catch (error) {
    if (!(error instanceof HttpError)) throw error;
    return sendJson(reply, error.status, parseError(error.message));
  }
  const signal = hangUpOf(reply);
  const webRequest = toWebRequest(request.raw, { base: host.url(), body, signal });
  let response: Response;
  try {
    memory.weight = WEIGHT;
    response = await mcp(webRequest, { caller, memory, ...parsed });
  } catch (error) {
    // After a disconnect nobody is left to be told, and an aborted request is not a fault.
    if (signal.aborted) return reply.hijack();
    throw error;
  }
  reply.hijack();
  const headers = { ...headersOf(reply), ...COMMON_HEADERS };
  await sendWebResponse(response, reply.raw, headers).catch((error: unknown) => {
    if (!endedByClient(error)) host.logInternal(error, request.id);
  });
  return reply;
}

/** The JSON-RPC error for a body that is not JSON; the id is null because it is unknown. */
const parseError = (message: string): string =>
  JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: PARSE_ERROR, message } });

function endedByClient(error: unknown): boolean {
  const { name, code } = fieldsOf(error);
  return name === "AbortError" || code === "ERR_STREAM_PREMATURE_CLOSE";
}
