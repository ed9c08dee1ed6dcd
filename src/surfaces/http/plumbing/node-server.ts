import type { IncomingMessage } from "node:http";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type PaceRule, watchPace } from "../admission/body-pace.js";
import type { Connections } from "../admission/connections.js";
import { awaitContinue } from "../admission/expect.js";
import { announcesBody, linger } from "../admission/linger.js";
import { errorJson } from "./answer.js";
import { answerSocket, finalHeaders } from "./final-answer.js";
import { HttpError } from "./http-error.js";

/** How long clients may take, in milliseconds. */
export interface HttpTimeouts {
  /** For the headers of a request. */
  readonly headersMs: number;
  /** For the body of a request, unless it is one of those that have {@link unlimitBody}. */
  readonly requestMs: number;
  /** How slowly such a body may come. */
  readonly pace: PaceRule;
  /** Without a byte in either direction. Above the longest wait for a job. */
  readonly idleMs: number;
  /** Between two requests on one connection. */
  readonly keepAliveMs: number;
  /** How often the first two are enforced. */
  readonly checkMs: number;
  /** For the requests still open when the surface is closed. */
  readonly closeMs: number;
}

/** 100 MiB, the largest body by default, in ten minutes: a line of about 1.4 Mbit/s. */
export const DEFAULT_TIMEOUTS: HttpTimeouts = {
  headersMs: 15_000,
  requestMs: 600_000,
  pace: { graceMs: 5_000, windowMs: 15_000, bytesPerSecond: 1024 },
  idleMs: 180_000,
  keepAliveMs: 65_000,
  checkMs: 5_000,
  closeMs: 5_000,
};

/** Creates a server of HTTP/1.1 without TLS. It has no `upgrade` listener, so offers such as `h2c` are ignored. */
export function createNodeServer(
  handler: (request: IncomingMessage, response: ServerResponse) => void,
  { timeouts, connections }: { readonly timeouts: HttpTimeouts; readonly connections: Connections },
): Server {
  const server = createServer(
    {
      headersTimeout: timeouts.headersMs,
      // Node's own would hold for long uploads too.
      requestTimeout: 0,
      keepAliveTimeout: timeouts.keepAliveMs,
      connectionsCheckingInterval: timeouts.checkMs,
      // Judged with the rest of the request, so that the answer is one of ours.
      requireHostHeader: false,
    },
    (request, response) => {
      if (connections.refuse(request, response)) return;
      limitBody(request, timeouts);
      handler(request, response);
    },
  );
  server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
    if (connections.refuse(request, response)) return;
    awaitContinue(request, response);
    limitBody(request, timeouts);
    handler(request, response);
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

const watches = new WeakMap<IncomingMessage, () => void>();

function limitBody(request: IncomingMessage, { requestMs, pace }: HttpTimeouts): void {
  if (!announcesBody(request)) return;
  const onLate = () =>
    answerClientError(Object.assign(new Error(), { code: "ERR_HTTP_REQUEST_TIMEOUT" }), request.socket);
  watches.set(request, watchPace(request, { rule: pace, mostMs: requestMs, onLate }));
}

/** Lets a body take as long as it takes. Whoever reads it sees to it that something comes. */
export const unlimitBody = (request: IncomingMessage): void => watches.get(request)?.();

const CLIENT_ERRORS: Readonly<Record<string, readonly [number, string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, "Request timed out"],
  HPE_HEADER_OVERFLOW: [431, "Request headers too large"],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, "Chunk extensions too large"],
};

/** Answers what is no HTTP request, or not one in time; it never reaches a handler. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, text] = CLIENT_ERRORS[error.code ?? ""] ?? [400, "Malformed request"];
  answerSocket(socket, new HttpError(status, text));
}
