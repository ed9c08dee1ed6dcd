// Endpoints for the venue itself: status, operations, identity, MCP, health and metrics.

import type { FastifyReply } from "fastify";
import type { HttpHost, HttpMetrics } from "../host.js";
import {
  type Endpoint,
  EVENT_STREAM,
  endpointsOf,
  json,
  jsonContent,
  object,
  PUBLIC,
  pathParameter,
  schemaRef,
  TEXT,
} from "../openapi/endpoint.js";
import type { HttpPeers } from "../passing/port.js";
import { COMMON_HEADERS, sendJson } from "../plumbing/answer.js";
import { MCP_METADATA_PATH, METADATA_PATH, resourceMetadata } from "../plumbing/challenge.js";
import { entranceOf } from "../plumbing/entrance.js";
import type { Exchange } from "../plumbing/exchange.js";
import { authenticationRequired, echo, endpointNotFound, HttpError } from "../plumbing/http-error.js";
import { serveMcp } from "./mcp.js";

/** Version of the wire protocol; clients enable features by it. */
const WIRE_VERSION = "0.9.0";
/** Version of UCAN that tokens made here have. */
const UCAN_PROFILE = "0.10.0";
const MCP_VERSION = "1.0";

export const STATUS_PATH = "/api/v1/status";

const venue = endpointsOf("Venue");
const operations = endpointsOf("Operations", [
  pathParameter("name", "Catalogue path; any other reference to an operation will do"),
]);
const mcpEndpoint = endpointsOf("MCP");
const running = endpointsOf("Running it");

export const VENUE_ENDPOINTS: readonly Endpoint[] = [
  venue(`GET ${STATUS_PATH}`, getStatus, {
    operationId: "getStatus",
    summary: "Read who the venue is and what protocol it speaks; needs no credentials",
    security: PUBLIC,
    answers: { 200: json("Status", "Status") },
  }),
  operations("GET /api/v1/operations", listOperations, {
    operationId: "listOperations",
    summary: "List the operations with their schemas",
    answers: { 200: json("Operations", { type: "array", items: schemaRef("Operation") }) },
  }),
  operations("GET /api/v1/operations/{name}", getOperation, {
    operationId: "getOperation",
    summary: "Read the description of one operation",
    answers: { 200: json("Operation", "Operation") },
    errors: [404],
  }),
  venue("GET /.well-known/did.json", getDidDocument, {
    operationId: "getDidDocument",
    summary: "Read the DID document of the venue; needs no credentials",
    security: PUBLIC,
    answers: {
      200: { description: "DID document", content: { "application/did+json": { schema: schemaRef("DidDocument") } } },
    },
  }),
];

const MESSAGE = jsonContent({
  description: "JSON-RPC 2.0, as the Model Context Protocol says",
  anyOf: [{ type: "object" }, { type: "array", items: { type: "object" } }],
});
const NO_SESSIONS = { 405: json("There are no sessions here", "McpRefusal") };

export function mcpEndpoints({ mcp }: HttpHost): readonly Endpoint[] {
  if (mcp === undefined) return [];
  const serve: Endpoint["handle"] = (host, exchange) => serveMcp(host, mcp, exchange);
  return [
    mcpEndpoint("POST /mcp", serve, {
      operationId: "sendMcp",
      summary: "Send messages of the Model Context Protocol",
      body: MESSAGE,
      answers: {
        200: { description: "Messages", content: { ...MESSAGE, ...EVENT_STREAM } },
        202: { description: "Taken; there is nothing to answer" },
        400: json("The message cannot be understood", "McpRefusal"),
        406: json("The client does not take what the protocol answers with", "McpRefusal"),
      },
      errors: [413],
    }),
    mcpEndpoint("GET /mcp", serve, {
      operationId: "receiveMcp",
      summary: "Receive messages, where there are sessions",
      answers: { 200: { description: "Messages", content: EVENT_STREAM }, ...NO_SESSIONS },
    }),
    mcpEndpoint("DELETE /mcp", serve, {
      operationId: "endMcp",
      summary: "End a session, where there are sessions",
      answers: { 200: { description: "Ended" }, ...NO_SESSIONS },
    }),
    mcpEndpoint("GET /.well-known/mcp", discoverMcp, {
      operationId: "discoverMcp",
      summary: "Find the MCP endpoint; needs no credentials",
      security: PUBLIC,
      answers: { 200: json("Where it is", "McpDiscovery") },
    }),
  ];
}

/** For clients that sign in at an outside issuer, which know them by RFC 9728. There is none, or another one, after a reload. */
export const SIGN_IN_ENDPOINTS: readonly Endpoint[] = [
  { route: `GET ${METADATA_PATH}`, handle: getResourceMetadata },
  { route: `GET ${MCP_METADATA_PATH}`, handle: getResourceMetadata },
];

