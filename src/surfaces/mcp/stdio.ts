// Serves MCP over stdio: directly, or by the SDK where the first message needs it.

import type { JSONRPCMessage } from "@modelcontextprotocol/server";
import { askForRoots } from "./client-roots.js";
import { isServedDirectly, serveDirectly } from "./direct.js";
import type { McpHost } from "./host.js";
import { type HostAfterRoots, LateHost } from "./late-host.js";
import { type LineStreams, LineTransport } from "./line-transport.js";

/**
 * Serves MCP over a pair of streams. The first message decides whether the SDK is loaded, which takes most of the start.
 *
 * @param given a host, or how to open one once the client's roots are known; until then only the handshake is served
 * @returns once one of the streams has ended
 * @throws what opening the host throws
 */
export async function serveMcpStdio(given: McpHost | HostAfterRoots, streams: LineStreams): Promise<void> {
  const transport = new LineTransport(streams);
  let end: Promise<() => Promise<void>> | undefined;
  let opening: Promise<void> | undefined;
  transport.onmessage = (first) => {
    let host: McpHost;
    if ("open" in given) {
      const late = new LateHost(given.greeting);
      opening = openAfterRoots(given, { late, first, transport, streams });
      // Whoever awaits it does so when the connection has ended.
      opening.catch(() => transport.close());
      host = late;
    } else host = given;
    if (isServedDirectly(first, host)) {
      serveDirectly(host, transport)(first);
      return;
    }
    const before: JSONRPCMessage[] = [first];
    transport.onmessage = (message) => before.push(message);
    transport.hold();
    // Without a handshake the first message may be a call, which needs the host.
    const isGreeted = "method" in first && first.method === "initialize";
    end = Promise.all([import("./sdk-stdio.js"), isGreeted ? undefined : opening]).then(([{ serveBySdk }]) =>
      serveBySdk(host, transport, { before, onError: streams.onError }),
    );
    // Awaited when the connection has ended.
    end.catch(() => {});
  };
  await transport.start();
  await transport.closed;
  await (await end)?.();
  await opening;
}

/** Opens the host with the client's roots, and keeps calls back until then. */
async function openAfterRoots(
  { open, answerMs }: HostAfterRoots,
  connection: {
    readonly late: LateHost;
    readonly first: JSONRPCMessage;
    readonly transport: LineTransport;
    readonly streams: LineStreams;
  },
): Promise<void> {
  const { late, first, transport, streams } = connection;
  transport.hold();
  const ended = new Promise<void>((resolve) => {
    streams.input.once("end", resolve);
    void transport.closed.then(resolve);
  });
  const roots = await askForRoots(transport, first, { answerMs, ended });
  late.open(await open(roots));
  transport.letGo();
}
