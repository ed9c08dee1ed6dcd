// MCP over streamable HTTP, stateless: each request stands alone.

import type { IncomingHttpHeaders } from "node:http";
import {
  type CallToolResult,
  createMcpHandler,
  type McpRequestContext,
  SERVER_INFO_META_KEY,
} from "@modelcontextprotocol/server";
import type { Caller } from "../../core/call/caller.js";
import type { Abortable } from "../../core/call/scope.js";
import type { MemoryLease } from "../../core/memory.js";
import { isObject } from "../../core/unknown.js";
import { DetachedCalls } from "./detached-calls.js";
import type { McpHost } from "./host.js";
import { formsOf, type PlainCall, type PlainClient, plainCall } from "./plain-call.js";
import { createMcpServer } from "./server.js";
import { createToolCalls, internalFault, RequestFault } from "./tool-calls.js";

/** An authenticated HTTP request to the MCP endpoint. */
export interface McpExchange {
  readonly caller: Caller;
  readonly parsedBody?: unknown;
  /** Memory accounting for the request and its answer; absent if unlimited. */
  readonly memory?: MemoryLease;
}

/** Where the endpoint reports what went wrong. */
export interface McpReports {
  /** A fault of the venue. */
  onError(error: Error): void;
  /** A request that was refused because of a mistake in it. */
  onRefusal(error: Error): void;
}

/** The stateless streamable HTTP endpoint. */
export interface McpEndpoint {
  serve(request: Request, exchange: McpExchange): Promise<Response>;
  /**
   * Answers a request that is nothing but a call of a tool, at a fifth of the time that the SDK takes.
   * @param hangUp gives a signal that is aborted when the client disconnects
   * @returns the JSON-RPC message; `undefined`: {@link serve} the request
   */
  call(headers: IncomingHttpHeaders, exchange: McpExchange, hangUp: () => Abortable): Promise<object> | undefined;
}

/** Most kinds of clients that are remembered, and characters of what one tells of itself. */
const MAX_CLIENTS = 100;
const MAX_CLIENT_CHARS = 1000;

/**
 * Creates the endpoint. Each request stands alone: what the SDK serves gets a server of its own, bound to its caller.
 * @param hostFor returns the MCP host as seen by a caller
 */
export function createMcpEndpoint(
  hostFor: (caller: Caller) => McpHost,
  { onError, onRefusal }: McpReports,
): McpEndpoint {
  const calls = new DetachedCalls();
  /** What clients tell of themselves and the SDK has accepted. */
  const accepted = new Set<string>();
  const accept = ({ text }: PlainClient): void => {
    if (text.length > MAX_CLIENT_CHARS) return;
    if (accepted.size >= MAX_CLIENTS) accepted.clear();
    accepted.add(text);
  };
  const call = async (
    { id, name, args, client }: PlainCall,
    { caller, memory }: McpExchange,
    hangUp: () => Abortable,
  ): Promise<object> => {
    const host = hostFor(caller);
    const detached = client === undefined ? calls.start(caller, id) : undefined;
    try {
      const request = { id, name, args, signal: detached?.signal ?? hangUp(), ended: detached?.end };
      const result = await createToolCalls(host, () => memory).call(request);
      return { result: client === undefined ? result : modernResult(result, host), jsonrpc: "2.0", id };
    } catch (error) {
      // Nothing was started.
      detached?.end();
      const { code, message } = error instanceof RequestFault ? error : internalFault(host, error);
      return { jsonrpc: "2.0", id, error: { code, message } };
    }
  };
  const serve = async (request: Request, { caller, memory, parsedBody }: McpExchange): Promise<Response> => {
    // The SDK reports the mistakes of clients and its own faults alike; only the status of the response tells them apart.
    let reported: Error[] | undefined = [];
    const detached = {
      start: (id: string | number) => calls.start(caller, id),
      cancel: (id: string | number) => calls.cancel(caller, id),
    };
    const create = ({ era }: McpRequestContext) =>
      createMcpServer(hostFor(caller), { memoryOf: () => memory, ...(era === "legacy" ? { detached } : {}) });
    const { fetch } = createMcpHandler(create, {
      onerror: (error) => (reported === undefined ? onError(error) : reported.push(error)),
    });
    const forms = formsOf(request.headers.get("accept") ?? undefined);
    // The SDK refuses whoever does not take both, and answers the revisions of 2025 by events alone.
    if (forms.json) request.headers.set("accept", "application/json, text/event-stream");
    const answer = await fetch(request, parsedBody === undefined ? {} : { parsedBody });
    const response = forms.json ? await inOnePiece(answer, parsedBody, forms.events) : answer;
    const isRefused = response.status >= 400 && response.status < 500;
    for (const error of reported) (isRefused ? onRefusal : onError)(error);
    reported = undefined;
    const { client } = plainCall(parsedBody, Object.fromEntries(request.headers)) ?? {};
    if (client !== undefined && response.ok) accept(client);
    return response;
  };
  return {
    serve,
    call(headers, exchange, hangUp) {
      const plain = plainCall(exchange.parsedBody, headers);
      if (plain === undefined) return undefined;
      const { client } = plain;
      if (client !== undefined && !accepted.has(client.text)) return undefined;
      if (client?.elicits === true && hostFor(exchange.caller).asksUsers === true) return undefined;
      return call(plain, exchange, hangUp);
    },
  };
}

/** With what each result of revision 2026-07-28 tells besides. */
const modernResult = (result: CallToolResult, { serverInfo }: McpHost): object => ({
  ...result,
  _meta: { ...result._meta, [SERVER_INFO_META_KEY]: serverInfo },
  resultType: "complete",
});

/**
 * A stream that holds nothing but answers becomes plain JSON: clients bound the size of an event, not that of a body. The
 * first note of progress or sign of life decides for the stream, if the client takes one; else it is left out.
 */
async function inOnePiece(response: Response, parsedBody: unknown, takesEvents: boolean): Promise<Response> {
  const { body, status, headers } = response;
  const isEndless = isObject(parsedBody) && parsedBody["method"] === "subscriptions/listen";
  if (body === null || headers.get("content-type")?.startsWith("text/event-stream") !== true || isEndless)
    return response;
  const reader = body.getReader();
  const events: Uint8Array[] = [];
  const answers: string[] = [];
  for (let step = await reader.read(); !step.done; step = await reader.read()) {
    const answer = answerIn(step.value);
    if (takesEvents) events.push(step.value);
    if (answer !== undefined) answers.push(answer);
    else if (takesEvents) return new Response(followedBy(events, reader), { status, headers });
  }
  // A client that is gone gets none.
  if (answers.length === 0) return new Response(null, { status, headers });
  const text = Array.isArray(parsedBody) ? `[${answers.join(",")}]` : answers.join("");
  return new Response(text, { status, headers: { "content-type": "application/json" } });
}

/** The JSON of the answer that an event holds, of which the SDK writes each as a whole; `undefined`: it holds none. */
function answerIn(event: Uint8Array): string | undefined {
  const [, data] = /^event: message\ndata: (.*)\n\n$/s.exec(Buffer.from(event).toString()) ?? [];
  return data === undefined || "method" in Object(JSON.parse(data)) ? undefined : data;
}

const followedBy = (first: readonly Uint8Array[], rest: ReadableStreamDefaultReader<Uint8Array>): ReadableStream =>
  new ReadableStream({
    start: (controller) => {
      for (const event of first) controller.enqueue(event);
    },
    pull: async (controller) => {
      const { done, value } = await rest.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => rest.cancel(reason),
  });
