// The routes of the HTTP surface: which endpoint answers which path and method.

import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Caller } from "../../core/call/caller.js";
import type { MemoryLease } from "../../core/memory.js";
import { fieldsOf } from "../../core/unknown.js";
import { isDav, mountDav } from "./dav/dav.js";
import { getAsset, getContent, listAssets, putContent, registerAsset } from "./endpoints/assets.js";
import { EventStreams } from "./endpoints/event-streams.js";
import { getVenueEvents } from "./endpoints/events.js";
import { getFile, patchFile, putFile, ticketOf } from "./endpoints/files.js";
import { health, metrics } from "./endpoints/health.js";
import { invoke, run } from "./endpoints/invoke.js";
import { cancelJob, deleteJob, getJob, listJobs, messageJob, pauseJob } from "./endpoints/jobs.js";
import { logIn } from "./endpoints/login.js";
import { serveMcp } from "./endpoints/mcp.js";
import { countValues, listValues, readValues, sliceValues } from "./endpoints/values.js";
import { getWorkspace, redirectToWorkspace, WORKSPACE_PATH } from "./endpoints/workspace.js";
import type { HttpHost, OperationListing } from "./host.js";
import { openApi } from "./openapi/openapi.js";
import { COMMON_HEADERS, sendJson } from "./plumbing/answer.js";
import { entranceOf } from "./plumbing/entrance.js";
import type { Exchange, Handler } from "./plumbing/exchange.js";
import { echo, endpointNotFound, HttpError, methodNotAllowed } from "./plumbing/http-error.js";
import { getEvents } from "./plumbing/sse.js";

/** Version of the wire protocol; clients enable features by it. */
const WIRE_VERSION = "0.9.0";
const MCP_VERSION = "1.0";

const FILES_URL = "/api/v1/files/*";
const WORKSPACE_URL = "/workspace";
const STATUS_PATH = "/api/v1/status";
const LOGIN_PATH = "/api/v1/login";
/** Last path segments that name a sub-resource of a job or asset, and are not part of its id. */
const SUFFIXES = ["content", "sse", "cancel", "pause", "resume", "delete"];

type Endpoint = (host: HttpHost, exchange: Exchange) => ReturnType<Handler>;
/** Endpoints by method. `GET` also answers `HEAD`. */
type Methods = Readonly<Record<string, Endpoint>>;

interface Route {
  readonly url: string;
  readonly methods: Methods;
  /** Endpoints by suffix after the target. Routes with suffixes take no body, or read it themselves. */
  readonly suffixes?: Readonly<Record<string, Methods>>;
  /** The body is a raw stream, whatever its content type. */
  readonly streams?: true;
  /** The path itself is an endpoint too, beside those below it. */
  readonly bare?: true;
  /** Only these methods are routed; others are answered as if there were no endpoint, or by another one. */
  readonly only?: readonly string[];
}

const json = (make: (host: HttpHost, exchange: Exchange) => unknown): Endpoint => {
  return (host, exchange) => sendJson(exchange.reply, 200, JSON.stringify(make(host, exchange)));
};

const ROUTES: readonly Route[] = [
  { url: STATUS_PATH, methods: { GET: getStatus } },
  { url: "/api/v1/invoke", methods: { POST: invoke } },
  { url: "/api/v1/run", methods: { POST: run } },
  { url: "/api/v1/operations", methods: { GET: json((host) => host.operations()) } },
  {
    url: "/api/v1/operations/*",
    methods: { GET: (host, { reply, target }) => sendJson(reply, 200, JSON.stringify(findOperation(host, target))) },
  },
  { url: "/api/v1/jobs", methods: { GET: listJobs } },
  {
    url: "/api/v1/jobs/*",
    methods: { GET: getJob, POST: messageJob },
    suffixes: {
      sse: { GET: getEvents },
      cancel: { PUT: cancelJob },
      pause: { PUT: pauseJob },
      resume: { PUT: pauseJob },
      delete: { PUT: deleteJob },
    },
  },
  { url: "/api/v1/values/read", methods: { GET: readValues } },
  { url: "/api/v1/values/list", methods: { GET: listValues } },
  { url: "/api/v1/values/slice", methods: { GET: sliceValues } },
  { url: "/api/v1/values/count", methods: { GET: countValues } },
  { url: "/api/v1/assets", methods: { GET: listAssets, POST: registerAsset } },
  {
    url: "/api/v1/assets/*",
    methods: { GET: getAsset },
    suffixes: { content: { GET: getContent, PUT: putContent } },
  },
  // The path at which newer clients look for the same content.
  { url: "/api/v1/content/*", methods: { GET: getContent } },
  { url: "/.well-known/did.json", methods: { GET: didDocument } },
  { url: "/healthz", methods: { GET: health } },
  { url: "/openapi.json", methods: { GET: openApi } },
];

