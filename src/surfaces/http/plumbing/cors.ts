import type { IncomingMessage } from "node:http";
import { mayCall } from "../admission/host-and-origin.js";

const METHODS = "GET,POST,PUT,DELETE,OPTIONS";
const HEADERS = "content-type, authorization, accept, mcp-session-id, mcp-protocol-version";
/** What else belongs to files. */
const FILE_HEADERS = "range, if-match, if-none-match, if-range";
const FILES = "/api/v1/files/";
/** What scripts of another origin may read of an answer beside its body. */
const EXPOSED = "location, retry-after, etag, content-disposition, content-range, mcp-session-id, x-request-id";
/** How long browsers may remember the answer to a preflight, in seconds. */
const MAX_AGE_S = "600";

type Headers = Readonly<Record<string, string>>;

/** What every answer to a page of another origin carries; nothing unless that origin may call. */
export function corsHeaders(request: IncomingMessage, corsOrigins: readonly string[] | "*"): Headers | undefined {
  const { origin } = request.headers;
  if (corsOrigins !== "*" && corsOrigins.length === 0) return undefined;
  if (origin === undefined || !mayCall(origin, corsOrigins)) return { vary: "Origin" };
  return { "access-control-allow-origin": origin, vary: "Origin", "access-control-expose-headers": EXPOSED };
}

/** Whether a request asks what a page of another origin may do. */
export const isPreflight = ({ method, headers }: IncomingMessage): boolean =>
  method === "OPTIONS" && headers.origin !== undefined && headers["access-control-request-method"] !== undefined;

/** The answer to a preflight, besides {@link corsHeaders}. Pages of any origin at all never get into a private network. */
export function preflightHeaders(request: IncomingMessage, corsOrigins: readonly string[] | "*"): Headers {
  const asksForPrivate = request.headers["access-control-request-private-network"] === "true";
  return {
    "access-control-allow-methods": METHODS,
    "access-control-allow-headers": request.url?.startsWith(FILES) === true ? `${HEADERS}, ${FILE_HEADERS}` : HEADERS,
    "access-control-max-age": MAX_AGE_S,
    ...(asksForPrivate && corsOrigins !== "*" ? { "access-control-allow-private-network": "true" } : {}),
  };
}
