// The connection of a request: noticing that the client has gone, and beginning a stream on it.

import type { ServerResponse } from "node:http";
import type { FastifyReply } from "fastify";
import { isPending } from "../../../core/io.js";
import type { HttpHost } from "../host.js";
import type { Exchange } from "./exchange.js";

/** A signal aborted when the client disconnects before it has the response. */
export function hangUpOf({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  const onClose = () => {
    if (!raw.writableFinished) gone.abort();
  };
  if (raw.destroyed) onClose();
  else raw.once("close", onClose);
  return gone.signal;
}

/** Takes over the connection of a reply and sends the head of an answer that comes later, or bit by bit. */
export function beginStream(reply: FastifyReply, headers: Readonly<Record<string, string>>): void {
  const { raw } = reply;
  reply.hijack();
  if (raw.destroyed) return;
  for (const [name, value] of Object.entries({ ...reply.getHeaders(), ...headers })) {
    if (value !== undefined) raw.setHeader(name, value);
  }
  raw.writeHead(200);
  raw.flushHeaders();
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
