// MCP over streamable HTTP, stateless: each request stands alone.

import { createMcpHandler, type McpRequestContext } from "@modelcontextprotocol/server";
import type { Caller } from "../../core/call/caller.js";
import type { MemoryLease } from "../../core/memory.js";
import { DetachedCalls } from "./detached-calls.js";
import type { McpHost } from "./host.js";
import { createMcpServer } from "./server.js";

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

/**
 * Creates the stateless streamable HTTP endpoint: each request gets a server of its own, bound to its caller.
 * @param hostFor returns the MCP host as seen by a caller
 */
export function createMcpEndpoint(
  hostFor: (caller: Caller) => McpHost,
  { onError, onRefusal }: McpReports,
): (request: Request, exchange: McpExchange) => Promise<Response> {
  const calls = new DetachedCalls();
  return async (request, { caller, memory, parsedBody }) => {
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
}
