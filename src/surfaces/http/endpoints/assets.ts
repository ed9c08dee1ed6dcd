// Endpoints for asset metadata.

import type { FastifyReply } from "fastify";
import { isObject } from "../../../core/unknown.js";
import { parseJsonText } from "../admission/json-body.js";
import type { HttpHost } from "../host.js";
import { publicPath, sendJson } from "../plumbing/answer.js";
import type { Exchange } from "../plumbing/exchange.js";
import { badRequest } from "../plumbing/http-error.js";
import { parsePage, singleParameter } from "../plumbing/query.js";
import { askAssets } from "./asset-answer.js";

/** Maximum bytes of metadata in one list; a single asset's may be 1 MiB. */
const MAX_EXPANDED_BYTES = 8 * 1024 * 1024;

export { getContent, putContent } from "./content.js";

/** `POST /api/v1/assets`: registers metadata. The id is derived from it, so the same bytes give the same id. */
export async function registerAsset(host: HttpHost, { request, reply, caller }: Exchange): Promise<FastifyReply> {
  const { value: metadata, text } = await parseJsonText(request.body, { json5: true });
  if (!isObject(metadata)) throw badRequest("Asset metadata must be a JSON object");
  const id = await askAssets("", () => host.assets.register(metadata, caller, text));
  return sendJson(reply.header("location", publicPath(host, `/api/v1/assets/${id}`)), 201, JSON.stringify(id));
}

/**
 * `GET /api/v1/assets`: ids, newest first. With `scope=own`: the assets registered by the caller, with name, type and
 * description. With `expand=metadata`: ids with metadata, fewer than requested if they exceed the limit of a response.
 */
export function listAssets(host: HttpHost, { request, reply, caller }: Exchange): FastifyReply {
  const page = parsePage(request.query);
  if (singleParameter(request.query, "scope") === "own") {
    const { items, total, offset, limit } = host.assets.listOwn(page, caller);
    return sendJson(reply, 200, JSON.stringify({ items, total, offset, limit }));
  }
  const { items, total, offset, limit } = host.assets.list(page);
  const expanded = singleParameter(request.query, "expand") === "metadata";
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
export async function getAsset(host: HttpHost, { reply, target }: Exchange): Promise<FastifyReply> {
  return sendJson(reply, 200, textOf(await askAssets(target, () => host.assets.metadataJson(target))));
}
