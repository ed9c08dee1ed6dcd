// WebDAV (RFC 4918): roots below `/dav/`, the caller's own drives below `/dlfs/`. Decodes requests, runs operations,
// encodes the answers; it judges nothing itself but locks.

import { randomUUID } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Caller } from "../../../core/call/caller.js";
import type { CorsArea } from "../admission/host-and-origin.js";
import type { HttpDav, HttpHost } from "../host.js";
import { challengeOf } from "../plumbing/challenge.js";
import { exchangeOf, leaveBodies } from "../plumbing/exchange.js";
import { explain, HttpError, methodNotAllowed } from "../plumbing/http-error.js";
import { DavCall, undefinedFor } from "./call.js";
import { sendDavError, sendEmpty } from "./errors.js";
import { Locks } from "./locks/locks.js";
import { mkcol, remove } from "./methods/collections.js";
import { copy, move } from "./methods/copy-move.js";
import { get } from "./methods/get.js";
import { lock, unlock } from "./methods/lock.js";
import { propfind } from "./methods/propfind.js";
import { proppatch } from "./methods/proppatch.js";
import { put } from "./methods/put.js";
import { Checksums } from "./properties/checksums.js";
import { DeadProperties } from "./properties/dead.js";

type Method = (call: DavCall) => Promise<FastifyReply>;

const METHODS: Readonly<Record<string, Method>> = {
  OPTIONS: options,
  GET: get,
  HEAD: get,
  PROPFIND: propfind,
  PUT: put,
  MKCOL: mkcol,
  DELETE: remove,
  COPY: copy,
  MOVE: move,
  LOCK: lock,
  UNLOCK: unlock,
  PROPPATCH: proppatch,
};

/** Windows asks for what lies above the folder that it mounts. */
const TOP_METHODS = ["OPTIONS", "PROPFIND"];
const URLS = ["/dav", "/dav/*", "/dlfs", "/dlfs/*"];

const CORS: CorsArea = {
  methods: Object.keys(METHODS).join(","),
  headers:
    "authorization, content-type, depth, destination, if, if-match, if-modified-since, if-none-match, if-range, " +
    "if-unmodified-since, lock-token, overwrite, range, timeout, x-expected-entity-length, x-oc-mtime",
  exposed: "allow, dav, lock-token, x-oc-mtime",
};

/** Whether a request is one of WebDAV, by its route. */
export function isDav(request: FastifyRequest): boolean {
  if (request.routeOptions.url === "/") return TOP_METHODS.includes(request.method);
  return isInFolder(request);
}

const isInFolder = ({ routeOptions: { url } }: FastifyRequest): boolean => url !== undefined && URLS.includes(url);

/** The CORS area below `/dav/` and `/dlfs/`; `undefined` for all other URLs. */
export const davCors = (request: FastifyRequest): CorsArea | undefined => (isInFolder(request) ? CORS : undefined);

export function mountDav(app: FastifyInstance, host: HttpHost, dav: HttpDav): void {
  const limits = { most: dav.maxLocks, now: () => host.nowMs() };
  const made = dav.makeLocks?.(limits);
  const locks = made instanceof Locks ? made : new Locks(limits);
  dav.onLocks(locks);
  const instance = dav.makeLocks === undefined ? "" : ` of ${randomUUID()}`;
  const properties = new DeadProperties(dav.propertyFile);
  const state = { dav, locks, properties, checksums: new Checksums(), instance };
  app.register((scope, _options, done) => {
    leaveBodies(scope);
    scope.setErrorHandler((error, request, reply: FastifyReply) => {
      const failure = explain(error, host, { id: request.id, request: request.raw, response: reply.raw });
      const caller = request.getDecorator<Caller | null>("caller") ?? undefined;
      return sendDavError(reply, failure, challengeOf(host, caller, failure));
    });
    scope.addHook("onRequest", (request, _reply, next) => {
      requireOwnPage(request);
      methodOf(request);
      next();
    });
    const handler = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      await state.properties.ready();
      const call = new DavCall(host, state, exchangeOf(request, reply));
      if (!WITHOUT_LOCKS.includes(request.method)) await call.look();
      return methodOf(request)(call);
    };
    if (dav.makeLocks !== undefined) scope.addHook("onSend", async () => locks.settle());
    for (const url of URLS) scope.route({ method: scope.supportedMethods, url, handler });
    scope.route({ method: TOP_METHODS, url: "/", handler });
    done();
  });
}

/** @throws HttpError 405 */
function methodOf({ method, raw }: FastifyRequest): Method {
  const found = Object.hasOwn(METHODS, method) ? METHODS[method] : undefined;
  if (found === undefined) throw methodNotAllowed(method, raw.url ?? "", Object.keys(METHODS).join(", "));
  return found;
}

/** Browsers keep Basic passwords, and send them with requests of any page. @throws HttpError 403 */
function requireOwnPage({ method, headers }: FastifyRequest): void {
  const { authorization, "sec-fetch-site": site, "sec-fetch-mode": mode } = headers;
  if (!isBasic(authorization) || (site !== "cross-site" && site !== "same-site")) return;
  if (mode === "navigate" && (method === "GET" || method === "HEAD")) return;
  throw new HttpError(403, "Requests of other sites must not use Basic credentials");
}

const BASIC = /^basic +([A-Za-z0-9+/]+=*) *$/i;

/** `Authorization` of a Basic request as that of a Bearer request; any other as it is. */
export function bearerOf(authorization: string): string {
  if (!isBasic(authorization)) return authorization;
  const [, encoded = ""] = BASIC.exec(authorization) ?? [];
  const text = Buffer.from(encoded, "base64").toString("utf8");
  const colon = text.indexOf(":");
  return `Bearer ${colon === -1 ? "" : text.slice(colon + 1)}`;
}

export const isBasic = (authorization: string | undefined): boolean => /^basic(?:\s|$)/i.test(authorization ?? "");

const WITHOUT_LOCKS = ["OPTIONS", "GET", "HEAD"];
const READING = [...WITHOUT_LOCKS, "PROPFIND"];
const CHANGING = ["PUT", "MKCOL", "DELETE", "COPY", "MOVE", "PROPPATCH", "LOCK", "UNLOCK"];

async function options(call: DavCall): Promise<FastifyReply> {
  const isReadOnly = call.caller.authentication !== "public" && (await isInReadOnlyRoot(call));
  return sendEmpty(call.exchange.reply, 200, {
    dav: isReadOnly ? "1, 3" : "1, 2, 3",
    "ms-author-via": "DAV",
    allow: [...READING, ...(isReadOnly ? [] : CHANGING)].join(", "),
  });
}

async function isInReadOnlyRoot(call: DavCall): Promise<boolean> {
  const { space, root } = call.target;
  if (space !== "dav" || root === undefined) return false;
  const roots = (await undefinedFor(["CAPABILITY_DENIED"], call.roots())) ?? [];
  return roots.some(({ name, readOnly }) => name === root && readOnly);
}
