// Serves MCP over stdio. The first request of a connection tells whether it has a handshake; that holds for all that follow.

import { type Abortable, Aborter } from "../../core/call/scope.js";
import { askForRoots, type ClientRoots } from "./client-roots.js";
import type { Greeting, Listening, McpHost } from "./host.js";
import { type LineStreams, LineTransport } from "./line-transport.js";
import { type Outcome, serveRequest } from "./methods.js";
import {
  checkEnvelope,
  checkRevision,
  type Era,
  hasEnvelope,
  isHandshake,
  revisionOf,
  unsupportedRevision,
} from "./revisions.js";
import {
  type Answer,
  LISTEN,
  type Message,
  type Notification,
  type Request,
  RequestFault,
  type RequestId,
} from "./wire.js";

/** A host that depends on the roots of its client, and so is opened after the handshake. */
export interface HostAfterRoots {
  readonly greeting: Greeting;
  /** Time the client gets to tell its roots, in milliseconds. */
  readonly answerMs: number;
  /** Opens the host. Called once. */
  open(roots: ClientRoots): Promise<McpHost>;
}

/**
 * Serves MCP over a pair of streams.
 *
 * @param given a host, or how to open one once the client's roots are known; until then only the handshake is served
 * @returns once one of the streams has ended
 * @throws what opening the host throws
 */
export async function serveMcpStdio(given: McpHost | HostAfterRoots, streams: LineStreams): Promise<void> {
  const transport = new LineTransport(streams);
  const connection = new Connection("open" in given ? greeter(given.greeting) : given, transport);
  let opening: Promise<void> | undefined;
  transport.onclose = () => connection.abort();
  transport.onfinish = () => connection.endStreams();
  transport.onmessage = (first) => {
    transport.onmessage = (message) => connection.receive(message);
    if (!("open" in given)) return connection.receive(first);
    opening = openAfterRoots(given, { first, transport, streams, connection });
    // Awaited once the connection has ended.
    opening.catch(() => transport.close());
  };
  transport.start();
  await transport.closed;
  await opening;
}

/** A host that shakes hands and has no tools. */
const greeter = (greeting: Greeting): McpHost => ({
  ...greeting,
  tools: [],
  maxWaitMs: undefined,
  submit: () => {
    throw new Error("a call came before the host was open");
  },
  logInternal: () => {},
});

/** Opens the host with the client's roots, and keeps calls back until then. */
async function openAfterRoots(
  { open, answerMs }: HostAfterRoots,
  parts: {
    readonly first: Message;
    readonly transport: LineTransport;
    readonly streams: LineStreams;
    readonly connection: Connection;
  },
): Promise<void> {
  const { first, transport, streams, connection } = parts;
  transport.hold();
  const ended = new Promise<void>((resolve) => {
    streams.input.once("end", resolve);
    void transport.closed.then(resolve);
  });
  const asking = askForRoots(transport, first, { answerMs, ended });
  // Without a handshake the first message may be a call, which needs the host.
  const isGreeted = "method" in first && first.method === "initialize";
  if (isGreeted) connection.receive(first);
  connection.serve(await open(await asking));
  if (!isGreeted) connection.receive(first);
  transport.letGo();
}

/** How long a user has to answer, or a client to tell of its progress with that. Milliseconds. */
const ANSWER_MS = 300_000;

/** A question to the client that is not answered yet. */
interface Question {
  readonly timer: NodeJS.Timeout;
  settle(answer: Answer): void;
}

class Connection {
  readonly #transport: LineTransport;
  #host: McpHost;
  /** Tells a client of revisions with a handshake of the URIs that it has subscribed to. */
  #listening: Listening | undefined;
  readonly #running = new Map<unknown, Aborter>();
  readonly #streams = new Set<Aborter>();
  readonly #questions = new Map<unknown, Question>();
  #nextQuestion = 0;
  /** Absent: no request has told it yet. */
  #era: Era | undefined;
  #capabilities: unknown;

  constructor(host: McpHost, transport: LineTransport) {
    this.#transport = transport;
    this.#host = host;
  }

  /** From now on another host serves. */
  serve(host: McpHost): void {
    this.#host = host;
  }

  receive(message: Message): void {
    if (!("method" in message)) this.#questions.get(message.id)?.settle(message);
    else if ("id" in message) void this.#serve(message);
    else this.#notice(message);
  }

