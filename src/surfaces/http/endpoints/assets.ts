// Endpoints for asset metadata.

import type { IncomingMessage } from "node:http";
import type { FastifyReply } from "fastify";
import { FileAdapterError } from "../../../core/errors/errors.js";
import { AssetError } from "../../../core/ports/asset.js";
import { fieldsOf, isObject } from "../../../core/unknown.js";
import { isRead, parseJsonText, refuseForm } from "../admission/read-body.js";
import type { HttpHost } from "../host.js";
import {
  ANY_TYPE,
  BINARY,
  type Endpoint,
  endpointsOf,
  headerParameter,
  json,
  jsonContent,
  location,
  pathParameter,
  queryParameter,
  schemaRef,
  TEXT,
} from "../openapi/endpoint.js";
import { sendJson } from "../plumbing/answer.js";
import { isKnown, isTagOf } from "../plumbing/entity-tags.js";
import { publicPath } from "../plumbing/entrance.js";
import type { Exchange } from "../plumbing/exchange.js";
import { badRequest, echo, HttpError } from "../plumbing/http-error.js";
import { PAGE_PARAMETERS, parsePage, singleParameter } from "../plumbing/query.js";
import { BodyChunks } from "./body-chunks.js";
import { cachingHeaders, contentEtag, contentHeaders, rangeOf } from "./content-headers.js";
import { sendChunks } from "./file-sending.js";

const endpoint = endpointsOf("Assets", [
  pathParameter("ref", "An id, or one of `0x<id>`, `a/<id>`, `/a/<id>` and `<venue DID>/a/<id>`"),
]);
const SCOPE = queryParameter("scope", "`own`: what the caller registered, with names");
const EXPAND = queryParameter("expand", "`metadata`: ids with their metadata");
const INLINE = queryParameter("inline", "Show it in place, where its type is one that runs nothing");
const HASH = { type: "string", pattern: "^0x[0-9a-f]{64}$", description: "`0x` and the SHA-256 of the content" };
const CONTENT_HEADERS = {
  ETag: { description: "The SHA-256 of the content in quotes", schema: TEXT },
  "Content-Disposition": { description: "`attachment`, or `inline` where that is safe", schema: TEXT },
  "Accept-Ranges": { description: "`bytes`", schema: TEXT },
};

export const ASSET_ENDPOINTS: readonly Endpoint[] = [
  endpoint("GET /api/v1/assets", listAssets, {
    operationId: "listAssets",
    summary: "List assets, newest first",
    parameters: [...PAGE_PARAMETERS, SCOPE, EXPAND],
    answers: {
      200: json("Ids, or what the caller registered", {
        anyOf: [schemaRef("AssetList"), schemaRef("OwnAssetList"), schemaRef("ExpandedAssetList")],
      }),
    },
  }),
  endpoint("POST /api/v1/assets", registerAsset, {
    operationId: "registerAsset",
    summary: "Register metadata; the same again gives the same id",
    body: jsonContent("AssetMetadata"),
    answers: { 201: json("The id", "AssetId", location("the asset")) },
    errors: [413, 507],
  }),
  endpoint("GET /api/v1/assets/{ref}", getAsset, {
    operationId: "getAsset",
    summary: "Read metadata as it was registered",
    answers: { 200: json("Metadata", "AssetMetadata") },
    errors: [404],
  }),
  // The path at which newer clients look for the same content.
  contentEndpoint("GET /api/v1/content/{ref}", "getContent"),
  contentEndpoint("GET /api/v1/assets/{ref}/content", "getAssetContent"),
  endpoint("PUT /api/v1/assets/{ref}/content", putContent, {
    operationId: "putAssetContent",
    summary: "Store the content whose SHA-256 the metadata names",
    body: BINARY,
    answers: { 200: json("Stored", HASH) },
    errors: [404, 413, 507],
  }),
];

function contentEndpoint(route: Endpoint["route"], operationId: string): Endpoint {
  const range = headerParameter("Range", "One range of bytes");
  return endpoint(route, getContent, {
    operationId,
    summary: "Read content",
    parameters: [INLINE, range, headerParameter("If-None-Match", "The ETag one has")],
    answers: {
      200: { description: "All of it", headers: CONTENT_HEADERS, content: ANY_TYPE },
      206: { description: "The range", headers: CONTENT_HEADERS, content: ANY_TYPE },
      304: { description: "It is the one that is known", headers: { ETag: CONTENT_HEADERS.ETag } },
    },
    errors: [404, 416],
  });
}

/** Maximum bytes of metadata in one list; a single asset's may be 1 MiB. */
const MAX_EXPANDED_BYTES = 8 * 1024 * 1024;

/** `POST /api/v1/assets`: registers metadata. The id is derived from it, so the same bytes give the same id. */
async function registerAsset(host: HttpHost, { request, reply, caller }: Exchange): Promise<FastifyReply> {
  const { value: metadata, text } = parseJsonText(request.body, { json5: true });
  if (!isObject(metadata)) throw badRequest("Asset metadata must be a JSON object");
  const id = await askAssets("", () => host.assets.register(metadata, caller, text));
  return sendJson(
    reply.header("location", publicPath(host, request.raw, `/api/v1/assets/${id}`)),
    201,
    JSON.stringify(id),
  );
}

/**
 * `GET /api/v1/assets`: ids, newest first. With `scope=own`: the assets registered by the caller, with name, type and
 * description. With `expand=metadata`: ids with metadata, fewer than requested if they exceed the limit of a response.
 */
