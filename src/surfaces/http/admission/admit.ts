// Admission of HTTP requests: host, origin, rate limit, authentication, encoding.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Caller } from "../../../core/call/caller.js";
import { type MemoryBudget, type MemoryLease, UNCOUNTED_BYTES } from "../../../core/memory.js";
import { bearerOf, davCors, isBasic, isDav } from "../dav/dav.js";
import type { HttpHost } from "../host.js";
import { COMMON_HEADERS } from "../plumbing/answer.js";
import { entranceOf } from "../plumbing/entrance.js";
import {
  authenticationRequired,
  badRequest,
  echo,
  HttpError,
  invalidForward,
  invalidToken,
  later,
  tooManyRequests,
  unauthorized,
} from "../plumbing/http-error.js";
import { isLogin, isOpenToPages, isWorkspace, needsCaller, unmapped } from "../routes.js";
import { awaitsContinue, linger } from "./connections.js";
import { isPreflight, originHeaders, preflightHeaders, refuse, refuseEmbedding } from "./host-and-origin.js";

/** Makes all decisions about a request that precede its endpoint and the reading of its body. */
export class Admission {
  readonly #host: HttpHost;
  readonly #memory: MemoryBudget;
  /** Whether the listener is on loopback; the stricter rules apply until that is known. */
  loopback = true;
  /** While closing, requests on open connections are still answered, and then the connection is closed. */
  closing = false;

  constructor(host: HttpHost, memory: MemoryBudget) {
    this.#host = host;
    this.#memory = memory;
  }

  mount(app: FastifyInstance): void {
    app.addHook("onRequest", async (request, reply) => {
      // Fastify waits for a reply that is returned, and goes no further.
      return (await this.#admit(request, reply)) ? undefined : reply;
    });
    app.addHook("onSend", (request, reply, payload, next) => {
      // Without 100 Continue the client may or may not send its body, so the next request could not be told from it.
      if (this.closing || awaitsContinue(request.raw)) reply.header("connection", "close");
      linger(request.raw);
      const size = typeof payload === "string" || Buffer.isBuffer(payload) ? payload.length : 0;
      if (size > UNCOUNTED_BYTES) leaseOf(request)?.holdMade(size);
      next(null, payload);
    });
    if (this.#host.log.debugs === false) return;
    app.addHook("onResponse", (request, reply, next) => {
      const { id: requestId, method, routeOptions } = request;
      const ms = Math.round(reply.elapsedTime * 1000) / 1000;
      this.#host.log.debug({ requestId, method, route: routeOptions.url, status: reply.statusCode, ms }, "request");
      next();
    });
  }

  /** Refuses a request by its `Host` and `Origin`. @returns the refusal, if any */
  refusal(raw: IncomingMessage, corsOrigins = this.#host.corsOrigins): HttpError | undefined {
    // Node keeps the first; RFC 9112 §3.2 refuses the request, since a proxy in front may have read the other.
    if (count(raw.rawHeaders, "host") > 1) return badRequest("More than one Host header. Send one");
    const { hosts, trustProxy, url } = this.#host;
    return refuse(raw, { loopback: this.loopback, hosts, corsOrigins, trustProxy, url });
  }

  /** @returns whether the request proceeds; `false`: it has been answered */
  async #admit(request: FastifyRequest, reply: FastifyReply): Promise<boolean> {
    const host = this.#host;
    if (!request.raw.socket.writable) {
      // The request was pipelined behind one whose response closed the connection.
      reply.hijack();
      return false;
    }
    reply.header("x-request-id", request.id);
    reply.headers(originHeaders(request.raw, host.corsOrigins, davCors(request)));
    const refusal =
      this.refusal(request.raw, isOpenToPages(request) ? "*" : undefined) ??
      (isWorkspace(request) ? undefined : refuseEmbedding(request.raw));
    if (refusal !== undefined) throw refusal;
    const known = await this.#identify(request.raw, isDav(request));
    await this.#limit(known, request, reply);
    return this.#accept(known, request, reply);
  }

  /** @throws HttpError 429 */
  async #limit(known: Caller | HttpError, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const host = this.#host;
    // Wrong codes have a limit of their own, and whoever sends them must not keep the right one out. What another instance passes on has
    // been counted there.
    const passedOn = host.peers?.passedOn(request.raw);
    if (passedOn?.requestId !== undefined) {
      request.id = passedOn.requestId;
      reply.header("x-request-id", request.id);
    }
    if (host.rateLimit === undefined || isLogin(request) || passedOn !== undefined) return;
    const isKnown = !(known instanceof HttpError) && known.authentication !== "public";
    const sender = { address: addressOf(request), ...(isKnown ? { did: known.did } : {}) };
    const waitMs = await host.rateLimit(sender);
    if (waitMs > 0) throw tooManyRequests(waitMs);
  }

