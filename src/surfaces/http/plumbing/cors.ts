// CORS headers and preflight responses.

import type { IncomingMessage } from "node:http";
import { mayCall } from "../admission/host-and-origin.js";

const METHODS = "GET,POST,PUT,DELETE,OPTIONS";
const HEADERS = "content-type, authorization, accept, mcp-session-id, mcp-protocol-version";
/** Additional request headers for files. */
const FILE_HEADERS = "range, if-match, if-none-match, if-range";
const FILES = "/api/v1/files/";
/** Response headers that scripts of another origin may read. */
const EXPOSED = "location, retry-after, etag, content-disposition, content-range, mcp-session-id, x-request-id";
/** How long browsers may cache a preflight response, in seconds. */
const MAX_AGE_S = "600";

type Headers = Readonly<Record<string, string>>;

/** Headers of every response to a page of another origin; only `Vary` unless that origin may call. */
export function corsHeaders(request: IncomingMessage, corsOrigins: readonly string[] | "*"): Headers | undefined {
  const { origin } = request.headers;
  if (corsOrigins !== "*" && corsOrigins.length === 0) return undefined;
  if (origin === undefined || !mayCall(origin, corsOrigins)) return { vary: "Origin" };
  return { "access-control-allow-origin": origin, vary: "Origin", "access-control-expose-headers": EXPOSED };
}

/** Whether a request is a CORS preflight. */
export const isPreflight = ({ method, headers }: IncomingMessage): boolean =>
  method === "OPTIONS" && headers.origin !== undefined && headers["access-control-request-method"] !== undefined;

/** Further headers of a preflight response. With origin `*`, access to a private network is never granted. */
export function preflightHeaders(request: IncomingMessage, corsOrigins: readonly string[] | "*"): Headers {
  const asksForPrivate = request.headers["access-control-request-private-network"] === "true";
  return {
    "access-control-allow-methods": METHODS,
    "access-control-allow-headers": request.url?.startsWith(FILES) === true ? `${HEADERS}, ${FILE_HEADERS}` : HEADERS,
    "access-control-max-age": MAX_AGE_S,
    ...(asksForPrivate && corsOrigins !== "*" ? { "access-control-allow-private-network": "true" } : {}),
  };
}
