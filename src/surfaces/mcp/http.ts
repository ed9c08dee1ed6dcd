// MCP over streamable HTTP, stateless: each request stands alone.

import type { IncomingHttpHeaders } from "node:http";
import { createMcpHandler, type McpRequestContext } from "@modelcontextprotocol/server";
import type { Caller } from "../../core/call/caller.js";
import type { MemoryLease } from "../../core/memory.js";
import { DetachedCalls } from "./detached-calls.js";
import type { McpHost } from "./host.js";
import { type PlainCall, plainCall } from "./plain-call.js";
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
   * @returns the JSON-RPC message; `undefined`: {@link serve} the request
   */
  call(headers: IncomingHttpHeaders, exchange: McpExchange): Promise<object> | undefined;
}

/**
 * Creates the endpoint. Each request stands alone: what the SDK serves gets a server of its own, bound to its caller.
 * @param hostFor returns the MCP host as seen by a caller
 */
export function createMcpEndpoint(
  hostFor: (caller: Caller) => McpHost,
  { onError, onRefusal }: McpReports,
): McpEndpoint {
  const calls = new DetachedCalls();
  const call = async ({ id, name, args }: PlainCall, { caller, memory }: McpExchange): Promise<object> => {
    const host = hostFor(caller);
    const { signal, end } = calls.start(caller, id);
    try {
      const request = { id, name, args, signal, ended: end };
      return { result: await createToolCalls(host, () => memory).call(request), jsonrpc: "2.0", id };
    } catch (error) {
      // Nothing was started.
      end();
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
    const response = await fetch(request, parsedBody === undefined ? {} : { parsedBody });
    const isRefused = response.status >= 400 && response.status < 500;
    for (const error of reported) (isRefused ? onRefusal : onError)(error);
    reported = undefined;
    return response;
  };
  return {
    serve,
    call(headers, exchange) {
      const plain = plainCall(exchange.parsedBody, headers);
      return plain && call(plain, exchange);
    },
  };
}
