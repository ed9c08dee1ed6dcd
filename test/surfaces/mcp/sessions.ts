import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as StdioClientTransport1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as HttpClientTransport1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CLI, makeFolder } from "../../cli/process.js";

/** An answer of a tool as clients of either generation hand it on. */
export interface Answer {
  readonly content: readonly Readonly<Record<string, unknown>>[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean | undefined;
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
}

export interface ListedTool {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly outputSchema?: Readonly<Record<string, unknown>> | undefined;
  readonly annotations?: Readonly<Record<string, unknown>> | undefined;
}

/** A connection of a real client. */
export interface Session {
  list(): Promise<readonly ListedTool[]>;
  call(name: string, args?: Record<string, unknown>, signal?: AbortSignal): Promise<Answer>;
  serverVersion(): unknown;
  instructions(): string | undefined;
  close(): Promise<void>;
}

/** How a client reaches the server: arguments of `venue-files mcp`, or the URL of a running `serve`. */
export type Target = { readonly args: readonly string[]; readonly cwd?: string } | { readonly url: string };

const INFO = { name: "test", version: "1" };
const MODERN = { versionNegotiation: { mode: { pin: "2026-07-28" } } };

const CLIENTS = {
  "client 2, newest protocol": (target: Target) => connect2(new Client(INFO, MODERN), target),
  "client 2, protocol of 2025": (target: Target) => connect2(new Client(INFO), target),
  "client 1": (target: Target) => connect1(new Client1(INFO), target),
} as const;

export type ClientName = keyof typeof CLIENTS;
export const CLIENT_NAMES = Object.keys(CLIENTS) as ClientName[];

const open: Session[] = [];

/** Connects an official client. It is closed by {@link closeSessions} at the latest. */
export async function connect(client: ClientName, target: Target): Promise<Session> {
  const session = await CLIENTS[client](target);
  open.push(session);
  return session;
}

export async function closeSessions(): Promise<void> {
  await Promise.all(open.splice(0).map((session) => session.close()));
}

function stdioOf(target: { readonly args: readonly string[]; readonly cwd?: string }) {
  const tmp = makeFolder();
  return {
    command: process.execPath,
    args: [CLI, "mcp", ...target.args],
    cwd: target.cwd ?? tmp,
    env: { TMPDIR: tmp },
    stderr: "inherit" as const,
  };
}

async function connect2(client: Client, target: Target): Promise<Session> {
  await client.connect(
    "url" in target
      ? new StreamableHTTPClientTransport(new URL(`${target.url}/mcp`))
      : new StdioClientTransport(stdioOf(target)),
  );
  return {
    list: async () => (await client.listTools()).tools,
    call: async (name, args = {}, signal) =>
      client.callTool({ name, arguments: args }, signal === undefined ? {} : { signal }),
    serverVersion: () => client.getServerVersion(),
    instructions: () => client.getInstructions(),
    close: () => client.close(),
  };
}

async function connect1(client: Client1, target: Target): Promise<Session> {
  await client.connect(
    "url" in target
      ? new HttpClientTransport1(new URL(`${target.url}/mcp`))
      : new StdioClientTransport1(stdioOf(target)),
  );
  return {
    list: async () => (await client.listTools()).tools,
    call: async (name, args = {}, signal) =>
      parseAnswer(await client.callTool({ name, arguments: args }, undefined, signal === undefined ? {} : { signal })),
    serverVersion: () => client.getServerVersion(),
    instructions: () => client.getInstructions(),
    close: () => client.close(),
  };
}

/** The first generation may also hand on answers of a form that is long gone. */
function parseAnswer(result: object): Answer {
  if (!("content" in result)) throw new Error(`No content: ${JSON.stringify(result)}`);
  return result as Answer;
}

/** The text of a block. */
export function textOf(answer: Answer, index = 0): string {
  const text = answer.content[index]?.["text"];
  if (typeof text !== "string") throw new Error(`No text in block ${index}: ${JSON.stringify(answer)}`);
  return text;
}

/** Every output field of a body or list that is not the body itself. */
export function restOf(answer: Answer): unknown {
  return answer._meta?.["venue-files/result"];
}
