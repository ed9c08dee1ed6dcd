// The app of version 2. Its SDK entry is experimental: nothing else imports it, and it is loaded once an agent speaks this version.

import type { ClientApp, ClientConnection, ClientContext, Stream } from "@agentclientprotocol/sdk";
import type * as v2 from "@agentclientprotocol/sdk/experimental/v2";
import { pacedApp } from "../paced-stream.js";

/** Its type is that of version 1, which registers and requests by the same names; what messages hold differs. */
export async function createApp2(name: string): Promise<ClientApp> {
  const { ClientApp: Base } = await import("@agentclientprotocol/sdk/experimental/v2");
  return pacedApp(Base as unknown as typeof ClientApp, name);
}

/** Connects an app whose `initialize` is answered already: it gets that answer, and the agent no second request. */
export async function connect2(app: ClientApp, stream: Stream, request: object): Promise<ClientConnection> {
  const connection = (app as unknown as v2.ClientApp).connect(stream);
  await connection.agent.request("initialize", request as v2.InitializeRequest);
  const { agent, signal, closed } = connection;
  return { agent: agent as unknown as ClientContext, signal, closed, close: (error) => connection.close(error) };
}