/** Paths of files have no suffixes: files may have any name. */
const FILE_ROUTES: readonly Route[] = [
  { url: FILES_URL, methods: { GET: getFile, PUT: putFile, PATCH: patchFile }, streams: true },
];

const METRICS_ROUTES: readonly Route[] = [{ url: "/metrics", methods: { GET: metrics } }];

/** Mounts all endpoints. Each route accepts any method, so that a known path with a wrong method is 405 and not 404. */
export function mountEndpoints(app: FastifyInstance, host: HttpHost): void {
  const ownBody = ({ suffixes, streams }: Route) => suffixes !== undefined || streams === true;
  const files = host.files === undefined ? [] : FILE_ROUTES;
  const routes = [
    ...ROUTES,
    ...files,
    ...(host.metrics === undefined ? [] : METRICS_ROUTES),
    ...eventRoutes(host),
    ...loginRoutes(host),
    ...mcpRoutes(host),
    ...workspaceRoutes(host),
  ];
  for (const route of routes) if (!ownBody(route)) mount(app, host, route);
  app.register((scope, _options, done) => {
    // Bodies here are ignored, or are streams of any size and type.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", (_request, _payload, parsed) => parsed(null));
    scope.addHook("onRequest", (request, _reply, next) => {
      // Fastify would refuse a malformed content type.
      delete request.raw.headers["content-type"];
      next();
    });
    for (const route of routes) if (ownBody(route)) mount(scope, host, route);
    done();
  });
  if (host.dav !== undefined) mountDav(app, host, host.dav);
}

function eventRoutes({ events }: HttpHost): Route[] {
  if (events === undefined) return [];
  const parts = { events, streams: new EventStreams() };
  return [{ url: "/api/v1/events", methods: { GET: (host, exchange) => getVenueEvents(host, parts, exchange) } }];
}

function loginRoutes({ login }: HttpHost): Route[] {
  if (login === undefined) return [];
  return [{ url: LOGIN_PATH, methods: { POST: (_host, exchange) => logIn(login, exchange) } }];
}

function mcpRoutes(host: HttpHost): Route[] {
  const { mcp } = host;
  if (mcp === undefined) return [];
  const serve: Endpoint = (_host, exchange) => serveMcp(host, mcp, exchange);
  return [
    { url: "/mcp", methods: { POST: serve, GET: serve, DELETE: serve } },
    { url: "/.well-known/mcp", methods: { GET: json(mcpDiscovery) } },
  ];
}

function workspaceRoutes({ workspace }: HttpHost): Route[] {
  if (workspace === undefined) return [];
  const page: Endpoint = (host, exchange) => getWorkspace(host, workspace, exchange);
  return [
    { url: "/", methods: { GET: redirectToWorkspace }, only: ["GET", "HEAD"] },
    { url: WORKSPACE_PATH, methods: { GET: page } },
    { url: `${WORKSPACE_PATH}/*`, methods: { GET: page }, bare: true },
  ];
}

/** Whether a request requires an authenticated caller when public access is off. */
export function needsCaller(request: FastifyRequest): boolean {
  // The route of a known endpoint, since its path can be written in several ways.
  const path = request.routeOptions.url ?? pathOf(request);
  // A ticket identifies the caller, and is checked by the endpoint.
  if (path === FILES_URL && ticketOf(request) !== undefined) return false;
  if (isDav(request)) return request.method !== "OPTIONS";
  if (path === STATUS_PATH || path === LOGIN_PATH) return false;
  return path.startsWith("/api/") || path === "/mcp";
}

/** Whether a request is for the workspace: pages, styles and scripts of the venue itself. */
export const isWorkspace = ({ routeOptions: { url } }: FastifyRequest): boolean =>
  url === WORKSPACE_URL || url?.startsWith(`${WORKSPACE_URL}/`) === true;

/** Whether a request exchanges the code of a link. */
export const isLogin = ({ method, routeOptions: { url } }: FastifyRequest): boolean =>
  method === "POST" && url === LOGIN_PATH;