  /** The client is gone. */
  abort(): void {
    for (const aborter of this.#running.values()) aborter.abort();
    this.#listening?.end();
  }

  /** The client asks for nothing more, and so waits for no news. */
  endStreams(): void {
    for (const aborter of this.#streams) aborter.abort();
    this.#listening?.end();
  }

  #notice({ method, params }: Notification): void {
    if (method === "notifications/cancelled") this.#running.get(params?.["requestId"])?.abort();
    if (method === "notifications/progress") this.#questions.get(params?.["progressToken"])?.timer.refresh();
  }

  async #serve(request: Request): Promise<void> {
    const { id, method } = request;
    const signal = new Aborter();
    this.#running.set(id, signal);
    if (method === LISTEN) this.#streams.add(signal);
    const outcome = await this.#outcome(request, signal);
    this.#streams.delete(signal);
    if (this.#running.get(id) === signal) this.#running.delete(id);
    if (signal.aborted) return this.#transport.forget(id);
    if ("error" in outcome) return this.#transport.send({ jsonrpc: "2.0", id, error: outcome.error });
    await this.#transport.send({ jsonrpc: "2.0", id, result: outcome.result });
    if (method === LISTEN) this.#cancel(id, "Nothing more is told");
  }

  #cancel(requestId: RequestId, reason: string): void {
    const params = { requestId, reason };
    void this.#transport.send({ jsonrpc: "2.0", method: "notifications/cancelled", params });
  }

  async #outcome(request: Request, signal: Abortable): Promise<Outcome> {
    let era: Era;
    try {
      era = this.#eraOf(request);
    } catch (error) {
      if (error instanceof RequestFault) return { error: error.body };
      throw error;
    }
    const note = (message: Notification): void => void this.#transport.send(message);
    const isBehind = (): boolean => this.#transport.isBehind;
    const by = { host: this.#host, memoryOf: (id: RequestId) => this.#transport.memoryOf(id), takesBytes: true };
    if (era === "modern") return serveRequest(request, { era, signal, note, isBehind }, by);
    if (request.method === "initialize") this.#capabilities = request.params?.["capabilities"] ?? {};
    const ask = (form: object) => this.#ask(form, signal);
    const { subscriptions } = this;
    const capabilities = this.#capabilities ?? {};
    return serveRequest(request, { era, signal, note, isBehind, ask, capabilities, subscriptions }, by);
  }

  /** The URIs that a client of revisions with a handshake has subscribed to. */
  readonly subscriptions = {
    follow: async (uris: readonly string[]): Promise<void> => {
      if (this.#listening === undefined || this.#listening.isEnded) {
        this.#listening = this.#host.listen?.({
          tell: (method, params) => void this.#transport.send({ jsonrpc: "2.0", method, params: { ...params } }),
          isBehind: () => this.#transport.isBehind,
          isRefused: () => false,
        });
      }
      await this.#listening?.follow(uris);
    },
    unfollow: (uri: string): void => this.#listening?.unfollow(uri),
  };

  /** @throws RequestFault: of neither era, or of the other one */
  #eraOf(request: Request): Era {
    const { method, params } = request;
    if (this.#era === "legacy") return "legacy";
    const isOld = isHandshake(request);
    if (this.#era === "modern") {
      if (isOld) throw unsupportedRevision(params?.["protocolVersion"]);
      return "modern";
    }
    if (isOld || !hasEnvelope(params)) {
      this.#era = "legacy";
      return "legacy";
    }
    checkEnvelope(params);
    checkRevision(revisionOf(params));
    // A client that asks what there is may still decide for a handshake.
    if (method !== "server/discover") this.#era = "modern";
    return "modern";
  }

  /** Asks by a request to the client, until its own request is cancelled. @throws why there is no answer */
  async #ask(form: object, signal: Abortable): Promise<unknown> {
    const id = this.#nextQuestion++;
    let giveUp = (_reason: string): void => {};
    const answer = new Promise<Answer>((settle, reject) => {
      giveUp = (reason) => {
        this.#cancel(id, reason);
        reject(new Error(reason));
      };
      const timer = setTimeout(() => giveUp("Request timed out"), ANSWER_MS);
      this.#questions.set(id, { settle, timer });
    });
    const onAbort = (): void => giveUp("The call was cancelled");
    signal.addEventListener("abort", onAbort, { once: true });
    const params = { ...form, _meta: { progressToken: id } };
    void this.#transport.send({ jsonrpc: "2.0", id, method: "elicitation/create", params });
    try {
      const { result, error } = await answer;
      if (error !== undefined) throw new Error(error.message);
      return result;
    } finally {
      signal.removeEventListener("abort", onAbort);
      clearTimeout(this.#questions.get(id)?.timer);
      this.#questions.delete(id);
    }
  }
}
