// Converts between Node's requests and responses and the web-standard ones.

import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

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
export function toWebRequest(
  raw: IncomingMessage,
  options: { base: string; body: Buffer | undefined; signal: AbortSignal },
): Request {
  const headers = new Headers();
  for (let i = 0; i + 1 < raw.rawHeaders.length; i += 2) {
    const name = raw.rawHeaders[i] ?? "";
    if (!HOP_BY_HOP.has(name.toLowerCase())) headers.append(name, raw.rawHeaders[i + 1] ?? "");
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
export async function sendWebResponse(
  response: Response,
  raw: ServerResponse,
  headers: OutgoingHttpHeaders,
): Promise<void> {
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
