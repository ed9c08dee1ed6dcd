// Building blocks of the OpenAPI document.

import type { JsonObject } from "../../../core/ports/adapter.js";

/** The paths and schemas of one group of endpoints. */
export interface OpenApiPart {
  readonly paths: JsonObject;
  /** Schemas by name. */
  readonly schemas: JsonObject;
}

/** All error statuses, with their descriptions. */
const ERRORS = {
  400: "The request cannot be understood",
  401: "No credentials where some are needed, or such as are not valid",
  403: "Not for this caller, not under this host name, or not from this page",
  404: "There is no such thing",
  409: "It is in no state for that",
  412: "It is not what the request expects",
  413: "Larger than the venue takes",
  415: "Not of a type the endpoint takes, or compressed",
  416: "No part of the content is in that range",
  429: "Too many requests; nothing has happened, and the same request may be sent again later",
  500: "A failure that the operator finds in the log under the id in the text",
  504: "It takes longer than a request may wait: a job goes on, a transfer has ended",
  507: "The storage is full, or a quota used up",
} as const;

export type ErrorStatus = keyof typeof ERRORS;

/** Errors that any request may be answered with. */
const ALWAYS: readonly ErrorStatus[] = [400, 401, 403, 415, 429, 500];

const HEADERS: Readonly<Partial<Record<ErrorStatus, JsonObject>>> = {
  401: { "WWW-Authenticate": { description: "How to name oneself", schema: { type: "string" } } },
  416: { "Content-Range": { description: "Size of the content", schema: { type: "string" } } },
  429: { "Retry-After": { description: "Whole seconds to wait", schema: { type: "integer", minimum: 1 } } },
};

/** A reference to a schema of the document. */
export const schemaRef = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });

/** The shared error responses, by the names that {@link answers} refers to. */
export function errorResponses(): JsonObject {
  const responses = Object.entries(ERRORS).map(([status, description]) => [
    nameOf(status),
    {
      description,
      ...(status in HEADERS ? { headers: Object.entries(HEADERS).find(([one]) => one === status)?.[1] } : {}),
      content: { "application/json": { schema: schemaRef("Error") } },
    },
  ]);
  return Object.fromEntries(responses);
}

const nameOf = (status: string | number): string => `Error${status}`;

/** Describes endpoints under a tag: what it returns takes the id and summary of one, and what else is said of it. */
export const endpointsOf =
  (tag: string) =>
  (operationId: string, summary: string, rest: JsonObject): JsonObject => ({
    tags: [tag],
    operationId,
    summary,
    ...rest,
  });

/** A required body of JSON. */
export const jsonBody = (schema: JsonObject): JsonObject => ({
  required: true,
  content: { "application/json": { schema } },
});

/** A body of bytes; a file may have any type, but this is the one that generators of clients know to send as it is. */
export const BINARY: JsonObject = {
  "application/octet-stream": { schema: { type: "string", format: "binary" } },
};

/** Content of a file, under the type that its name says. */
export const ANY_TYPE: JsonObject = { ...BINARY, "*/*": { schema: {} } };

/** The `security` of an endpoint that needs no credentials. */
export const PUBLIC: readonly JsonObject[] = [{}, { bearer: [] }];

/** The responses of an endpoint: its own, its errors, and those that any endpoint may give. */
export function answers(own: Readonly<Record<number, JsonObject>>, ...errors: readonly ErrorStatus[]): JsonObject {
  const statuses = [...new Set([...ALWAYS, ...errors])].sort((one, other) => one - other);
  const refused = statuses.map((status) => [status, { $ref: `#/components/responses/${nameOf(status)}` }]);
  return { ...own, ...Object.fromEntries(refused) };
}

/** A JSON response. */
export function jsonAnswer(description: string, schema: JsonObject, headers: JsonObject = {}): JsonObject {
  return {
    description,
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    content: { "application/json": { schema } },
  };
}

/** The `Location` header of a created resource. */
export const location = (what: string): JsonObject => ({
  Location: { description: `Path of ${what}`, schema: { type: "string" } },
});

/** A path parameter; slashes in it may be sent plain or as `%2F`. */
export function pathParameter(name: string, description: string, schema: JsonObject = { type: "string" }): JsonObject {
  return { name, in: "path", required: true, description, schema };
}

export function queryParameter(name: string, description: string, schema: JsonObject): JsonObject {
  return { name, in: "query", description, schema };
}

export function headerParameter(name: string, description: string): JsonObject {
  return { name, in: "header", description, schema: { type: "string" } };
}

/** `offset` and `limit` of lists. */
export const PAGE_PARAMETERS: readonly JsonObject[] = [
  queryParameter("offset", "Items to leave out", { type: "integer", minimum: 0, default: 0 }),
  queryParameter("limit", "Most items to return", { type: "integer", minimum: 0, maximum: 1000, default: 1000 }),
];

/** A page of a list. */
export function pageOf(items: JsonObject): JsonObject {
  const number = { type: "integer", minimum: 0 };
  return object({
    items: { type: "array", items, maxItems: 1000 },
    total: { ...number, description: "Items in the whole list" },
    offset: number,
    limit: number,
  });
}

/** An object schema: all properties are required unless in `optional`, and additional ones are allowed. */
export function object(properties: JsonObject, optional: readonly string[] = []): JsonObject {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: "object", properties, ...(required.length === 0 ? {} : { required }) };
}
