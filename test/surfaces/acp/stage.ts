import { type ChildProcess, spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import type { ReadableStream, WritableStream } from "node:stream/web";
import { fileURLToPath } from "node:url";
import { ndJsonStream, type Stream } from "@agentclientprotocol/sdk";
import type { AcpClientFs } from "../../../src/surfaces/acp/client-fs.js";
import type { AcpConnection, NewSession } from "../../../src/surfaces/acp/protocol/connection.js";

const AGENT = fileURLToPath(new URL("agent.mjs", import.meta.url));

/** Versions of the SDK that agents are made with. */
export const SDKS = ["2", "1"] as const;
export type Sdk = (typeof SDKS)[number];

export interface Answer {
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** An agent in a process of its own. */
export interface TestAgent {
  readonly connection: AcpConnection;
  /** Everything that was sent to it, as text. */
  readonly received: string[];
  newSession(request: NewSession): Promise<string>;
  /** Has the agent ask the client. */
  ask(sessionId: string, method: string, params?: object): Promise<Answer>;
  /** What the agent was told at the start. */
  greeting(sessionId: string): Promise<Answer["result"]>;
  /** Has the agent cancel what it asked. */
  cancel(sessionId: string): Promise<void>;
  stop(): Promise<void>;
}

/** A process whose messages can be connected. */
function startAgent(sdk: Sdk): { child: ChildProcess; stream: Stream; received: string[] } {
  const child = spawn(process.execPath, [AGENT, sdk], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const received: string[] = [];
  const decoder = new TextDecoder();
  const input = Writable.toWeb(child.stdin) as WritableStream<Uint8Array>;
  const tee = new TransformStream<Uint8Array, Uint8Array>({
    transform(bytes, controller) {
      received.push(decoder.decode(bytes, { stream: true }));
      controller.enqueue(bytes);
    },
  });
  void tee.readable.pipeTo(input as never).catch(() => {});
  const output = Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>;
  return { child, received, stream: ndJsonStream(tee.writable, output as never) };
}

export function connectAgent(acp: AcpClientFs, sdk: Sdk): TestAgent {
  const { child, stream, received } = startAgent(sdk);
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const connection = acp.connect(stream, (app) => app.onNotification("session/update", () => {}));
  const prompt = async (sessionId: string, command: object): Promise<Answer> => {
    const text = JSON.stringify(command);
    const { _meta } = await connection.agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
    return (_meta ?? {}) as Answer;
  };
  return {
    connection,
    received,
    newSession: (request) => connection.newSession(request),
    ask: (sessionId, method, params = {}) => prompt(sessionId, { method, params: { sessionId, ...params } }),
    greeting: async (sessionId) => (await prompt(sessionId, { method: "greeting" })).result,
    cancel: (sessionId) => connection.agent.notify("session/cancel", { sessionId }),
    async stop() {
      await connection.close();
      child.kill();
      await ended;
    },
  };
}
