// A client of MCP that shows and sends what it likes: messages as they stand on the wire, over HTTP and over lines, of both eras.

import { PassThrough, type Readable, type Writable } from "node:stream";
import { serveMcpStdio } from "../../../src/surfaces/mcp/stdio.js";
import { type Running, type StartOptions, type Streams, start } from "../../cli/process.js";
import { type Sent, send as sendHttp } from "../http/client.js";
import type { Answer } from "./sessions.js";

/** Modern: 2026-07-28, without a handshake. */
export type Era = "modern" | "legacy";

export interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  // biome-ignore lint/suspicious/noExplicitAny: tests look where they like
  readonly result?: any;
  readonly error?: {
    readonly code: number;
    readonly message: string;
    readonly data?: Readonly<Record<string, unknown>>;
  };
}

const META = "io.modelcontextprotocol/";
const REVISION = "2026-07-28";
const CLIENT_INFO = { name: "raw", version: "1" };
/** What every request of the modern era carries. */
export const MODERN_META = {
  [`${META}protocolVersion`]: REVISION,
  [`${META}clientInfo`]: CLIENT_INFO,
  [`${META}clientCapabilities`]: {},
};
/** Of every request over HTTP; those of the legacy era need no other. */
export const HTTP_HEADERS = { "content-type": "application/json", accept: "application/json, text/event-stream" };

export interface Sending {
  readonly id?: unknown;
  readonly method: string;
  readonly params?: object;
}

const withMeta = (params: object): object => ({
  ...params,
  _meta: { ...MODERN_META, ...(params as { _meta?: object })._meta },
});

/** A request over HTTP, as clients of an era send it. */
export function httpRequestOf(era: Era, { params = {}, ...message }: Sending) {
  const request = { method: "POST", headers: HTTP_HEADERS as Record<string, string> };
  const { uri, name = uri } = params as { uri?: string; name?: string };
  const whole = { jsonrpc: "2.0", ...message, params: era === "modern" ? withMeta(params) : params };
  const body = JSON.stringify(whole);
  if (era === "legacy") return { ...request, body };
  const encoded =
    name !== undefined && /[^ -~]/.test(name) ? `=?base64?${Buffer.from(name).toString("base64")}?=` : name;
  const headers: Record<string, string> = {
    ...{ ...HTTP_HEADERS, "mcp-protocol-version": REVISION, "mcp-method": message.method },
    ...(encoded === undefined ? {} : { "mcp-name": encoded }),
  };
  return { ...request, headers, body };
}

export const toolCall = (name: string, args: object = {}, more: object = {}) => ({
  ...{ method: "tools/call", params: { name, arguments: args, ...more } },
});

