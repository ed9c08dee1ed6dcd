import type { FastifyReply } from "fastify";
import type { JsonObject } from "../../core/adapter.js";
import { sendJson } from "./answer.js";
import { askAssets } from "./asset-answer.js";
import type { Exchange } from "./exchange.js";
import type { HttpHost } from "./host.js";
import { badRequest } from "./http-error.js";
import { parseJson } from "./json-body.js";
import { parsePage } from "./page.js";

export { getContent, putContent } from "./content.js";

/** `POST /api/v1/assets`: registers metadata; the same metadata again gives the same id. */
export async function registerAsset(host: HttpHost, { request, reply, caller }: Exchange): Promise<FastifyReply> {
  const metadata = await parseJson(request.body, { json5: true });
  if (!isObject(metadata)) throw badRequest("Asset metadata must be a JSON object");
  const id = await askAssets("", () => host.assets.register(metadata, caller));
  return sendJson(reply.header("location", `/api/v1/assets/${id}`), 201, JSON.stringify(id));
}

/** `GET /api/v1/assets`: ids, newest first; with `scope=own` what the caller registered, with name, type and description. */
export function listAssets(host: HttpHost, { request, reply, caller }: Exchange): FastifyReply {
  const page = parsePage(request.query);
  const listed = ownOnly(request.query) ? host.assets.listOwn(page, caller) : host.assets.list(page);
  const { items, total, offset, limit } = listed;
  return sendJson(reply, 200, JSON.stringify({ items, total, offset, limit }));
}

/** `GET /api/v1/assets/<ref>`: the metadata as registered. */
export async function getAsset(host: HttpHost, { reply, target }: Exchange): Promise<FastifyReply> {
  return sendJson(reply, 200, JSON.stringify(await askAssets(target, () => host.assets.metadata(target))));
}

/** Any other scope is that of the whole venue. */
function ownOnly(query: unknown): boolean {
  const { scope }: { scope?: unknown } = typeof query === "object" && query !== null ? query : {};
  if (Array.isArray(scope)) throw badRequest("'scope' must be given once");
  return scope === "own";
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);
