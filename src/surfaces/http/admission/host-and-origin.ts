// Host, Origin and fetch metadata checks, against DNS rebinding, cross-origin requests and embedding.

import type { IncomingMessage } from "node:http";
import { type Addresses, addressee, entranceOf, isOwnName, parseAuthority } from "../plumbing/entrance.js";
import {
  foreignSite,
  type HttpError,
  hostNotAllowed,
  missingHost,
  notPartOfPages,
  originNotAllowed,
} from "../plumbing/http-error.js";

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
  if (!rules.loopback) return host === undefined && request.httpVersion !== "1.0" ? missingHost() : undefined;
  const name = parseAuthority(host)?.name;
  const ownName = new URL(rules.url()).hostname.replace(/^\[|\]$/g, "");
  if (name !== undefined && (name === ownName || isOwnName(name, rules))) return undefined;
  return hostNotAllowed();
}

function refuseOrigin(request: IncomingMessage, rules: AdmissionRules): HttpError | undefined {
  const { origin } = request.headers;
  if (origin === undefined || origin === new URL(rules.url()).origin) return undefined;
  // The page of an entrance, whose host is known.
  if (origin === entranceOf(rules, request).origin) return undefined;
  // Same origin: a page of this listener, under any loopback name. Off loopback the Host header is not checked, so it
  // proves nothing about the origin.
  if (rules.loopback && origin === `http://${addressee(request)?.toLowerCase()}`) return undefined;
  return mayCall(origin, rules.corsOrigins) ? undefined : originNotAllowed();
}

/** Whether CORS allows pages of an origin to call. */
export const mayCall = (origin: string, corsOrigins: readonly string[] | "*"): boolean =>
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
  if (embedded !== undefined) return notPartOfPages(embedded);
  if (headers.origin !== undefined || !valuesOf(site).some((value) => OTHER_SITES.has(value))) return undefined;
  const reads = method === "GET" || method === "HEAD";
  const isNavigation = reads && headers["sec-fetch-mode"] === "navigate" && dest === "document";
  return isNavigation ? undefined : foreignSite();
}

const valuesOf = (header: string | string[] | undefined): readonly string[] =>
  header === undefined
    ? []
    : String(header)
        .toLowerCase()
        .split(/[ \t]*,[ \t]*/);
