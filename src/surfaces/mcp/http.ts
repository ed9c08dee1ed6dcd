// MCP over streamable HTTP, stateless: each request stands alone.

import { createMcpHandler } from "@modelcontextprotocol/server";
import type { Caller } from "../../core/call/caller.js";
import type { MemoryLease } from "../../core/memory.js";
import type { McpHost } from "./host.js";
import { createMcpServer } from "./server.js";

/** An authenticated HTTP request to the MCP endpoint. */
export interface McpExchange {
  readonly caller: Caller;
  readonly parsedBody?: unknown;
  /** Memory accounting for the request and its answer; absent if unlimited. */
  readonly memory?: MemoryLease;
}

/**
 * Creates the stateless streamable HTTP endpoint: each request gets a server of its own, bound to its caller.
 * @param hostFor returns the MCP host as seen by a caller
 */
export function createMcpEndpoint(
  hostFor: (caller: Caller) => McpHost,
  onError: (error: Error) => void,
): (request: Request, exchange: McpExchange) => Promise<Response> {
  const exchanges = new WeakMap<object, McpExchange>();
  const handler = createMcpHandler(
    ({ authInfo }) => {
      const exchange = authInfo === undefined ? undefined : exchanges.get(authInfo);
      if (exchange === undefined) throw new Error("The caller of an MCP request got lost");
      return createMcpServer(hostFor(exchange.caller), () => exchange.memory);
    },
    { onerror: onError },
  );
  return (request, exchange) => {
    const { caller, parsedBody } = exchange;
    // The SDK passes authInfo through untouched, so it serves as the key of the exchange; the venue has authenticated.
    const authInfo = { token: "", clientId: caller.did, scopes: [] };
    exchanges.set(authInfo, exchange);
    return handler.fetch(request, parsedBody === undefined ? { authInfo } : { authInfo, parsedBody });
  };
}
