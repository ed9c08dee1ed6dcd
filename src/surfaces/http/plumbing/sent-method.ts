// Methods that no endpoint has. Routes for all that Node knows, at each path, take half of a start: the rare ones share those of one.

import type { IncomingMessage } from "node:http";
import type { FastifyRequest } from "fastify";

/** Has routes, and no endpoint. */
const STAND_IN = "TRACE";
const sent = new WeakMap<IncomingMessage, string>();

/** Lets the router take a method without routes for {@link STAND_IN}. */
export function standIn(request: IncomingMessage, routed: readonly string[]): void {
  const { method = "" } = request;
  if (routed.includes(method)) return;
  sent.set(request, method);
  request.method = STAND_IN;
}

/** The method of a request as it was sent, for errors. */
export const sentMethod = ({ raw, method }: FastifyRequest): string => sent.get(raw) ?? method;