export const healthEndpoint = ({ peers }: HttpHost): Endpoint =>
  running("GET /healthz", getHealth, {
    operationId: "getHealth",
    summary: "See that requests are answered; needs no credentials",
    security: PUBLIC,
    answers: {
      200: json("They are", object({ status: peers === undefined ? { const: "ok" } : { enum: ["ok", "degraded"] } })),
    },
  });

/** Only of a venue of several instances: for the balancer in front of them. */
export function readinessEndpoints({ peers }: HttpHost): readonly Endpoint[] {
  if (peers === undefined) return [];
  return [
    running("GET /readyz", (_host, exchange) => getReadiness(peers, exchange), {
      operationId: "getReadiness",
      summary: "See whether requests should be sent to this instance; needs no credentials",
      security: PUBLIC,
      answers: {
        200: json("They should", object({ status: { const: "ready" } })),
        503: json("They should go to another one", object({ status: { enum: ["stale", "draining"] } })),
      },
    }),
  ];
}

export function metricsEndpoints({ metrics }: HttpHost): readonly Endpoint[] {
  if (metrics === undefined) return [];
  const isPublic = metrics.readers === "public";
  return [
    running("GET /metrics", (_host, exchange) => getMetrics(metrics, exchange), {
      operationId: "getMetrics",
      summary: `Read counts and gauges as Prometheus text${isPublic ? "" : "; for the operator"}`,
      security: isPublic ? PUBLIC : [{ bearer: [] }],
      answers: { 200: { description: "Text exposition", content: { "text/plain": { schema: TEXT } } } },
    }),
  ];
}

function getStatus(host: HttpHost, { request, reply, caller }: Exchange): FastifyReply {
  const { assets, ops, ...ofOthers } = host.stats();
  const status = {
    status: "OK",
    ts: host.nowMs(),
    did: host.did,
    name: host.name,
    version: WIRE_VERSION,
    ucanProfile: UCAN_PROFILE,
    url: entranceOf(host, request.raw).url,
    // How busy others are is nothing for strangers.
    stats: { assets, ops, ...(caller.authentication === "public" ? {} : ofOthers) },
    ...(caller.isOperator ? { operator: host.operatorStatus() } : {}),
  };
  return sendJson(reply, 200, JSON.stringify(status));
}

function listOperations(host: HttpHost, { reply }: Exchange): FastifyReply {
  return sendJson(reply, 200, JSON.stringify(host.operations()));
}

async function getOperation(host: HttpHost, { reply, target }: Exchange): Promise<FastifyReply> {
  await host.assets.refresh(target);
  const operation = host.operation(target);
  if (operation === undefined) throw new HttpError(404, `Operation not found: ${echo(target)}`);
  return sendJson(reply, 200, JSON.stringify(operation.listing));
}

function getDidDocument(host: HttpHost, { request, reply }: Exchange): FastifyReply {
  const body = Buffer.from(JSON.stringify(host.didDocument(entranceOf(host, request.raw).url)));
  return reply.code(200).headers(COMMON_HEADERS).header("content-type", "application/did+json").send(body);
}

function discoverMcp(host: HttpHost, { request, reply }: Exchange): FastifyReply {
  const { url, prefix } = entranceOf(host, request.raw);
  const discovery = {
    mcp_version: MCP_VERSION,
    server_url: `${url}/mcp`,
    description: host.description,
    endpoint: { path: `${prefix}/mcp`, transport: "streamable-http" },
  };
  return sendJson(reply, 200, JSON.stringify(discovery));
}

/** Pages of any origin may read it. */
function getResourceMetadata(host: HttpHost, { request, reply }: Exchange): FastifyReply {
  const metadata = resourceMetadata(host);
  if (metadata === undefined) throw endpointNotFound(request.method, METADATA_PATH);
  const open = { "access-control-allow-origin": "*", "cross-origin-resource-policy": "cross-origin" };
  return sendJson(reply.headers(open), 200, JSON.stringify(metadata));
}

/** Confirms that requests are answered; to everybody, since it says nothing else. */
function getHealth({ peers }: HttpHost, { reply }: Exchange): FastifyReply {
  return sendJson(reply, 200, peers?.isDegraded() === true ? '{"status":"degraded"}' : '{"status":"ok"}');
}

function getReadiness(peers: HttpPeers, { reply }: Exchange): FastifyReply {
  const status = peers.readiness();
  return sendJson(reply, status === "ready" ? 200 : 503, JSON.stringify({ status }));
}

/** The venue's metrics in Prometheus format, if the caller may read them. @throws HttpError 401, 403 */
async function getMetrics(metrics: HttpMetrics, { reply, caller }: Exchange): Promise<FastifyReply> {
  if (metrics.readers !== "public" && !caller.isOperator) {
    throw caller.authentication === "public"
      ? authenticationRequired()
      : new HttpError(403, "Only the operator may read this");
  }
  const { contentType, body } = await metrics.text();
  return reply.code(200).headers(COMMON_HEADERS).header("content-type", contentType).send(Buffer.from(body));
}
