// Messages of the Model Context Protocol as they stand on the wire, and checks of the fields that it knows. Others may be there.

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

/** The method whose answer comes when nothing more is told. */
export const LISTEN = "subscriptions/listen";

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

/** Code of a fault of HTTP, not of a message. */
export const SERVER_ERROR = -32000;

/** A request that HTTP answers with a status of its own. */
export class Refusal extends RequestFault {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, { code = SERVER_ERROR, headers = {} }: RefusalDetails = {}) {
    super(code, message);
    this.status = status;
    this.headers = headers;
  }
}

interface RefusalDetails {
  readonly code?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Ids that can be answered: others would be lost in JSON, or match nothing. */
export const isRequestId = (id: unknown): id is RequestId => typeof id === "string" || Number.isSafeInteger(id);

/** The `_meta` of a message; absent: it has none, or something else for it. */
export function metaOf(params: unknown): Params | undefined {
  const meta = isObject(params) ? params["_meta"] : undefined;
  return isObject(meta) ? meta : undefined;
}

/** Required shape of a value. */
export interface Shape {
  readonly type: "string" | "boolean" | "object" | "array";
  readonly isOptional?: true;
  /** Fields of an object that are known, in the order they are checked. */
  readonly fields?: Fields;
  /** Shapes of the fields of an object, or of each item of a list. */
  readonly each?: Shape;
  /** All that a text may be. */
  readonly values?: readonly string[];
}

export type Fields = readonly (readonly [name: string, shape: Shape])[];

export const TEXT: Shape = { type: "string" };
export const BOOLEAN: Shape = { type: "boolean" };
export const OBJECT: Shape = { type: "object" };
export const objectOf = (...fields: Fields): Shape => ({ type: "object", fields });
export const optional = (shape: Shape): Shape => ({ ...shape, isOptional: true });

/** The first thing that is not as it has to be. */
export interface ShapeFault {
  /** Names on the way there, joined by dots. */
  readonly at: string;
  readonly problem: string;
}

/** @param at where the value stands; empty: it is the whole */
export function faultIn(value: unknown, shape: Shape, at = ""): ShapeFault | undefined {
  if (value === undefined && shape.isOptional === true) return undefined;
  const kind = kindOf(value);
  if (kind !== shape.type) return { at, problem: `Invalid input: expected ${shape.type}, received ${kind}` };
  if (shape.values?.includes(value as string) === false) {
    return { at, problem: `Invalid option: expected one of ${shape.values.map((one) => `"${one}"`).join("|")}` };
  }
  const below = at === "" ? "" : `${at}.`;
  for (const [name, field] of shape.fields ?? []) {
    const fault = faultIn((value as Record<string, unknown>)[name], field, below + name);
    if (fault !== undefined) return fault;
  }
  if (shape.each === undefined) return undefined;
  for (const [name, one] of Object.entries(value as object)) {
    const fault = faultIn(one, shape.each, below + name);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

const kindOf = (value: unknown): string =>
  value === null ? "null" : Array.isArray(value) ? "array" : isObject(value) ? "object" : typeof value;
