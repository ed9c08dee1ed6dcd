import type { IncomingMessage } from "node:http";
import { createServer, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { COMMON_HEADERS, errorJson } from "./answer.js";
import { HttpError } from "./http-error.js";

/** How long clients may take, in milliseconds. */
export interface HttpTimeouts {
  /** For the headers of a request. */
  readonly headersMs: number;
  /** For the body of a request, unless it is one of those that have {@link unlimitBody}. */
  readonly requestMs: number;
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
  idleMs: 180_000,
  keepAliveMs: 65_000,
  checkMs: 5_000,
  closeMs: 5_000,
};

/** Each connection takes a descriptor, of which the jail needs some too. */
const MOST_CONNECTIONS = 1024;

/** Creates a server of HTTP/1.1 without TLS. It has no `upgrade` listener, so offers such as `h2c` are ignored. */
export function createNodeServer(
  handler: (request: IncomingMessage, response: ServerResponse) => void,
  timeouts: HttpTimeouts,
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
      limitBody(request, timeouts.requestMs);
      handler(request, response);
    },
  );
  server.setTimeout(timeouts.idleMs);
  server.maxConnections = MOST_CONNECTIONS;
  server.on("checkExpectation", (_request: IncomingMessage, response: ServerResponse) => {
    const body = errorJson(new HttpError(417, "Expectation not supported"));
    response.writeHead(417, finalHeaders(body)).end(body);
  });
  return server;
}

const bodyTimers = new WeakMap<IncomingMessage, NodeJS.Timeout>();

function limitBody(request: IncomingMessage, ms: number): void {
  const { headers } = request;
  if (headers["transfer-encoding"] === undefined && Number(headers["content-length"] ?? 0) === 0) return;
  const timer = setTimeout(() => {
    if (request.complete) return;
    answerClientError(Object.assign(new Error(), { code: "ERR_HTTP_REQUEST_TIMEOUT" }), request.socket);
  }, ms).unref();
  bodyTimers.set(request, timer);
  for (const event of ["end", "close"]) request.once(event, () => clearTimeout(timer));
}

/** Lets a body take as long as it takes. Whoever reads it sees to it that something comes. */
export const unlimitBody = (request: IncomingMessage): void => clearTimeout(bodyTimers.get(request));

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
  const body = errorJson(new HttpError(status, text));
  const lines = Object.entries(finalHeaders(body)).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}\r\n${body}`, () => socket.destroy());
}

/** Headers of an answer after which the connection ends. */
function finalHeaders(body: string): Record<string, string> {
  const length = `${Buffer.byteLength(body)}`;
  return { ...COMMON_HEADERS, "content-type": "application/json", "content-length": length, connection: "close" };
}
