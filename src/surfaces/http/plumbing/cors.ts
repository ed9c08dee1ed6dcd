// CORS headers and preflight responses.

import type { IncomingMessage } from "node:http";
import { mayCall } from "../admission/host-and-origin.js";

const METHODS = "GET,POST,PUT,PATCH,DELETE,OPTIONS";
const HEADERS = "content-type, authorization, accept, last-event-id, mcp-session-id, mcp-protocol-version";
/** Additional request headers for files. */
const FILE_HEADERS =
  "range, if-match, if-none-match, if-range, idempotency-key, upload-length, upload-offset, venue-approval";
const FILES = "/api/v1/files/";
/** Request headers of `/mcp`, which reads no others. */
export const MCP_HEADERS: readonly string[] = [
  ...["content-type", "authorization", "accept", "last-event-id"],
  ...["mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name"],
];
const MCP = /^\/mcp\/?(?:\?|$)/;
/** Response headers that scripts of another origin may read. */
const EXPOSED =
  "location, retry-after, etag, content-disposition, content-range, upload-offset, mcp-session-id, x-request-id";
/** How long browsers may cache a preflight response, in seconds. */
const MAX_AGE_S = "600";

type Headers = Readonly<Record<string, string>>;

/** Methods and headers of an area of URLs that pages of allowed origins may use; the lists are joined by commas. */
export interface CorsArea {
  readonly methods: string;
  /** Request headers. */
  readonly headers: string;
  /** Response headers beside the common ones. */
  readonly exposed: string;
}

/** Only the venue's own pages may embed the response. */
export const OWN_PAGES = { "cross-origin-resource-policy": "same-origin" } as const;

/**
 * Headers of every response that say which pages may read or embed it: its own, and those of allowed origins.
 *
 * @param area absent: the HTTP API
 */
export function originHeaders(
  request: IncomingMessage,
  corsOrigins: readonly string[] | "*",
  area?: CorsArea,
): Headers {
  const { origin } = request.headers;
  if (corsOrigins !== "*" && corsOrigins.length === 0) return OWN_PAGES;
  if (origin === undefined || !mayCall(origin, corsOrigins)) return { ...OWN_PAGES, vary: "Origin" };
  return {
    "cross-origin-resource-policy": "cross-origin",
    "access-control-allow-origin": origin,
    "access-control-expose-headers": area === undefined ? EXPOSED : `${EXPOSED}, ${area.exposed}`,
    vary: "Origin",
  };
}

/** Whether a request is a CORS preflight. */
export const isPreflight = ({ method, headers }: IncomingMessage): boolean =>
  method === "OPTIONS" && headers.origin !== undefined && headers["access-control-request-method"] !== undefined;

/**
 * Further headers of a preflight response. With origin `*`, access to a private network is never granted.
 *
 * @param area absent: the HTTP API
 */
export function preflightHeaders(
  request: IncomingMessage,
  corsOrigins: readonly string[] | "*",
  area: Pick<CorsArea, "methods" | "headers"> = apiArea(request),
): Headers {
  const asksForPrivate = request.headers["access-control-request-private-network"] === "true";
  return {
    "access-control-allow-methods": area.methods,
    "access-control-allow-headers": area.headers,
    "access-control-max-age": MAX_AGE_S,
    ...(asksForPrivate && corsOrigins !== "*" ? { "access-control-allow-private-network": "true" } : {}),
  };
}

function apiArea({ url = "" }: IncomingMessage): Pick<CorsArea, "methods" | "headers"> {
  if (MCP.test(url)) return { methods: METHODS, headers: MCP_HEADERS.join(", ") };
  return { methods: METHODS, headers: url.startsWith(FILES) ? `${HEADERS}, ${FILE_HEADERS}` : HEADERS };
}
