// Endpoints for whole files in roots.

import type { IncomingMessage } from "node:http";
import type { FastifyReply } from "fastify";
import { extendContext } from "../../../core/call/attribute.js";
import { hashText } from "../../../core/etag.js";
import type { SurfaceContext } from "../../../core/ports/adapter.js";
import type { TakeDownload, UploadBody } from "../../../core/ports/streams.js";
import { type DownloadInput, PART_BYTES, type Uploaded, type UploadInput } from "../../../core/ports/transfer.js";
import { isRead, refuseForm } from "../admission/read-body.js";
import type { HttpFiles, HttpHost } from "../host.js";
import { COMMON_HEADERS } from "../plumbing/answer.js";
import { HangUp, hangUpOf } from "../plumbing/connection.js";
import { digestsIn, requireDigests } from "../plumbing/digests.js";
import { hashIn } from "../plumbing/entity-tags.js";
import type { Exchange } from "../plumbing/exchange.js";
import { badRequest, tooManyRequests } from "../plumbing/http-error.js";
import { unlimitBody } from "../plumbing/node-server.js";
import { BodyChunks } from "./body-chunks.js";
import { partsOf } from "./file-parts.js";
import { fileError, fileRequest, queryValue, ticketOf } from "./file-request.js";
import { sendFile } from "./file-sending.js";

export { ticketOf };

type Version = { readonly [part in "sha256" | "tag"]?: string | undefined };

/** The hash where it is known, else the tag of the stamp. */
function etagOf({ sha256, tag }: Version): string | undefined {
  return sha256 === undefined ? tag && `"${tag}"` : `"${hashText(sha256)}"`;
}

function versionHeader(version: Version): Record<string, string> {
  const etag = etagOf(version);
  return etag === undefined ? {} : { etag };
}

/** Time a client may take for each chunk, in milliseconds. */
const STALL_MS = 60_000;

/** `GET`, `HEAD /api/v1/files/<root>/<path>`: streams a file, or a single range of it. */
export async function getFile(
  host: HttpHost,
  exchange: Exchange,
  { stallMs } = { stallMs: STALL_MS },
): Promise<FastifyReply> {
  const { request, reply } = exchange;
  const files = filesOf(host);
  const { place, context } = fileRequest(host, files, { ...exchange, direction: "download" });
  await new Promise<void>((onBegin, reject) => {
    const take: TakeDownload = (file) => sendFile(file, { request, reply, stallMs, onBegin, etagOf });
    files
      .download(versionOf(exchange, place), take, extendContext(context, { cancellation: new HangUp(reply) }))
      .catch((error: unknown) => reject(fileError(error)));
  });
  return reply;
}

/** `PUT /api/v1/files/<root>/<path>`: replaces the file with the body atomically; on failure nothing changes. */
export const putFile = (host: HttpHost, exchange: Exchange): Promise<FastifyReply> =>
  receive(host, exchange, ({ files, input, context }) => {
    const { raw } = exchange.request;
    return files.upload(input, requireDigests(digestsIn(raw.headers), uploadOf(raw)), context);
  });

/**
 * `PATCH /api/v1/files/<root>/<path>`: adds the body to a file that has as many bytes as `Upload-Offset` says, part by part,
 * so that an upload goes on where it stopped. Each part is a call of its own, judged when it comes.
 */
export const patchFile = (host: HttpHost, exchange: Exchange): Promise<FastifyReply> =>
  receive(host, exchange, async ({ files, input, context }) => {
    const { operationId: _, ...options } = input;
    const { raw } = exchange.request;
    const body = { ...uploadOf(raw), chunks: new BodyChunks(raw, 0) };
    const { offset: first, length } = partOf(exchange, body);
    holdMemory(exchange, Math.min(body.length ?? HELD_BYTES, HELD_BYTES));
    let [conditions, offset, created]: [typeof options, number, boolean] = [options, first, false];
    for await (const part of partsOf(body)) {
      const uploaded = await files.upload({ ...conditions, offset, length }, part, context);
      offset = uploaded.size ?? offset + uploaded.written;
      created ||= uploaded.created;
      // They were for the file as it was.
      const { ifMatch: __, ifNoneMatch: ___, ...later } = options;
      conditions = later;
    }
    return { written: offset - first, created, size: offset };
  });

/** One part that is being added, and the next one that comes meanwhile. */
const HELD_BYTES = 2 * PART_BYTES;
/** Suggested delay before retrying when memory is short, in milliseconds. */
const BUSY_RETRY_MS = 1000;

/** Counts what a request is going to hold. @throws HttpError 429 when memory is short */
function holdMemory({ memory }: Exchange, bytes: number): void {
  let isShort = false;
  memory.onDrop = () => {
    isShort = true;
  };
  memory.receive(bytes);
  memory.received();
  memory.onDrop = () => {};
  if (isShort) throw tooManyRequests(BUSY_RETRY_MS);
}

