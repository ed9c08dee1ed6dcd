import { createMcpHandler } from "@modelcontextprotocol/server";
import type { McpHost } from "./host.js";
import { createMcpServer } from "./server.js";

/** A call over HTTP as the venue hands it on. */
export interface McpExchange {
  readonly caller: string;
  readonly parsedBody?: unknown;
}

/**
 * The stateless streamable HTTP endpoint: every request is served by a server of its own, for its own caller.
 * @param hostFor what a caller may see and do
 */
export function createMcpEndpoint(
  hostFor: (caller: string) => McpHost,
  onError: (error: Error) => void,
): (request: Request, exchange: McpExchange) => Promise<Response> {
  const handler = createMcpHandler(({ authInfo }) => createMcpServer(hostFor(authInfo?.clientId ?? "")), {
    onerror: onError,
  });
  return (request, { caller, parsedBody }) => {
    // The SDK passes this through untouched; authentication has been done before.
    const authInfo = { token: "", clientId: caller, scopes: [] };
    return handler.fetch(request, parsedBody === undefined ? { authInfo } : { authInfo, parsedBody });
  };
}
