// Recognises the tool calls over HTTP that need no SDK: those of clients that ask for nothing else.

import type { IncomingHttpHeaders } from "node:http";
import { isObject } from "../../core/unknown.js";
import { REVISIONS } from "./tool-calls.js";

/** A call of a tool, without progress, questions or tasks. */
export interface PlainCall {
  readonly id: string | number;
  readonly name: string;
  readonly args: Record<string, unknown>;
}

/** Headers of requests that belong to more than this one call. */
const FURTHER = ["mcp-session-id", "last-event-id", "mcp-method", "mcp-name"];
const MESSAGE_FIELDS = ["jsonrpc", "id", "method", "params"];
const PARAM_FIELDS = ["name", "arguments"];

/**
 * The call that a request makes, if it is nothing but a call.
 * @param message the parsed body
 * @returns `undefined`: the SDK is to serve the request, or to refuse it
 */
export function plainCall(message: unknown, headers: IncomingHttpHeaders): PlainCall | undefined {
  if (!REVISIONS.includes(headers["mcp-protocol-version"]) || !acceptsBoth(headers)) return undefined;
  if (FURTHER.some((name) => headers[name] !== undefined)) return undefined;
  if (!isObject(message) || !hasOnly(message, MESSAGE_FIELDS)) return undefined;
  const { jsonrpc, id, method, params } = message;
  if (jsonrpc !== "2.0" || method !== "tools/call" || !isRequestId(id)) return undefined;
  if (!isObject(params) || !hasOnly(params, PARAM_FIELDS)) return undefined;
  const { name, arguments: args = {} } = params;
  return typeof name === "string" && isObject(args) ? { id, name, args } : undefined;
}

/** As the transport demands of every client. */
const acceptsBoth = ({ accept = "" }: IncomingHttpHeaders): boolean =>
  accept.includes("application/json") && accept.includes("text/event-stream");

const isRequestId = (id: unknown): id is string | number => typeof id === "string" || Number.isSafeInteger(id);

const hasOnly = (given: object, names: readonly string[]): boolean =>
  Object.keys(given).every((name) => names.includes(name));