interface Receiving {
  readonly files: HttpFiles;
  readonly input: UploadInput;
  readonly context: SurfaceContext;
}

async function receive(
  host: HttpHost,
  exchange: Exchange,
  store: (receiving: Receiving) => Promise<Uploaded>,
): Promise<FastifyReply> {
  const { request, reply } = exchange;
  try {
    const files = filesOf(host);
    const { place, context } = fileRequest(host, files, { ...exchange, direction: "upload" });
    const input = { ...place, ...optionsOf(exchange) };
    const uploaded = await store({ files, input, context: { ...context, signal: hangUpOf(exchange.reply) } });
    return reply
      .code(uploaded.created ? 201 : 204)
      .headers(versionHeaders(uploaded))
      .send();
  } catch (error) {
    const known = fileError(error);
    if (!(await isRead(request.raw))) reply.header("connection", "close");
    throw known;
  }
}

/** A place in the version that the request asks for. @throws HttpError 400 with a ticket, which is for the file as it is */
function versionOf({ request }: Exchange, place: DownloadInput): DownloadInput {
  const version = queryValue(request.query, "version");
  if (version === undefined) return place;
  if (ticketOf(request) !== undefined) throw badRequest("'version' cannot be used with a ticket");
  return { ...place, version };
}

function filesOf({ files }: HttpHost): HttpFiles {
  if (files === undefined) throw new Error("There are no files to serve");
  return files;
}

/** @throws HttpError 400 */
function partOf({ request }: Exchange, body: UploadBody): Required<Pick<UploadInput, "offset" | "length">> {
  if (ticketOf(request) !== undefined) throw badRequest("A ticket is for one PUT of the whole file");
  const [offset, length = "0"] = [request.headers["upload-offset"], request.headers["upload-length"]];
  const isNumber = (given: unknown) => typeof given === "string" && /^\d{1,15}$/.test(given);
  if (!isNumber(offset)) throw badRequest("PATCH adds to a file: Upload-Offset must be the bytes that it has now");
  if (!isNumber(length)) throw badRequest("Upload-Length must be the bytes of the whole file");
  return { offset: Number(offset), length: Math.max(Number(length), Number(offset) + (body.length ?? 0)) };
}

const versionHeaders = ({ sha256, tag, size }: Uploaded): Record<string, string> => ({
  ...COMMON_HEADERS,
  ...(size === undefined ? {} : { "upload-offset": `${size}` }),
  ...versionHeader({ sha256, tag }),
});

/** @throws HttpError 400 */
function optionsOf({ request }: Exchange): Omit<UploadInput, "root" | "path"> {
  const { headers, query } = request;
  if (headers["content-range"] !== undefined) {
    throw badRequest(
      "Content-Range is not supported on PUT. Go on with PATCH and Upload-Offset, or file:append and expectedSize",
    );
  }
  if (queryValue(query, "version") !== undefined) {
    throw badRequest(
      "'version' is for GET: versions cannot be written. Leave it out, or bring one back with file:restore",
    );
  }
  const parents = queryValue(query, "parents");
  if (parents !== undefined && !/^(?:true|false)?$/.test(parents)) throw badRequest("'parents' must be true or false");
  const [ifMatch, ifNoneMatch] = [headers["if-match"], headers["if-none-match"]];
  const approval = headers["venue-approval"];
  const operationId = operationIdOf(headers["idempotency-key"]);
  return {
    parents: parents !== undefined && parents !== "false",
    ...(ifMatch === undefined ? {} : { ifMatch: tagOf(ifMatch) }),
    ...(ifNoneMatch === undefined ? {} : { ifNoneMatch: ifNoneMatch.trim() }),
    ...(operationId === undefined ? {} : { operationId }),
    ...(approval === undefined ? {} : { approval: String(approval) }),
  };
}

/** The draft standard writes the key as a quoted string; most clients send it bare. @throws HttpError 400 */
function operationIdOf(header: string | readonly string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  const key = /^("?)([A-Za-z0-9._-]{1,64})\1$/.exec(String(header).trim())?.[2];
  if (key === undefined) throw badRequest("Idempotency-Key must be 1 to 64 of the characters A-Z a-z 0-9 . _ -");
  return key;
}

/** The opaque part of a strong etag. */
function tagOf(header: string): string {
  const text = header.trim();
  const tag = hashIn(text) ?? /^"([^"]+)"$/.exec(text)?.[1];
  if (tag === undefined) throw badRequest('If-Match must be one strong entity tag, such as "sha256:…"');
  return tag;
}

/** The body of a request as an upload, which may take as long as it goes on. @throws HttpError 415 */
export function uploadOf(raw: IncomingMessage): UploadBody {
  refuseForm(raw);
  unlimitBody(raw);
  const length = raw.headers["content-length"];
  return { ...(length === undefined ? {} : { length: Number(length) }), chunks: new BodyChunks(raw) };
}
