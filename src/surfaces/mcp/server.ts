// The MCP server by the SDK: for every protocol generation and whatever a client asks.

import type { Server } from "@modelcontextprotocol/server";
import { CheckedServer } from "./checked-server.js";
import type { DetachedCall } from "./detached-calls.js";
import type { McpHost } from "./host.js";
import { progressNotes } from "./progress.js";
import { createToolCalls, type MemoryOf } from "./tool-calls.js";

type RequestId = string | number;

export interface McpServerOptions {
  readonly memoryOf?: MemoryOf;
  /** Keeps calls from being cancelled with their connection. Absent: they are. */
  readonly detached?: { start(id: RequestId): DetachedCall; cancel(id: RequestId): void };
}

/** Creates an MCP server whose tools are the venue's operations; one per connection or stateless request. */
export function createMcpServer(host: McpHost, options: McpServerOptions = {}): Server {
  const { memoryOf = () => undefined, detached } = options;
  const server = new CheckedServer(host.serverInfo, { capabilities: { tools: {} }, instructions: host.instructions });
  const { list, call } = createToolCalls(host, memoryOf);
  server.setRequestHandler("tools/list", list);
  server.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
    const { id, signal } = mcpReq;
    const request = { id, name: params.name, args: params.arguments ?? {}, progress: progressNotes(mcpReq) };
    const own = detached?.start(id);
    try {
      return await call({ ...request, signal: own?.signal ?? signal, ended: own?.end });
    } catch (error) {
      // Nothing was started.
      own?.end();
      throw error;
    }
  });
  if (detached !== undefined) {
    server.setNotificationHandler("notifications/cancelled", ({ params }) => {
      if (params.requestId !== undefined) detached.cancel(params.requestId);
    });
  }
  return server;
}
