// The table of endpoints, and the routes made of it: which endpoint answers which path and method.

import type { FastifyInstance, FastifyRequest } from "fastify";
import { fieldsOf } from "../../core/unknown.js";
import { isDav, mountDav } from "./dav/dav.js";
import { ASSET_ENDPOINTS } from "./endpoints/assets.js";
import { eventEndpoints } from "./endpoints/events.js";
import { ticketOf } from "./endpoints/file-request.js";
import { FILE_ENDPOINTS } from "./endpoints/files.js";
import { INVOKE_ENDPOINTS } from "./endpoints/invoke.js";
import { JOB_ENDPOINTS } from "./endpoints/jobs.js";
import { LOGIN_PATH, loginEndpoints } from "./endpoints/login.js";
import { VALUE_ENDPOINTS } from "./endpoints/values.js";
import {
  healthEndpoint,
  mcpEndpoints,
  metricsEndpoints,
  readinessEndpoints,
  SIGN_IN_ENDPOINTS,
  STATUS_PATH,
  VENUE_ENDPOINTS,
} from "./endpoints/venue.js";
import { WORKSPACE_PATH, workspaceEndpoints } from "./endpoints/workspace.js";
import type { HttpHost } from "./host.js";
import type { Endpoint } from "./openapi/endpoint.js";
import { documentEndpoint } from "./openapi/openapi.js";
import { MCP_METADATA_PATH, METADATA_PATH } from "./plumbing/challenge.js";
import { exchangeOf, leaveBodies } from "./plumbing/exchange.js";
import { echo, endpointNotFound, type HttpError, methodNotAllowed } from "./plumbing/http-error.js";

const FILES_URL = "/api/v1/files/*";

/** All endpoints of a venue, in the order in which the document shows them. */
function endpointsOf(host: HttpHost): readonly Endpoint[] {
  const endpoints: Endpoint[] = [
    ...INVOKE_ENDPOINTS,
    ...JOB_ENDPOINTS,
    ...VENUE_ENDPOINTS,
    ...eventEndpoints(host),
    ...loginEndpoints(host),
    ...mcpEndpoints(host),
    ...(host.mcp === undefined ? [] : SIGN_IN_ENDPOINTS),
    healthEndpoint(host),
    ...readinessEndpoints(host),
    ...metricsEndpoints(host),
    documentEndpoint(() => endpoints),
    ...ASSET_ENDPOINTS,
    ...(host.files === undefined ? [] : FILE_ENDPOINTS),
    ...VALUE_ENDPOINTS,
    ...workspaceEndpoints(host),
  ];
  return endpoints;
}

type Methods = ReadonlyMap<string, Endpoint>;

/** A path as the router knows it: `/jobs/{id}` and `/jobs/{id}/cancel` are one, `/jobs/*`, as ids may have slashes. */
class Route {
  readonly url: string;
  readonly endpoints: Endpoint[] = [];
  /** Endpoints by method, by the last segment after the target; under `""` those of the target itself. */
  readonly #bySuffix = new Map<string, Map<string, Endpoint>>();

  constructor(url: string) {
    this.url = url;
  }

  add(method: string, suffix: string, endpoint: Endpoint): void {
    this.endpoints.push(endpoint);
    const methods = this.#bySuffix.get(suffix) ?? new Map<string, Endpoint>();
    this.#bySuffix.set(suffix, methods.set(method, endpoint));
  }

  /** Last segments that are not part of the target. */
  get suffixes(): string[] {
    return [...this.#bySuffix.keys()].filter((suffix) => suffix !== "");
  }

  /** Whether bodies are ignored here, or are streams of any size and type. */
  get hasOwnBodies(): boolean {
    return this.suffixes.length > 0 || this.endpoints.some(({ streams }) => streams === true);
  }

  /** Splits a suffix off the end of a target. No methods: there is no such endpoint. */
  split(whole: string, known: ReadonlySet<string>): { target: string; methods: Methods | undefined } {
    const slash = whole.lastIndexOf("/");
    const suffix = whole.slice(slash + 1);
    if (this.#bySuffix.size === 1 || slash < 0 || !known.has(suffix))
      return { target: whole, methods: this.#bySuffix.get("") };
    return { target: whole.slice(0, slash), methods: this.#bySuffix.get(suffix) };
  }
}

function routesOf(endpoints: readonly Endpoint[]): Route[] {
  const routes = new Map<string, Route>();
  for (const endpoint of endpoints) {
    const [, method = "", url = "", rest = ""] = /^(\w+) ([^{]*)(.*)$/.exec(endpoint.route) ?? [];
    const path = rest === "" ? url : `${url}*`;
    const route = routes.get(path) ?? new Route(path);
    routes.set(path, route);
    route.add(method, /\}\/(\w+)$/.exec(rest)?.[1] ?? "", endpoint);
  }
  return [...routes.values()];
}

/** Mounts all endpoints. Each route accepts any method, so that a known path with a wrong method is 405 and not 404. */
export function mountEndpoints(app: FastifyInstance, host: HttpHost): void {
  const routes = routesOf(endpointsOf(host));
  const suffixes = new Set(routes.flatMap((route) => route.suffixes));
  for (const route of routes) if (!route.hasOwnBodies) mount(app, host, { route, suffixes });
  app.register((scope, _options, done) => {
    leaveBodies(scope);
    for (const route of routes) if (route.hasOwnBodies) mount(scope, host, { route, suffixes });
    done();
  });
  if (host.dav !== undefined) mountDav(app, host, host.dav);
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
  url === WORKSPACE_PATH || url?.startsWith(`${WORKSPACE_PATH}/`) === true;

/** Whether a request is for what pages of any origin may read: where one signs in. */
export const isOpenToPages = ({ method, routeOptions: { url } }: FastifyRequest): boolean =>
  method === "GET" && (url === METADATA_PATH || url === MCP_METADATA_PATH);

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

interface Mounted {
  readonly route: Route;
  /** Last segments that name a sub-resource of anything, and are not part of its id. */
  readonly suffixes: ReadonlySet<string>;
}

function mount(app: FastifyInstance, host: HttpHost, { route, suffixes }: Mounted): void {
  const { url, endpoints } = route;
  const isBare = endpoints.some(({ bare }) => bare === true);
  const only = endpoints.find((endpoint) => endpoint.only !== undefined)?.only;
  const resolve = (request: FastifyRequest): { endpoint: Endpoint; target: string } => {
    const { target, methods } = route.split(targetOf(request), suffixes);
    if (methods === undefined || (target === "" && url.endsWith("*") && !isBare)) throw unmapped(request);
    const endpoint = methods.get(request.method === "HEAD" ? "GET" : request.method);
    if (endpoint === undefined) throw methodNotAllowed(request.method, echo(pathOf(request)), allowHeader(methods));
    return { endpoint, target };
  };
  app.route({
    method: only === undefined ? app.supportedMethods : [...only],
    url,
    // In onRequest, before the body is read: a wrong method is refused without waiting for or parsing the body.
    onRequest: (request, _reply, next) => {
      resolve(request);
      next();
    },
    handler: (request, reply) => {
      const { endpoint, target } = resolve(request);
      return endpoint.handle(host, exchangeOf(request, reply, target));
    },
  });
}

/** Value of the `Allow` header. */
function allowHeader(methods: Methods): string {
  const names = [...methods.keys()].flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]));
  return [...new Set(names)].join(", ");
}

/** The path after the fixed part, slashes included, percent-decoded once by the router. */
function targetOf(request: FastifyRequest): string {
  const target = fieldsOf(request.params)["*"];
  return typeof target === "string" ? target : "";
}
