// The MCP server by the SDK: for every protocol generation and whatever a client asks.

import type { Server } from "@modelcontextprotocol/server";
import { CheckedServer } from "./checked-server.js";
import type { McpHost } from "./host.js";
import { createToolCalls, type MemoryOf } from "./tool-calls.js";

/** Creates an MCP server whose tools are the venue's operations; one per connection or stateless request. */
export function createMcpServer(host: McpHost, memoryOf: MemoryOf = () => undefined): Server {
  const server = new CheckedServer(host.serverInfo, { capabilities: { tools: {} }, instructions: host.instructions });
  const { list, call } = createToolCalls(host, memoryOf);
  server.setRequestHandler("tools/list", list);
  server.setRequestHandler("tools/call", ({ params }, { mcpReq: { id, signal } }) =>
    call({ id, name: params.name, args: params.arguments ?? {}, signal }),
  );
  return server;
}
