// A proxy for TCP between instances and what they need, whose connections can be cut, made silent or slow.
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/** `cut`: connections are reset, and new ones too. `silent`: they stay open, and nothing goes through. */
export type Fault = "cut" | "silent" | { readonly delayMs: number };

export interface TcpProxy {
  readonly port: number;
  /** What happens from now on; without an argument all goes through, what was held back first. */
  set(fault?: Fault): void;
  close(): Promise<void>;
}

/** Starts a proxy to a port of this machine, which need not be known before the first connection. */
export async function startProxy(target: () => number): Promise<TcpProxy> {
  let fault: Fault | undefined;
  const sockets = new Set<Socket>();
  const held: (() => void)[] = [];
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on("error", () => {});
    socket.once("close", () => sockets.delete(socket));
  };
  const send = (to: Socket, bytes: Buffer) => {
    const write = () => void (to.destroyed || to.write(bytes));
    if (fault === "silent") held.push(write);
    else if (typeof fault === "object") setTimeout(write, fault.delayMs);
    else write();
  };
  const end = (to: Socket) => {
    const close = () => void to.destroy();
    if (fault === "silent") held.push(close);
    else if (typeof fault === "object") setTimeout(close, fault.delayMs);
    else close();
  };
  const server = createServer((client) => {
    keep(client);
    if (fault === "cut") {
      client.resetAndDestroy();
      return;
    }
    const upstream = connect(target(), "127.0.0.1");
    keep(upstream);
    client.on("data", (bytes) => send(upstream, bytes)).once("close", () => end(upstream));
    upstream.on("data", (bytes) => send(client, bytes)).once("close", () => end(client));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  return {
    port,
    set(next) {
      fault = next;
      if (fault === "cut") for (const socket of sockets) socket.resetAndDestroy();
      if (fault === undefined) for (const go of held.splice(0)) go();
    },
    async close() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, "close");
    },
  };
}
