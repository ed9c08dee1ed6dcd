import { createMcpHandler } from "@modelcontextprotocol/server";
import type { Caller } from "../../core/caller.js";
import type { McpHost } from "./host.js";
import { createMcpServer } from "./server.js";

/** A call over HTTP as the venue hands it on. */
export interface McpExchange {
  readonly caller: Caller;
  readonly parsedBody?: unknown;
}

/**
 * The stateless streamable HTTP endpoint: every request is served by a server of its own, for its own caller.
 * @param hostFor what a caller may see and do
 */
export function createMcpEndpoint(
  hostFor: (caller: Caller) => McpHost,
  onError: (error: Error) => void,
): (request: Request, exchange: McpExchange) => Promise<Response> {
  const callers = new WeakMap<object, Caller>();
  const handler = createMcpHandler(
    ({ authInfo }) => {
      const caller = authInfo === undefined ? undefined : callers.get(authInfo);
      if (caller === undefined) throw new Error("The caller of an MCP request got lost");
      return createMcpServer(hostFor(caller));
    },
    { onerror: onError },
  );
  return (request, { caller, parsedBody }) => {
    // The SDK passes this through untouched; authentication has been done before.
    const authInfo = { token: "", clientId: caller.did, scopes: [] };
    callers.set(authInfo, caller);
    return handler.fetch(request, parsedBody === undefined ? { authInfo } : { authInfo, parsedBody });
  };
}
