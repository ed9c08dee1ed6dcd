import { serveStdio } from "@modelcontextprotocol/server/stdio";
import type { McpHost } from "./host.js";
import { type LineStreams, LineTransport } from "./line-transport.js";
import { createMcpServer } from "./server.js";

/** Serves MCP over a pair of streams. @returns once one of them has ended */
export async function serveMcpStdio(host: McpHost, streams: LineStreams): Promise<void> {
  const transport = new LineTransport(streams);
  const connection = serveStdio(() => createMcpServer(host, (id) => transport.memoryOf(id)), {
    transport,
    onerror: streams.onError,
  });
  await transport.closed;
  await connection.close();
}
