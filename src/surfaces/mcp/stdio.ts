import { serveStdio } from "@modelcontextprotocol/server/stdio";
import type { McpHost } from "./host.js";
import { type LineStreams, LineTransport } from "./line-transport.js";
import { createMcpServer } from "./server.js";

/** Serves MCP over a pair of streams until one of them ends. @returns once it has ended */
export async function serveMcpStdio(host: McpHost, streams: LineStreams): Promise<void> {
  const { input, output, onError } = streams;
  const ended = new Promise<void>((resolve) => {
    for (const event of ["end", "close", "error"]) input.once(event, () => resolve());
    for (const event of ["close", "error"]) output.once(event, () => resolve());
  });
  const transport = new LineTransport(streams);
  const connection = serveStdio(() => createMcpServer(host), { transport, onerror: onError });
  await ended;
  await connection.close();
}
