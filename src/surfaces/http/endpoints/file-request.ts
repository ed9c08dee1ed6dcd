// Determines file, caller and context of a request to `/api/v1/files`.

import type { IncomingMessage } from "node:http";
import type { FastifyRequest } from "fastify";
import { attribute } from "../../../core/call/attribute.js";
import { FileAdapterError, httpStatusOf } from "../../../core/errors/errors.js";
import type { SurfaceContext } from "../../../core/ports/adapter.js";
import type { Direction, DownloadInput, UploadInput } from "../../../core/ports/transfer.js";
import { fieldsOf } from "../../../core/unknown.js";
import type { HttpFiles, HttpHost } from "../host.js";
import { type Parameter, queryParameter } from "../openapi/endpoint.js";
import { hashIn } from "../plumbing/entity-tags.js";
import type { Exchange } from "../plumbing/exchange.js";
import { badRequest, HttpError, malformedTarget, unauthorized } from "../plumbing/http-error.js";

/** Path segments before the root's name, including the empty one before the first slash: `/api/v1/files/`. */
const FIXED_SEGMENTS = 4;
const MAX_TICKET_CHARS = 512;

export const VERSION = queryParameter("version", "As it was: `<entry id>:before` or `:after` a change in its history");
export const PARENTS = queryParameter("parents", "Make missing directories", { type: "boolean", default: false });
export const TICKET = queryParameter("ticket", "One from `file:transfer`, in place of credentials");

/** The file a request names, and the context it acts in. */
export interface FileRequest {
  readonly place: DownloadInput;
  readonly context: SurfaceContext;
}

/** @throws HttpError, FileAdapterError */
export async function fileRequest(
  host: HttpHost,
  files: HttpFiles,
  options: Exchange & { direction: Direction },
): Promise<FileRequest> {
  const { request, caller, direction } = options;
  const ticket = ticketOf(request);
  const place = placeOf(request.raw, ticket === undefined);
  const surface = "http";
  if (ticket === undefined) {
    return { place, context: { ...attribute(caller, undefined, host.nameCaller).context, surface } };
  }
  const context = await files.redeem(ticket, { ...place, direction });
  if (context === undefined) throw new HttpError(403, "Invalid or expired ticket");
  if (context === "taken back") {
    throw unauthorized("The rights behind this ticket were revoked. Authenticate, and ask file:transfer for another");
  }
  // The caller who asked for the ticket over MCP is still a model. A ticket is for one place, whatever is there by now.
  return { place, context: { surface, ...context, exactPaths: true } };
}

/** The `ticket` parameter of a request, if any. Too long a value becomes `""`, which is no valid ticket. */
export function ticketOf({ query }: FastifyRequest): string | undefined {
  const ticket = queryValue(query, TICKET);
  return ticket === undefined || ticket.length <= MAX_TICKET_CHARS ? ticket : "";
}

/** The value of a query parameter; the last one if it is repeated. */
export function queryValue(query: unknown, { name }: Parameter): string | undefined {
  const value = fieldsOf(query)[name];
  const last: unknown = Array.isArray(value) ? value.at(-1) : value;
  return typeof last === "string" ? last : undefined;
}

/**
 * Decodes once what the router's own result no longer shows: where the name of the root ends. Generated clients send a path with
 * `%2F` between its segments, which is decoded before the path is judged; a ticket is for the URL as it was given.
 */
function placeOf({ url = "" }: IncomingMessage, takesSlashes: boolean): DownloadInput {
  const [path = ""] = url.split(/[?#]/, 1);
  const [root = "", ...segments] = path.split("/").slice(FIXED_SEGMENTS);
  // With a ticket it may be a drive, whose name has slashes.
  const name = decode(root, takesSlashes ? /[/\\\0]/ : /[\\\0]/);
  return { root: name, path: segments.map((one) => decode(one, takesSlashes ? /[\\\0]/ : /[/\\\0]/)).join("/") };
}

function decode(encoded: string, refused: RegExp): string {
  let segment: string;
  try {
    segment = decodeURIComponent(encoded);
  } catch {
    throw malformedTarget();
  }
  if (refused.test(segment)) {
    throw badRequest(
      "Path must not have an encoded '\\' or NUL, nor an encoded '/' in the name of the root, or with a ticket in a path",
    );
  }
  return segment;
}

/** @throws HttpError 400 */
export function optionsOf({ request }: Exchange): Omit<UploadInput, "root" | "path"> {
  const { headers, query } = request;
  if (headers["content-range"] !== undefined) {
    throw badRequest(
      "Content-Range is not supported on PUT. Go on with PATCH and Upload-Offset, or file:append and expectedSize",
    );
  }
  if (queryValue(query, VERSION) !== undefined) {
    throw badRequest(
      "'version' is for GET: versions cannot be written. Leave it out, or bring one back with file:restore",
    );
  }
  const parents = queryValue(query, PARENTS);
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

/** The HttpError of a failed operation; unexpected errors are returned unchanged. */
export function fileError(error: unknown): unknown {
  if (!(error instanceof FileAdapterError)) return error;
  const { message, code, data } = error;
  const status = httpStatusOf(code, data);
  const headers: Record<string, string> = status === 401 ? { "www-authenticate": "Bearer" } : {};
  return new HttpError(status, message, headers, { errorCode: code, errorData: data });
}
