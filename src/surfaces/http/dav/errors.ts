// Errors of WebDAV: which status a code has, and the XML body with the violated precondition.

import type { FastifyReply } from "fastify";
import { type ErrorData, FileAdapterError, httpStatusOf } from "../../../core/errors/errors.js";
import { worded } from "../../../core/errors/wording.js";
import { COMMON_HEADERS } from "../plumbing/answer.js";
import { HttpError } from "../plumbing/http-error.js";
import { element, type Markup, NAMESPACES, OWN, PROLOGUE, XML_TYPE } from "./xml/write.js";

/** A failure with the precondition or postcondition of RFC 4918 §16 that it violates. */
export class DavError extends HttpError {
  readonly condition: Markup | undefined;

  /** @param code for programs; absent where the status says it @param data of the failed operation */
  constructor(
    status: number,
    text: string,
    { condition, code, data }: { condition?: Markup | undefined; code?: string; data?: ErrorData } = {},
  ) {
    super(status, text, {}, code === undefined ? {} : { errorCode: code, errorData: data });
    this.condition = condition;
  }
}

export const nothingHere = (): DavError => new DavError(404, "There is nothing at this URL", { code: "NOT_FOUND" });

/** Sent with every 401: Basic is for clients that mount folders. */
const BASIC = 'Basic realm="venue-files", charset="UTF-8"';

/** Codes whose status differs from that of the other endpoints. */
const STATUSES: Readonly<Record<string, number>> = {
  CONFLICT: 412,
  ALREADY_EXISTS: 412,
  NOT_FOUND: 404,
  UNKNOWN_ROOT: 404,
  DANGLING_SYMLINK: 404,
  NOT_A_DIRECTORY: 409,
  PARENT_MISSING: 409,
  IS_A_DIRECTORY: 405,
  EXISTS_NOT_DIRECTORY: 405,
  NOT_A_FILE: 409,
  HARD_LINKED: 409,
  CAPABILITY_DENIED: 403,
  READ_ONLY_ROOT: 403,
  DENIED_BY_POLICY: 403,
  SYMLINK_ESCAPE: 403,
  OTHER_DEVICE: 403,
  PERMISSION_DENIED: 403,
  ROOT_DELETE: 403,
  NOT_SUPPORTED: 403,
  QUOTA_EXCEEDED: 507,
  NO_SPACE: 507,
  INVALID_PATH: 400,
  INVALID_INPUT: 400,
  PATH_ESCAPES_ROOT: 400,
  PATH_NOT_RELATIVE: 400,
};

/** Codes for a missing directory in a path, which is nothing to find where nothing is changed. */
const MISSING_ABOVE = ["NOT_A_DIRECTORY", "PARENT_MISSING"];

const CONDITIONS: Readonly<Record<string, string>> = {
  CAPABILITY_DENIED: "D:need-privileges",
  QUOTA_EXCEEDED: "D:quota-not-exceeded",
  NO_SPACE: "D:sufficient-disk-space",
};

/** Clients of WebDAV have no operations. */
const WORDS: Readonly<Record<string, string>> = {
  ...{ "file:list": "PROPFIND", "file:mkdir": "MKCOL", "file:read": "GET" },
  ...{ overwrite: "Overwrite: T", parents: "a path whose collection exists" },
};

/** Codes that say no more to a caller without credentials than that it needs some. */
const HIDDEN_FROM_PUBLIC = ["CAPABILITY_DENIED", "UNKNOWN_ROOT", "DRIVE_REQUIRES_AUTH"];

/** The code of a failed operation; empty: it is another failure. */
export function errorCodeOf(error: unknown): string {
  const code = error instanceof HttpError ? error.more["errorCode"] : undefined;
  return typeof code === "string" ? code : "";
}

/** The error of a failed operation; unexpected ones are returned unchanged. */
export function davError(error: unknown, { isReading, isPublic }: { isReading: boolean; isPublic: boolean }): unknown {
  if (!(error instanceof FileAdapterError)) return error;
  const { code, data } = error;
  if (isPublic && HIDDEN_FROM_PUBLIC.includes(code)) return new HttpError(401, "Authentication required");
  const isMissing = isReading && MISSING_ABOVE.includes(code);
  const status = isMissing ? 404 : (STATUSES[code] ?? httpStatusOf(code, data));
  const condition = CONDITIONS[code];
  return new DavError(
    status,
    worded(error, (name) => WORDS[name]),
    { condition: condition === undefined ? undefined : element(condition), code, data },
  );
}

/** Sends an error response. @param challenge of clients that sign in elsewhere */
export function sendDavError(reply: FastifyReply, error: HttpError, challenge?: string): FastifyReply {
  const { status, headers } = error;
  if (status === 401) reply.header("www-authenticate", [BASIC, challenge ?? "Bearer"]);
  else if (challenge !== undefined) reply.header("www-authenticate", challenge);
  const { "www-authenticate": _, ...others } = headers;
  const condition = error instanceof DavError && error.condition !== undefined ? [error.condition] : [];
  const errorCode = errorCodeOf(error);
  const code = errorCode === "" ? [] : [element("v:code", errorCode)];
  const about = [...condition, element("v:message", error.message), ...code];
  return sendXml(reply.headers(others), status, element("D:error", about, { ...NAMESPACES, "xmlns:v": OWN }));
}

/** An empty response. */
export function sendEmpty(reply: FastifyReply, status: number, headers: Record<string, string> = {}): FastifyReply {
  return reply
    .code(status)
    .headers({ ...COMMON_HEADERS, ...headers, ...(status === 204 ? {} : { "content-length": "0" }) })
    .send();
}

/** Sends a whole XML document. */
export function sendXml(reply: FastifyReply, status: number, document: Markup): FastifyReply {
  const body = Buffer.from(`${PROLOGUE}${document.text}`);
  return reply
    .code(status)
    .headers({ ...COMMON_HEADERS, "content-type": XML_TYPE })
    .send(body);
}
