// OpenAPI for running operations and for jobs.

import type { JsonObject } from "../../../core/ports/adapter.js";
import {
  answers,
  endpointsOf,
  jsonAnswer,
  jsonBody,
  location,
  type OpenApiPart,
  object,
  PAGE_PARAMETERS,
  pageOf,
  pathParameter,
  queryParameter,
  schemaRef,
} from "./parts.js";

const endpoint = endpointsOf("Jobs");
const ID = [
  pathParameter("id", "Hex digits, with or without `0x`", { type: "string", pattern: "^(0[xX])?[0-9a-fA-F]+$" }),
];
const record = (description: string): JsonObject => jsonAnswer(description, schemaRef("JobRecord"));

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

/** Paths and schemas for running operations and for jobs. */
export function jobPart(operations: readonly NamedOperation[]): OpenApiPart {
  return {
    paths: { ...invokePath(), ...RUN_PATH, ...LIST_PATHS, ...recordPaths(), ...changePaths() },
    schemas: jobSchemas(operations),
  };
}

function invokePath(): JsonObject {
  const wait = queryParameter("wait", "`true`: as `wait` in the body", { type: "string" });
  return {
    "/api/v1/invoke": {
      post: endpoint("invoke", "Run an operation as a job", {
        description:
          "Answers 201 in every case in which there is a job, also for one that failed or that still runs. Other answers mean that nothing has happened.",
        parameters: [wait],
        requestBody: jsonBody(schemaRef("InvokeRequest")),
        responses: answers({ 201: jsonAnswer("The job", schemaRef("JobRecord"), location("the job")) }, 413),
      }),
    },
  };
}

const RUN_PATH: JsonObject = {
  "/api/v1/run": {
    post: endpoint("run", "Run an operation and wait for its output", {
      description:
        "Answers with the output alone. A failure of the operation is answered with the status of its code, and `errorCode` and `errorData` beside `error`.",
      requestBody: jsonBody(schemaRef("InvokeRequest")),
      responses: answers({ 200: jsonAnswer("The output", {}, location("the job")) }, 404, 413, 504),
    }),
  },
};

const LIST_PATHS: JsonObject = {
  "/api/v1/jobs": {
    get: endpoint("listJobs", "List the ids of one's own jobs, newest first", {
      parameters: PAGE_PARAMETERS,
      responses: answers({ 200: jsonAnswer("Ids", schemaRef("JobList")) }),
    }),
  },
};

function recordPaths(): JsonObject {
  const events = { "text/event-stream": { schema: { type: "string" } } };
  return {
    "/api/v1/jobs/{id}": {
      parameters: ID,
      get: endpoint("getJob", "Read the record of a job", {
        responses: answers({ 200: record("The job") }, 404),
      }),
      post: endpoint("messageJob", "Send a message to a job that waits for one", {
        description: "The file operations take none.",
        responses: answers({ 202: jsonAnswer("Queued", schemaRef("MessageQueued")) }, 404, 409),
      }),
    },
    "/api/v1/jobs/{id}/sse": {
      parameters: ID,
      get: endpoint("watchJob", "Follow a job until it ends", {
        description:
          "Events `job-update`, the data of each a whole record on one line. The first is the state now; after the last the stream ends.",
        responses: answers({ 200: { description: "Events", content: events } }, 404),
      }),
    },
  };
}

function changePaths(): JsonObject {
  const put = (operationId: string, summary: string, responses: JsonObject): JsonObject => ({
    parameters: ID,
    put: endpoint(operationId, summary, { responses }),
  });
  const deleted = jsonAnswer("It is gone", object({ deleted: { const: true } }));
  return {
    "/api/v1/jobs/{id}/cancel": put(
      "cancelJob",
      "Stop a job before its next effect",
      answers({ 200: record("The job as it ended") }, 404),
    ),
    "/api/v1/jobs/{id}/pause": put(
      "pauseJob",
      "Pause a job; the file operations cannot be paused",
      answers({ 200: record("The job") }, 404, 409),
    ),
    "/api/v1/jobs/{id}/resume": put(
      "resumeJob",
      "Go on with a paused job",
      answers({ 200: record("The job") }, 404, 409),
    ),
    "/api/v1/jobs/{id}/delete": put(
      "deleteJob",
      "Stop a job if it runs, and forget it",
      answers({ 200: deleted }, 404),
    ),
  };
}

function jobSchemas(operations: readonly NamedOperation[]): JsonObject {
  return {
    InvokeRequest: invokeRequest(operations),
    OtherInvokeRequest: OTHER_INVOKE_REQUEST,
    JobRecord: jobRecord(operations),
    JobList: pageOf({ type: "string", pattern: "^[0-9a-f]{32}$" }),
    MessageQueued: object({ status: { const: "queued" }, queueDepth: { type: "integer", minimum: 0 } }),
  };
}

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
