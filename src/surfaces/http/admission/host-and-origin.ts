import type { IncomingMessage } from "node:http";
import { isLoopbackHost } from "../../../config/loopback.js";
import { type HttpError, hostNotAllowed, missingHost, originNotAllowed } from "../plumbing/http-error.js";
import { parseHostName } from "./host-name.js";

/** What a request is admitted by. */
export interface AdmissionRules {
  /** The surface listens where only this machine can reach it. */
  readonly loopback: boolean;
  /** Host names accepted there besides the loopback ones, in lower case. */
  readonly allowedHosts: readonly string[];
  /** Origin of the venue's own URL. */
  ownOrigin(): string;
  /** Other origins whose pages may call; `*`: any. */
  readonly corsOrigins: readonly string[] | "*";
}

/**
 * Refuses a request before anything else about it is looked at: by the name it was sent to, and by the page that sent
 * it. Without these checks any web page could use a venue on the reader's machine (DNS rebinding).
 *
 * @returns the refusal, or `undefined`
 */
export function refuse(request: IncomingMessage, rules: AdmissionRules): HttpError | undefined {
  return refuseHost(request, rules) ?? refuseOrigin(request, rules);
}

/** The host a request is addressed to: that of its target if it has one (RFC 9112 §3.2.2), else its `Host` header. */
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
  // A page of this listener itself, whatever loopback name it was opened under. Off loopback the Host header is not
  // checked, so it proves nothing about the origin.
  if (rules.loopback && origin === `http://${addressee(request)?.toLowerCase()}`) return undefined;
  return mayCall(origin, rules.corsOrigins) ? undefined : originNotAllowed();
}

/** Whether pages of another origin may call. */
export const mayCall = (origin: string, corsOrigins: readonly string[] | "*"): boolean =>
  corsOrigins === "*" || corsOrigins.includes(origin);