/** The messages of an answer over HTTP, whether one comes alone or they come as events. */
export const messagesIn = (text: string): Message[] =>
  /^[[{]/.test(text)
    ? [JSON.parse(text) as Message].flat()
    : [...text.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => JSON.parse(data) as Message);

/** Sends one request over HTTP. @returns its answer @param more of the request */
export async function ask(url: string, request: Sending, era: Era = "legacy", more: Sent = {}): Promise<Message> {
  const { headers, ...init } = httpRequestOf(era, { id: 1, ...request });
  const response = await sendHttp(`${url}/mcp`, { ...init, ...more, headers: { ...headers, ...more.headers } });
  const text = await response.text();
  const answer = messagesIn(text).at(-1);
  if (answer === undefined) throw new Error(`No message: ${response.status} ${text}`);
  return answer;
}

/** Messages as lines, in one piece. */
export const linesOf = (...messages: readonly object[]): string =>
  messages.map((message) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`).join("");

/** A connection by lines. */
export interface LineClient {
  /** All that came, in order: as messages, and as it stood on the wire. */
  readonly messages: readonly Message[];
  readonly lines: readonly string[];
  send(...messages: readonly object[]): void;
  /** Waits for a message. */
  until(isMeant: (message: Message) => boolean): Promise<Message>;
  /** Sends a request and waits for its answer. */
  ask(method: string, params?: object): Promise<Message>;
}

/** @param ended rejects what still waits */
function overLines(input: Writable, output: Readable, era: Era, ended?: Promise<unknown>): LineClient {
  const messages: Message[] = [];
  const lines: string[] = [];
  const waiting = new Set<{ look(message: Message): void; reject(error: Error): void }>();
  let rest: string[] = [];
  let lastId = 0;
  output.setEncoding("utf8").on("data", (chunk: string) => {
    // Not by the module for lines, which ends some at characters that may stand in JSON.
    const [first = "", ...more] = chunk.split("\n");
    rest.push(first);
    for (const next of more) {
      const line = rest.join("");
      rest = [next];
      lines.push(line);
      const message = JSON.parse(line) as Message;
      messages.push(message);
      for (const { look } of waiting) look(message);
    }
  });
  void ended?.then((end) => {
    for (const { reject } of waiting) reject(new Error(`Ended: ${JSON.stringify(end).slice(0, 2000)}`));
  });
  const client: LineClient = {
    ...{ messages, lines },
    send: (...sent) => void input.write(linesOf(...sent)),
    until: (isMeant) =>
      new Promise((resolve, reject) => {
        const found = messages.find(isMeant);
        if (found !== undefined) return resolve(found);
        const look = (message: Message): void => {
          if (!isMeant(message)) return;
          waiting.delete(one);
          resolve(message);
        };
        const one = { look, reject };
        waiting.add(one);
      }),
    ask(method, params = {}) {
      lastId += 1;
      const id = lastId;
      client.send({ id, method, params: era === "modern" ? withMeta(params) : params });
      return client.until((message) => message.id === id && message.method === undefined);
    },
  };
  return client;
}

/** The handshake of the legacy era. */
function shakeHands(client: LineClient, protocolVersion: string): Promise<Message> {
  const hello = client.ask("initialize", { protocolVersion, capabilities: {}, clientInfo: CLIENT_INFO });
  client.send({ method: "notifications/initialized" });
  return hello;
}

/** A connection within this process. */
export interface StdioWay extends LineClient {
  readonly era: Era;
  readonly input: PassThrough;
  readonly served: Promise<unknown>;
  close(): Promise<void>;
}

/** @param host as `serveMcpStdio` takes it @param isGreeted shakes hands where the era has that */
export function overStdio(host: unknown, era: Era, isGreeted = era === "legacy"): StdioWay {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const client = overLines(input, output, era);
  const served = serveMcpStdio(host as never, {
    ...{ input, output, onError: () => {}, maxMessageBytes: 1e6, maxHeldBytes: 1e8 },
  });
  if (isGreeted) void shakeHands(client, "2025-11-25");
  const close = async (): Promise<void> => {
    input.end();
    await served;
  };
  return { ...client, era, input, served, close };
}

/** An answer as it stood on the wire. */
export interface RawAnswer {
  readonly line: string;
  readonly id: number;
  readonly result?: Answer & Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string };
}

/** A connection to `venue-files mcp`. */
export interface RawClient<C extends Streams = Running["child"]> {
  readonly process: Running<C>;
  /** Sends a request and waits for its answer. */
  request(method: string, params?: Record<string, unknown>): Promise<RawAnswer>;
  /** Calls a tool and waits for its answer. */
  call(name: string, args?: unknown): Promise<RawAnswer & { result: Answer }>;
  /** Writes a text as it is. */
  write(text: string): void;
  /** Every line that came so far. */
  lines(): readonly string[];
}

export interface RawOptions extends StartOptions {
  readonly era?: "2025" | "newest";
}

/** Starts a process `venue-files mcp` and, in the protocol of 2025, shakes hands. */
export const startRaw = (args: readonly string[], options: RawOptions = {}): Promise<RawClient> =>
  rawOf(start(["mcp", ...args], options), options);

/** Speaks with what {@link startRaw} or `rawHere` has started. */
export async function rawOf<C extends Streams>(
  process: Running<C>,
  { era }: Pick<RawOptions, "era">,
): Promise<RawClient<C>> {
  const { stdin, stdout } = process.child;
  const isModern = era === "newest";
  const client = overLines(stdin, stdout, isModern ? "modern" : "legacy", process.ended);
  if (!isModern) await shakeHands(client, "2025-06-18");
  const request: RawClient["request"] = async (method, params) => {
    const answer = await client.ask(method, params);
    return { ...answer, line: client.lines[client.messages.lastIndexOf(answer)] ?? "" } as RawAnswer;
  };
  return {
    ...{ process, request },
    async call(name, args = {}) {
      const answer = await request("tools/call", { name, arguments: args });
      const { result } = answer;
      if (result === undefined) throw new Error(`No result: ${answer.line}`);
      return { ...answer, result };
    },
    write: (text) => void stdin.write(text),
    lines: () => client.lines,
  };
}
