// Limits the number of open connections.

import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { errorJson } from "../plumbing/answer.js";
import { answerSocket, finalHeaders } from "../plumbing/final-answer.js";
import { tooManyConnections } from "../plumbing/http-error.js";
import { linger } from "./linger.js";

/** Default limit. Each connection takes a file descriptor, and the path jail needs some too. */
const MAX_CONNECTIONS = 1024;
/** Connections over the limit that may wait for a request: many clients would lose a response sent before it. */
const MAX_REFUSED = 256;
/** Time such a connection may wait, in milliseconds. */
const REFUSED_MS = 2000;
const REFUSED_LINGER = { ms: 1000, bytes: 1_048_576 };

/** Limits the connections of a surface, over all its servers. Those over the limit are answered 503 and closed. */
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
