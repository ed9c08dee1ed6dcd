// One request that sends a file or a part of it, with progress: XMLHttpRequest, since fetch tells none.

import { venuePath } from "../../api/base.js";
import { ApiError } from "../../api/errors.js";
import { delay, lost, refused, token } from "../../api/http.js";

const MAX_WAITS = 3;
const LONGEST_WAIT_MS = 30_000;
/** Drawing each sign of progress, twenty a second, takes as much of the processor as sending. */
const TELL_MS = 250;

export interface Sending {
  readonly method: "PUT" | "PATCH";
  readonly root: string;
  readonly path: string;
  readonly body: Blob;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly onProgress: (bytes: number) => void;
}

/** @returns the header `Upload-Offset` of the answer, if it has one @throws ApiError, `ABORTED` when it was stopped */
export async function sendFile(sending: Sending): Promise<string | null> {
  for (let waits = 0; ; waits += 1) {
    const call = await sendOnce(sending);
    if (call.status < 300) return call.getResponseHeader("upload-offset");
    const error = failureOf(call);
    // 429 is sent before any effect.
    if (error.status !== 429 || waits === MAX_WAITS) throw error;
    await delay(Math.min(error.retryAfterMs || 1000, LONGEST_WAIT_MS), sending.signal);
  }
}

const stopped = (): ApiError => new ApiError("ABORTED", "Stopped.");

function sendOnce({ method, root, path, body, headers, signal, onProgress }: Sending): Promise<XMLHttpRequest> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(stopped());
      return;
    }
    const call = new XMLHttpRequest();
    const place = [root, ...path.split("/")].map(encodeURIComponent).join("/");
    call.open(method, `${venuePath}/api/v1/files/${place}?parents=true`);
    const sent = token.value;
    if (sent !== undefined) call.setRequestHeader("authorization", `Bearer ${sent}`);
    for (const [name, value] of Object.entries(headers)) call.setRequestHeader(name, value);
    const stop = () => call.abort();
    signal.addEventListener("abort", stop, { once: true });
    call.onloadend = () => signal.removeEventListener("abort", stop);
    let toldAt = 0;
    call.upload.onprogress = ({ loaded, timeStamp }) => {
      if (timeStamp - toldAt < TELL_MS) return;
      toldAt = timeStamp;
      onProgress(Math.min(loaded, body.size));
    };
    call.onerror = () => {
      lost();
      reject(new ApiError("OFFLINE", "The connection broke."));
    };
    call.onabort = () => reject(stopped());
    call.onload = () => {
      if (call.status === 401 && sent !== undefined && sent === token.value) refused.value = true;
      resolve(call);
    };
    call.send(body);
  });
}

function failureOf(call: XMLHttpRequest): ApiError {
  const requestId = call.getResponseHeader("x-request-id") ?? "";
  const retryAfterMs = Number(call.getResponseHeader("retry-after") ?? 0) * 1000;
  let told: { error?: string; errorCode?: string; errorData?: Record<string, unknown> } = {};
  try {
    told = JSON.parse(call.responseText);
  } catch {
    // A proxy's answer: the status says enough.
  }
  const code = told.errorCode ?? `HTTP_${call.status}`;
  const text = told.error ?? `The venue answered ${call.status}.`;
  return new ApiError(code, text, call.status, told.errorData ?? {}, requestId, retryAfterMs);
}
