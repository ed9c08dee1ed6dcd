import type { FastifyReply } from "fastify";
import { COMMON_HEADERS, headersOf } from "./answer.js";
import type { Exchange } from "./exchange.js";
import type { HttpHost, McpHandler } from "./host.js";
import { parseJson } from "./json-body.js";
import { sendWebResponse, toWebRequest } from "./web-bridge.js";

/** `/mcp`: hands the request to the MCP endpoint, and cancels it when the client hangs up. */
export async function serveMcp(host: HttpHost, mcp: McpHandler, exchange: Exchange): Promise<FastifyReply> {
  const { request, reply, caller } = exchange;
  const body = Buffer.isBuffer(request.body) ? request.body : undefined;
  const parsed = request.method === "POST" ? { parsedBody: await parseJson(body, { json5: false }) } : {};
  const { signal } = watchForHangUp(reply);
  const webRequest = toWebRequest(request.raw, { base: host.url(), body, signal });
  let response: Response;
  try {
    response = await mcp(webRequest, { caller, ...parsed });
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
