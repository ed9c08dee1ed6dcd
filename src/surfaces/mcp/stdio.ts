// Serves MCP over stdio.

import { askForRoots, type ClientRoots } from "./client-roots.js";
import { Connection } from "./connection.js";
import type { Greeting, McpHost } from "./host.js";
import { type LineStreams, LineTransport } from "./line-transport.js";
import type { Message } from "./wire.js";

/** A host that depends on the roots of its client, and so is opened after the handshake. */
export interface HostAfterRoots {
  readonly greeting: Greeting;
  /** Time the client gets to tell its roots, in milliseconds. */
  readonly answerMs: number;
  /** Opens the host. Called once. */
  open(roots: ClientRoots): Promise<McpHost>;
}

/**
 * Serves MCP over a pair of streams.
 *
 * @param given a host, or how to open one once the client's roots are known; until then only the handshake is served
 * @returns once one of the streams has ended
 * @throws what opening the host throws
 */
export async function serveMcpStdio(given: McpHost | HostAfterRoots, streams: LineStreams): Promise<void> {
  const transport = new LineTransport(streams);
  const connection = new Connection("open" in given ? greeter(given.greeting) : given, transport);
  let opening: Promise<void> | undefined;
  transport.onclose = () => connection.abort();
  transport.onmessage = (first) => {
    transport.onmessage = (message) => connection.receive(message);
    if (!("open" in given)) return connection.receive(first);
    opening = openAfterRoots(given, { first, transport, streams, connection });
    // Awaited once the connection has ended.
    opening.catch(() => transport.close());
  };
  transport.start();
  await transport.closed;
  await opening;
}

/** A host that shakes hands and has no tools. */
const greeter = (greeting: Greeting): McpHost => ({
  ...greeting,
  tools: [],
  maxWaitMs: undefined,
  submit: () => {
    throw new Error("a call came before the host was open");
  },
  logInternal: () => {},
});

/** Opens the host with the client's roots, and keeps calls back until then. */
async function openAfterRoots(
  { open, answerMs }: HostAfterRoots,
  parts: {
    readonly first: Message;
    readonly transport: LineTransport;
    readonly streams: LineStreams;
    readonly connection: Connection;
  },
): Promise<void> {
  const { first, transport, streams, connection } = parts;
  transport.hold();
  const ended = new Promise<void>((resolve) => {
    streams.input.once("end", resolve);
    void transport.closed.then(resolve);
  });
  const asking = askForRoots(transport, first, { answerMs, ended });
  // Without a handshake the first message may be a call, which needs the host.
  const isGreeted = "method" in first && first.method === "initialize";
  if (isGreeted) connection.receive(first);
  connection.serve(await open(await asking));
  if (!isGreeted) connection.receive(first);
  transport.letGo();
}
