import { type AgentApp, type AgentContext, agent, type RequestError } from "@agentclientprotocol/sdk";
import type { AcpClientFs } from "../../../src/surfaces/acp/client-fs.js";
import type { SessionDirectories } from "../../../src/surfaces/acp/protocol/sessions.js";
import type { Answer } from "./stage.js";

/** An agent in this process, connected without a transport. */
export interface LocalAgent {
  ask(method: string, params?: object, options?: { cancellationSignal: AbortSignal }): Promise<Answer>;
  close(): void;
}

/** One with a session that the host has opened. */
export async function localAgent(
  acp: AcpClientFs,
  sessionId: string,
  directories: SessionDirectories,
): Promise<LocalAgent> {
  const app = acp.app();
  await acp.addSession(app, sessionId, directories);
  let client: AgentContext | undefined;
  const peer: AgentApp = agent({ name: "local" }).onConnect((connection) => {
    client = connection.client;
  });
  const connection = app.connect(peer);
  return {
    ask: async (method, params = {}, options = undefined) => {
      if (client === undefined) throw new Error("not connected");
      return client.request(method, { sessionId, ...params }, options).then(
        (result): Answer => ({ result: result as Record<string, unknown> }),
        ({ code, message, data }: RequestError): Answer => ({
          error: { code, message, ...(data === undefined ? {} : { data }) },
        }),
      );
    },
    close: () => connection.close(),
  };
}
