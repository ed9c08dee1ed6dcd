// The named schemas of the OpenAPI document.

import type { JsonObject } from "../../../core/ports/adapter.js";
import { COUNT, object, pageOf, schemaRef, TEXT } from "./endpoint.js";

/** Job statuses of the protocol; those in the second line occur only in other venues. */
const STATUSES = [
  ...["PENDING", "STARTED", "COMPLETE", "FAILED", "CANCELLED", "TIMEOUT", "REJECTED"],
  ...["INPUT_REQUIRED", "AUTH_REQUIRED", "PAUSED"],
];

/** The names of an operation's schemas in the document. */
export interface NamedOperation {
  /** Catalogue path, `v/ops/file/read`. */
  readonly path: string;
  readonly input: string;
  readonly output: string;
}

/** All schemas but those of the operations themselves. @param isOne the venue is one process */
export function schemasOf(operations: readonly NamedOperation[], isOne: boolean): JsonObject {
  return {
    Error: ERROR,
    InvokeRequest: invokeRequest(operations),
    OtherInvokeRequest: OTHER_INVOKE_REQUEST,
    JobRecord: jobRecord(operations),
    JobList: pageOf({ type: "string", pattern: "^[0-9a-f]{32}$" }, isOne ? {} : { incomplete: INCOMPLETE }),
    MessageQueued: object({ status: { const: "queued" }, queueDepth: COUNT }),
    ...VENUE_SCHEMAS,
    ...ASSET_SCHEMAS,
    ...VALUE_SCHEMAS,
  };
}

const INCOMPLETE: JsonObject = {
  ...{ type: "array", items: { type: "integer", minimum: 1 } },
  description: "Numbers of the instances whose jobs are missing",
};

const ERROR: JsonObject = object({ error: { type: "string", description: "For people and models" } });

function invokeRequest(operations: readonly NamedOperation[]): JsonObject {
  const known = operations.map(({ path, input }) => ({
    // Generators take the last part of a title with slashes for a name, and `file/list` and `dlfs/list` for the same.
    title: input.replace(/\.input$/, ""),
    type: "object",
    properties: { operation: { const: path }, input: schemaRef(input) },
    required: ["operation"],
  }));
  return {
    type: "object",
    properties: {
      operation: { type: "string", description: "Catalogue path, dispatch name or asset reference" },
      input: { description: "Input of the operation; absent: `{}`" },
      ucans: {
        type: "array",
        items: { type: "string" },
        maxItems: 8,
        description: "UCANs: what others gave the caller; one for the venue itself names a caller without credentials",
      },
      caps: { description: "A list of capabilities that narrows this one call" },
      wait: {
        type: ["boolean", "string"],
        description: "Whether to wait for the end of the job for longer than usual",
      },
      private: { type: "boolean", description: "Never list the job, and forget it once its end has been delivered" },
    },
    required: ["operation"],
    anyOf: [...known, schemaRef("OtherInvokeRequest")],
  };
}

const OTHER_INVOKE_REQUEST: JsonObject = {
  description: "By any other reference: `<adapter>:<operation>`, or an asset that describes an operation",
  type: "object",
  properties: { operation: { type: "string" }, input: { anyOf: [{ type: "object" }, { type: "null" }] } },
  required: ["operation"],
};

function jobRecord(operations: readonly NamedOperation[]): JsonObject {
  const time = { type: "integer", description: "Milliseconds since the epoch" };
  const record = object(
    {
      id: { type: "string", pattern: "^0x[0-9a-f]{32}$" },
      op: { type: "string", description: "Id of the asset that describes the operation", pattern: "^[0-9a-f]{64}$" },
      name: { type: "string", description: "Title of the operation" },
      operation: { type: "string", description: "Catalogue path" },
      status: { type: "string", enum: STATUSES },
      created: time,
      updated: time,
      caller: { type: "string", description: "DID" },
      input: { description: "With file content replaced by `HIDDEN`" },
      output: { description: "Of a COMPLETE job" },
      error: { type: "string", description: "Of a job that ended otherwise" },
      errorCode: { type: "string" },
      errorData: { type: "object" },
    },
    ["input", "output", "error", "errorCode", "errorData"],
  );
  const outputs = operations.map(({ path, output }) => ({
    if: {
      properties: { operation: { const: path }, status: { const: "COMPLETE" } },
      required: ["operation", "status"],
    },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { properties: { output: schemaRef(output) } },
  }));
  return { ...record, ...(outputs.length === 0 ? {} : { allOf: outputs }) };
}

