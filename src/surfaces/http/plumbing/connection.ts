// The connection of a request: noticing that the client has gone, and beginning a stream on it.

import type { ServerResponse } from "node:http";
import type { FastifyReply } from "fastify";
import { type Abortable, Aborter, type Cancellation } from "../../../core/call/scope.js";
import { isPending } from "../../../core/io.js";
import type { HttpHost } from "../host.js";
import type { Exchange } from "./exchange.js";

/** Notices that the client disconnects before it has the response. */
export class HangUp implements Cancellation {
  readonly #raw: FastifyReply["raw"];
  #aborted = false;
  #controller: AbortController | undefined;

  constructor({ raw }: FastifyReply) {
    this.#raw = raw;
    if (raw.destroyed) this.#onClose();
    else raw.once("close", () => this.#onClose());
  }

  get aborted(): boolean {
    return this.#aborted;
  }

  /** Made when it is first asked for: most calls end without that. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort();
    }
    return this.#controller.signal;
  }

  #onClose(): void {
    if (this.#raw.writableFinished) return;
    this.#aborted = true;
    this.#controller?.abort();
  }
}

/** A signal aborted when the client disconnects before it has the response. */
export const hangUpOf = (reply: FastifyReply): AbortSignal => new HangUp(reply).signal;

/** The same for one listener, which may hear of it after the response as well. */
export function abortOnClose(response: ServerResponse): Abortable {
  const gone = new Aborter();
  if (response.destroyed) gone.abort();
  else response.once("close", () => gone.abort());
  return gone;
}

/** Takes over the connection of a reply and sends the head of a stream that goes on until one side ends it. */
export function beginStream(reply: FastifyReply, headers: Readonly<Record<string, string>>): void {
  const { raw } = reply;
  reply.hijack();
  // Not kept alive: a reusable connection would delay the closing of the venue.
  for (const [name, value] of Object.entries({ ...reply.getHeaders(), ...headers, connection: "close" })) {
    if (value !== undefined) raw.setHeader(name, value);
  }
  raw.writeHead(200);
}

/** Tells whether the credential of a request would be refused now. */
export function refusalOf(host: Pick<HttpHost, "authenticate">, { request, caller }: Exchange): () => boolean {
  const { authorization } = request.headers;
  return () => {
    const result = authorization === undefined ? { caller } : host.authenticate(authorization);
    return !isPending(result) && !("caller" in result);
  };
}

/** A stream ends within this time after its credential was revoked. */
const CREDENTIAL_MS = 800;

/** Ends a stream when the credential that opened it has ended. */
export function endWithCredential(raw: ServerResponse, holds: () => boolean): void {
  const look = setInterval(() => {
    if (!holds()) raw.destroy();
  }, CREDENTIAL_MS);
  raw.once("close", () => clearInterval(look));
}

/** Counts a stream until its connection ends. */
export function countStream({ streams }: Pick<HttpHost, "streams">, raw: ServerResponse): void {
  if (raw.destroyed) return;
  streams.open++;
  raw.once("close", () => {
    streams.open--;
  });
}