  /** Authenticates the request. An invalid token is refused, and never falls back to anonymous access. */
  async #identify(request: IncomingMessage, isForDav: boolean): Promise<Caller | HttpError> {
    const caller = await this.#authenticate(request, isForDav);
    if (caller instanceof HttpError) return caller;
    const { url } = entranceOf(this.#host, request);
    return url === this.#host.url() ? caller : { ...caller, entrance: url };
  }

  async #authenticate(request: IncomingMessage, isForDav: boolean): Promise<Caller | HttpError> {
    const { headers, rawHeaders } = request;
    const passedOn = this.#host.peers?.admit(request);
    if (passedOn !== undefined) return passedOn === "refused" ? invalidForward() : passedOn;
    const { authorization } = headers;
    if (authorization === undefined) return this.#host.publicCaller;
    // Node keeps the first of several headers, but a proxy in front may have checked another.
    if (count(rawHeaders, "authorization") > 1) return invalidToken();
    const result = await this.#host.authenticate(isForDav ? bearerOf(authorization) : authorization);
    if ("caller" in result) {
      // A session is for one browser; whoever mounts a folder keeps the password for long.
      const isMount = isBasic(authorization) && result.caller.authentication === "session";
      return isMount ? invalidToken() : result.caller;
    }
    if (result.refused === "unavailable")
      return later(503, "A token of this issuer cannot be verified now", result.retryAfterMs);
    if (result.refused === "unsupported_scheme") return unauthorized("Unsupported authorization scheme");
    return invalidToken(result);
  }

  #servesPublic(request: FastifyRequest): boolean {
    const { publicAccess, dav } = this.#host;
    return publicAccess && (!isDav(request) || dav?.anonymous === true);
  }

  #accept(known: Caller | HttpError, request: FastifyRequest, reply: FastifyReply): boolean {
    if (known instanceof HttpError) throw known;
    // Preflights are answered at once, without reading a body.
    const isKnown = !request.is404;
    if (isKnown && isPreflight(request.raw)) {
      const headers = preflightHeaders(request.raw, this.#host.corsOrigins, davCors(request));
      reply.code(204).headers(COMMON_HEADERS).headers(headers).send();
      return false;
    }
    if (known.authentication === "public" && !this.#servesPublic(request) && needsCaller(request)) {
      throw authenticationRequired();
    }
    if (!isKnown) throw unmapped(request);
    const coding = codingOf(request.headers);
    // Compressed bodies are refused, so that a small body cannot expand.
    if (coding !== undefined) {
      const text = `Content-Encoding '${echo(coding)}' is not supported. Send the body without Content-Encoding`;
      // Accept-Encoding tells what would have been accepted (RFC 9110 §15.5.16).
      throw new HttpError(415, text, { "accept-encoding": "identity" });
    }
    request.setDecorator("caller", known);
    request.setDecorator("lease", this.#lease(known, addressOf(request), reply.raw));
    return true;
  }

  /** @param address of the client @param response the lease is released when it has ended */
  #lease({ authentication, did }: Caller, address: string, response: ServerResponse): MemoryLease {
    const lease: MemoryLease = this.#memory.lease(authentication === "public" ? address : did, () => {
      if (response.closed) lease.release();
      else response.once("close", () => lease.release());
    });
    return lease;
  }
}

/** The address a request comes from; callers of a Unix socket have none, and count as one. */
const addressOf = ({ ip }: { readonly ip: string | undefined }): string => ip ?? "";

/** The value of `Content-Encoding`, unless it leaves the body unchanged. */
function codingOf({ "content-encoding": coding }: IncomingMessage["headers"]): string | undefined {
  if (coding === undefined) return undefined;
  return coding.split(",").every((one) => /^\s*(?:identity)?\s*$/i.test(one)) ? undefined : coding;
}

/** Memory lease of a request; `undefined` if it was not admitted. */
const leaseOf = (request: FastifyRequest): MemoryLease | undefined =>
  request.getDecorator<MemoryLease | null>("lease") ?? undefined;

function count(rawHeaders: readonly string[], name: string): number {
  let found = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const header = rawHeaders[index];
    if (header?.length === name.length && header.toLowerCase() === name) found += 1;
  }
  return found;
}
