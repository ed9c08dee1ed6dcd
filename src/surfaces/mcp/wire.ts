// Messages of the Model Context Protocol as they stand on the wire.

import { isObject } from "../../core/unknown.js";

export type RequestId = string | number;
export type Params = Readonly<Record<string, unknown>>;

export interface Request {
  readonly jsonrpc: "2.0";
  readonly id: RequestId;
  readonly method: string;
  readonly params?: Params | undefined;
}

export interface Notification {
  readonly jsonrpc: "2.0";
  readonly method: string;
  readonly params?: Params | undefined;
}

export interface Answer {
  readonly jsonrpc: "2.0";
  /** `null`: the request could not be read. */
  readonly id: RequestId | null;
  readonly result?: object;
  readonly error?: ErrorBody;
}

export interface ErrorBody {
  readonly code: number;
  readonly message: string;
  readonly data?: object | undefined;
}

export type Message = Request | Notification | Answer;

/** A part of what a tool answers. */
export type ContentBlock =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly data: string; readonly mimeType: string }
  | { readonly type: "resource"; readonly resource: { uri: string; mimeType: string; blob: string } };

/** Result of `tools/call`. */
export interface ToolResult {
  readonly content: ContentBlock[];
  readonly structuredContent?: object;
  readonly isError?: true;
  readonly _meta?: Params;
}

export const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
export const INTERNAL_ERROR = -32603;

/** A request that is answered with a JSON-RPC error. */
export class RequestFault extends Error {
  readonly code: number;
  readonly data: object | undefined;

  constructor(code: number, message: string, data?: object) {
    super(message);
    this.code = code;
    this.data = data;
  }

  /** The error as it is answered. */
  get body(): ErrorBody {
    const { code, message, data } = this;
    return data === undefined ? { code, message } : { code, message, data };
  }
}

/** Ids that can be answered: others would be lost in JSON, or match nothing. */
export const isRequestId = (id: unknown): id is RequestId => typeof id === "string" || Number.isSafeInteger(id);

/** The `_meta` of a message; absent: it has none, or something else for it. */
export function metaOf(params: unknown): Params | undefined {
  const meta = isObject(params) ? params["_meta"] : undefined;
  return isObject(meta) ? meta : undefined;
}
