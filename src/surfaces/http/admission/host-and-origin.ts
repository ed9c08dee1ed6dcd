// Host and Origin checks, against DNS rebinding and cross-origin requests.

import type { IncomingMessage } from "node:http";
import { isLoopbackHost } from "../../../config/loopback.js";
import { type HttpError, hostNotAllowed, missingHost, originNotAllowed } from "../plumbing/http-error.js";

/** The rules for Host and Origin. */
export interface AdmissionRules {
  /** Whether the listener is on loopback. */
  readonly loopback: boolean;
  /** Host names accepted on loopback besides the loopback names, in lower case. */
  readonly allowedHosts: readonly string[];
  /** Origin of the venue's own URL. */
  ownOrigin(): string;
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

/** The requested host: that of an absolute-form target (RFC 9112 §3.2.2), else the `Host` header. */
function addressee(request: IncomingMessage): string | undefined {
  const absolute = /^https?:\/\/([^/?#]*)/i.exec(request.url ?? "");
  return absolute?.[1] ?? request.headers.host;
}

function refuseHost(request: IncomingMessage, rules: AdmissionRules): HttpError | undefined {
  const host = addressee(request);
  if (!rules.loopback) return host === undefined && request.httpVersion !== "1.0" ? missingHost() : undefined;
  const name = host === undefined ? undefined : parseHostName(host);
  if (name !== undefined && (isLoopbackHost(name) || rules.allowedHosts.includes(name))) return undefined;
  return hostNotAllowed();
}

function refuseOrigin(request: IncomingMessage, rules: AdmissionRules): HttpError | undefined {
  const { origin } = request.headers;
  if (origin === undefined || origin === rules.ownOrigin()) return undefined;
  // Same origin: a page of this listener, under any loopback name. Off loopback the Host header is not checked, so it
  // proves nothing about the origin.
  if (rules.loopback && origin === `http://${addressee(request)?.toLowerCase()}`) return undefined;
  return mayCall(origin, rules.corsOrigins) ? undefined : originNotAllowed();
}

/** Whether CORS allows pages of an origin to call. */
export const mayCall = (origin: string, corsOrigins: readonly string[] | "*"): boolean =>
  corsOrigins === "*" || corsOrigins.includes(origin);
/**
 * The host name in a `Host` header, without port and brackets, in lower case.
 *
 * @returns `undefined` for an invalid header
 */
function parseHostName(header: string): string | undefined {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^\s:/?#@[\]]+))(?::\d*)?$/i.exec(header);
  return (match?.[1] ?? match?.[2])?.toLowerCase();
}
