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
  /** `modern`: revision 2026-07-28. */
  readonly era: "legacy" | "modern";
}

const MODERN = "2026-07-28";
const METHOD = "tools/call";
/** Headers of requests that belong to more than this one call. */
const FURTHER = ["mcp-session-id", "last-event-id"];
const MESSAGE_FIELDS = ["jsonrpc", "id", "method", "params"];
const PARAM_FIELDS = ["name", "arguments", "_meta"];
const META_FIELDS = [PROTOCOL_VERSION_META_KEY, CLIENT_INFO_META_KEY, CLIENT_CAPABILITIES_META_KEY];
const INFO_FIELDS = ["name", "version"];

/**
 * The call that a request makes, if it is nothing but a call.
 * @param message the parsed body
 * @returns `undefined`: the SDK is to serve the request, or to refuse it
 */
export function plainCall(message: unknown, headers: IncomingHttpHeaders): PlainCall | undefined {
  if (!acceptsBoth(headers) || FURTHER.some((name) => headers[name] !== undefined)) return undefined;
  if (!isObject(message) || !hasOnly(message, MESSAGE_FIELDS)) return undefined;
  const { jsonrpc, id, method, params } = message;
  if (jsonrpc !== "2.0" || method !== METHOD || !isRequestId(id)) return undefined;
  if (!isObject(params) || !hasOnly(params, PARAM_FIELDS)) return undefined;
  const { name, arguments: args = {}, _meta: meta } = params;
  if (typeof name !== "string" || !isObject(args)) return undefined;
  const era = eraOf(headers, { name, meta });
  return era && { id, name, args, era };
}

/** @returns `undefined`: the revision is another, or something beside the call is not as every client has it */
function eraOf(
  headers: IncomingHttpHeaders,
  { name, meta }: { readonly name: string; readonly meta: unknown },
): PlainCall["era"] | undefined {
  const { "mcp-protocol-version": revision, "mcp-method": method, "mcp-name": named } = headers;
  if (revision === MODERN) return method === METHOD && named === name && isPlainMeta(meta) ? "modern" : undefined;
  const isNamed = method !== undefined || named !== undefined;
  return REVISIONS.includes(revision) && !isNamed && meta === undefined ? "legacy" : undefined;
}

/** The revision, and a client that can do nothing which a call could ask of it. */
function isPlainMeta(meta: unknown): boolean {
  if (!isObject(meta) || !hasOnly(meta, META_FIELDS) || meta[PROTOCOL_VERSION_META_KEY] !== MODERN) return false;
  const { [CLIENT_INFO_META_KEY]: info = { name: "", version: "" }, [CLIENT_CAPABILITIES_META_KEY]: capabilities } =
    meta;
  if (!isObject(info) || !hasOnly(info, INFO_FIELDS) || INFO_FIELDS.some((field) => typeof info[field] !== "string"))
    return false;
  return isObject(capabilities) && Object.keys(capabilities).length === 0;
}

/** As the transport demands of every client. */
const acceptsBoth = ({ accept = "" }: IncomingHttpHeaders): boolean =>
  accept.includes("application/json") && accept.includes("text/event-stream");

const isRequestId = (id: unknown): id is string | number => typeof id === "string" || Number.isSafeInteger(id);

const hasOnly = (given: object, names: readonly string[]): boolean =>
  Object.keys(given).every((name) => names.includes(name));
