// Agrees on a version of the protocol with an agent: one `initialize`, before the SDK's app of that version gets the stream.

import { ClientApp, type ClientConnection, type McpServer, RequestError, type Stream } from "@agentclientprotocol/sdk";
import { fieldsOf, isObject } from "../../../core/unknown.js";
import { packageVersion } from "../../../version.js";
import type { ProtocolChoice, ProtocolVersion } from "../options.js";
import { type GreetedStream, type Message, pacedApp } from "../paced-stream.js";

/** Capabilities announced to agents in `initialize`. */
export interface AcpCapabilities {
  readonly fs: { readonly readTextFile: boolean; readonly writeTextFile: boolean };
  readonly terminal: boolean;
  /** Present if the host has a hook for it. */
  readonly elicitation?: { readonly form: object; readonly url?: object };
}

/** Parts of a session that an agent may offer. */
export type Offered = "list" | "resume" | "close" | "delete" | "additionalDirectories";

/** What an agent has said of itself, whichever version it speaks. */
export interface AgentFacts {
  readonly name: string | undefined;
  /** It takes MCP servers over the connection. */
  readonly takesTools: boolean;
  offers(what: Offered): boolean;
}

/** What an agent and the client have agreed on. */
export interface Agreement {
  readonly version: ProtocolVersion;
  readonly agent: AgentFacts;
  /** Parameters of `initialize`. */
  readonly request: object;
  readonly stream: GreetedStream;
}

interface Greeting {
  readonly choice: ProtocolChoice;
  readonly capabilities: AcpCapabilities;
}

/** Name of the client, and of the server of its tools. */
export const CLIENT_NAME = "venue-files";

type Json = Readonly<Record<string, unknown>>;

/** Maximum messages that an agent may send before its answer. */
const MAX_EARLY = 64;
/** Maximum characters kept of an agent's name. */
const MAX_NAME = 200;

/** @throws RequestError of the agent; Error if it speaks another version or closes; the stream is closed then */
export async function negotiate(stream: Stream, greeting: Greeting, signal: AbortSignal): Promise<Agreement> {
  const { choice } = greeting;
  const first = choice === "auto" ? 2 : choice;
  const exchange = new Exchange(stream, signal);
  try {
    const request = paramsOf(first, greeting);
    const answered = await exchange.ask(request);
    const isRefused = "error" in answered && choice === "auto";
    const { error, result } = isRefused ? await exchange.ask(paramsOf(1, greeting)) : answered;
    if (error !== undefined) throw errorOf(error);
    const answer = fieldsOf(result);
    const version = versionIn(answer, isRefused ? 1 : choice);
    return { version, agent: factsOf(version, answer), request, stream: exchange.handOver(answer) };
  } catch (error) {
    exchange.close();
    throw error;
  }
}

/** Both shapes where either version may be answered: agents leave out what they do not know. */
function paramsOf(protocolVersion: ProtocolVersion, { choice, capabilities }: Greeting): object {
  const { elicitation } = capabilities;
  const own = elicitation === undefined ? {} : { elicitation };
  const clientInfo = { name: CLIENT_NAME, version: packageVersion() };
  return {
    protocolVersion,
    ...(choice === 2 ? {} : { clientCapabilities: capabilities, clientInfo }),
    ...(protocolVersion === 2 ? { capabilities: own, info: clientInfo } : {}),
  };
}

/** @throws Error: none that was asked for */
function versionIn({ protocolVersion: version }: Json, choice: ProtocolChoice): ProtocolVersion {
  if ((version === 1 || version === 2) && (choice === "auto" || choice === version)) return version;
  const named = typeof version === "number" ? `version ${version}` : "no version";
  throw new Error(`The agent speaks ${named} of the protocol, not ${choice === "auto" ? "1 or 2" : choice}`);
}

/** The error of an agent, as the SDK passes errors on. */
function errorOf(error: unknown): Error {
  const { code, message, data } = fieldsOf(error);
  return new RequestError(Number.isInteger(code) ? Number(code) : -32603, String(message ?? ""), data);
}

