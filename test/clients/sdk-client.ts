import { send } from "../surfaces/http/client.js";

/** What a request was answered with: the status, the body as text, and as JSON where it is JSON. */
export interface SdkAnswer {
  readonly status: number;
  readonly type: string | null;
  readonly text: string;
  readonly body: unknown;
}

export interface SdkRequest {
  readonly method?: "POST" | "PUT";
  /** Sent as JSON with its content type. Requests without it have no content type at all. */
  readonly json?: unknown;
  readonly content?: Uint8Array<ArrayBuffer> | string;
  readonly accept?: string;
}

/** Sends requests of the SDK's form: fetch, raw slashes in paths, a content type with JSON bodies only. */
export type SdkClient = (path: string, request?: SdkRequest) => Promise<SdkAnswer>;

/** A client of one caller; `authorization` is asked anew for each request, as the SDK signs each anew. */
export function sdkClient(url: string, authorization?: () => string): SdkClient {
  return async (path, request = {}) => {
    const { method = "GET", json, content, accept } = request;
    const response = await send(url + path, {
      ...{ method, json, token: authorization?.() },
      ...(content === undefined ? {} : { body: content }),
      ...(accept === undefined ? {} : { headers: { accept } }),
    });
    const text = await response.text();
    return { status: response.status, type: response.headers.get("content-type"), text, body: parsed(text) };
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
