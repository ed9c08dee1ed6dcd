// Decides what a request over HTTP is: the era it belongs to and its messages, or why it is refused.

import { isUtf8 } from "node:buffer";
import type { IncomingHttpHeaders } from "node:http";
import { fieldsOf, isObject } from "../../core/unknown.js";
import { nameFieldOf } from "./methods.js";
import {
  checkEnvelope,
  checkRevision,
  type Era,
  hasEnvelope,
  isHandshake,
  isModern,
  LEGACY_REVISIONS,
  missingIn,
  revisionOf,
} from "./revisions.js";
import {
  INVALID_PARAMS,
  INVALID_REQUEST,
  isRequestId,
  metaOf,
  type Notification,
  Refusal,
  type Request,
  RequestFault,
} from "./wire.js";

/** Messages of one era. */
export interface Route {
  readonly era: Era;
  readonly requests: readonly Request[];
  readonly notifications: readonly Notification[];
  readonly isBatch: boolean;
}

interface HttpRequest {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly body?: unknown;
}

const HEADER_MISMATCH = -32020;
const MAX_BATCH = 100;

/** @throws RequestFault */
export function routeOf({ method, headers, body }: HttpRequest): Route {
  if (method !== "POST") throw new Refusal(405, "Method not allowed.");
  if (!isJsonType(headers["content-type"])) {
    throw new Refusal(415, "Unsupported Media Type: Content-Type must be application/json");
  }
  const isBatch = Array.isArray(body);
  if (isBatch) checkBatch(body);
  else if (isCall(body) ? isOfEnvelopes(headers, body) : !isAnswer(body)) {
    if (!isCall(body)) throw invalidRequest("the request body is not a valid JSON-RPC message");
    return { era: "modern", ...sorted([body]), isBatch };
  }
  const messages: readonly object[] = isBatch ? body : [body as object];
  checkLegacy(headers, messages);
  return { era: "legacy", ...sorted(messages), isBatch };
}

const sorted = (messages: readonly object[]): Pick<Route, "requests" | "notifications"> => {
  const calls = messages.filter((one): one is Request | Notification => "method" in one);
  return { requests: calls.filter((one) => "id" in one), notifications: calls.filter((one) => !("id" in one)) };
};