/** A paced app of a version. */
export const newApp = async (version: ProtocolVersion): Promise<ClientApp> =>
  version === 1 ? newApp1() : (await import("./version-2.js")).createApp2(CLIENT_NAME);

export const newApp1 = (): ClientApp => pacedApp(ClientApp, CLIENT_NAME);

/** Hands the stream to the app of the version. The rest of this surface knows apps of both as one: they have the same names. */
export async function connectApp(app: ClientApp, agreed: Agreement): Promise<ClientConnection> {
  const { version, stream, request } = agreed;
  return version === 1 ? app.connect(stream) : (await import("./version-2.js")).connect2(app, stream, request);
}

/** MCP servers as a version writes them. */
export const serversOf = (servers: readonly McpServer[], version: ProtocolVersion): readonly McpServer[] =>
  // Version 2 gives each a type.
  version === 1 ? servers : servers.map((one) => ("type" in one ? one : ({ ...one, type: "stdio" } as McpServer)));

/** A capability is an object, or `true`; `null` and `false` say no. */
const has = (value: unknown): boolean => value === true || isObject(value);

/** Offered by each agent of version 2 that has sessions. */
const WITH_SESSIONS: ReadonlySet<Offered> = new Set(["list", "resume", "close"]);

function factsOf(version: ProtocolVersion, answer: Json): AgentFacts {
  const isFirst = version === 1;
  const { name } = fieldsOf(answer[isFirst ? "agentInfo" : "info"]);
  const all = fieldsOf(answer[isFirst ? "agentCapabilities" : "capabilities"]);
  const session = all[isFirst ? "sessionCapabilities" : "session"];
  const mcp = isFirst ? all["mcpCapabilities"] : fieldsOf(session)["mcp"];
  return {
    name: typeof name === "string" ? name.slice(0, MAX_NAME) : undefined,
    takesTools: has(fieldsOf(mcp)["acp"]),
    offers: (what) => (!isFirst && WITH_SESSIONS.has(what) && has(session)) || has(fieldsOf(session)[what]),
  };
}

/** The stream before it has an app. */
class Exchange {
  readonly #stream: Stream;
  readonly #reader: ReadableStreamDefaultReader<Message>;
  readonly #writer: WritableStreamDefaultWriter<Message>;
  readonly #early: Message[] = [];
  readonly #onAbort = (): void => void this.#reader.cancel().catch(() => {});
  readonly #signal: AbortSignal;
  #asked = 0;

  constructor(stream: Stream, signal: AbortSignal) {
    this.#stream = stream;
    this.#signal = signal;
    this.#reader = stream.readable.getReader();
    this.#writer = stream.writable.getWriter();
    signal.addEventListener("abort", this.#onAbort, { once: true });
    if (signal.aborted) this.#onAbort();
  }

  /** @returns the answer with its `result` or `error` @throws Error if the agent closes first, or talks too much */
  async ask(params: object): Promise<Json> {
    // Texts: the ids of the SDK are numbers.
    const id = `initialize-${++this.#asked}`;
    await this.#writer.write({ jsonrpc: "2.0", id, method: "initialize", params });
    for (;;) {
      const { value, done } = await this.#reader.read();
      if (done) throw new Error("The agent has closed the connection");
      const message = fieldsOf(value);
      if (message["id"] === id && !("method" in message)) return message;
      if (this.#early.push(value) > MAX_EARLY) throw new Error("The agent does not answer 'initialize'");
    }
  }

  handOver(answer: object): GreetedStream {
    this.#release();
    return { ...this.#stream, early: this.#early, answer };
  }

  close(): void {
    this.#release();
    discard(this.#stream);
  }

  #release(): void {
    this.#signal.removeEventListener("abort", this.#onAbort);
    this.#reader.releaseLock();
    this.#writer.releaseLock();
  }
}

/** Closes a stream that no app will have. */
export function discard({ readable, writable }: Stream): void {
  readable.cancel().catch(() => {});
  writable.close().catch(() => {});
}
