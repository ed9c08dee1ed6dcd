import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import type { ReadableStream, WritableStream } from "node:stream/web";
import { fileURLToPath } from "node:url";
import { ndJsonStream, type Stream } from "@agentclientprotocol/sdk";
import type { AcpClientFs } from "../../../src/surfaces/acp/client-fs.js";
import type { AcpConnection, NewSession } from "../../../src/surfaces/acp/protocol/connection.js";

const AGENT = fileURLToPath(new URL("agent.mjs", import.meta.url));

/** SDKs that agents are made with: 2.4 and 1.9, which speak by lines and by messages in this process. */
export const SDKS = ["2", "1", "2 in process", "1 in process"] as const;
export type Sdk = (typeof SDKS)[number];

export interface Answer {
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** An agent of version 1. */
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

/** Two ends of a connection in this process. @param received takes what the second end is sent, as text */
export function pair(received: string[] = []): readonly [Stream, Stream] {
  const back = new TransformStream();
  const there = new TransformStream({
    transform(message, controller) {
      received.push(JSON.stringify(message));
      controller.enqueue(message);
    },
  });
  return [
    { readable: back.readable, writable: there.writable },
    { readable: there.readable, writable: back.writable },
  ];
}

interface Started {
  readonly stream: Stream;
  end(): Promise<void>;
}

/** Messages as lines. @param received takes what is written, as text */
function byLines(input: WritableStream<Uint8Array>, output: ReadableStream<Uint8Array>, received: string[]): Stream {
  const decoder = new TextDecoder();
  const tee = new TransformStream<Uint8Array, Uint8Array>({
    transform(bytes, controller) {
      received.push(decoder.decode(bytes, { stream: true }));
      controller.enqueue(bytes);
    },
  });
  void tee.readable.pipeTo(input as never).catch(() => {});
  return ndJsonStream(tee.writable, output as never);
}

function linesHere(received: string[]): readonly [Stream, Stream] {
  const [there, back] = [new TransformStream<Uint8Array>(), new TransformStream<Uint8Array>()];
  return [byLines(there.writable, back.readable, received), ndJsonStream(back.writable, there.readable)];
}

function startHere(sdk: Sdk, received: string[]): Started {
  const [stream, peer] = (sdk.endsWith("in process") ? pair : linesHere)(received);
  const connected = import("./agent.mjs" as string).then(({ connectTo }) => connectTo(peer, sdk));
  return { stream, end: () => connected };
}

/** A process whose messages can be connected. @param args of Node @param received takes what it is sent, as text */
export function startProcess(args: readonly string[], received: string[]): Started {
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const input = Writable.toWeb(child.stdin) as WritableStream<Uint8Array>;
  const output = Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>;
  return {
    stream: byLines(input, output, received),
    async end() {
      child.kill();
      await ended;
    },
  };
}

/** Has an agent do what a prompt says. @returns what it answers */
export const prompter =
  ({ agent }: AcpConnection) =>
  async (sessionId: string, command: object): Promise<Answer> => {
    const text = JSON.stringify(command);
    const { _meta } = await agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
    return (_meta ?? {}) as Answer;
  };

/** @param isAlone by lines in a process of its own */
export function connectAgent(acp: AcpClientFs, sdk: Sdk, isAlone = false): TestAgent {
  const received: string[] = [];
  const { stream, end } = isAlone ? startProcess([AGENT, sdk], received) : startHere(sdk, received);
  const connection = acp.connect(stream, (app) => app.onNotification("session/update", () => {}));
  const prompt = prompter(connection);
  return {
    connection,
    received,
    newSession: (request) => connection.newSession(request),
    ask: (sessionId, method, params = {}) => prompt(sessionId, { method, params: { sessionId, ...params } }),
    greeting: async (sessionId) => (await prompt(sessionId, { method: "greeting" })).result,
    cancel: (sessionId) => connection.agent.notify("session/cancel", { sessionId }),
    async stop() {
      await connection.close();
      await end();
    },
  };
}
