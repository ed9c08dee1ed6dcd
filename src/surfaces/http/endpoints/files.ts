// Endpoints for whole files in roots.

import type { IncomingMessage } from "node:http";
import type { FastifyReply } from "fastify";
import { hashText } from "../../../core/etag.js";
import type { SurfaceContext } from "../../../core/ports/adapter.js";
import type { TakeDownload, UploadBody } from "../../../core/ports/streams.js";
import { type DownloadInput, PART_BYTES, type Uploaded, type UploadInput } from "../../../core/ports/transfer.js";
import { isRead, refuseForm } from "../admission/read-body.js";
import type { HttpFiles, HttpHost } from "../host.js";
import {
  ANY_TYPE,
  BINARY,
  COUNT,
  type Endpoint,
  endpointsOf,
  headerParameter,
  type Parameter,
  pathParameter,
  TEXT,
} from "../openapi/endpoint.js";
import { COMMON_HEADERS } from "../plumbing/answer.js";
import { hangUpOf } from "../plumbing/connection.js";
import { digestsIn, requireDigests } from "../plumbing/digests.js";
import type { Exchange } from "../plumbing/exchange.js";
import { badRequest, tooManyRequests } from "../plumbing/http-error.js";
import { unlimitBody } from "../plumbing/node-server.js";
import { BodyChunks } from "./body-chunks.js";
import { partsOf } from "./file-parts.js";
import { fileError, fileRequest, optionsOf, PARENTS, queryValue, TICKET, ticketOf, VERSION } from "./file-request.js";
import { sendFile } from "./file-sending.js";

const endpoint = endpointsOf("Files", [
  pathParameter("root", "Name of a root"),
  pathParameter(
    "path",
    "Below the root, percent-encoded; slashes in it as they are or as `%2F`, with a ticket as they are",
  ),
  TICKET,
]);
const APPROVAL = headerParameter("Venue-Approval", "Id of an approval, where the root asks a person");
const ETAG = {
  ETag: { description: 'The SHA-256 of the content, `"sha256:<hex>"`, where it is known', schema: TEXT },
};
const OFFSET: Parameter = {
  name: "Upload-Offset",
  in: "header",
  required: true,
  description: "Bytes that the file must have, from 0 for a new one",
  schema: COUNT,
};
const NEXT = { "Upload-Offset": { description: "Bytes that the file has now", schema: { type: "integer" } } };
const READING = {
  parameters: [
    VERSION,
    headerParameter("Range", "One range of bytes"),
    headerParameter("If-Range", "The ETag that the range is of"),
    headerParameter("If-None-Match", "The ETag one has"),
  ],
  errors: [404, 409, 416, 504] as const,
};
const KNOWN = { 304: { description: "It is the one that is known", headers: ETAG } };
const STORING = { body: BINARY, errors: [404, 409, 412, 413, 504, 507] as const };

/** Paths of files have no suffixes: files may have any name. */
export const FILE_ENDPOINTS: readonly Endpoint[] = [
  endpoint("GET /api/v1/files/{root}/{path}", getFile, {
    operationId: "getFile",
    summary: "Read a file, or one range of it",
    ...READING,
    answers: {
      200: { description: "All of it", headers: ETAG, content: ANY_TYPE },
      206: { description: "The range", headers: ETAG, content: ANY_TYPE },
      ...KNOWN,
    },
  }),
  endpoint("HEAD /api/v1/files/{root}/{path}", getFile, {
    operationId: "headFile",
    summary: "Size, type and version of a file",
    ...READING,
    answers: { 200: { description: "All of it", headers: ETAG }, ...KNOWN },
  }),
  endpoint("PUT /api/v1/files/{root}/{path}", putFile, {
    operationId: "putFile",
    summary: "Make the body the content of a file, at once when all of it is there",
    parameters: [
      PARENTS,
      headerParameter("If-Match", "The ETag that the file must have"),
      headerParameter("If-None-Match", "`*`: there must be no such file"),
      APPROVAL,
      headerParameter("Idempotency-Key", "Names this upload: repeating it within an hour has no second effect"),
    ],
    ...STORING,
    answers: {
      201: { description: "There is a new file", headers: ETAG },
      204: { description: "The file has this content now", headers: ETAG },
    },
  }),
  endpoint("PATCH /api/v1/files/{root}/{path}", patchFile, {
    operationId: "patchFile",
    summary: "Add the body to a file: the next part of an upload. A part that is there already changes nothing",
    parameters: [
      PARENTS,
      OFFSET,
      headerParameter("Upload-Length", "Bytes of the whole file; more than an upload may have is refused at once"),
      APPROVAL,
    ],
    ...STORING,
    answers: {
      201: { description: "There is a new file", headers: NEXT },
      204: { description: "The part is there", headers: NEXT },
    },
  }),
];

/** The hash where it is known, else the tag of the stamp. */
function etagOf({ sha256, tag }: { readonly [part in "sha256" | "tag"]?: string | undefined }): string | undefined {
  return sha256 === undefined ? tag && `"${tag}"` : `"${hashText(sha256)}"`;
}

/** `GET`, `HEAD /api/v1/files/<root>/<path>`: streams a file, or a single range of it. */
async function getFile(host: HttpHost, exchange: Exchange): Promise<FastifyReply> {
  const { request, reply } = exchange;
  const files = filesOf(host);
  try {
    const { place, context } = await fileRequest(host, files, { ...exchange, direction: "download" });
    await new Promise<void>((onBegin, reject) => {
      const take: TakeDownload = (file) => sendFile(file, { request, reply, onBegin, etagOf });
      const version = versionOf(exchange, place);
      files.download(version, take, { ...context, signal: hangUpOf(reply) }).catch(reject);
    });
  } catch (error) {
    throw fileError(error);
  }
  return reply;
}

/** `PUT /api/v1/files/<root>/<path>`: replaces the file with the body atomically; on failure nothing changes. */
function putFile(host: HttpHost, exchange: Exchange): Promise<FastifyReply> {
  return receive(host, exchange, ({ files, input, context }) => {
    const { raw } = exchange.request;
    return files.upload(input, requireDigests(digestsIn(raw.headers), uploadOf(raw)), context);
  });
}

/**
 * `PATCH /api/v1/files/<root>/<path>`: adds the body to a file that has as many bytes as `Upload-Offset` says, part by part,
 * so that an upload goes on where it stopped. Each part is a call of its own, judged when it comes.
 */
function patchFile(host: HttpHost, exchange: Exchange): Promise<FastifyReply> {
  return receive(host, exchange, async ({ files, input, context }) => {
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
}

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
    const { place, context } = await fileRequest(host, files, { ...exchange, direction: "upload" });
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
  const version = queryValue(request.query, VERSION);
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

function versionHeaders(uploaded: Uploaded): Record<string, string> {
  const { size } = uploaded;
  const etag = etagOf(uploaded);
  return {
    ...COMMON_HEADERS,
    ...(size === undefined ? {} : { "upload-offset": `${size}` }),
    ...(etag === undefined ? {} : { etag }),
  };
}

/** The body of a request as an upload, which may take as long as it goes on. @throws HttpError 415 */
export function uploadOf(raw: IncomingMessage): UploadBody {
  refuseForm(raw);
  unlimitBody(raw);
  const length = raw.headers["content-length"];
  return { ...(length === undefined ? {} : { length: Number(length) }), chunks: new BodyChunks(raw) };
}
