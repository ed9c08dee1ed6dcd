// Serves a stdio connection by the SDK.

import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import type { McpHost } from "./host.js";
import type { LineTransport } from "./line-transport.js";
import { createMcpServer } from "./server.js";

/**
 * Serves a connection by the SDK.
 *
 * @param before messages that the transport has delivered already
 * @returns ends the SDK's side, to be called when the transport has closed
 */
export function serveBySdk(
  host: McpHost,
  transport: LineTransport,
  { before, onError }: { readonly before: readonly JSONRPCMessage[]; readonly onError: (error: Error) => void },
): () => Promise<void> {
  const connection = serveStdio(() => createMcpServer(host, { memoryOf: (id) => transport.memoryOf(id) }), {
    transport: startedTransport(transport, before),
    onerror: onError,
  });
  return () => connection.close();
}

/** A transport that was started before the SDK has it. */
function startedTransport(transport: LineTransport, before: readonly JSONRPCMessage[]): Transport {
  const started: Transport = {
    async start() {
      transport.onclose = () => started.onclose?.();
      transport.onmessage = (message) => started.onmessage?.(message);
      for (const message of before) started.onmessage?.(message);
      transport.letGo();
    },
    send: (message) => transport.send(message),
    close: () => transport.close(),
  };
  return started;
}
