import { METHODS, type Server } from "node:http";
import type { Socket } from "node:net";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { isLoopbackAddress } from "../../config/loopback.js";
import { refuse } from "./admission.js";
import { sendError } from "./answer.js";
import type { HttpHost } from "./host.js";
import {
  authenticationRequired,
  badRequest,
  bodyTooLarge,
  HttpError,
  internal,
  malformedTarget,
  unsupportedMediaType,
} from "./http-error.js";
import { answerClientError, createNodeServer, DEFAULT_TIMEOUTS, type HttpTimeouts } from "./node-server.js";
import { mountEndpoints, needsCaller, unmapped } from "./routes.js";

export interface HttpSurfaceOptions {
  readonly host: HttpHost;
  /** Address to listen on; `localhost` is both loopback addresses, as far as the machine has them. */
  readonly hostname: string;
  /** `0`: any free port. */
  readonly port: number;
  readonly timeouts?: Partial<HttpTimeouts>;
}

/** Where a surface listens. */
export interface HttpAddress {
  /** IP address, without brackets. */
  readonly address: string;
  readonly port: number;
}

export interface HttpSurface {
  /** @throws the error of the system, for example with `code` `EADDRINUSE` */
  listen(): Promise<HttpAddress>;
  /** `undefined` unless it listens. */
  address(): HttpAddress | undefined;
  /** Stops listening, lets open requests end for a while, then cuts them off. */
  close(): Promise<void>;
}

/**
 * Creates the HTTP surface of a venue: HTTP/1.1 without TLS. It decodes requests, hands them to the host and encodes the
 * answers; it decides nothing about files.
 */
export function createHttpSurface(options: HttpSurfaceOptions): HttpSurface {
  return new FastifySurface(options);
}

class FastifySurface implements HttpSurface {
  readonly #options: HttpSurfaceOptions;
  readonly #timeouts: HttpTimeouts;
  readonly #servers: Server[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #app: FastifyInstance;
  #closing = false;
  /** Until it is known where the surface listens, the stricter rules hold. */
  #loopback = true;

  constructor(options: HttpSurfaceOptions) {
    this.#options = options;
    this.#timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts };
    this.#app = this.#build();
  }

  async listen(): Promise<HttpAddress> {
    const { hostname, port } = this.#options;
    const both = hostname.toLowerCase() === "localhost";
    await this.#app.listen({ host: both ? "127.0.0.1" : hostname, port });
    const address = this.address();
    if (address === undefined) throw new Error("Cannot listen: the surface was closed meanwhile");
    this.#loopback = isLoopbackAddress(address.address);
    if (both) await this.#listenOnIpv6(address.port);
    return address;
  }

  address(): HttpAddress | undefined {
    const bound = this.#servers[0]?.address() ?? null;
    return typeof bound === "object" && bound !== null ? { address: bound.address, port: bound.port } : undefined;
  }

  async close(): Promise<void> {
    this.#closing = true;
    // Browsers connect ahead of need. Node takes such a connection for one whose request is still to come.
    for (const socket of this.#sockets) if (socket.bytesRead === 0) socket.destroy();
    const cutOff = setTimeout(() => {
      for (const server of this.#servers) server.closeAllConnections();
    }, this.#timeouts.closeMs);
    const [, ...others] = this.#servers;
    await Promise.all([this.#app.close(), ...others.map(closeServer)]);
    clearTimeout(cutOff);
  }

  #build(): FastifyInstance {
    const { host } = this.#options;
    const app = fastify({
      bodyLimit: host.limits.maxRequestBytes,
      exposeHeadRoutes: false,
      // Requests that arrive on open connections while closing are answered as ever, and the connection ends.
      return503OnClosing: false,
      serverFactory: (handler) => {
        const server = createNodeServer(handler, this.#timeouts);
        this.#watch(server);
        this.#servers.push(server);
        return server;
      },
      clientErrorHandler: answerClientError,
      frameworkErrors: (_error, request, reply) => {
        sendError(reply, this.#refusal(request.raw) ?? (isPath(request) ? malformedTarget() : unmapped(request)));
      },
    });
    for (const method of METHODS) {
      if (method !== "CONNECT" && !app.supportedMethods.includes(method)) app.addHttpMethod(method);
    }
    // Bodies are taken as they are; the endpoints parse them, each by its own rules.
    app.removeAllContentTypeParsers();
    app.addContentTypeParser("application/json", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
    app.decorateRequest("caller", "");
    app.addHook("onRequest", async (request) => this.#admit(request));
    app.addHook("onSend", async (_request, reply) => {
      if (this.#closing) reply.header("connection", "close");
    });
    app.setNotFoundHandler((request, reply) => sendError(reply, unmapped(request)));
    app.setErrorHandler((error, request, reply) => sendError(reply, this.#explain(error, request, reply)));
    mountEndpoints(app, host);
    return app;
  }

  #watch(server: Server): void {
    server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
  }

  #admit(request: FastifyRequest): void {
    const { host } = this.#options;
    const refusal = this.#refusal(request.raw);
    if (refusal !== undefined) throw refusal;
    if (!host.publicAccess && needsCaller(request)) throw authenticationRequired();
    // At once, without reading a body that nobody takes.
    if (request.is404) throw unmapped(request);
    const encoding = request.headers["content-encoding"];
    if (encoding !== undefined && encoding.toLowerCase() !== "identity") throw unsupportedMediaType();
    request.setDecorator("caller", `${host.did}:public`);
  }

  #refusal(raw: FastifyRequest["raw"]): HttpError | undefined {
    const { host } = this.#options;
    return refuse(raw, {
      loopback: this.#loopback,
      allowedHosts: host.allowedHosts,
      ownOrigin: () => new URL(host.url()).origin,
    });
  }

  #explain(error: unknown, request: FastifyRequest, reply: FastifyReply): HttpError {
    if (error instanceof HttpError) return error;
    const { host } = this.#options;
    switch (codeOf(error)) {
      case "FST_ERR_CTP_BODY_TOO_LARGE":
        return bodyTooLarge(host.limits.maxRequestBytes);
      case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
        return unsupportedMediaType();
      case "FST_ERR_CTP_INVALID_CONTENT_LENGTH":
        return badRequest("Request body size did not match Content-Length");
    }
    // The client broke off while sending; what it sent is not worth a word in the log.
    if (request.raw.errored !== null || reply.raw.destroyed) return badRequest("Request incomplete");
    const requestId = host.requestId();
    host.logInternal(error, requestId);
    return internal(requestId);
  }

  async #listenOnIpv6(port: number): Promise<void> {
    const server = createNodeServer((request, response) => this.#app.routing(request, response), this.#timeouts);
    server.on("clientError", answerClientError);
    this.#watch(server);
    try {
      await new Promise<void>((resolve, reject) => {
        server.once("error", reject);
        server.listen({ host: "::1", port }, resolve);
      });
    } catch (error) {
      // A machine without IPv6 is no fault. Somebody else behind the same URL is one.
      if (["EADDRNOTAVAIL", "EAFNOSUPPORT"].includes(codeOf(error) ?? "")) return;
      await this.close();
      throw error;
    }
    this.#servers.push(server);
  }
}

const isPath = (request: FastifyRequest): boolean => request.raw.url?.startsWith("/") === true;

function codeOf(error: unknown): string | undefined {
  const { code }: { code?: unknown } = typeof error === "object" && error !== null ? error : {};
  return typeof code === "string" ? code : undefined;
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}
