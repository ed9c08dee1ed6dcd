import { createMcpHandler } from "@modelcontextprotocol/server";
import type { Caller } from "../../core/call/caller.js";
import type { MemoryLease } from "../../core/memory.js";
import type { McpHost } from "./host.js";
import { createMcpServer } from "./server.js";

/** A call over HTTP as the venue hands it on. */
export interface McpExchange {
  readonly caller: Caller;
  readonly parsedBody?: unknown;
  /** What the request and its answer may take; absent: nobody counts. */
  readonly memory?: MemoryLease;
}

/**
 * The stateless streamable HTTP endpoint: every request is served by a server of its own, for its own caller.
 * @param hostFor what a caller may see and do
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
    // The SDK passes this through untouched; authentication has been done before.
    const authInfo = { token: "", clientId: caller.did, scopes: [] };
    exchanges.set(authInfo, exchange);
    return handler.fetch(request, parsedBody === undefined ? { authInfo } : { authInfo, parsedBody });
  };
}