/** Parameters are allowed and ignored; two types in one header are none. */
const isJsonType = (type = ""): boolean => /^\s*application\/json\s*(?:;(?:[^,"]|"[^"]*")*)?$/i.test(type);

const invalidRequest = (what: string): RequestFault => new RequestFault(INVALID_REQUEST, `Bad Request: ${what}`);

/** Only revisions of before have batches. @throws RequestFault */
function checkBatch(body: readonly unknown[]): void {
  if (body.length === 0) throw invalidRequest("empty JSON-RPC batch");
  for (const one of body) {
    if (hasEnvelope(fieldsOf(one)["params"])) {
      throw invalidRequest("JSON-RPC batches may not contain requests for protocol revision 2026-07-28 or later");
    }
    if (!isCall(one) && !isAnswer(one)) throw invalidRequest("JSON-RPC batch contains an invalid message");
  }
}

/**
 * Whether a message is of 2026-07-28, by its envelope or by its header, which must not disagree.
 * @throws RequestFault
 */
function isOfEnvelopes(headers: IncomingHttpHeaders, message: Request | Notification): boolean {
  const { method, params } = message;
  const { "mcp-protocol-version": named, "mcp-method": namedMethod } = headers as Record<string, string | undefined>;
  const isRequest = "id" in message;
  const isClaimed = hasEnvelope(params);
  if (isRequest && isHandshake(message)) {
    if (!isModern(named)) return false;
    throw mismatch(
      named,
      "an initialize request (legacy handshake) was sent with a modern MCP-Protocol-Version header",
    );
  }
  if (!isClaimed && !isModern(named)) return false;
  if (!isClaimed && isRequest) throw missingEnvelope(named, params);
  if (isRequest || (isClaimed && revisionOf(params) === undefined)) checkEnvelope(params);
  const revision = isClaimed ? revisionOf(params) : named;
  const [envelope, body] = isRequest ? ["body envelope", "body"] : ["notification envelope", "notification body"];
  if (named !== undefined && named !== revision) {
    const names = `the ${envelope} names protocol version ${revision}`;
    throw mismatch(named, `${names} but the MCP-Protocol-Version header names ${named}`);
  }
  if (namedMethod !== undefined && namedMethod !== method) {
    throw mismatch(namedMethod, `the ${body} names method ${method} but the Mcp-Method header names ${namedMethod}`);
  }
  checkRevision(revision);
  if (isRequest) checkHeaders(headers, message);
  return true;
}

function missingEnvelope(named: string | undefined, params: unknown): RequestFault {
  const missing = missingIn(params);
  const text =
    `Invalid params: the MCP-Protocol-Version header names protocol revision ${named}, ` +
    `but the request is missing the required per-request envelope key(s): ${missing.join(", ")}`;
  return new RequestFault(INVALID_PARAMS, text, { envelope: { missing } });
}

function mismatch(header: string | undefined, body: string): RequestFault {
  const data = { mismatch: { header: header ?? "(missing)", body } };
  return new RequestFault(HEADER_MISMATCH, `Bad Request: the request headers and body disagree: ${body}`, data);
}

/** Proxies route by headers, so they have to be there and to say what the body says. @throws RequestFault */
function checkHeaders(headers: IncomingHttpHeaders, { method, params = {} }: Request): void {
  if (headers["mcp-protocol-version"] === undefined) {
    const names = `the body envelope names protocol version ${revisionOf(params)}`;
    throw mismatch(undefined, `${names} but the required MCP-Protocol-Version header is absent`);
  }
  if (headers["mcp-method"] === undefined) {
    throw mismatch(undefined, `the body names method ${method} but the required Mcp-Method header is absent`);
  }
  const field = nameFieldOf(method);
  const value = field === undefined ? undefined : params[field];
  if (typeof value !== "string") return;
  const carries = `the body carries params.${field}="${value}"`;
  const header = headers["mcp-name"];
  if (typeof header !== "string") throw mismatch(undefined, `${carries} but the required Mcp-Name header is absent`);
  const name = decodeName(header);
  if (name === undefined) throw mismatch(header, "the Mcp-Name header carries an invalid Base64 sentinel value");
  if (name !== value) throw mismatch(header, `${carries} but the Mcp-Name header names "${name}"`);
}

/** Names that a header cannot hold come in base64. @returns `undefined`: it is none of a text */
function decodeName(header: string): string | undefined {
  const [, base64] = /^=\?base64\?(.*)\?=$/s.exec(header) ?? [];
  if (base64 === undefined) return header;
  const bytes = Buffer.from(base64, "base64");
  return bytes.toString("base64") === base64 && isUtf8(bytes) ? bytes.toString("utf8") : undefined;
}

/** @throws RequestFault */
function checkLegacy(headers: IncomingHttpHeaders, messages: readonly object[]): void {
  if (!formsOf(headers.accept).json) {
    throw new Refusal(406, "Not Acceptable: Client must accept both application/json and text/event-stream");
  }
  if (messages.length > MAX_BATCH) {
    throw new RequestFault(INVALID_REQUEST, `Invalid Request: Batch must not exceed ${MAX_BATCH} messages`);
  }
  if (messages.some((one) => fieldsOf(one)["method"] === "initialize")) {
    if (messages.length === 1) return;
    throw new RequestFault(INVALID_REQUEST, "Invalid Request: Only one initialization request is allowed");
  }
  const named = headers["mcp-protocol-version"];
  if (named === undefined || LEGACY_REVISIONS.includes(named)) return;
  const supported = `(supported versions: ${LEGACY_REVISIONS.join(", ")})`;
  throw new Refusal(400, `Bad Request: Unsupported protocol version: ${named} ${supported}`);
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

const CALL_FIELDS = ["jsonrpc", "id", "method", "params"];

/** Whether a value is a request or a notification, and nothing more. */
function isCall(value: unknown): value is Request | Notification {
  if (!isObject(value) || !Object.keys(value).every((name) => CALL_FIELDS.includes(name))) return false;
  const { jsonrpc, id, method, params = {} } = value;
  if (jsonrpc !== "2.0" || typeof method !== "string" || ("id" in value && !isRequestId(id))) return false;
  if (!isObject(params)) return false;
  const token = metaOf(params)?.["progressToken"];
  return (params["_meta"] === undefined || isObject(params["_meta"])) && (token === undefined || isRequestId(token));
}

/** Whether a value is an answer of a client, to which nothing is to be said. */
const isAnswer = (value: unknown): boolean =>
  isObject(value) && value["jsonrpc"] === "2.0" && !("method" in value) && ("result" in value || "error" in value);
