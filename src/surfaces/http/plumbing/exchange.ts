// The request and response that an endpoint is given.

import type { FastifyReply, FastifyRequest } from "fastify";
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

/** Handles the requests of one endpoint. @throws HttpError */
export type Handler = (exchange: Exchange) => FastifyReply | Promise<FastifyReply>;
