import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { errorJson } from "../plumbing/answer.js";
import { answerSocket, finalHeaders } from "../plumbing/final-answer.js";
import { tooManyConnections } from "../plumbing/http-error.js";
import { linger } from "./linger.js";

/** Each connection takes a descriptor, of which the jail needs some too. */
export const MOST_CONNECTIONS = 1024;
/** Connections beyond that wait for their first request, since an answer before it would be lost to many clients. */
const MOST_REFUSED = 256;
/** For how long they do. */
const REFUSED_MS = 2000;
const REFUSED_LINGER = { ms: 1000, bytes: 1_048_576 };

/** Bounds the connections of a surface, over all its servers. One too many is answered 503, and ends. */
export class Connections {
  readonly #most: number;
  #open = 0;
  readonly #refused = new Set<Socket>();

  constructor(most = MOST_CONNECTIONS) {
    this.#most = most;
  }

  watch(server: Server): void {
    server.on("connection", (socket: Socket) => {
      if (this.#open < this.#most) {
        this.#open += 1;
        socket.once("close", () => {
          this.#open -= 1;
        });
      } else if (this.#refused.size < MOST_REFUSED) this.#await(socket);
      else answerSocket(socket, tooManyConnections());
    });
  }

  /** Answers a request on a connection that is one too many. @returns whether it was */
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
