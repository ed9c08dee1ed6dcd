// MCP over streamable HTTP, stateless: each request stands alone.

import type { IncomingHttpHeaders } from "node:http";
import type { Caller } from "../../core/call/caller.js";
import type { Abortable } from "../../core/call/scope.js";
import type { MemoryLease } from "../../core/memory.js";
import { isObject } from "../../core/unknown.js";
import type { McpHost } from "./host.js";
import { formsOf, type Route, routeOf } from "./http-route.js";
import { isServed, serveRequest } from "./methods.js";
import {
  INTERNAL_ERROR,
  isRequestId,
  LISTEN,
  METHOD_NOT_FOUND,
  metaOf,
  type Notification,
  Refusal,
  type Request,
  RequestFault,
  type RequestId,
  SERVER_ERROR,
} from "./wire.js";

/** An authenticated HTTP request to the MCP endpoint. */
export interface McpRequest {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly caller: Caller;
  /** The body of a POST, parsed as strict JSON. */
  readonly body: unknown;
  /** Memory accounting for the request and its answer. */
  readonly memory: MemoryLease;
  /** Gives a signal that is aborted when the client disconnects. */
  hangUp(): Abortable;
  /** Sends what comes before the answer, which makes a stream of the response. */
  note(message: object): void;
  /** Notes would have to be kept here, since the client takes none. */
  isBehind(): boolean;
  /** Whether the credential of the request would be refused now. */
  isRefused(): boolean;
  /** Passes cancellations on to the other instances of the venue. Absent: there are none. */
  readonly tellOthers?: ((cancellations: readonly object[]) => void) | undefined;
}

/** Answer to a request. Status and headers are known once the message is. */
export interface McpAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The message, or a batch of them; absent: none. */
  readonly message?: object | Promise<object>;
  /** Notes may come before the message. */
  readonly isNoted?: boolean;
}

/** Where the endpoint reports what went wrong. */
export interface McpReports {
  /** A fault of the venue. */
  onError(error: Error): void;
  /** A request that was refused because of a mistake in it. */
  onRefusal(error: Error): void;
}

/** The stateless streamable HTTP endpoint. */
export interface McpEndpoint {
  serve(request: McpRequest): Promise<McpAnswer>;
}

/**
 * Creates the endpoint.
 * @param hostFor returns the MCP host as seen by a caller
 */
export function createMcpEndpoint(hostFor: (caller: Caller) => McpHost, reports: McpReports): McpEndpoint {
  const calls = new DetachedCalls();
  return {
    async serve(request) {
      try {
        return serveRoute(routeOf(request), request, { calls, host: hostFor(request.caller) });
      } catch (error) {
        return refusal(error, request, reports);
      }
    },
  };
}

interface Parts {
  readonly calls: DetachedCalls;
  readonly host: McpHost;
}

function serveRoute(route: Route, request: McpRequest, { calls, host }: Parts): McpAnswer {
  const { era, requests, notifications, isBatch } = route;
  const { caller, headers, memory, hangUp, note, isBehind, isRefused } = request;
  // Only revisions of before cancel by a message: since then a client hangs up.
  const elsewhere = era === "legacy" ? notifications.filter((one) => !cancel(calls, caller, one)) : [];
  if (elsewhere.length > 0) request.tellOthers?.(elsewhere.map(bareCancellation));
  const [first] = requests;
  if (first === undefined) return { status: 202 };
  if (era === "modern" && !isServed(first.method, era, host)) {
    const error = { code: METHOD_NOT_FOUND, message: "Method not found" };
    return { status: 404, message: { jsonrpc: "2.0", id: first.id, error } };
  }
  const takesEvents = formsOf(headers.accept).events;
  if (first.method === LISTEN && !takesEvents)
    throw new Refusal(406, "Not Acceptable: Client must accept text/event-stream");
  const isNoted = takesEvents && requests.some(hasNotes);
  let refusal: Refusal | undefined;
  const by = { host, memoryOf: () => memory, takesBytes: false };
  const answer = async (one: Request): Promise<object> => {
    const { id } = one;
    const detached = era === "legacy" ? calls.start(caller, id) : undefined;
    const signal = detached?.signal ?? hangUp();
    const scopes = caller.access?.scopes;
    const noting = { note: isNoted ? note : () => {}, isBehind, isRefused };
    const outcome = await serveRequest(one, { era, signal, scopes, ...noting, ended: detached?.end }, by);
    // Other methods start no job, and a call that is refused none either.
    if (one.method !== "tools/call" || "error" in outcome) detached?.end();
    if (!("error" in outcome)) return { ...outcome, jsonrpc: "2.0", id };
    refusal = outcome.refusal;
    return { jsonrpc: "2.0", id, error: outcome.error };
  };
  const message = isBatch ? Promise.all(requests.map(answer)) : answer(first);
  return {
    get status() {
      return refusal?.status ?? 200;
    },
    get headers() {
      return refusal?.headers ?? {};
    },
    ...{ message, isNoted },
  };
}

