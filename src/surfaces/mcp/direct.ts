// MCP without the SDK: what almost every client asks of a server with tools alone, at a fraction of the time to start and to
// answer. A connection is served in this way from its first message to its last, or by the SDK.

import type { JSONRPCMessage, JSONRPCNotification, JSONRPCRequest } from "@modelcontextprotocol/server";
import { type Abortable, Aborter } from "../../core/call/scope.js";
import { isObject } from "../../core/unknown.js";
import type { McpHost } from "./host.js";
import type { LineTransport } from "./line-transport.js";
import { progressNotes } from "./progress.js";
import {
  createToolCalls,
  INVALID_PARAMS,
  internalFault,
  REVISIONS,
  RequestFault,
  type ToolCalls,
} from "./tool-calls.js";

const METHOD_NOT_FOUND = -32601;

/** Whether a connection that begins with this message can be served without the SDK: nothing is asked of its client. */
export function isServedDirectly(first: JSONRPCMessage, { asksUsers }: Pick<McpHost, "asksUsers">): boolean {
  if (!("method" in first) || !("id" in first) || first.method !== "initialize") return false;
  const capabilities = first.params?.["capabilities"];
  if (asksUsers === true && isObject(capabilities) && isObject(capabilities["elicitation"])) return false;
  return REVISIONS.includes(first.params?.["protocolVersion"]);
}

/** Serves a connection whose messages the transport delivers from now on. */
export function serveDirectly(host: McpHost, transport: LineTransport): (message: JSONRPCMessage) => void {
  const connection = new DirectConnection(host, transport);
  transport.onclose = () => connection.abort();
  transport.onmessage = (message) => connection.receive(message);
  return transport.onmessage;
}

class DirectConnection {
  readonly #host: McpHost;
  readonly #transport: LineTransport;
  readonly #tools: ToolCalls;
  readonly #running = new Map<unknown, Aborter>();

  constructor(host: McpHost, transport: LineTransport) {
    this.#host = host;
    this.#transport = transport;
    this.#tools = createToolCalls(host, (id) => transport.memoryOf(id), true);
  }

  receive(message: JSONRPCMessage): void {
    // Nothing is ever asked of the client, so answers of it answer nothing.
    if (!("method" in message)) return;
    if ("id" in message) void this.#serve(message);
    else this.#notice(message);
  }

  /** The client is gone. */
  abort(): void {
    for (const aborter of this.#running.values()) aborter.abort();
  }

  #notice({ method, params }: JSONRPCNotification): void {
    if (method === "notifications/cancelled") this.#running.get(params?.["requestId"])?.abort();
  }

  async #serve(request: JSONRPCRequest): Promise<void> {
    const { id } = request;
    const aborter = new Aborter();
    this.#running.set(id, aborter);
    let outcome: { readonly result: object } | { readonly error: { readonly code: number; readonly message: string } };
    try {
      outcome = { result: await this.#resultOf(request, aborter) };
    } catch (error) {
      const { code, message } = error instanceof RequestFault ? error : internalFault(this.#host, error);
      outcome = { error: { code, message } };
    }
    if (this.#running.get(id) === aborter) this.#running.delete(id);
    if (aborter.aborted) this.#transport.forget(id);
    else await this.#transport.send({ jsonrpc: "2.0", id, ...outcome } as JSONRPCMessage);
  }

  #resultOf({ id, method, params }: JSONRPCRequest, signal: Abortable): object | Promise<object> {
    switch (method) {
      case "initialize":
        return this.#initialize(checkParams(method, params, INITIALIZE_FIELDS));
      case "ping":
        return {};
      case "tools/list":
        checkParams(method, params ?? {}, LIST_FIELDS);
        return this.#tools.list();
      case "tools/call": {
        const { name, arguments: args = {} } = checkParams(method, params, CALL_FIELDS);
        const progress = progressNotes({
          _meta: params?._meta,
          signal,
          notify: (note) => this.#transport.send({ jsonrpc: "2.0", ...note }),
        });
        return this.#tools.call({ id, name: name as string, args: args as Record<string, unknown>, signal, progress });
      }
      default:
        throw new RequestFault(METHOD_NOT_FOUND, "Method not found");
    }
  }

  #initialize({ protocolVersion, clientInfo }: Readonly<Record<string, unknown>>): object {
    checkFields("initialize", "params.clientInfo", clientInfo as Record<string, unknown>, CLIENT_FIELDS);
    const { serverInfo, instructions } = this.#host;
    return {
      protocolVersion: REVISIONS.includes(protocolVersion) ? protocolVersion : REVISIONS.at(-1),
      capabilities: { tools: {} },
      serverInfo,
      ...(instructions === "" ? {} : { instructions }),
    };
  }
}

/** A field of a request. */
interface Field {
  readonly name: string;
  readonly kind: "string" | "object";
  readonly isOptional?: true;
}

const META: Field = { name: "_meta", kind: "object", isOptional: true };
const INITIALIZE_FIELDS: readonly Field[] = [
  META,
  { name: "protocolVersion", kind: "string" },
  { name: "capabilities", kind: "object" },
  { name: "clientInfo", kind: "object" },
];
const CLIENT_FIELDS: readonly Field[] = [
  { name: "name", kind: "string" },
  { name: "version", kind: "string" },
];
const LIST_FIELDS: readonly Field[] = [META, { name: "cursor", kind: "string", isOptional: true }];
const CALL_FIELDS: readonly Field[] = [
  META,
  { name: "name", kind: "string" },
  { name: "arguments", kind: "object", isOptional: true },
];

/** The parameters of a request. @throws RequestFault -32602, naming the first field that is missing or of another kind */
function checkParams(method: string, params: unknown, fields: readonly Field[]): Readonly<Record<string, unknown>> {
  if (!isObject(params)) throw invalid(method, "params", "object", params);
  checkFields(method, "params", params, fields);
  return params;
}

function checkFields(
  method: string,
  at: string,
  given: Readonly<Record<string, unknown>>,
  fields: readonly Field[],
): void {
  for (const { name, kind, isOptional } of fields) {
    const value = given[name];
    if (value === undefined && isOptional === true) continue;
    const isRight = kind === "object" ? isObject(value) : typeof value === "string";
    if (!isRight) throw invalid(method, `${at}.${name}`, kind, value);
  }
}

const invalid = (method: string, field: string, expected: string, value: unknown): RequestFault =>
  new RequestFault(
    INVALID_PARAMS,
    `Invalid ${method} request: ${field}: Invalid input: expected ${expected}, received ${kindOf(value)}`,
  );

const kindOf = (value: unknown): string => (value === null ? "null" : Array.isArray(value) ? "array" : typeof value);
