import type { FastifyReply } from "fastify";
import { parseJson } from "../admission/json-body.js";
import type { HttpHost, McpHandler } from "../host.js";
import { COMMON_HEADERS, headersOf, sendJson } from "../plumbing/answer.js";
import type { Exchange } from "../plumbing/exchange.js";
import { HttpError } from "../plumbing/http-error.js";
import { sendWebResponse, toWebRequest } from "../plumbing/web-bridge.js";

const PARSE_ERROR = -32700;
/** An answer's text is made as a whole, and once more as bytes: more than a byte of it elsewhere takes. */
const WEIGHT = 2;

/** `/mcp`: hands the request to the MCP endpoint, and cancels it when the client hangs up. */
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
  const { signal } = watchForHangUp(reply);
  const webRequest = toWebRequest(request.raw, { base: host.url(), body, signal });
  let response: Response;
  try {
    memory.weight = WEIGHT;
    response = await mcp(webRequest, { caller, memory, ...parsed });
  } catch (error) {
    // Nobody is left to be told, and being cancelled is no fault.
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

/** What JSON-RPC answers to a body that is no JSON. Of its id nothing is known. */
const parseError = (message: string): string =>
  JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: PARSE_ERROR, message } });

function watchForHangUp(reply: FastifyReply): AbortController {
  const hangUp = new AbortController();
  const onClose = () => {
    if (!reply.raw.writableFinished) hangUp.abort();
  };
  if (reply.raw.destroyed) onClose();
  else reply.raw.once("close", onClose);
  return hangUp;
}

function endedByClient(error: unknown): boolean {
  if (typeof error !== "object" || error === null) return false;
  const { name, code }: { name?: unknown; code?: unknown } = error;
  return name === "AbortError" || code === "ERR_STREAM_PREMATURE_CLOSE";
}
