// Connections: their number, `Expect: 100-continue`, and the rest of a body that was refused.

import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { answerSocket, errorJson, finalHeaders } from "../plumbing/answer.js";
import { tooManyConnections } from "../plumbing/http-error.js";

/** Default limit. Each connection takes a file descriptor, and the path jail needs some too. */
const MAX_CONNECTIONS = 1024;
/** Connections over the limit that may wait for a request: many clients would lose a response sent before it. */
const MAX_REFUSED = 256;
/** Time such a connection may wait, in milliseconds. */
const REFUSED_MS = 2000;
const REFUSED_LINGER = { ms: 1000, bytes: 1_048_576 };

/** Limits the connections of a surface, over all its servers. Connections over the limit are answered 503 and closed. */
export class Connections {
  readonly #most: number;
  #open = 0;
  readonly #refused = new Set<Socket>();

  constructor(most = MAX_CONNECTIONS) {
    this.#most = most;
  }

  watch(server: Server): void {
    server.on("connection", (socket: Socket) => {
      if (this.#open < this.#most) {
        this.#open += 1;
        socket.once("close", () => {
          this.#open -= 1;
        });
      } else if (this.#refused.size < MAX_REFUSED) this.#await(socket);
      else answerSocket(socket, tooManyConnections());
    });
  }

  /** Answers a request on a connection over the limit. @returns whether it was on one */
  refuse(request: IncomingMessage, response: ServerResponse): boolean {
    if (!this.#refused.has(request.socket)) return false;
    const error = tooManyConnections();
    const body = errorJson(error);
    linger(request, REFUSED_LINGER);
    response.writeHead(error.status, { ...finalHeaders(body), ...error.headers }).end(body);
    return true;
  }

  #await(socket: Socket): void {
    this.#refused.add(socket);
    const timer = setTimeout(() => socket.destroy(), REFUSED_MS).unref();
    socket.once("close", () => {
      clearTimeout(timer);
      this.#refused.delete(socket);
    });
  }
}

/** Whether the headers announce a body. */
export const announcesBody = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;

/** How much of an unwanted body is read and dropped after the response, so that the client sees the response. */
export interface LingerLimits {
  readonly ms: number;
  readonly bytes: number;
}

const LINGER: LingerLimits = { ms: 10_000, bytes: 64 * 1024 * 1024 };

/**
 * Prepares to close a connection whose request is answered before its body is complete. Closing at once would reset the
 * connection, which discards the response; and many clients read it only after they have sent everything. So the
 * sending side is closed with the response, and incoming data is read and dropped for a while.
 */
export function linger(request: IncomingMessage, limits: LingerLimits = LINGER): void {
  if (request.complete || request.destroyed || !announcesBody(request)) return;
  const { socket } = request;
  const destroySoon = socket.destroySoon.bind(socket);
  let isAnswered = false;
  let hasEnded = false;
  let bytes = 0;
  let timer: NodeJS.Timeout | undefined;
  const end = () => {
    hasEnded = true;
    clearTimeout(timer);
    Reflect.deleteProperty(socket, "destroySoon");
    if (isAnswered) destroySoon();
  };
  // Node calls destroySoon when the last response of a connection has been written.
  socket.destroySoon = () => {
    isAnswered = true;
    if (hasEnded) return destroySoon();
    socket.end();
    timer = setTimeout(end, limits.ms).unref();
    // The bytes dropped before the response count too.
    if (bytes > limits.bytes) end();
  };
  request.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (isAnswered && bytes > limits.bytes) end();
  });
  for (const event of ["end", "close"]) request.once(event, end);
  request.resume();
}

/** Requests whose client waits for 100 Continue before it sends the body. */
const waiting = new WeakMap<IncomingMessage, ServerResponse>();

/** Notes a request with `Expect: 100-continue`; 100 is sent only when an endpoint wants the body. */
export const awaitContinue = (request: IncomingMessage, response: ServerResponse): void =>
  void waiting.set(request, response);

/** Whether the client still waits for 100, and so may never send the body. */
export const awaitsContinue = (request: IncomingMessage): boolean => waiting.has(request);

/** Sends 100 Continue if the client waits for it. */
export function sendContinue(request: IncomingMessage): void {
  const response = waiting.get(request);
  waiting.delete(request);
  if (response !== undefined && !response.headersSent && !response.destroyed) response.writeContinue();
}
