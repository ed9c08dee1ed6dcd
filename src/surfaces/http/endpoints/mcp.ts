// The `/mcp` endpoint: bridges Fastify requests to the web-standard MCP handler.

import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { FastifyReply } from "fastify";
import { isPending } from "../../../core/io.js";
import { fieldsOf } from "../../../core/unknown.js";
import { parseJson } from "../admission/read-body.js";
import type { HttpHost, McpHandler } from "../host.js";
import { COMMON_HEADERS, headersOf, JSON_HEADERS, sendJson } from "../plumbing/answer.js";
import { abortOnClose, hangUpOf } from "../plumbing/connection.js";
import { MCP_HEADERS } from "../plumbing/cors.js";
import type { Exchange } from "../plumbing/exchange.js";
import { HttpError } from "../plumbing/http-error.js";

const PARSE_ERROR = -32700;
/** Copies counted for each byte of a response: its text is built as a whole, and encoded once more. */
const WEIGHT = 2;

/** `/mcp`: passes the request to the MCP endpoint, and aborts it when the client disconnects. */
export async function serveMcp(host: HttpHost, mcp: McpHandler, exchange: Exchange): Promise<FastifyReply> {
  const { request, reply, caller, memory } = exchange;
  memory.weight = WEIGHT;
  const body = Buffer.isBuffer(request.body) ? request.body : undefined;
  let parsed: { readonly parsedBody?: unknown } = {};
  try {
    if (request.method === "POST") {
      const parsing = parseJson(body, { json5: false });
      parsed = { parsedBody: isPending(parsing) ? await parsing : parsing };
    }
  } catch (error) {
    if (!(error instanceof HttpError)) throw error;
    return sendJson(reply, error.status, parseError(error.message));
  }
  const context = { caller, memory, ...parsed };
  const called = mcp.call?.(request.raw.headers, context, () => abortOnClose(reply.raw));
  if (called !== undefined) return sendMessage(host, exchange, called);
  const signal = hangUpOf(reply);
  const webRequest = toWebRequest(request.raw, { base: host.url(), body, signal });
  let response: Response;
  try {
    response = await mcp.serve(webRequest, context);
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

/** How long the head of an answer waits for the rest of it, in milliseconds. Clients and proxies wait longer for a head. */
const HEAD_MS = 500;

/** Sends a message as JSON, its head in time. */
async function sendMessage(
  host: HttpHost,
  { request, reply }: Exchange,
  message: Promise<object>,
): Promise<FastifyReply> {
  const { raw } = reply;
  const begin = (): void => {
    reply.hijack();
    if (raw.destroyed) return;
    raw.writeHead(200, { ...headersOf(reply), ...JSON_HEADERS });
    raw.flushHeaders();
  };
  const timer = setTimeout(begin, HEAD_MS);
  let text: string;
  try {
    text = JSON.stringify(await message);
  } catch (error) {
    if (!reply.sent) throw error;
    // The head has promised an answer: a connection that breaks off tells that there is none.
    host.logInternal(error, request.id);
    raw.destroy();
    return reply;
  } finally {
    clearTimeout(timer);
  }
  if (!reply.sent) return sendJson(reply, 200, text);
  if (!raw.destroyed) raw.end(text);
  return reply;
}

function endedByClient(error: unknown): boolean {
  const { name, code } = fieldsOf(error);
  return name === "AbortError" || code === "ERR_STREAM_PREMATURE_CLOSE";
}

// Converts between Node's requests and responses and the web-standard ones.

/** Whether the endpoint reads a header of requests: those that pages may send, and arguments that a schema has repeated in headers. */
const isRead = (name: string): boolean => MCP_HEADERS.includes(name) || name.startsWith("mcp-param-");

/** Headers of the connection (hop-by-hop) or the framing; they are not passed on. */
const HOP_BY_HOP = new Set([
  "connection",
  "content-length",
  "expect",
  "http2-settings",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/**
 * Converts a Node request to a web-standard one.
 *
 * @param options.base URL that the target is relative to
 * @param options.body the body, already read
 * @param options.signal aborted when the client disconnects
 */
function toWebRequest(
  raw: IncomingMessage,
  options: { base: string; body: Buffer | undefined; signal: AbortSignal },
): Request {
  const headers = new Headers();
  for (let i = 0; i + 1 < raw.rawHeaders.length; i += 2) {
    const name = raw.rawHeaders[i] ?? "";
    if (isRead(name.toLowerCase())) headers.append(name, raw.rawHeaders[i + 1] ?? "");
  }
  const { base, body, signal } = options;
  // HEAD is handled as GET; the body of the response is not sent.
  const method = raw.method === undefined || raw.method === "HEAD" ? "GET" : raw.method;
  return new Request(new URL(raw.url ?? "/", base), {
    method,
    headers,
    signal,
    ...(body === undefined || method === "GET" ? {} : { body: new Uint8Array(body) }),
  });
}

/**
 * Streams a web-standard response. A client that disconnects cancels its body.
 *
 * @param headers override those of the response
 */
async function sendWebResponse(response: Response, raw: ServerResponse, headers: OutgoingHttpHeaders): Promise<void> {
  const { body } = response;
  if (raw.destroyed) {
    await body?.cancel();
    return;
  }
  raw.writeHead(response.status, { ...nodeHeaders(response.headers), ...headers });
  if (body === null || raw.req.method === "HEAD") {
    raw.end();
    await body?.cancel();
    return;
  }
  // An event stream may be silent for long, and its client waits for the headers.
  raw.flushHeaders();
  await pipeline(Readable.fromWeb(body), raw);
}

function nodeHeaders(headers: Headers): OutgoingHttpHeaders {
  const plain: OutgoingHttpHeaders = {};
  for (const [name, value] of headers) {
    if (!HOP_BY_HOP.has(name) && name !== "set-cookie") plain[name] = value;
  }
  const cookies = headers.getSetCookie();
  if (cookies.length > 0) plain["set-cookie"] = cookies;
  return plain;
}
