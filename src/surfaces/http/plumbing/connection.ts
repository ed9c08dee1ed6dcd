// What becomes of the connection of a request: noticing that the client has gone, and beginning a stream on it.

import type { FastifyReply } from "fastify";

/** A signal aborted when the client disconnects before it has the response. */
export function hangUpOf({ raw }: FastifyReply): AbortSignal {
  const hangUp = new AbortController();
  const onClose = () => {
    if (!raw.writableFinished) hangUp.abort();
  };
  if (raw.destroyed) onClose();
  else raw.once("close", onClose);
  return hangUp.signal;
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
