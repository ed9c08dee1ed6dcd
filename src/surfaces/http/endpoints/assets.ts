// Endpoints for asset metadata.

import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import { AssetError } from "../../../core/ports/asset.js";
import { fieldsOf, isObject } from "../../../core/unknown.js";
import { sendContinue } from "../admission/connections.js";
import { isRead, parseJsonText, refuseForm } from "../admission/read-body.js";
import type { HttpHost } from "../host.js";
import { sendJson } from "../plumbing/answer.js";
import { isKnown, isTagOf } from "../plumbing/entity-tags.js";
import { publicPath } from "../plumbing/entrance.js";
import type { Exchange } from "../plumbing/exchange.js";
import { badRequest, HttpError } from "../plumbing/http-error.js";
import { parsePage, singleParameter } from "../plumbing/query.js";
import { askAssets } from "./asset-answer.js";
import { cachingHeaders, contentEtag, contentHeaders, rangeOf } from "./content-headers.js";

/** Maximum bytes of metadata in one list; a single asset's may be 1 MiB. */
const MAX_EXPANDED_BYTES = 8 * 1024 * 1024;

/** `POST /api/v1/assets`: registers metadata. The id is derived from it, so the same bytes give the same id. */
export async function registerAsset(host: HttpHost, { request, reply, caller }: Exchange): Promise<FastifyReply> {
  const { value: metadata, text } = await parseJsonText(request.body, { json5: true });
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

// Endpoints for asset content: streaming upload and download.

/** Time a client may take for each chunk of a download, in milliseconds. */
const STALL_MS = 60_000;

/**
 * `PUT /api/v1/assets/<ref>/content`: streams the request body into the store. Nothing may have read the body before.
 * On a refusal the rest of the body is not awaited: the connection is closed.
 */
export async function putContent(host: HttpHost, exchange: Exchange): Promise<FastifyReply> {
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
export async function getContent(
  host: HttpHost,
  { request, reply, target }: Exchange,
  { stallMs } = { stallMs: STALL_MS },
): Promise<FastifyReply> {
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
  const report = (error: unknown) => host.logInternal(error, request.id);
  const body = await awaitFirstChunk(content.open({ start, end }), report);
  reply.raw.setTimeout(stallMs, () => reply.raw.destroy());
  return reply
    .code(range === undefined ? 200 : 206)
    .headers(headers)
    .headers(range === undefined ? {} : { "content-range": `bytes ${start}-${end - 1}/${size}` })
    .header("content-length", `${end - start}`)
    .send(Readable.from(body));
}

/** The body as an iterable. Not reading it to the end leaves the connection open, since the response still needs it. */
async function* bodyOf(raw: IncomingMessage, limit: number): AsyncGenerator<Uint8Array> {
  // The announced length is checked before the body is read, but after everything else about the request.
  if (Number(raw.headers["content-length"]) > limit) throw new AssetError("too_large", { limit });
  sendContinue(raw);
  yield* raw.iterator({ destroyOnReturn: false });
}

/**
 * Waits for the first chunk, so that unreadable content is reported by a status and not by a truncated response.
 *
 * @param report called with a later failure, of which the client sees only that the connection breaks
 */
async function awaitFirstChunk(
  content: AsyncIterable<Uint8Array>,
  report: (error: unknown) => void,
): Promise<AsyncIterable<Uint8Array>> {
  const source = content[Symbol.asyncIterator]();
  let first: IteratorResult<Uint8Array> | undefined = await source.next();
  // Not a generator: `return` on a generator that has not started would not reach the source.
  const rest: AsyncIterator<Uint8Array> = {
    next: async () => {
      const step = first;
      first = undefined;
      try {
        return step ?? (await source.next());
      } catch (error) {
        report(error);
        throw error;
      }
    },
    return: async () => {
      await source.return?.();
      return { done: true, value: undefined };
    },
  };
  return { [Symbol.asyncIterator]: () => rest };
}

function asksInline(query: unknown): boolean {
  const { inline } = fieldsOf(query);
  return inline !== undefined && inline !== "false";
}