const hasNotes = ({ method, params }: Request): boolean =>
  method === LISTEN || metaOf(params)?.["progressToken"] !== undefined;

/** @returns `false`: it cancels a call that is not here */
function cancel(calls: DetachedCalls, caller: Caller, { method, params }: Notification): boolean {
  const id = params?.["requestId"];
  return method !== "notifications/cancelled" || !isRequestId(id) || calls.cancel(caller, id);
}

/** What others need of it, and nothing of what came beside it. */
const bareCancellation = ({ method, params }: Notification): object => ({
  ...{ jsonrpc: "2.0", method },
  params: { requestId: params?.["requestId"] },
});

function refusal(error: unknown, { body }: McpRequest, { onError, onRefusal }: McpReports): McpAnswer {
  const id = idOf(body);
  if (!(error instanceof RequestFault)) {
    onError(error instanceof Error ? error : new Error(String(error)));
    const message = "Internal server error";
    return { status: 500, message: { jsonrpc: "2.0", error: { code: INTERNAL_ERROR, message }, id } };
  }
  onRefusal(error);
  const status = error instanceof Refusal ? error.status : 400;
  const message = { jsonrpc: "2.0", error: error.body, id: error.code === SERVER_ERROR ? null : id };
  return { status, message, ...(status === 405 ? { headers: { allow: "POST" } } : {}) };
}

/** The id of a request that cannot be served; `null`: it has none that can be told, or stands in a batch. */
function idOf(body: unknown): RequestId | null {
  const { method, id } = isObject(body) ? body : {};
  return typeof method === "string" && (typeof id === "string" || typeof id === "number") ? id : null;
}

/** A call that outlives the connection it came by. */
export interface DetachedCall {
  /** Aborted by the caller's `notifications/cancelled` alone. */
  readonly signal: AbortSignal;
  end(): void;
}

/**
 * Running calls over stateless HTTP in revisions before 2026-07-28: a dropped connection does not cancel them, and
 * `notifications/cancelled` comes by a request of its own. It reaches calls of the same caller only. Callers without
 * credentials share one identity and choose their request ids themselves, so they would cancel each other's calls:
 * for them only the job endpoint cancels.
 */
export class DetachedCalls {
  readonly #running = new Map<string, Set<AbortController>>();

  start(caller: Caller, id: RequestId): DetachedCall {
    const controller = new AbortController();
    const key = keyOf(caller, id);
    const same = this.#running.get(key) ?? new Set();
    this.#running.set(key, same.add(controller));
    const end = (): void => {
      same.delete(controller);
      if (same.size === 0 && this.#running.get(key) === same) this.#running.delete(key);
    };
    return { signal: controller.signal, end };
  }

  /** Does nothing if several calls have the id: two clients of one caller count from the same number. @returns `false`: it is not here */
  cancel(caller: Caller, id: RequestId): boolean {
    if (caller.authentication === "public") return true;
    const [only, ...others] = this.#running.get(keyOf(caller, id)) ?? [];
    if (others.length === 0) only?.abort();
    return only !== undefined;
  }
}

const keyOf = ({ did, narrowedTo = did }: Caller, id: RequestId): string => JSON.stringify([narrowedTo, id]);
