// Endpoints: which handler serves a method at a path, and the words of the OpenAPI document for it.

import type { FastifyReply } from "fastify";
import type { Awaitable } from "../../../core/io.js";
import type { JsonObject } from "../../../core/ports/adapter.js";
import type { HttpHost } from "../host.js";
import type { Exchange } from "../plumbing/exchange.js";

/** One row of the table of endpoints. */
export interface Endpoint {
  /**
   * Method and path. `{x}` stands for everything up to the end, or up to a last segment that the table knows. `GET` also
   * answers `HEAD`; the methods of a path are in the order of `Allow`.
   */
  readonly route: `${"GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE"} /${string}`;
  /** @throws HttpError */
  readonly handle: (host: HttpHost, exchange: Exchange) => Awaitable<FastifyReply>;
  /** Bodies at this path are raw streams, whatever their content type. */
  readonly streams?: boolean;
  /** The path with nothing in place of its parameter is an endpoint too. */
  readonly bare?: true;
  /** Only these methods are routed here; others are answered as if there were no endpoint, or by another one. */
  readonly only?: readonly string[];
  /** Its entry in the document; absent where the document leaves it out. */
  readonly described?: JsonObject;
  /** Parameters of all endpoints at this path. */
  readonly place?: readonly Parameter[] | undefined;
}

/** An endpoint as the document describes it. */
interface Description {
  readonly operationId: string;
  readonly summary: string;
  /** Absent: as the venue asks for. */
  readonly security?: readonly JsonObject[];
  readonly description?: string;
  readonly parameters?: readonly Parameter[];
  /** Content of the body, by type. */
  readonly body?: JsonObject;
  readonly answers: Readonly<Record<number, JsonObject>>;
  /** Errors besides those that any endpoint may answer with. */
  readonly errors?: readonly ErrorStatus[];
}

/** A schema, or the name of one in the document. */
type Schema = JsonObject | string;

/** A parameter, as the document describes it. Query parameters are parsed by it. */
export interface Parameter extends JsonObject {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required?: boolean;
  readonly description: string;
  readonly schema: JsonObject;
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
  503: "The venue is closing or full, or what it needs (a store, an issuer, another instance) cannot be reached now; the same request may be sent again later",
  504: "It takes longer than a request may wait: a job goes on, a transfer has ended",
  507: "The storage is full, or a quota used up",
} as const;

export type ErrorStatus = keyof typeof ERRORS;

/** Errors that any request may be answered with. */
const ALWAYS: readonly ErrorStatus[] = [400, 401, 403, 415, 429, 500, 503];

const RETRY_AFTER: JsonObject = {
  "Retry-After": { description: "Whole seconds to wait", schema: { type: "integer", minimum: 1 } },
};
const HEADERS: Readonly<Partial<Record<ErrorStatus, JsonObject>>> = {
  401: { "WWW-Authenticate": { description: "How to name oneself", schema: { type: "string" } } },
  416: { "Content-Range": { description: "Size of the content", schema: { type: "string" } } },
  429: RETRY_AFTER,
  503: RETRY_AFTER,
};

export const TEXT: JsonObject = { type: "string" };
/** A number of things. */
export const COUNT: JsonObject = { type: "integer", minimum: 0 };

/** A reference to a schema of the document. */
export const schemaRef = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });

/** The shared error responses, by the names that endpoints refer to. */
export function errorResponses(): JsonObject {
  const headers: Readonly<Record<string, JsonObject>> = HEADERS;
  return Object.fromEntries(
    Object.entries(ERRORS).map(([status, description]) => [
      nameOf(status),
      json(description, "Error", headers[status]),
    ]),
  );
}

const nameOf = (status: string | number): string => `Error${status}`;

const refusal = (status: ErrorStatus): JsonObject => ({ $ref: `#/components/responses/${nameOf(status)}` });

/** Makes endpoints under a tag of the document. @param place parameters of the paths that have any */
export const endpointsOf =
  (tag: string, place?: readonly Parameter[]) =>
  (route: Endpoint["route"], handle: Endpoint["handle"], said: Description): Endpoint => {
    const { body, answers, errors = [], ...rest } = said;
    const refused = [...ALWAYS, ...errors].map((status) => [status, refusal(status)]);
    const described = {
      tags: [tag],
      ...rest,
      ...(body === undefined ? {} : { requestBody: { required: true, content: body } }),
      responses: { ...Object.fromEntries(refused), ...answers },
    };
    return { route, handle, described, streams: body === BINARY, place: route.includes("{") ? place : undefined };
  };

/** JSON as the content of a body. */
export const jsonContent = (schema: Schema): JsonObject => ({
  "application/json": { schema: typeof schema === "string" ? schemaRef(schema) : schema },
});

/** A body of bytes; a file may have any type, but this is the one that generators of clients know to send as it is. */
export const BINARY: JsonObject = {
  "application/octet-stream": { schema: { type: "string", format: "binary" } },
};

/** Content of a file, under the type that its name says. */
export const ANY_TYPE: JsonObject = { ...BINARY, "*/*": { schema: {} } };

export const EVENT_STREAM: JsonObject = { "text/event-stream": { schema: TEXT } };

/** The `security` of an endpoint that needs no credentials. */
export const PUBLIC: readonly JsonObject[] = [{}, { bearer: [] }];

/** A JSON response. */
export function json(description: string, schema: Schema, headers: JsonObject = {}): JsonObject {
  return {
    description,
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    content: jsonContent(schema),
  };
}

/** The `Location` header of a created resource. */
export const location = (what: string): JsonObject => ({
  Location: { description: `Path of ${what}`, schema: { type: "string" } },
});

/** A path parameter; slashes in it may be sent plain or as `%2F`. */
export function pathParameter(name: string, description: string, schema: JsonObject = TEXT): Parameter {
  return { name, in: "path", required: true, description, schema };
}

export function queryParameter(name: string, description: string, schema: JsonObject = TEXT): Parameter {
  return { name, in: "query", description, schema };
}

export function headerParameter(name: string, description: string): Parameter {
  return { name, in: "header", description, schema: TEXT };
}

/** A page of a list. @param more that it may have */
export function pageOf(items: JsonObject, more: JsonObject = {}): JsonObject {
  const page = {
    items: { type: "array", items, maxItems: 1000 },
    total: { ...COUNT, description: "Items in the whole list" },
    offset: COUNT,
    limit: COUNT,
  };
  return object({ ...page, ...more }, Object.keys(more));
}

/** An object schema: all properties are required unless in `optional`, and additional ones are allowed. */
export function object(properties: JsonObject, optional: readonly string[] = []): JsonObject {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: "object", properties, ...(required.length === 0 ? {} : { required }) };
}
