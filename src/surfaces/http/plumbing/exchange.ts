import type { FastifyReply, FastifyRequest } from "fastify";
import type { Caller } from "../../../core/call/caller.js";
import type { MemoryLease } from "../../../core/memory.js";

/** One request and the reply to it, as an endpoint sees them. */
export interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly caller: Caller;
  /** What the request and its answer hold in memory. */
  readonly memory: MemoryLease;
  /** What follows the fixed part of the path, without a known suffix; percent-decoded once. */
  readonly target: string;
}

/** What answers the requests of one endpoint. @throws HttpError */
export type Handler = (exchange: Exchange) => FastifyReply | Promise<FastifyReply>;
