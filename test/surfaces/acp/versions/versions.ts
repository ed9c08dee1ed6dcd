import { fileURLToPath } from "node:url";
import type { Stream } from "@agentclientprotocol/sdk";
import type { AcpClientFs } from "../../../../src/surfaces/acp/client-fs.js";
import type { AcpConnection, Configure } from "../../../../src/surfaces/acp/protocol/connection.js";
import { type Answer, pair, prompter, startProcess } from "../stage.js";

// biome-ignore lint/suspicious/noExplicitAny: an agent of the experimental entry
type Agent2 = (options?: object) => any;

/** The agent of version 2, to be connected in this process. */
export const agent2: Agent2 = (options) =>
  (import("./agent-2.mjs" as string) as Promise<{ agent2: Agent2 }>).then((module) => module.agent2(options));

export interface Agent2Connection {
  readonly connection: AcpConnection;
  /** Everything that was sent to it, as text. */
  readonly received: string[];
  /** Has the agent call a tool of a session, the last one that was opened. @returns what MCP answered */
  call(sessionId: string, name: string, args?: object, server?: string): Promise<Outcome>;
  /** Has the agent send a request to the client, or to the server of tools. */
  ask(sessionId: string, method: string, params?: object, server?: string): Promise<Answer>;
  stop(): Promise<void>;
}

/** What a call of a tool has answered. */
export interface Outcome {
  /** Texts of the answer, one below the other. */
  readonly text: string;
  readonly isError: boolean;
  readonly code: string | undefined;
  readonly answer: Answer;
}

const PROGRAM = fileURLToPath(new URL("agent-2.mjs", import.meta.url));

export type Way = "in process" | "over stdio";
export const WAYS: readonly Way[] = ["in process", "over stdio"];

/** Connects an agent of version 2. @param options of the agent, in process alone */
export async function connect2(
  acp: AcpClientFs,
  way: Way = "in process",
  { configure, ...options }: { configure?: Configure } & Record<string, unknown> = {},
): Promise<Agent2Connection> {
  const received: string[] = [];
  const { stream, end } = way === "in process" ? await local(options, received) : startProcess([PROGRAM], received);
  const connection = acp.connect(stream, configure ?? ((app) => app.onNotification("session/update", () => {})));
  const prompt = prompter(connection);
  const ask = (sessionId: string, method: string, params = {}, server?: string): Promise<Answer> =>
    prompt(sessionId, { method, params, ...(server === undefined ? {} : { server }) });
  return {
    connection,
    received,
    ask,
    call: async (sessionId, name, args = {}, server) =>
      outcomeOf(await ask(sessionId, "tools/call", { name, arguments: args }, server)),
    async stop() {
      await connection.close();
      await end();
    },
  };
}

function outcomeOf(answer: Answer): Outcome {
  const { result } = (answer.result ?? {}) as { result?: Record<string, unknown> };
  const content = (result?.["content"] ?? []) as readonly { text?: string }[];
  const meta = (result?.["_meta"] ?? {}) as Record<string, { errorCode?: string }>;
  return {
    text: content.map(({ text }) => text ?? "").join("\n"),
    isError: result === undefined || result["isError"] === true,
    code: meta["venue-files/error"]?.errorCode,
    answer,
  };
}

async function local(options: object, received: string[]): Promise<{ stream: Stream; end(): Promise<void> }> {
  const [stream, peer] = pair(received);
  const connection = (await agent2(options)).connect(peer);
  return { stream, end: async () => connection.close() };
}
