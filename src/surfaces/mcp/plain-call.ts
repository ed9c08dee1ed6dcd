// Recognises the tool calls over HTTP that need no SDK: those of clients that ask for nothing else.

import type { IncomingHttpHeaders } from "node:http";
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  PROTOCOL_VERSION_META_KEY,
} from "@modelcontextprotocol/server";
import { isObject } from "../../core/unknown.js";
import { REVISIONS } from "./tool-calls.js";

/** A call of a tool, without progress, questions or tasks. */
export interface PlainCall {
  readonly id: string | number;
  readonly name: string;
  readonly args: Record<string, unknown>;
  /** What the client tells of itself with each call of revision 2026-07-28. Absent: the revision is an earlier one. */
  readonly client?: PlainClient;
}

/** A client of revision 2026-07-28. */
export interface PlainClient {
  /** Name, version and capabilities as JSON; whether they are well formed only the SDK knows. */
  readonly text: string;
  /** It can ask its user. */
  readonly elicits: boolean;
}

const MODERN = "2026-07-28";
const METHOD = "tools/call";
/** Headers of requests that belong to more than this one call. */
const FURTHER = ["mcp-session-id", "last-event-id"];
const MESSAGE_FIELDS = ["jsonrpc", "id", "method", "params"];
const PARAM_FIELDS = ["name", "arguments", "_meta"];
const META_FIELDS = [PROTOCOL_VERSION_META_KEY, CLIENT_INFO_META_KEY, CLIENT_CAPABILITIES_META_KEY];

/**
 * The call that a request makes, if it is nothing but a call.
 * @param message the parsed body
 * @returns `undefined`: the SDK is to serve the request, or to refuse it
 */
export function plainCall(message: unknown, headers: IncomingHttpHeaders): PlainCall | undefined {
  if (!formsOf(headers.accept).json || FURTHER.some((name) => headers[name] !== undefined)) return undefined;
  if (!isObject(message) || !hasOnly(message, MESSAGE_FIELDS)) return undefined;
  const { jsonrpc, id, method, params } = message;
  if (jsonrpc !== "2.0" || method !== METHOD || !isRequestId(id)) return undefined;
  if (!isObject(params) || !hasOnly(params, PARAM_FIELDS)) return undefined;
  const { name, arguments: args = {}, _meta: meta } = params;
  if (typeof name !== "string" || !isObject(args)) return undefined;
  const { "mcp-protocol-version": revision, "mcp-method": methodHeader, "mcp-name": nameHeader } = headers;
  if (revision === MODERN) {
    const client = methodHeader === METHOD && nameHeader === name ? clientOf(meta) : undefined;
    return client && { id, name, args, client };
  }
  const isNamed = methodHeader !== undefined || nameHeader !== undefined;
  return REVISIONS.includes(revision) && !isNamed && meta === undefined ? { id, name, args } : undefined;
}

/** @returns `undefined` if a client tells of something else than itself */
function clientOf(meta: unknown): PlainClient | undefined {
  if (!isObject(meta) || !hasOnly(meta, META_FIELDS) || meta[PROTOCOL_VERSION_META_KEY] !== MODERN) return undefined;
  const { [CLIENT_INFO_META_KEY]: info, [CLIENT_CAPABILITIES_META_KEY]: capabilities } = meta;
  try {
    const text = JSON.stringify({ info, capabilities });
    return { text, elicits: isObject(capabilities) && "elicitation" in capabilities };
  } catch {
    // Too deep, or with a number that JSON would not keep.
    return undefined;
  }
}

/** The forms of an answer that a client takes: as JSON, as a stream of events. Without a word it takes any. */
export function formsOf(accept = "*/*"): { readonly json: boolean; readonly events: boolean } {
  const ranges = accept
    .toLowerCase()
    .split(",")
    .filter((range) => !/;\s*q=0(?:\.0*)?\s*(?:;|$)/.test(range));
  const types = ranges.map((range) => range.replace(/;.*/, "").trim());
  const takes = (...names: string[]): boolean => names.some((name) => types.includes(name));
  return {
    json: takes("application/json", "application/*", "*/*"),
    events: takes("text/event-stream", "text/*", "*/*"),
  };
}

const isRequestId = (id: unknown): id is string | number => typeof id === "string" || Number.isSafeInteger(id);

const hasOnly = (given: object, names: readonly string[]): boolean =>
  Object.keys(given).every((name) => names.includes(name));
