// HTTP errors of the surface, with their texts.

import type { IncomingMessage, ServerResponse } from "node:http";
import { FileAdapterError, Overloaded } from "../../../core/errors/errors.js";
import { escapeText } from "../../../core/errors/texts.js";
import { codeOf } from "../../../core/unknown.js";
import type { HttpHost } from "../host.js";

/** With each 503, whatever was not to be had: in seconds, where it is not known better. */
const RETRY_AFTER = { "retry-after": "1" };
/** Maximum characters of a caller's text repeated in a response. */
const MAX_ECHO_CHARS = 512;

/** A request that failed without a job, with its whole response. Thrown only inside this surface. */
export class HttpError extends Error {
  override readonly name = "HttpError";
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Members of the response body besides `error`. */
  readonly more: Readonly<Record<string, unknown>>;

  constructor(
    status: number,
    text: string,
    headers: Readonly<Record<string, string>> = {},
    more: Readonly<Record<string, unknown>> = {},
  ) {
    super(text);
    this.status = status;
    this.headers = status === 503 ? { ...RETRY_AFTER, ...headers } : headers;
    this.more = more;
  }
}

/** Makes a caller's text safe to repeat: escaped to one line, of bounded length. */
export function echo(text: string): string {
  return escapeText(text.length > MAX_ECHO_CHARS ? `${text.slice(0, MAX_ECHO_CHARS)}…` : text);
}

export const badRequest = (text: string): HttpError => new HttpError(400, text);

export const invalidJson = (reason: string): HttpError => new HttpError(400, `Invalid JSON: ${escapeText(reason)}`);

export const malformedTarget = (): HttpError => new HttpError(400, "Malformed URL: invalid percent-encoding");

/** Whoever called has to name itself, by other credentials than these. */
export const unauthorized = (text: string): HttpError => new HttpError(401, text, { "www-authenticate": "Bearer" });

export const authenticationRequired = (): HttpError => unauthorized("Authentication required");

/** @param why what is known of it, of `AuthenticationResult` */
export const invalidToken = (why: { delegatedTo?: string; signedBy?: string } = {}): HttpError => {
  const { delegatedTo, signedBy } = why;
  const issuer = signedBy === undefined ? "" : `: its issuer is ${signedBy}`;
  const hint = `: token is a delegation to ${echo(delegatedTo ?? "")}; send it in 'ucans' and authenticate as its audience`;
  const text = `Invalid or expired token${delegatedTo === undefined ? issuer : hint}`;
  return new HttpError(401, text, { "www-authenticate": 'Bearer error="invalid_token"' });
};

/** Clients tell a missing endpoint from a missing resource by this text. */
export const endpointNotFound = (method: string, path: string): HttpError =>
  new HttpError(404, `Endpoint ${method} ${path} not found`);

export const methodNotAllowed = (method: string, path: string, allow: string): HttpError =>
  new HttpError(405, `Method ${method} not allowed on ${path}. Use ${allow}`, { allow });

export const bodyTooLarge = (limit: number): HttpError =>
  new HttpError(413, `Request too large: limit ${limit} bytes`, { connection: "close" });

/** Sent only before any effect, so that the call can be retried. */
export const tooManyRequests = (retryAfterMs: number): HttpError => later(429, "Too many requests", retryAfterMs);

export function later(status: number, text: string, retryAfterMs: number): HttpError {
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000));
  return new HttpError(status, `${text}. Retry after ${seconds} s`, { "retry-after": `${seconds}` });
}

export const tooManyConnections = (): HttpError => new HttpError(503, "Too many connections. Retry after 1 s");

export const invalidForward = (): HttpError =>
  unauthorized("Venue-Forward is for instances of this venue, and holds once. Leave it out");

/** An instance that is there, but not reached: whatever it has is not gone. */
export const peerUnreachable = (): HttpError =>
  new HttpError(503, "The instance that has this job cannot be reached now. Retry after 1 s");

/** Codes that pass: of what instances share, and of the store of assets. */
const UNAVAILABLE: ReadonlySet<string> = new Set(["SHARED_STATE_UNAVAILABLE", "STORE_UNAVAILABLE"]);

/** A request that failed. */
interface Failed {
  readonly id: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** The HttpError of any failure. Unexpected errors are logged, and the caller sees only the request id. */
export function explain(error: unknown, host: HttpHost, { id, request, response }: Failed): HttpError {
  if (error instanceof HttpError) return error;
  if (error instanceof Overloaded)
    return error.isClosing ? later(503, error.message, 1000) : tooManyRequests(error.retryAfterMs);
  // The request can be repeated.
  if (error instanceof FileAdapterError && UNAVAILABLE.has(error.code))
    return new HttpError(503, error.message, {}, { errorCode: error.code });
  if (codeOf(error) === "FST_ERR_CTP_INVALID_MEDIA_TYPE")
    return new HttpError(415, "Content-Type must be application/json");
  // The client aborted the request while sending; not worth a log line.
  if (request.errored !== null || response.destroyed) return badRequest("Request incomplete");
  host.logInternal(error, id);
  return new HttpError(500, `Internal error (${id})`);
}
