// Creates Node's HTTP servers with this surface's timeouts and limits.

import type { IncomingMessage } from "node:http";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { FairQueue } from "../../../core/turns.js";
import { type PaceRule, watchPace } from "../admission/body-pace.js";
import { announcesBody, awaitContinue, type Connections, linger } from "../admission/connections.js";
import { answerSocket, errorJson, finalHeaders } from "./answer.js";
import { HttpError } from "./http-error.js";

/** Time limits for clients, in milliseconds. */
export interface HttpTimeouts {
  /** For the headers of a request. */
  readonly headersMs: number;
  /** For the body of a request, unless {@link unlimitBody} was called. */
  readonly requestMs: number;
  /** Minimum rate of such a body. */
  readonly pace: PaceRule;
  /** Without a byte in either direction. Must exceed the longest wait for a job. */
  readonly idleMs: number;
  /** Between two requests on a connection. */
  readonly keepAliveMs: number;
  /** Interval at which the first two are enforced. */
  readonly checkMs: number;
  /** For requests still open when the surface is closed. */
  readonly closeMs: number;
}

/** requestMs: 100 MiB, the default maximum body, in ten minutes is about 1.4 Mbit/s. */
export const DEFAULT_TIMEOUTS: HttpTimeouts = {
  headersMs: 15_000,
  requestMs: 600_000,
  pace: { graceMs: 5_000, windowMs: 15_000, bytesPerSecond: 1024 },
  idleMs: 180_000,
  keepAliveMs: 65_000,
  checkMs: 5_000,
  closeMs: 5_000,
};

type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void;

/** Creates an HTTP/1.1 server without TLS. Without an `upgrade` listener upgrades such as `h2c` are ignored. */
export function createNodeServer(
  handler: RequestHandler,
  { timeouts, connections }: { readonly timeouts: HttpTimeouts; readonly connections: Connections },
): Server {
  const handle = inTurns((request, response) => {
    handler(request, response);
    limitBody(request, timeouts);
  });
  const server = createServer(
    {
      headersTimeout: timeouts.headersMs,
      // Node's own timeout would also apply to long uploads.
      requestTimeout: 0,
      keepAliveTimeout: timeouts.keepAliveMs,
      connectionsCheckingInterval: timeouts.checkMs,
      // Checked during admission, so that the error has this surface's form.
      requireHostHeader: false,
    },
    (request, response) => {
      if (!connections.refuse(request, response)) handle(request, response);
    },
  );
  server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
    if (connections.refuse(request, response)) return;
    awaitContinue(request, response);
    handle(request, response);
  });
  server.setTimeout(timeouts.idleMs);
  connections.watch(server);
  server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => {
    linger(request);
    const body = errorJson(new HttpError(417, "Expectation not supported"));
    response.writeHead(417, finalHeaders(body)).end(body);
  });
  return server;
}

/** Handles one request in a turn of the loop. Senders take turns, so that nobody's request waits behind all those of another. */
function inTurns(handle: RequestHandler): RequestHandler {
  const waiting = new FairQueue<Parameters<RequestHandler>>();
  const handleNext = (): void => {
    const next = waiting.take();
    if (waiting.size > 0) setImmediate(handleNext);
    if (next !== undefined) handle(...next);
  };
  return (request, response) => {
    waiting.push(senderOf(request), [request, response]);
    if (waiting.size === 1) setImmediate(handleNext);
  };
}

/** Ends the watch of a body. */
const watches = new WeakMap<IncomingMessage, () => void>();

/** Limits the time of a body that is not complete when its request is handled; most arrive with their headers. */
function limitBody(request: IncomingMessage, { pace, requestMs }: HttpTimeouts): void {
  if (!announcesBody(request) || request.complete || request.destroyed || watches.has(request)) return;
  const onLate = () =>
    answerClientError(Object.assign(new Error(), { code: "ERR_HTTP_REQUEST_TIMEOUT" }), request.socket);
  watches.set(request, watchPace(request, { rule: pace, mostMs: requestMs, onLate }));
}

/** Lifts the time limits of a body. Its reader must then detect a stalled client. */
export function unlimitBody(request: IncomingMessage): void {
  watches.get(request)?.();
  watches.set(request, () => {});
}

const CLIENT_ERRORS: Readonly<Record<string, readonly [number, string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, "Request timed out"],
  HPE_HEADER_OVERFLOW: [431, "Request headers too large"],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, "Chunk extensions too large"],
};

/** Answers malformed or late requests, which never reach a handler. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, text] = CLIENT_ERRORS[error.code ?? ""] ?? [400, "Malformed request"];
  answerSocket(socket, new HttpError(status, text));
}

/** Cheap to tell, since it is not checked yet: who gets several credentials gets as many turns. */
const senderOf = ({ headers, socket }: IncomingMessage): string | undefined =>
  headers.authorization ?? socket.remoteAddress;
