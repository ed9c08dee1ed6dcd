// Errors of WebDAV: which status a code has, and the XML body with the violated precondition.

import type { FastifyReply } from "fastify";
import { ERROR_CODES, type ErrorData, FileAdapterError } from "../../../core/errors/errors.js";
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

/** Sent with every 401: Basic is for clients that mount folders. */
const BASIC = 'Basic realm="venue-files", charset="UTF-8"';

interface Mapped {
  readonly reading: number;
  readonly changing: number;
  readonly condition?: string;
}

const sameMapping = (status: number, condition?: string): Mapped => ({
  reading: status,
  changing: status,
  ...(condition === undefined ? {} : { condition }),
});

/** Codes whose status differs from that of the other endpoints. */
const STATUSES: Readonly<Record<string, Mapped>> = {
  CONFLICT: sameMapping(412),
  ALREADY_EXISTS: sameMapping(412),
  NOT_FOUND: sameMapping(404),
  UNKNOWN_ROOT: sameMapping(404),
  DANGLING_SYMLINK: sameMapping(404),
  NOT_A_DIRECTORY: { reading: 404, changing: 409 },
  PARENT_MISSING: { reading: 404, changing: 409 },
  IS_A_DIRECTORY: sameMapping(405),
  EXISTS_NOT_DIRECTORY: sameMapping(405),
  NOT_A_FILE: sameMapping(409),
  HARD_LINKED: sameMapping(409),
  CAPABILITY_DENIED: sameMapping(403, "D:need-privileges"),
  READ_ONLY_ROOT: sameMapping(403),
  DENIED_BY_POLICY: sameMapping(403),
  SYMLINK_ESCAPE: sameMapping(403),
  OTHER_DEVICE: sameMapping(403),
  PERMISSION_DENIED: sameMapping(403),
  ROOT_DELETE: sameMapping(403),
  NOT_SUPPORTED: sameMapping(403),
  QUOTA_EXCEEDED: sameMapping(507, "D:quota-not-exceeded"),
  NO_SPACE: sameMapping(507, "D:sufficient-disk-space"),
  INVALID_PATH: sameMapping(400),
  INVALID_INPUT: sameMapping(400),
  PATH_ESCAPES_ROOT: sameMapping(400),
  PATH_NOT_RELATIVE: sameMapping(400),
};

/** Clients of WebDAV have no operations. */
const WORDS: Readonly<Record<string, string>> = {
  ...{ "file:list": "PROPFIND", "file:mkdir": "MKCOL", "file:read": "GET" },
  ...{ overwrite: "Overwrite: T", parents: "a path whose collection exists" },
};

/** Codes that say no more to a caller without credentials than that it needs some. */
const HIDDEN_FROM_PUBLIC = ["CAPABILITY_DENIED", "UNKNOWN_ROOT", "DRIVE_REQUIRES_AUTH"];

export const codeOf = (error: unknown): string | undefined =>
  error instanceof FileAdapterError ? error.code : undefined;

/** The error of a failed operation; unexpected ones are returned unchanged. */
export function davError(error: unknown, { isReading, isPublic }: { isReading: boolean; isPublic: boolean }): unknown {
  if (!(error instanceof FileAdapterError)) return error;
  const { code, data } = error;
  if (isPublic && HIDDEN_FROM_PUBLIC.includes(code)) return new HttpError(401, "Authentication required");
  const mapped = STATUSES[code];
  const status = mapped === undefined ? statusInTable(code) : isReading ? mapped.reading : mapped.changing;
  const condition = mapped?.condition === undefined ? undefined : element(mapped.condition);
  return new DavError(
    status,
    worded(error, (name) => WORDS[name]),
    { condition, code, data },
  );
}

const statusInTable = (code: string): number =>
  Object.entries(ERROR_CODES).find(([known]) => known === code)?.[1].http ?? 500;

/** Sends an error response. @param challenge of clients that sign in elsewhere */
export function sendDavError(reply: FastifyReply, error: HttpError, challenge?: string): FastifyReply {
  const { status, headers } = error;
  if (status === 401) reply.header("www-authenticate", [BASIC, challenge ?? "Bearer"]);
  else if (challenge !== undefined) reply.header("www-authenticate", challenge);
  const { "www-authenticate": _, ...others } = headers;
  return reply
    .code(status)
    .headers({ ...others, ...COMMON_HEADERS, "content-type": XML_TYPE })
    .send(Buffer.from(errorXml(error)));
}

function errorXml(error: HttpError): string {
  const condition = error instanceof DavError && error.condition !== undefined ? [error.condition] : [];
  const { errorCode } = error.more;
  const code = typeof errorCode === "string" ? [element("v:code", errorCode)] : [];
  const about = [...condition, element("v:message", error.message), ...code];
  return `${PROLOGUE}${element("D:error", about, { ...NAMESPACES, "xmlns:v": OWN }).text}`;
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