const FLAG = { type: "boolean" };
const TEXTS = { type: "array", items: TEXT };

const VENUE_SCHEMAS: JsonObject = {
  Status: object(
    {
      status: { const: "OK" },
      ts: { type: "integer", description: "Milliseconds since the epoch" },
      did: { type: "string", description: "DID of the venue" },
      name: TEXT,
      version: {
        type: "string",
        description: "Generation of the protocol, not of this program",
        pattern: "^\\d+\\.\\d+",
      },
      ucanProfile: TEXT,
      url: TEXT,
      stats: object({ assets: COUNT, users: COUNT, ops: COUNT, jobs: COUNT }, ["users", "jobs"]),
      operator: object({
        uptimeMs: COUNT,
        roots: {
          type: "array",
          items: object(
            { name: TEXT, readOnly: FLAG, drive: FLAG, journal: { enum: ["damaged", "lost", "waiting"] } },
            ["drive", "journal"],
          ),
        },
        jobs: object({ kept: COUNT, running: COUNT }),
        streams: COUNT,
        tokens: object({ access: COUNT, sessions: COUNT }),
        versions: object({ venue: TEXT, node: TEXT }),
      }),
    },
    ["operator"],
  ),
  Operation: object(
    {
      name: { type: "string", description: "Catalogue path" },
      asset: { type: "string", pattern: "^[0-9a-f]{64}$" },
      description: TEXT,
      input: { type: "object", description: "JSON Schema" },
      output: { type: "object", description: "JSON Schema" },
    },
    ["description", "input", "output"],
  ),
  DidDocument: object(
    {
      "@context": {},
      id: TEXT,
      verificationMethod: { type: "array", items: { type: "object" } },
      authentication: TEXTS,
      assertionMethod: TEXTS,
      capabilityDelegation: TEXTS,
      capabilityInvocation: TEXTS,
      service: { type: "array", items: object({ type: TEXT, serviceEndpoint: TEXT }) },
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
    error: object({ code: { type: "integer" }, message: TEXT }),
    id: {},
  }),
  McpDiscovery: object({
    mcp_version: TEXT,
    server_url: TEXT,
    description: TEXT,
    endpoint: object({ path: TEXT, transport: { const: "streamable-http" } }),
  }),
};

const ASSET_SCHEMAS: JsonObject = {
  AssetId: {
    type: "string",
    pattern: "^[0-9a-f]{64}$",
    description: "SHA-256 of the canonical JSON of the metadata",
  },
  AssetMetadata: {
    type: "object",
    description:
      "Any JSON object. With `content.sha256` content can be stored for it; with `operation` it describes an operation.",
    examples: [{ name: "Report", content: { sha256: "e3b0c442…", contentType: "text/plain", fileName: "report.txt" } }],
  },
  AssetList: pageOf(schemaRef("AssetId")),
  ExpandedAssetList: pageOf(object({ id: schemaRef("AssetId"), metadata: schemaRef("AssetMetadata") })),
  OwnAssetList: pageOf(
    object({ id: schemaRef("AssetId"), name: TEXT, type: TEXT, description: TEXT }, ["name", "type", "description"]),
  ),
};

const ABSENT = object({ exists: { const: false } });
const PRESENT = { exists: { const: true } };
const VALUE_TYPE = {
  type: "string",
  enum: ["Map", "Vector", "String", "Long", "Double", "Boolean", "Null"],
};

const VALUE_SCHEMAS: JsonObject = {
  ValueRead: {
    oneOf: [
      ABSENT,
      object({ ...PRESENT, value: {}, type: VALUE_TYPE, valueBytes: COUNT }),
      object({ ...PRESENT, truncated: { const: true }, type: VALUE_TYPE, valueBytes: COUNT }),
    ],
  },
  ValueList: {
    oneOf: [
      object({ exists: { const: false }, type: { const: "null" } }),
      object(
        {
          ...PRESENT,
          type: VALUE_TYPE,
          count: COUNT,
          offset: COUNT,
          keys: { type: "array", items: { type: "string" } },
        },
        ["keys"],
      ),
    ],
  },
  ValueSlice: {
    oneOf: [
      ABSENT,
      object({ ...PRESENT, type: VALUE_TYPE, values: { type: "array", items: {} }, count: COUNT, offset: COUNT }),
    ],
  },
  ValueCount: { oneOf: [ABSENT, object({ ...PRESENT, count: COUNT })] },
};
