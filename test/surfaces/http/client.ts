// How tests speak HTTP with a venue.

import { type IncomingHttpHeaders, request } from "node:http";
import { buffer } from "node:stream/consumers";

export interface Sent extends Omit<RequestInit, "headers"> {
  readonly headers?: Readonly<Record<string, string>>;
  /** The caller's bearer token. */
  readonly token?: string | undefined;
  /** Sent as JSON, by POST unless `method` says otherwise. */
  readonly json?: unknown;
}

export const bearer = (token: string | undefined): { authorization?: string } =>
  token === undefined ? {} : { authorization: `Bearer ${token}` };

export const basic = (password: string | undefined, name = "anyone"): { authorization: string } => ({
  authorization: `Basic ${Buffer.from(`${name}:${password}`).toString("base64")}`,
});

export function send(url: string, { token, json, headers, ...init }: Sent = {}): Promise<Response> {
  const asJson = json === undefined ? {} : { method: "POST", body: JSON.stringify(json) };
  const type = json === undefined ? {} : { "content-type": "application/json" };
  return fetch(url, { ...asJson, ...init, headers: { ...type, ...bearer(token), ...headers } });
}

/** Runs an operation, which answers with its output alone. @param more ucans, caps */
export const run = (url: string, operation: string, input: object, token?: string, more: object = {}) =>
  send(`${url}/api/v1/run`, { token, json: { operation, input, ...more } });

/** Starts a job, with all that the call says. */
export const invoke = (url: string, call: object, token?: string) =>
  send(`${url}/api/v1/invoke`, { token, json: call });

/** The JSON body. */
export const bodyOf = async <Body = unknown>(response: Response | Promise<Response>): Promise<Body> =>
  (await (await response).json()) as Body;

/** The status and the JSON body. */
export async function outcome<Body = unknown>(
  response: Response | Promise<Response>,
): Promise<{ status: number; body: Body }> {
  const answered = await response;
  return { status: answered.status, body: (await answered.json()) as Body };
}

export interface Raw {
  readonly path: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | number>>;
  readonly body?: string | Buffer | undefined;
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Sends what `fetch` would change: a path as it is written, any Host, no header besides. @param to a URL, or a Unix socket */
export function sendAsIs(to: string | { readonly socketPath: string }, { body, ...raw }: Raw): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = typeof to === "string" ? new URL(to) : { hostname: undefined, port: undefined };
    const at = typeof to === "string" ? { hostname, port } : to;
    const sent = request({ ...at, ...raw }, (response) => {
      const { statusCode: status = 0, headers } = response;
      buffer(response).then((bytes) => resolve({ status, headers, body: bytes }), reject);
    });
    sent.on("error", reject).end(body);
  });
}
