import type { Readable, Writable } from "node:stream";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import type { McpHost } from "./host.js";
import { createMcpServer } from "./server.js";

export interface StdioStreams {
  readonly input: Readable;
  readonly output: Writable;
  /** Longest message accepted, in bytes; a longer one ends the connection. */
  readonly maxMessageBytes: number;
  readonly onError: (error: Error) => void;
}

/** Serves MCP over a pair of streams until the input ends. @returns once it has ended */
export async function serveMcpStdio(host: McpHost, streams: StdioStreams): Promise<void> {
  const transport = new StdioServerTransport(streams.input, streams.output, { maxBufferSize: streams.maxMessageBytes });
  const ended = new Promise<void>((resolve) => {
    streams.input.once("end", resolve);
    streams.input.once("close", resolve);
    streams.output.once("close", resolve);
  });
  const connection = serveStdio(() => createMcpServer(host), { transport, onerror: streams.onError });
  await ended;
  await connection.close();
}
