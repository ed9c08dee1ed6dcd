// The port between the HTTP surface and the other instances of a venue.

import type { IncomingMessage } from "node:http";
import type { FastifyReply } from "fastify";
import type { Caller } from "../../../core/call/caller.js";
import type { Page, Paged } from "../../../core/call/page.js";
import type { Awaitable } from "../../../core/io.js";
import type { CallerJobs } from "../../../core/ports/job.js";
import type { Exchange } from "../plumbing/exchange.js";

/** Body of a request for jobs, and jobs in place of those of the host. */
export interface JobParts {
  /** The body, which was read before. */
  readonly body: Buffer;
  readonly jobs?: CallerJobs;
  stillHolds?(caller: Caller): boolean;
}

/** `stale`: too long since what is revoked was last read; `draining`: it stops soon. */
export type Readiness = "ready" | "stale" | "draining";

/** Ids of jobs, newest first. */
export type JobIds = Pick<Paged<string>, "items" | "total">;

export interface JobPage extends Paged<string> {
  /** Numbers of the instances whose jobs are missing. */
  readonly incomplete?: readonly number[];
}

/** The other instances of a venue, and what this one passes on to them. */
export interface HttpPeers {
  readiness(): Readiness;
  /** Whether calls that need the shared state fail now. */
  isDegraded(): boolean;
  /** The caller of a request that another instance passed on. @returns `undefined`: a client sends it; `refused`: it is not valid */
  admit(request: IncomingMessage): Caller | "refused" | undefined;
  /** @returns `undefined`: it was not passed on */
  passedOn(request: IncomingMessage): { readonly requestId: string | undefined } | undefined;
  /**
   * Has a request about a job answered by the instance that has it.
   * @param serve answers here
   * @throws HttpError
   */
  job(exchange: Exchange, id: string, serve: (parts: JobParts) => Awaitable<FastifyReply>): Promise<FastifyReply>;
  /** A page of the caller's jobs of all instances. @param own those of this one */
  jobs(exchange: Exchange, page: Page, own: (page: Page) => JobIds): Promise<JobPage>;
  /** Tells all other instances of MCP messages without effects of their own, unless they were passed on themselves. */
  tellAll(exchange: Exchange, messages: readonly object[]): void;
  /** @throws HttpError 401: the body is not that which was passed on */
  checkBody(exchange: Pick<Exchange, "request">): void;
}
