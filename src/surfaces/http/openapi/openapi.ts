// The OpenAPI 3.1 document of a venue.

import type { FastifyReply } from "fastify";
import type { JsonObject } from "../../../core/ports/adapter.js";
import type { HttpHost, OperationListing } from "../host.js";
import { sendJson } from "../plumbing/answer.js";
import { entranceOf } from "../plumbing/entrance.js";
import type { Exchange } from "../plumbing/exchange.js";
import { type Endpoint, endpointsOf, errorResponses, json as jsonAnswer, PUBLIC } from "./endpoint.js";
import { type NamedOperation, schemasOf } from "./schemas.js";

const TAGS: readonly (readonly [name: string, description: string])[] = [
  ["Jobs", "A job is one run of an operation. Each caller sees its own; the operator sees all."],
  ["Operations", "What can be run, with the schemas of input and output"],
  ["Assets", "JSON metadata under an id that follows from it, and content"],
  ["Files", "Files in roots, of any size, as they are"],
  ["Values", "A tree that says what the venue offers"],
  ["Venue", "Who the venue is"],
  ["MCP", "The same operations for clients of the Model Context Protocol"],
  ["Running it", "For the operator"],
];

interface Rendered {
  readonly url: string;
  readonly operations: readonly OperationListing[];
  readonly json: string;
}

/** `GET /openapi.json`. @param endpoints of which the document tells */
export function documentEndpoint(endpoints: () => readonly Endpoint[]): Endpoint {
  let last: Rendered | undefined;
  const getDocument = (host: HttpHost, { request, reply }: Exchange): FastifyReply => {
    const [url, operations] = [host.url(), host.operations()];
    // Rebuilt only when the URL or the operations have changed.
    if (last?.url !== url || !isSame(last.operations, operations)) {
      last = { url, operations, json: JSON.stringify(openApiDocument(host, endpoints())) };
    }
    const { json } = last;
    const entrance = entranceOf(host, request.raw).url;
    return sendJson(reply, 200, entrance === url ? json : json.replace(servers(url), () => servers(entrance)));
  };
  return endpointsOf("Running it")("GET /openapi.json", getDocument, {
    operationId: "getOpenApi",
    summary: "Read this document; needs no credentials",
    security: PUBLIC,
    answers: { 200: jsonAnswer("OpenAPI 3.1", { type: "object" }) },
  });
}

const servers = (url: string): string => `"servers":${JSON.stringify([{ url }])}`;

const isSame = (one: readonly OperationListing[], other: readonly OperationListing[]): boolean =>
  one.length === other.length && one.every((listing, index) => listing === other[index]);

/** Describes all endpoints, and the input and output of all operations, as OpenAPI 3.1. */
function openApiDocument(host: HttpHost, endpoints: readonly Endpoint[]): JsonObject {
  const listings = host.operations();
  const isOne = host.peers === undefined;
  const operations = listings.map(nameSchemas);
  const own = operations.flatMap(({ input, output }, index) => [
    [input, selfContained(listings[index]?.input, input)],
    [output, selfContained(listings[index]?.output, output)],
  ]);
  return {
    openapi: "3.1.0",
    info: { title: host.name, version: host.version, description: host.description },
    servers: [{ url: host.url() }],
    security: host.publicAccess ? [{}, { bearer: [] }] : [{ bearer: [] }],
    tags: TAGS.map(([name, description]) => ({ name, description })),
    paths: pathsOf(endpoints),
    components: {
      securitySchemes: { bearer: BEARER },
      responses: errorResponses(),
      schemas: { ...schemasOf(operations, isOne), ...Object.fromEntries(own) },
    },
  };
}

const BEARER: JsonObject = {
  type: "http",
  scheme: "bearer",
  description:
    "A static token, the local token, an identity JWT signed with the caller's `did:key` for this venue, or a JWT of an issuer that the venue names",
};

function pathsOf(endpoints: readonly Endpoint[]): JsonObject {
  const paths: Record<string, JsonObject> = {};
  for (const { route, place, described } of endpoints) {
    if (described === undefined) continue;
    const [method = "", path = ""] = route.split(" ");
    paths[path] ??= place === undefined ? {} : { parameters: place };
    paths[path] = { ...paths[path], [method.toLowerCase()]: described };
  }
  return paths;
}

/** `v/ops/file/read` → `file.read.input`. Catalogue names contain only characters allowed in schema names. */
function nameSchemas({ name }: OperationListing): NamedOperation {
  const plain = name.replace(/^v\/ops\//, "").replace("/", ".");
  return { path: name, input: `${plain}.input`, output: `${plain}.output` };
}

/** Gives a schema with internal references an `$id`; otherwise they would resolve against the whole document. */
function selfContained(schema: JsonObject = {}, name: string): JsonObject {
  if ("$id" in schema || !JSON.stringify(schema).includes('"$ref"')) return schema;
  return { $id: `urn:venue-files:${name}`, ...schema };
}
