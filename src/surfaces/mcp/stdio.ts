import type { JSONRPCMessage } from "@modelcontextprotocol/server";
import { isServedDirectly, serveDirectly } from "./direct.js";
import type { McpHost } from "./host.js";
import { type LineStreams, LineTransport } from "./line-transport.js";

/**
 * Serves MCP over a pair of streams. The first message decides whether the SDK is loaded, which takes most of the start.
 *
 * @returns once one of the streams has ended
 */
export async function serveMcpStdio(host: McpHost, streams: LineStreams): Promise<void> {
  const transport = new LineTransport(streams);
  let end: Promise<() => Promise<void>> | undefined;
  transport.onmessage = (first) => {
    if (isServedDirectly(first)) {
      serveDirectly(host, transport)(first);
      return;
    }
    const before: JSONRPCMessage[] = [first];
    transport.onmessage = (message) => before.push(message);
    transport.hold();
    end = import("./sdk-stdio.js").then(({ serveBySdk }) =>
      serveBySdk(host, transport, { before, onError: streams.onError }),
    );
  };
  await transport.start();
  await transport.closed;
  await (await end)?.();
}
