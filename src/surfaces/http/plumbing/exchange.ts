// The request and response that an endpoint is given.

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Caller } from "../../../core/call/caller.js";
import type { MemoryLease } from "../../../core/memory.js";

/** A request and its reply, as endpoints see them. */
export interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly caller: Caller;
  /** Memory lease of the request and its response. */
  readonly memory: MemoryLease;
  /** Its body, where it was read before the endpoint. */
  readonly body?: Buffer;
  /** The path after the fixed part, without a known suffix; percent-decoded once. */
  readonly target: string;
}

/** @param target see {@link Exchange} */
export const exchangeOf = (request: FastifyRequest, reply: FastifyReply, target = ""): Exchange => {
  const caller = request.getDecorator<Caller>("caller");
  return { request, reply, target, caller, memory: request.getDecorator<MemoryLease>("lease") };
};

/** Bodies are left to the endpoints of a scope: streams of any size and type. */
export function leaveBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser("*", (_request, _payload, parsed) => parsed(null));
  scope.addHook("onRequest", (request, _reply, next) => {
    // Fastify would refuse a malformed content type.
    delete request.raw.headers["content-type"];
    next();
  });
}
