// The HTTP surface: HTTP/1.1 servers, limits on memory and connections, and orderly closing.

import { type IncomingMessage, METHODS, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { isLoopbackAddress } from "../../config/loopback.js";
import type { Caller } from "../../core/call/caller.js";
import { MemoryBudget, type MemoryLease } from "../../core/memory.js";
import { codeOf } from "../../core/unknown.js";
import { Admission } from "./admission/admit.js";
import { Connections } from "./admission/connections.js";
import { OWN_PAGES } from "./admission/host-and-origin.js";
import { readBody } from "./admission/read-body.js";
import type { HttpHost } from "./host.js";
import { sendError } from "./plumbing/answer.js";
import { challengeOf } from "./plumbing/challenge.js";
import { basePath, withoutPrefix } from "./plumbing/entrance.js";
import { explain, malformedTarget } from "./plumbing/http-error.js";
import { answerClientError, createNodeServer, DEFAULT_TIMEOUTS, type HttpTimeouts } from "./plumbing/node-server.js";
import { mountEndpoints, unmapped } from "./routes.js";

/** Where to listen: at a port (`0`: any free one) or at a Unix socket. */
export type ListenTarget = { readonly hostname: string; readonly port: number } | { readonly socket: string };

export interface HttpSurfaceOptions {
  readonly host: HttpHost;
  /** The host name `localhost` means both loopback addresses, as far as the machine has them. */
  readonly listen: ListenTarget;
  readonly timeouts?: Partial<HttpTimeouts> | undefined;
  /** Maximum bytes of request bodies and responses in memory. Default: 8 of the largest requests, at least 256 MiB. */
  readonly maxInFlightBytes?: number | undefined;
  /** Maximum concurrent connections; further ones are answered 503. Default: 1024. */
  readonly maxConnections?: number | undefined;
}

/** The address a surface listens at. */
export type HttpAddress = { readonly address: string; readonly port: number } | { readonly socket: string };

/** Default memory for requests and responses: this multiple of the largest request, but at least the size below. */
const IN_FLIGHT_REQUESTS = 8;
const LEAST_IN_FLIGHT_BYTES = 256 * 1024 * 1024;

/**
 * The HTTP surface of a venue: HTTP/1.1 without TLS. The surface decodes requests, passes them to the host and encodes
 * the responses; it makes no decisions about files.
 */
export class HttpSurface {
  readonly #options: HttpSurfaceOptions;
  readonly #timeouts: HttpTimeouts;
  readonly #servers: Server[] = [];
  readonly #connections: Connections;
  readonly #sockets = new Set<Socket>();
  /** The answer to the latest request on a connection. */
  readonly #latest = new WeakMap<Socket, ServerResponse>();
  readonly #admission: Admission;
  readonly #app: FastifyInstance;
  /** Where it listens, once that is known: it listens once. */
  #address: HttpAddress | undefined;

  constructor(options: HttpSurfaceOptions) {
    const { host } = options;
    this.#options = options;
    this.#timeouts = {
      ...DEFAULT_TIMEOUTS,
      idleMs: Math.max(DEFAULT_TIMEOUTS.idleMs, host.limits.maxWaitMs + DEFAULT_TIMEOUTS.keepAliveMs),
      ...options.timeouts,
    };
    this.#connections = new Connections(options.maxConnections);
    const { maxRequestBytes } = host.limits;
    const maxBytes = options.maxInFlightBytes ?? Math.max(LEAST_IN_FLIGHT_BYTES, IN_FLIGHT_REQUESTS * maxRequestBytes);
    this.#admission = new Admission(host, new MemoryBudget(maxBytes));
    this.#app = this.#build();
  }

  /** @throws the system's error, for example with `code` `EADDRINUSE` */
  async listen(): Promise<HttpAddress> {
    const { listen } = this.#options;
    if ("socket" in listen) {
      await this.#app.listen({ path: listen.socket });
      return { socket: listen.socket };
    }
    const { hostname, port } = listen;
    const both = hostname.toLowerCase() === "localhost";
    await this.#app.listen({ host: both ? "127.0.0.1" : hostname, port });
    const address = this.address();
    if (address === undefined || "socket" in address)
      throw new Error("Cannot listen: the surface was closed meanwhile");
    this.#admission.loopback = isLoopbackAddress(address.address);
    if (both) await this.#listenOnIpv6(address.port);
    return address;
  }

  /** `undefined` unless it listens. */
  address(): HttpAddress | undefined {
    const [server] = this.#servers;
    if (server?.listening !== true) return undefined;
    // Asked for at every request, and a system call each time.
    this.#address ??= addressOf(server);
    return this.#address;
  }

  /**
   * Stops listening, waits a while for open requests, then closes their connections.
   *
   * @param spentMs of that while, what has passed already; a tenth is left in any case, for answers
   */
  async close(spentMs = 0): Promise<void> {
    this.#admission.closing = true;
    // Browsers open connections in advance, and some clients send half a head; Node would wait for the request.
    for (const socket of this.#sockets) if (this.#isIdle(socket)) socket.destroy();
    const { closeMs } = this.#timeouts;
    const cutOff = setTimeout(
      () => {
        for (const server of this.#servers) server.closeAllConnections();
      },
      Math.max(closeMs - spentMs, closeMs / 10),
    );
    const [, ...others] = this.#servers;
    await Promise.all([this.#app.close(), ...others.map(closeServer)]);
    clearTimeout(cutOff);
  }

  /** Whether no request is complete on it that has not been answered. */
  #isIdle(socket: Socket): boolean {
    const latest = this.#latest.get(socket);
    return latest === undefined || (latest.writableFinished && latest.req.complete);
  }

  #build(): FastifyInstance {
    const { host } = this.#options;
    const admission = this.#admission;
    const app = fastify({
      routerOptions: { ignoreTrailingSlash: true },
      exposeHeadRoutes: false,
      rewriteUrl: ({ url = "/" }) => withoutPrefix(url, basePath(host)),
      trustProxy: host.trustProxy,
      genReqId: () => host.requestId(),
      return503OnClosing: false,
      serverFactory: (handler) => {
        const server = this.#createServer(handler);
        this.#servers.push(server);
        return server;
      },
      clientErrorHandler: answerClientError,
      frameworkErrors: (_error, request, reply) => {
        const refusal = admission.refusal(request.raw);
        sendError(reply.headers(OWN_PAGES), refusal ?? (isPath(request) ? malformedTarget() : unmapped(request)));
      },
    });
    for (const method of METHODS) {
      if (method !== "CONNECT" && !app.supportedMethods.includes(method)) app.addHttpMethod(method);
    }
    // Bodies are passed on raw; each endpoint parses its own.
    app.removeAllContentTypeParsers();
    const limit = host.limits.maxRequestBytes;
    app.addContentTypeParser("application/json", (request: FastifyRequest) =>
      readBody(request, { limit, lease: request.getDecorator<MemoryLease>("lease") }),
    );
    app.decorateRequest("caller", null);
    app.decorateRequest("lease", null);
    admission.mount(app);
    app.setNotFoundHandler((request, reply) => sendError(reply, unmapped(request)));
    app.setErrorHandler((error, request, reply: FastifyReply) => {
      const failure = explain(error, host, { id: request.id, request: request.raw, response: reply.raw });
      return sendError(reply, failure, challengeOf(host, callerOf(request), failure));
    });
    mountEndpoints(app, host);
    return app;
  }

  #createServer(handler: (request: IncomingMessage, response: ServerResponse) => void): Server {
    const server = createNodeServer(handler, { timeouts: this.#timeouts, connections: this.#connections });
    server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
    for (const event of ["request", "checkContinue"]) {
      server.on(event, ({ socket }: IncomingMessage, response: ServerResponse) => this.#latest.set(socket, response));
    }
    return server;
  }

  async #listenOnIpv6(port: number): Promise<void> {
    const server = this.#createServer((request, response) => this.#app.routing(request, response));
    server.on("clientError", answerClientError);
    try {
      await new Promise<void>((resolve, reject) => {
        server.once("error", reject);
        server.listen({ host: "::1", port }, resolve);
      });
    } catch (error) {
      // A machine without IPv6 is fine. Another process listening on the IPv6 side of the same URL is an error.
      const code = codeOf(error);
      if (code === "EADDRNOTAVAIL" || code === "EAFNOSUPPORT") return;
      await this.close();
      throw error;
    }
    this.#servers.push(server);
  }
}

/** Absent before it was admitted. */
const callerOf = (request: FastifyRequest): Caller | undefined =>
  request.getDecorator<Caller | null>("caller") ?? undefined;

const isPath = (request: FastifyRequest): boolean => request.raw.url?.startsWith("/") === true;

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}

function addressOf(server: Server): HttpAddress | undefined {
  const bound = server.address();
  if (bound === null) return undefined;
  return typeof bound === "string" ? { socket: bound } : { address: bound.address, port: bound.port };
}
