// The OpenAPI 3.1 document of a venue.

import type { FastifyReply } from "fastify";
import type { JsonObject } from "../../../core/ports/adapter.js";
import type { HttpHost, OperationListing } from "../host.js";
import { sendJson } from "../plumbing/answer.js";
import { entranceOf } from "../plumbing/entrance.js";
import type { Exchange } from "../plumbing/exchange.js";
import { assetPart } from "./assets.js";
import { filePart } from "./files.js";
import { jobPart, type NamedOperation } from "./jobs.js";
import { errorResponses, object } from "./parts.js";
import { valuesPart } from "./values.js";
import { venuePart } from "./venue.js";

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

/** Cached documents, weakly by host, so that they do not outlive their venue. */
const rendered = new WeakMap<HttpHost, Rendered>();

/** `GET /openapi.json`: the document, rebuilt only when the URL or the operations have changed. */
export function openApi(host: HttpHost, { request, reply }: Exchange): FastifyReply {
  const [url, operations] = [host.url(), host.operations()];
  const last = rendered.get(host);
  const isCurrent = last?.url === url && isSame(last.operations, operations);
  const json = isCurrent ? last.json : JSON.stringify(openApiDocument(host));
  if (!isCurrent) rendered.set(host, { url, operations, json });
  const entrance = entranceOf(host, request.raw).url;
  return sendJson(reply, 200, entrance === url ? json : json.replace(servers(url), () => servers(entrance)));
}

const servers = (url: string): string => `"servers":${JSON.stringify([{ url }])}`;

const isSame = (one: readonly OperationListing[], other: readonly OperationListing[]): boolean =>
  one.length === other.length && one.every((listing, index) => listing === other[index]);

/** Describes all endpoints, and the input and output of all operations, as OpenAPI 3.1. */
function openApiDocument(host: HttpHost): JsonObject {
  const listings = host.operations();
  const operations = listings.map(nameSchemas);
  const files = host.files === undefined ? [] : [filePart()];
  const parts = [jobPart(operations), venuePart(host), assetPart(), ...files, valuesPart()];
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
    paths: Object.assign({}, ...parts.map(({ paths }) => paths)),
    components: {
      securitySchemes: { bearer: BEARER },
      responses: errorResponses(),
      schemas: Object.assign({ Error: ERROR }, ...parts.map(({ schemas }) => schemas), Object.fromEntries(own)),
    },
  };
}

const BEARER: JsonObject = {
  type: "http",
  scheme: "bearer",
  description: "A static token, the local token, or an identity JWT signed with the caller's `did:key` for this venue",
};

const ERROR: JsonObject = object({ error: { type: "string", description: "For people and models" } });

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