async function listAssets(host: HttpHost, { request, reply, caller }: Exchange): Promise<FastifyReply> {
  const page = parsePage(request.query);
  await host.assets.refresh();
  if (singleParameter(request.query, SCOPE) === "own") {
    const { items, total, offset, limit } = host.assets.listOwn(page, caller);
    return sendJson(reply, 200, JSON.stringify({ items, total, offset, limit }));
  }
  const { items, total, offset, limit } = host.assets.list(page);
  const expanded = singleParameter(request.query, EXPAND) === "metadata";
  const shown = expanded ? expand(host, items) : JSON.stringify(items);
  return sendJson(reply, 200, `{"items":${shown},${JSON.stringify({ total, offset, limit }).slice(1)}`);
}

/** A JSON list of ids with metadata, cut off at the size limit. */
function expand(host: HttpHost, ids: readonly string[]): string {
  const shown: string[] = [];
  let bytes = 0;
  for (const id of ids) {
    const metadata = host.assets.metadataJson(id);
    bytes += metadata.length;
    if (bytes > MAX_EXPANDED_BYTES && shown.length > 0) break;
    shown.push(`{"id":"${id}","metadata":${textOf(metadata)}}`);
  }
  return `[${shown.join(",")}]`;
}

const textOf = (json: Uint8Array): string => Buffer.from(json.buffer, json.byteOffset, json.length).toString("utf8");

/** `GET /api/v1/assets/<ref>`: the metadata as registered, byte for byte. */
async function getAsset(host: HttpHost, { reply, target }: Exchange): Promise<FastifyReply> {
  await host.assets.refresh(target);
  return sendJson(reply, 200, textOf(await askAssets(target, () => host.assets.metadataJson(target))));
}

// Endpoints for asset content: streaming upload and download.

/**
 * `PUT /api/v1/assets/<ref>/content`: streams the request body into the store. Nothing may have read the body before.
 * On a refusal the rest of the body is not awaited: the connection is closed.
 */
async function putContent(host: HttpHost, exchange: Exchange): Promise<FastifyReply> {
  const { request, reply, target, caller } = exchange;
  const body = bodyOf(request.raw, host.limits.maxContentSize);
  try {
    refuseForm(request.raw);
    const sha256 = await askAssets(target, () => host.assets.putContent(target, body, caller));
    return sendJson(reply, 200, JSON.stringify(`0x${sha256}`));
  } catch (error) {
    if (!(await isRead(request.raw))) reply.header("connection", "close");
    throw error;
  }
}

/** `GET`, `HEAD /api/v1/assets/<ref>/content`: streams stored content, or a single range of it. */
export async function getContent(host: HttpHost, { request, reply, target }: Exchange): Promise<FastifyReply> {
  const content = await askAssets(target, () => host.assets.content(target));
  const caching = cachingHeaders(content, reply.getHeader("vary"));
  const tagged = { etag: contentEtag(content), sha256: content.sha256 };
  if (isKnown(request.headers, tagged)) return reply.code(304).headers(caching).send();
  const { size } = content;
  const headers = { ...contentHeaders(content, asksInline(request.query)), ...caching };
  if (request.method === "HEAD") return reply.code(200).headers(headers).header("content-length", `${size}`).send();
  const range = rangeOf(request.headers, { size }, (version) => isTagOf(version, tagged));
  if (range === "unsatisfiable") {
    throw new HttpError(416, "Range not satisfiable", { "content-range": `bytes */${size}` });
  }
  const { start, end } = range ?? { start: 0, end: size };
  const head = () =>
    reply
      .code(range === undefined ? 200 : 206)
      .headers(headers)
      .headers(range === undefined ? {} : { "content-range": `bytes ${start}-${end - 1}/${size}` })
      .header("content-length", `${end - start}`);
  try {
    return await sendChunks(content.open({ start, end }), reply, head);
  } catch (error) {
    // The client sees only that the connection breaks.
    if (reply.raw.headersSent && !(error instanceof FileAdapterError)) host.logInternal(error, request.id);
    throw error;
  }
}

/** The announced length is checked before the body is read, but after everything else about the request. */
async function* bodyOf(raw: IncomingMessage, limit: number): AsyncGenerator<Uint8Array> {
  if (Number(raw.headers["content-length"]) > limit) throw new AssetError("too_large", { limit });
  yield* new BodyChunks(raw);
}

function asksInline(query: unknown): boolean {
  const inline = fieldsOf(query)[INLINE.name];
  return inline !== undefined && inline !== "false";
}

/** Calls the assets, turning an AssetError into the HttpError of the endpoint. @throws HttpError */
async function askAssets<T>(reference: string, ask: () => T | Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    throw error instanceof AssetError ? refusalOf(error, echo(reference)) : error;
  }
}

function refusalOf({ fault, data }: AssetError, reference: string): HttpError {
  switch (fault) {
    case "invalid_id":
      return badRequest(`Invalid asset ID: ${reference}`);
    case "invalid_metadata":
      return badRequest(`Invalid asset metadata: ${data.reason}`);
    case "hash_mismatch":
      return badRequest(`Cannot PUT asset content: Content hash mismatch. Expected: ${data.expected}`);
    case "forbidden":
      return new HttpError(403, "Only the operator may register assets and upload content");
    case "not_found":
      return new HttpError(404, `Asset not found: ${reference}`);
    case "no_content_object":
      return new HttpError(404, "Asset metadata does not specify content object");
    case "no_content":
      return new HttpError(404, `Asset has no content: ${reference}`);
    case "too_large":
      return data.size === undefined
        ? new HttpError(413, `Asset content too large: limit ${data.limit} bytes`)
        : new HttpError(413, `Asset metadata too large: ${data.size} bytes, limit ${data.limit}`);
    case "full":
      return new HttpError(507, "Asset storage is full");
  }
}
