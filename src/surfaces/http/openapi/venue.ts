// OpenAPI for the venue itself: status, operations, events, login, identity, MCP and metrics.

import type { JsonObject } from "../../../core/ports/adapter.js";
import type { HttpHost } from "../host.js";
import {
  answers,
  endpointsOf,
  headerParameter,
  jsonAnswer,
  jsonBody,
  type OpenApiPart,
  object,
  PUBLIC,
  pathParameter,
  queryParameter,
  schemaRef,
} from "./parts.js";

const text = { type: "string" };
const count = { type: "integer", minimum: 0 };
const flag = { type: "boolean" };
const describes = endpointsOf("Operations");
const venue = endpointsOf("Venue");
const mcp = endpointsOf("MCP");
const running = endpointsOf("Running it");

/** OpenAPI for the venue itself: status, operations, identity, MCP, metrics and this document. */
export function venuePart(host: HttpHost): OpenApiPart {
  return {
    paths: {
      ...STATUS_PATH,
      ...operationPaths(),
      ...IDENTITY_PATH,
      ...(host.events === undefined ? {} : eventPath()),
      ...(host.login === undefined ? {} : loginPath()),
      ...(host.mcp === undefined ? {} : mcpPaths()),
      ...HEALTH_PATH,
      ...(host.metrics === undefined ? {} : metricsPaths(host.metrics.readers)),
      ...DOCUMENT_PATH,
    },
    schemas: { ...STATUS_SCHEMAS, ...discoverySchemas() },
  };
}

const STATUS_PATH: JsonObject = {
  "/api/v1/status": {
    get: venue("getStatus", "Read who the venue is and what protocol it speaks; needs no credentials", {
      security: PUBLIC,
      responses: answers({ 200: jsonAnswer("Status", schemaRef("Status")) }),
    }),
  },
};

function eventPath(): JsonObject {
  const topics = { type: "array", items: text, minItems: 1, maxItems: 32 };
  const events = { "text/event-stream": { schema: text } };
  return {
    "/api/v1/events": {
      get: venue("followEvents", "Follow what happens: changes of files, jobs, audit records, tokens, approvals", {
        description:
          "Each event has the name of its topic, an id, and JSON on one line; `overflow`: look again, events were missed; `end`: the credential has ended.",
        parameters: [
          queryParameter("topic", "`files:<root>[/<path>]`, `audit`, `job`, `auth`, `approval`; repeatable", topics),
          headerParameter("Last-Event-ID", "Go on behind this event"),
        ],
        responses: answers({ 200: { description: "Events", content: events } }),
      }),
    },
  };
}

function operationPaths(): JsonObject {
  const list = { type: "array", items: schemaRef("Operation") };
  return {
    "/api/v1/operations": {
      get: describes("listOperations", "List the operations with their schemas", {
        responses: answers({ 200: jsonAnswer("Operations", list) }),
      }),
    },
    "/api/v1/operations/{name}": {
      parameters: [pathParameter("name", "Catalogue path; any other reference to an operation will do")],
      get: describes("getOperation", "Read the description of one operation", {
        responses: answers({ 200: jsonAnswer("Operation", schemaRef("Operation")) }, 404),
      }),
    },
  };
}

function loginPath(): JsonObject {
  const answer = object({ id: text, did: text, expires: count, token: text });
  return {
    "/api/v1/login": {
      post: venue("logIn", "Exchange the code of a link for a token, once; needs no credentials", {
        security: [{}],
        requestBody: jsonBody(object({ code: text })),
        responses: answers({ 201: jsonAnswer("Signed in", answer) }, 400, 401, 415),
      }),
    },
  };
}

const IDENTITY_PATH: JsonObject = {
  "/.well-known/did.json": {
    get: venue("getDidDocument", "Read the DID document of the venue; needs no credentials", {
      security: PUBLIC,
      responses: answers({
        200: {
          description: "DID document",
          content: { "application/did+json": { schema: schemaRef("DidDocument") } },
        },
      }),
    }),
  },
};

