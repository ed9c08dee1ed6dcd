// How tests speak HTTP with a venue.

export interface Sent extends Omit<RequestInit, "headers"> {
  readonly headers?: Readonly<Record<string, string>>;
  /** The caller's bearer token. */
  readonly token?: string | undefined;
  /** Sent as JSON, by POST unless `method` says otherwise. */
  readonly json?: unknown;
}

export const bearer = (token: string | undefined): { authorization?: string } =>
  token === undefined ? {} : { authorization: `Bearer ${token}` };

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

/** The status and the JSON body. */
export async function outcome(response: Response | Promise<Response>): Promise<{ status: number; body: unknown }> {
  const answered = await response;
  return { status: answered.status, body: await answered.json() };
}
