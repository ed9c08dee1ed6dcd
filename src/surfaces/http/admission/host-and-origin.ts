// Host, Origin and fetch metadata checks, against DNS rebinding, cross-origin requests and embedding; CORS headers and preflights.

import type { IncomingMessage } from "node:http";
import { type Addresses, addressee, entranceOf, isOwnName, ownName, parseAuthority } from "../plumbing/entrance.js";
import { badRequest, HttpError } from "../plumbing/http-error.js";

/** The rules for Host and Origin. */
export interface AdmissionRules extends Addresses {
  /** Whether the listener is on loopback. */
  readonly loopback: boolean;
  /** Other origins that may call; `*`: any. */
  readonly corsOrigins: readonly string[] | "*";
}

/**
 * Refuses a request by its host and origin, before anything else about it is examined. Without these checks any web
 * page could use a venue on the machine of its reader (DNS rebinding).
 *
 * @returns the refusal, or `undefined`
 */
export function refuse(request: IncomingMessage, rules: AdmissionRules): HttpError | undefined {
  return refuseHost(request, rules) ?? refuseOrigin(request, rules);
}

function refuseHost(request: IncomingMessage, rules: AdmissionRules): HttpError | undefined {
  const host = addressee(request);
  if (!rules.loopback) {
    return host === undefined && request.httpVersion !== "1.0" ? badRequest("Missing Host header") : undefined;
  }
  const name = parseAuthority(host)?.name;
  if (name !== undefined && (name === ownName(rules) || isOwnName(name, rules))) return undefined;
  return new HttpError(403, "Host not allowed. Where a proxy gives this venue another name, set 'baseUrl' or 'hosts'");
}

function refuseOrigin(request: IncomingMessage, rules: AdmissionRules): HttpError | undefined {
  const { origin } = request.headers;
  if (origin === undefined || origin === new URL(rules.url()).origin) return undefined;
  // The page of an entrance, whose host is known.
  if (origin === entranceOf(rules, request).origin) return undefined;
  // Same origin: a page of this listener, under any loopback name. Off loopback the Host header is not checked, so it
  // proves nothing about the origin.
  if (rules.loopback && origin === `http://${addressee(request)?.toLowerCase()}`) return undefined;
  if (mayCall(origin, rules.corsOrigins)) return undefined;
  return new HttpError(403, "Origin not allowed. Add it to 'corsOrigins', or set 'baseUrl' if it is the venue's own");
}

/** Whether CORS allows pages of an origin to call. */
const mayCall = (origin: string, corsOrigins: readonly string[] | "*"): boolean =>
  corsOrigins === "*" || corsOrigins.includes(origin);

/** Destinations in which content would be executed, or shown as part of a page. */
const EMBEDDED = new Set(
  "script style worker sharedworker serviceworker object embed iframe frame manifest xslt".split(" "),
);
const OTHER_SITES = new Set(["cross-site", "same-site"]);

/**
 * Refuses what a browser requests as a script, style, worker or frame, and what pages of other origins request, but for
 * navigations and allowed origins. Requests without `Sec-Fetch-*` are not judged.
 *
 * @param request its `Origin`, if any, has been accepted
 * @returns the refusal, or `undefined`
 * @see https://www.w3.org/TR/fetch-metadata/
 */
export function refuseEmbedding({ method, headers }: IncomingMessage): HttpError | undefined {
  const dest = headers["sec-fetch-dest"];
  const site = headers["sec-fetch-site"];
  if (dest === undefined && site === undefined) return undefined;
  // Node joins repeated headers with commas: any of the values counts.
  const embedded = valuesOf(dest).find((value) => EMBEDDED.has(value));
  if (embedded !== undefined)
    return new HttpError(403, `Nothing here is served as '${embedded}' of a page. Read it with fetch()`);
  if (headers.origin !== undefined || !valuesOf(site).some((value) => OTHER_SITES.has(value))) return undefined;
  const reads = method === "GET" || method === "HEAD";
  const isNavigation = reads && headers["sec-fetch-mode"] === "navigate" && dest === "document";
  if (isNavigation) return undefined;
  return new HttpError(
    403,
    "Requests of other sites are refused. Add their origin to 'corsOrigins', and send it with mode 'cors'",
  );
}

const valuesOf = (header: string | string[] | undefined): readonly string[] =>
  header === undefined
    ? []
    : String(header)
        .toLowerCase()
        .split(/[ \t]*,[ \t]*/);

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
  "location, retry-after, etag, content-disposition, content-range, upload-offset, mcp-session-id, www-authenticate, x-request-id";
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
