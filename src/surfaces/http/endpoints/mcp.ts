// The `/mcp` endpoint: hands requests to the MCP endpoint, and sends what that answers as JSON or as a stream of events.

import type { FastifyReply } from "fastify";
import { fieldsOf } from "../../../core/unknown.js";
import type { McpAnswer, McpEndpoint } from "../../mcp/http.js";
import { LISTEN } from "../../mcp/wire.js";
import { parseJson } from "../admission/read-body.js";
import type { HttpHost } from "../host.js";
import { COMMON_HEADERS, EVENT_HEADERS, JSON_HEADERS, sendJson } from "../plumbing/answer.js";
import { challengeFor, scopeChallenge, signInChallenge } from "../plumbing/challenge.js";
import { beginStream, countStream, hangUpOf, refusalOf } from "../plumbing/connection.js";
import type { Exchange } from "../plumbing/exchange.js";
import { authenticationRequired, HttpError } from "../plumbing/http-error.js";

const PARSE_ERROR = -32700;
/** Copies counted for each byte of a response: its text is built as a whole, and encoded once more. */
const WEIGHT = 2;
/** How long the head of an answer waits for the rest of it, in milliseconds. Clients and proxies wait longer for a head. */
const HEAD_MS = 500;
/** Pause between signs of life where notes may come, in milliseconds. */
const COMMENT_MS = 15_000;

/** `/mcp`: passes the request to the MCP endpoint, and aborts it when the client disconnects. */
export async function serveMcp(host: HttpHost, mcp: McpEndpoint, exchange: Exchange): Promise<FastifyReply> {
  const { request, reply, caller, memory } = exchange;
  const { method } = request;
  const { peers } = host;
  peers?.checkBody(exchange);
  memory.weight = WEIGHT;
  let body: unknown;
  try {
    if (method === "POST") body = parseJson(request.body, { json5: false });
  } catch (error) {
    if (!(error instanceof HttpError)) throw error;
    return sendJson(reply, error.status, parseError(error.message));
  }
  const sending = new Sending(host, exchange);
  const hangUp = () => hangUpOf(reply);
  const note = (message: object): void => sending.note(message);
  const isBehind = () => reply.raw.writableNeedDrain;
  const { headers } = request;
  const isRefused = refusalOf(host, exchange);
  if (fieldsOf(body)["method"] === LISTEN) {
    if (caller.authentication === "public" && host.events?.servesAnonymous !== true) throw authenticationRequired();
    countStream(host, reply.raw);
    // A reusable connection would delay the closing of the venue.
    reply.header("connection", "close");
  }
  const tellOthers = peers && ((cancellations: readonly object[]) => peers.tellAll(exchange, cancellations));
  const asked = { method, headers, caller, memory, body, hangUp, note, isBehind, isRefused, tellOthers };
  return sending.answer(await mcp.serve(asked));
}

/** The JSON-RPC error for a body that is not JSON; the id is null because it is unknown. */
const parseError = (message: string): string =>
  JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: PARSE_ERROR, message } });

/** The failure of a call, as its answer tells it. */
const errorOf = (message: unknown): Readonly<Record<string, unknown>> =>
  fieldsOf(fieldsOf(fieldsOf(fieldsOf(message)["result"])["_meta"])["venue-files/error"]);

const eventOf = (message: object): string => `event: message\ndata: ${JSON.stringify(message)}\n\n`;

/** The response to one request: JSON, or from the first note on a stream of events. */
class Sending {
  readonly #host: HttpHost;
  readonly #exchange: Exchange;
  #isStream = false;

  constructor(host: HttpHost, exchange: Exchange) {
    this.#host = host;
    this.#exchange = exchange;
  }

  note(message: object): void {
    this.#stream(eventOf(message));
  }

  async answer(answer: McpAnswer): Promise<FastifyReply> {
    const { request, reply } = this.#exchange;
    const { message, isNoted } = answer;
    if (message === undefined) {
      return reply
        .code(answer.status)
        .headers({ ...answer.headers, ...COMMON_HEADERS })
        .send();
    }
    const timer = isNoted
      ? setInterval(() => this.#beat(), COMMENT_MS)
      : setTimeout(() => beginStream(reply, JSON_HEADERS), HEAD_MS);
    try {
      const said = await message;
      const refused = reply.sent ? undefined : this.#refusal([said].flat(), answer);
      if (refused !== undefined) {
        reply.header("www-authenticate", refused.challenge);
        sendJson(reply, refused.status, JSON.stringify(said));
      } else if (this.#isStream) this.#end([said].flat().map(eventOf).join(""));
      else if (reply.sent) this.#end(JSON.stringify(said));
      else sendJson(reply.headers(answer.headers ?? {}), answer.status, JSON.stringify(said));
    } catch (error) {
      if (!reply.sent) throw error;
      // The head has promised an answer: a connection that breaks off tells that there is none.
      this.#host.logInternal(error, request.id);
      reply.raw.destroy();
    } finally {
      clearTimeout(timer);
    }
    return reply;
  }

  /** How the client is told that signing in, anew or with more scopes, would help. */
  #refusal(
    messages: readonly unknown[],
    { status }: McpAnswer,
  ): { readonly status: number; readonly challenge: string } | undefined {
    const { caller } = this.#exchange;
    const toRead = status === 403 ? challengeFor(this.#host, caller, ["files:read"]) : undefined;
    if (toRead !== undefined) return { status, challenge: toRead };
    for (const message of messages) {
      const { errorCode, errorData } = errorOf(message);
      const more = scopeChallenge(this.#host, caller, errorData);
      if (more !== undefined) return { status: 403, challenge: more };
      const isDenied = caller.authentication === "public" && errorCode === "CAPABILITY_DENIED";
      const first = isDenied ? signInChallenge(this.#host, errorData) : undefined;
      if (first !== undefined) return { status: 401, challenge: first };
    }
    return undefined;
  }

  /** A client that does not read needs no sign of life. */
  #beat(): void {
    if (!this.#exchange.reply.raw.writableNeedDrain) this.#stream(": keepalive\n\n");
  }

  #stream(text: string): void {
    const { reply } = this.#exchange;
    if (!reply.sent) {
      this.#isStream = true;
      beginStream(reply, EVENT_HEADERS);
    }
    if (!reply.raw.destroyed) reply.raw.write(text);
  }

  #end(text: string): void {
    const { raw } = this.#exchange.reply;
    if (!raw.destroyed) raw.end(text);
  }
}