function mcpPaths(): JsonObject {
  const message = {
    description: "JSON-RPC 2.0, as the Model Context Protocol says",
    anyOf: [{ type: "object" }, { type: "array", items: { type: "object" } }],
  };
  const events = { "text/event-stream": { schema: text } };
  const spoken = { description: "Messages", content: { "application/json": { schema: message }, ...events } };
  const refused = (description: string) => jsonAnswer(description, schemaRef("McpRefusal"));
  const without = { 405: refused("There are no sessions here") };
  return {
    "/mcp": {
      post: mcp("sendMcp", "Send messages of the Model Context Protocol", {
        requestBody: jsonBody(message),
        responses: {
          ...answers({ 200: spoken, 202: { description: "Taken; there is nothing to answer" } }, 413),
          400: refused("The message cannot be understood"),
          406: refused("The client does not take what the protocol answers with"),
        },
      }),
      get: mcp("receiveMcp", "Receive messages, where there are sessions", {
        responses: answers({ 200: { description: "Messages", content: events }, ...without }),
      }),
      delete: mcp("endMcp", "End a session, where there are sessions", {
        responses: answers({ 200: { description: "Ended" }, ...without }),
      }),
    },
    "/.well-known/mcp": {
      get: mcp("discoverMcp", "Find the MCP endpoint; needs no credentials", {
        security: PUBLIC,
        responses: answers({ 200: jsonAnswer("Where it is", schemaRef("McpDiscovery")) }),
      }),
    },
  };
}

const HEALTH_PATH: JsonObject = {
  "/healthz": {
    get: running("getHealth", "See that requests are answered; needs no credentials", {
      security: PUBLIC,
      responses: answers({ 200: jsonAnswer("They are", object({ status: { const: "ok" } })) }),
    }),
  },
};

function metricsPaths(readers: "operator" | "public"): JsonObject {
  const security = readers === "public" ? PUBLIC : [{ bearer: [] }];
  const who = readers === "public" ? "" : "; for the operator";
  return {
    "/metrics": {
      get: running("getMetrics", `Read counts and gauges as Prometheus text${who}`, {
        security,
        responses: answers({ 200: { description: "Text exposition", content: { "text/plain": { schema: text } } } }),
      }),
    },
  };
}

const DOCUMENT_PATH: JsonObject = {
  "/openapi.json": {
    get: running("getOpenApi", "Read this document; needs no credentials", {
      security: PUBLIC,
      responses: answers({ 200: jsonAnswer("OpenAPI 3.1", { type: "object" }) }),
    }),
  },
};

const STATUS_SCHEMAS: JsonObject = {
  Status: object(
    {
      status: { const: "OK" },
      ts: { type: "integer", description: "Milliseconds since the epoch" },
      did: { type: "string", description: "DID of the venue" },
      name: text,
      version: {
        type: "string",
        description: "Generation of the protocol, not of this program",
        pattern: "^\\d+\\.\\d+",
      },
      url: text,
      stats: object({ assets: count, users: count, ops: count, jobs: count }, ["users", "jobs"]),
      operator: object({
        uptimeMs: count,
        roots: {
          type: "array",
          items: object(
            { name: text, readOnly: flag, drive: flag, journal: { enum: ["damaged", "lost", "waiting"] } },
            ["drive", "journal"],
          ),
        },
        jobs: object({ kept: count, running: count }),
        streams: count,
        tokens: object({ access: count, sessions: count }),
        versions: object({ venue: text, node: text }),
      }),
    },
    ["operator"],
  ),
  Operation: object(
    {
      name: { type: "string", description: "Catalogue path" },
      asset: { type: "string", pattern: "^[0-9a-f]{64}$" },
      description: text,
      input: { type: "object", description: "JSON Schema" },
      output: { type: "object", description: "JSON Schema" },
    },
    ["description", "input", "output"],
  ),
};

function discoverySchemas(): JsonObject {
  const methods = { type: "array", items: text };
  return {
    DidDocument: object(
      {
        "@context": {},
        id: text,
        verificationMethod: { type: "array", items: { type: "object" } },
        authentication: methods,
        assertionMethod: methods,
        capabilityDelegation: methods,
        capabilityInvocation: methods,
        service: { type: "array", items: object({ type: text, serviceEndpoint: text }) },
      },
      [
        "@context",
        "verificationMethod",
        "authentication",
        "assertionMethod",
        "capabilityDelegation",
        "capabilityInvocation",
      ],
    ),
    // MCP errors have JSON-RPC's own form.
    McpRefusal: { anyOf: [schemaRef("Error"), schemaRef("McpFailure")] },
    McpFailure: object({
      jsonrpc: { const: "2.0" },
      error: object({ code: { type: "integer" }, message: text }),
      id: {},
    }),
    McpDiscovery: object({
      mcp_version: text,
      server_url: text,
      description: text,
      endpoint: object({ path: text, transport: { const: "streamable-http" } }),
    }),
  };
}
