import { Client, type ClientOptions, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as StdioClientTransport1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as HttpClientTransport1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { CLI, makeFolder } from "../../cli/process.js";
import { bearer } from "../http/client.js";

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
export type Target =
  | { readonly args: readonly string[]; readonly cwd?: string }
  | { readonly url: string; readonly token?: string | undefined; readonly fetch?: typeof fetch };

/** What a server asks the user of a client. */
export interface Form {
  readonly message: string;
}
export type Reply = { readonly action: "accept" | "decline" | "cancel"; readonly content?: Record<string, boolean> };
/** The user of a client that can ask it. */
export type OnForm = (form: Form) => Reply | Promise<Reply>;

const INFO = { name: "test", version: "1" };
export const MODERN = { versionNegotiation: { mode: { pin: "2026-07-28" } } };

const CLIENTS = {
  "client 2, newest protocol": (target: Target, onForm?: OnForm) => connect2(MODERN, target, onForm),
  "client 2, protocol of 2025": (target: Target, onForm?: OnForm) => connect2({}, target, onForm),
  "client 1": connect1,
} as const;

export type ClientName = keyof typeof CLIENTS;
export const CLIENT_NAMES = Object.keys(CLIENTS) as ClientName[];

const open: { close(): Promise<void> }[] = [];

/** A connected official client of generation 2, itself. It is closed by {@link closeSessions} at the latest. */
export async function mcpClient(target: Target, options: ClientOptions = {}): Promise<Client> {
  const client = new Client(INFO, options);
  open.push(client);
  await client.connect(
    "url" in target
      ? new StreamableHTTPClientTransport(...overHttp(target))
      : new StdioClientTransport(overStdio(target)),
  );
  return client;
}

/** The same of generation 1. */
export async function mcpClient1(target: Target, options: object = {}): Promise<Client1> {
  const client = new Client1(INFO, options);
  open.push(client);
  await client.connect(
    "url" in target ? new HttpClientTransport1(...overHttp(target)) : new StdioClientTransport1(overStdio(target)),
  );
  return client;
}

/** Connects an official client. It is closed by {@link closeSessions} at the latest. */
export function connect(client: ClientName, target: Target, onForm?: OnForm): Promise<Session> {
  return CLIENTS[client](target, onForm);
}

export async function closeSessions(): Promise<void> {
  await Promise.all(open.splice(0).map((session) => session.close()));
}

function overStdio(target: { readonly args: readonly string[]; readonly cwd?: string }) {
  const tmp = makeFolder();
  return {
    command: process.execPath,
    args: [CLI, "mcp", ...target.args],
    cwd: target.cwd ?? tmp,
    env: { TMPDIR: tmp, HOME: tmp },
    stderr: "inherit" as const,
  };
}

type HttpTarget = Extract<Target, { readonly url: string }>;
const overHttp = ({ url, token, fetch: ask = fetch }: HttpTarget) =>
  [new URL(`${url}/mcp`), { requestInit: { headers: bearer(token) }, fetch: ask }] as const;

const FORMS = { capabilities: { elicitation: { form: {} } } };

async function connect2(mode: object, target: Target, onForm: OnForm | undefined): Promise<Session> {
  const client = await mcpClient(target, { ...mode, ...(onForm === undefined ? {} : FORMS) });
  if (onForm !== undefined)
    client.setRequestHandler("elicitation/create", async ({ params }) => onForm(params as Form));
  return {
    list: async () => (await client.listTools()).tools,
    call: async (name, args = {}, signal) =>
      client.callTool({ name, arguments: args }, signal === undefined ? {} : { signal }),
    serverVersion: () => client.getServerVersion(),
    instructions: () => client.getInstructions(),
    close: () => client.close(),
  };
}

async function connect1(target: Target, onForm?: OnForm): Promise<Session> {
  const client = await mcpClient1(target, onForm === undefined ? {} : { capabilities: { elicitation: {} } });
  if (onForm !== undefined) client.setRequestHandler(ElicitRequestSchema, async ({ params }) => onForm(params as Form));
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
