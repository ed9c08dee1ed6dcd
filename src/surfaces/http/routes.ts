import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { sendJson } from "./answer.js";
import type { HttpHost, OperationListing } from "./host.js";
import { echo, endpointNotFound, HttpError, methodNotAllowed } from "./http-error.js";
import { invoke } from "./invoke.js";
import { getJob, isJobTarget } from "./job.js";
import { serveMcp } from "./mcp.js";

/** The generation of the wire protocol; clients switch features on by it. */
const WIRE_VERSION = "0.9.0";

const STATUS_PATH = "/api/v1/status";

type Handler = (request: FastifyRequest, reply: FastifyReply) => FastifyReply | Promise<FastifyReply>;

interface Endpoint {
  readonly url: string;
  readonly methods: Readonly<Record<string, Handler>>;
  /** Whether a target below `url` exists; by default all do. */
  readonly exists?: (target: string) => boolean;
}

/** Mounts every endpoint. Each answers any method, so that a known path with a wrong method is 405 and not 404. */
export function mountEndpoints(app: FastifyInstance, host: HttpHost): void {
  const endpoints: Endpoint[] = [
    { url: STATUS_PATH, methods: { GET: (_request, reply) => sendJson(reply, 200, statusJson(host)) } },
    { url: "/api/v1/invoke", methods: { POST: (request, reply) => invoke(host, request, reply) } },
    {
      url: "/api/v1/operations",
      methods: { GET: (_request, reply) => sendJson(reply, 200, JSON.stringify(host.operations())) },
    },
    {
      url: "/api/v1/operations/*",
      methods: {
        GET: (request, reply) => sendJson(reply, 200, JSON.stringify(findOperation(host, targetOf(request)))),
      },
    },
    {
      url: "/api/v1/jobs/*",
      exists: isJobTarget,
      methods: { GET: (request, reply) => getJob(host, targetOf(request), { request, reply }) },
    },
  ];
  const { mcp } = host;
  if (mcp !== undefined) {
    const serve: Handler = (request, reply) => serveMcp(host, mcp, { request, reply });
    endpoints.push({ url: "/mcp", methods: { POST: serve, GET: serve, DELETE: serve } });
  }
  for (const endpoint of endpoints) mount(app, endpoint);
}

/** Whether a request must name its caller when public access is off. */
export function needsCaller(request: FastifyRequest): boolean {
  // Of a known endpoint the route itself, since its path can be written in several ways.
  const path = request.routeOptions.url ?? pathOf(request);
  return path !== STATUS_PATH && (path.startsWith("/api/") || path === "/mcp");
}

/** The path of a request as it was sent, without its query. */
export function pathOf(request: FastifyRequest): string {
  const url = request.raw.url ?? "";
  const end = url.search(/[?#]/);
  return end === -1 ? url : url.slice(0, end);
}

/** The 404 of a path that is not mapped. */
export function unmapped(request: FastifyRequest): HttpError {
  return endpointNotFound(request.method, echo(pathOf(request)));
}

function mount(app: FastifyInstance, endpoint: Endpoint): void {
  const handlers = new Map(Object.entries(endpoint.methods));
  const allow = [...handlers.keys()].join(", ");
  const handlerOf = (request: FastifyRequest): Handler => {
    if (endpoint.exists?.(targetOf(request)) === false) throw unmapped(request);
    const handler = handlers.get(request.method);
    if (handler === undefined) throw methodNotAllowed(request.method, echo(pathOf(request)), allow);
    return handler;
  };
  app.route({
    method: app.supportedMethods,
    url: endpoint.url,
    // Before the body is read: it must not be waited for, nor judged, when nobody takes it.
    onRequest: async (request) => {
      handlerOf(request);
    },
    handler: (request, reply) => handlerOf(request)(request, reply),
  });
}

/** What follows the fixed part of the path; slashes included, percent-decoded once by the router. */
function targetOf(request: FastifyRequest): string {
  const { params } = request;
  const target = typeof params === "object" && params !== null && "*" in params ? params["*"] : undefined;
  return typeof target === "string" ? target : "";
}

function findOperation(host: HttpHost, name: string): OperationListing {
  const operation = host.operation(name);
  if (operation === undefined) throw new HttpError(404, `Operation not found: ${echo(name)}`);
  return operation.listing;
}

function statusJson(host: HttpHost): string {
  return JSON.stringify({
    status: "OK",
    ts: host.nowMs(),
    did: host.did,
    name: host.name,
    version: WIRE_VERSION,
    url: host.url(),
    stats: host.stats(),
  });
}