/** The path of a request as sent, without the query. */
function pathOf(request: FastifyRequest): string {
  const url = request.raw.url ?? "";
  const end = url.search(/[?#]/);
  return end === -1 ? url : url.slice(0, end);
}

/** The 404 for a path that is not mapped. */
export function unmapped(request: FastifyRequest): HttpError {
  return endpointNotFound(request.method, echo(pathOf(request)));
}

interface Resolved {
  readonly endpoint: Endpoint;
  readonly target: string;
}

function mount(app: FastifyInstance, host: HttpHost, route: Route): void {
  const resolve = (request: FastifyRequest): Resolved => {
    const whole = targetOf(request);
    const { target, methods } = splitSuffix(route, whole);
    if (methods === undefined || (target === "" && route.url.endsWith("*") && route.bare !== true))
      throw unmapped(request);
    const endpoint = endpointFor(methods, request.method);
    if (endpoint === undefined) throw methodNotAllowed(request.method, echo(pathOf(request)), allowHeader(methods));
    return { endpoint, target };
  };
  app.route({
    method: route.only === undefined ? app.supportedMethods : [...route.only],
    url: route.url,
    // In onRequest, before the body is read: a wrong method is refused without waiting for or parsing the body.
    onRequest: (request, _reply, next) => {
      resolve(request);
      next();
    },
    handler: (request, reply) => {
      const { endpoint, target } = resolve(request);
      const caller = request.getDecorator<Caller>("caller");
      return endpoint(host, { request, reply, target, caller, memory: request.getDecorator<MemoryLease>("lease") });
    },
  });
}

function endpointFor(methods: Methods, method: string): Endpoint | undefined {
  const served = method === "HEAD" ? "GET" : method;
  return Object.hasOwn(methods, served) ? methods[served] : undefined;
}

/** Value of the `Allow` header. */
function allowHeader(methods: Methods): string {
  const names = Object.keys(methods).flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]));
  return names.join(", ");
}

/** Splits a known suffix off the end of a target. No methods: there is no such endpoint. */
function splitSuffix(route: Route, whole: string): { target: string; methods: Methods | undefined } {
  const { suffixes, methods } = route;
  if (suffixes === undefined) return { target: whole, methods };
  const slash = whole.lastIndexOf("/");
  const suffix = whole.slice(slash + 1);
  if (slash < 0 || !SUFFIXES.includes(suffix)) return { target: whole, methods };
  return { target: whole.slice(0, slash), methods: Object.hasOwn(suffixes, suffix) ? suffixes[suffix] : undefined };
}

/** The path after the fixed part, slashes included, percent-decoded once by the router. */
function targetOf(request: FastifyRequest): string {
  const target = fieldsOf(request.params)["*"];
  return typeof target === "string" ? target : "";
}

function findOperation(host: HttpHost, name: string): OperationListing {
  const operation = host.operation(name);
  if (operation === undefined) throw new HttpError(404, `Operation not found: ${echo(name)}`);
  return operation.listing;
}

function getStatus(host: HttpHost, { request, reply, caller }: Exchange): ReturnType<Handler> {
  const { assets, ops, ...ofOthers } = host.stats();
  const status = {
    status: "OK",
    ts: host.nowMs(),
    did: host.did,
    name: host.name,
    version: WIRE_VERSION,
    url: entranceOf(host, request.raw).url,
    // How busy others are is nothing for strangers.
    stats: { assets, ops, ...(caller.authentication === "public" ? {} : ofOthers) },
    ...(caller.isOperator ? { operator: host.operatorStatus() } : {}),
  };
  return sendJson(reply, 200, JSON.stringify(status));
}

function mcpDiscovery(host: HttpHost, { request }: Exchange): object {
  const { url, prefix } = entranceOf(host, request.raw);
  return {
    mcp_version: MCP_VERSION,
    server_url: `${url}/mcp`,
    description: host.description,
    endpoint: { path: `${prefix}/mcp`, transport: "streamable-http" },
  };
}

function didDocument(host: HttpHost, { request, reply }: Exchange): ReturnType<Handler> {
  const body = Buffer.from(JSON.stringify(host.didDocument(entranceOf(host, request.raw).url)));
  return reply.code(200).headers(COMMON_HEADERS).header("content-type", "application/did+json").send(body);
}
