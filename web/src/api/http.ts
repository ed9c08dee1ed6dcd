// Requests to the venue: credentials, failures, and waiting where the venue asks for it.

import { signal } from "@preact/signals";
import { venuePath } from "./base.js";
import { ApiError, type ErrorData } from "./errors.js";

/** The bearer token of this tab. Never stands in a URL. */
export const token = signal<string | undefined>(undefined);
/** Whether the venue answers. */
export const online = signal(true);
/** The venue refused the token in the middle of the work: sign in again, over what is there. */
export const refused = signal(false);

/** Grows when a call was denied: the caller may hold less than the page knows. */
export const denials = signal(0);

const MAX_WAITS = 3;
const LONGEST_WAIT_MS = 30_000;

export interface Request {
  readonly method?: string;
  readonly body?: BodyInit;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  /** Fail at 429 instead of waiting. */
  readonly isImpatient?: boolean;
  /** Goes on when the page is closed. */
  readonly outlives?: boolean;
}

/** Sends a request. @param path below the venue, `/api/v1/…` @throws ApiError, or the abort */
export async function request(path: string, options: Request = {}): Promise<Response> {
  for (let waits = 0; ; waits += 1) {
    const response = await send(path, options);
    if (response.ok) return response;
    const error = await errorOf(response);
    // 429 is sent before any effect, so that a change may be sent again too.
    const mayWait = error.status === 429 && waits < MAX_WAITS && options.isImpatient !== true;
    if (!mayWait) throw error;
    await delay(Math.min(error.retryAfterMs || 1000, LONGEST_WAIT_MS), options.signal);
  }
}

async function send(path: string, options: Request): Promise<Response> {
  const { method = "GET", body, headers = {}, signal: abort, outlives = false } = options;
  const sent = token.value;
  try {
    const response = await fetch(`${venuePath}${path}`, {
      method,
      headers: { ...(sent === undefined ? {} : { authorization: `Bearer ${sent}` }), ...headers },
      keepalive: outlives,
      credentials: "omit",
      cache: "no-store",
      redirect: "error",
      ...(body === undefined ? {} : { body }),
      ...(abort === undefined ? {} : { signal: abort }),
    });
    online.value = true;
    if (response.status === 401 && sent !== undefined && sent === token.value) refused.value = true;
    return response;
  } catch (error) {
    if (abort?.aborted) throw abort.reason ?? error;
    lost();
    throw new ApiError("OFFLINE", "The venue does not answer.");
  }
}

/** The failure that a response tells. */
export async function errorOf(response: Response): Promise<ApiError> {
  const requestId = response.headers.get("x-request-id") ?? "";
  const retryAfterMs = Number(response.headers.get("retry-after") ?? 0) * 1000;
  const told = await response.json().catch(() => ({}));
  const { error, errorCode, errorData } = told as { error?: string; errorCode?: string; errorData?: ErrorData };
  const code = errorCode ?? `HTTP_${response.status}`;
  if (code === "CAPABILITY_DENIED") denials.value += 1;
  const text = error ?? `The venue answered ${response.status}.`;
  return new ApiError(code, text, response.status, errorData ?? {}, requestId, retryAfterMs);
}

export function delay(ms: number, abort?: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    abort?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(abort.reason);
    });
  });
}

const FIRST_LOOK_MS = 500;
const LONGEST_LOOK_MS = 5000;
let isWatching = false;

/** The venue did not answer: says so, until it does again. */
export function lost(): void {
  online.value = false;
  void watchForReturn();
}

/** Asks for a sign of life until there is one. */
async function watchForReturn(): Promise<void> {
  if (isWatching) return;
  isWatching = true;
  for (let ms = FIRST_LOOK_MS; !online.value; ms = Math.min(ms * 2, LONGEST_LOOK_MS)) {
    await delay(ms);
    const alive = await fetch(`${venuePath}/healthz`, { cache: "no-store", credentials: "omit" }).catch(
      () => undefined,
    );
    if (alive !== undefined) online.value = true;
  }
  isWatching = false;
}

/** Waits until the venue answers again. */
export function whenOnline(abort?: AbortSignal | undefined): Promise<void> {
  if (online.value) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const stop = online.subscribe((isOnline) => {
      if (!isOnline) return;
      resolve();
      queueMicrotask(() => stop());
    });
    abort?.addEventListener("abort", () => {
      stop();
      reject(abort.reason);
    });
  });
}
