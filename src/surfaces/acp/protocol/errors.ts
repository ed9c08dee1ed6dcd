// Maps every failure to the JSON-RPC error sent to the agent and to the outcome recorded in the audit.

import { RequestError } from "@agentclientprotocol/sdk";
import { ERROR_CODES, type ErrorCode, FileAdapterError } from "../../../core/errors/errors.js";
import { pathText } from "../../../core/errors/texts.js";
import { isByPath } from "../files/files.js";
import { OutsideRoots } from "../files/mounts.js";
import { Rejected } from "../review/approval.js";
import { InvalidParams } from "./params.js";

/** The session does not belong to this connection. */
export class UnknownSession extends Error {
  override readonly name = "UnknownSession";
}

/** The terminal does not belong to this session. */
export class UnknownTerminal extends Error {
  override readonly name = "UnknownTerminal";
}

/** The client did not announce this capability. */
export class NotOffered extends Error {
  override readonly name = "NotOffered";
}

/** The request that failed, as far as its error message needs it. */
export interface RequestInfo {
  readonly method: string;
  readonly sessionId: string;
  readonly terminalId?: string;
  /** As the agent sent it. */
  readonly path?: string;
}

/**
 * The error sent to an agent and its outcome code in the audit. `cause`: the unexpected error behind it, for the log.
 */
export interface ErrorAnswer {
  readonly error: RequestError;
  readonly outcome: string;
  readonly cause?: unknown;
}

/** Maximum characters of a path echoed in an error. */
const MAX_SHOWN = 4096;

type Reason =
  | "outside_roots"
  | "is_directory"
  | "not_a_directory"
  | "read_only"
  | "not_text"
  | "too_large"
  | "policy"
  | "quota"
  | "conflict";

const REASONS: Readonly<Partial<Record<ErrorCode, Reason>>> = {
  INVALID_PATH: "outside_roots",
  PATH_NOT_RELATIVE: "outside_roots",
  PATH_ESCAPES_ROOT: "outside_roots",
  SYMLINK_ESCAPE: "outside_roots",
  DANGLING_SYMLINK: "outside_roots",
  OTHER_DEVICE: "outside_roots",
  IS_A_DIRECTORY: "is_directory",
  NOT_A_FILE: "is_directory",
  NOT_A_DIRECTORY: "not_a_directory",
  EXISTS_NOT_DIRECTORY: "not_a_directory",
  READ_ONLY_ROOT: "read_only",
  PERMISSION_DENIED: "read_only",
  NOT_TEXT: "not_text",
  TOO_LARGE: "too_large",
  DENIED_BY_POLICY: "policy",
  QUOTA_EXCEEDED: "quota",
  CONFLICT: "conflict",
};

const TEXTS: Readonly<Record<Reason, string>> = {
  outside_roots: "Path is outside the session's directories",
  is_directory: "Path is a directory",
  not_a_directory: "Not a directory",
  read_only: "Permission denied",
  not_text: "File is not UTF-8 text",
  too_large: "Too large",
  policy: "Denied by policy",
  quota: "Quota exceeded",
  conflict: "Conflict, the file has changed meanwhile",
};

/** Converts any error to a JSON-RPC error. Discloses nothing beyond what the agent sent itself or may know. */
export function answerFor(error: unknown, request: RequestInfo): ErrorAnswer {
  if (error instanceof FileAdapterError) return ofAdapter(error, request);
  if (error instanceof InvalidParams) {
    return { outcome: "INVALID_PARAMS", error: new RequestError(-32602, `Invalid params: ${error.message}`) };
  }
  if (error instanceof OutsideRoots)
    return { outcome: "PATH_ESCAPES_ROOT", error: withReason(-32602, "outside_roots", request) };
  if (error instanceof Rejected) {
    const data = request.path === undefined ? undefined : { path: shown(request.path), reason: "rejected" };
    return { outcome: "REJECTED", error: new RequestError(-32003, "Rejected", data) };
  }
  if (error instanceof UnknownSession) {
    return { outcome: "UNKNOWN_SESSION", error: RequestError.sessionNotFound(request.sessionId) };
  }
  if (error instanceof UnknownTerminal) {
    const data = { terminalId: request.terminalId };
    return { outcome: "UNKNOWN_TERMINAL", error: new RequestError(-32002, "Resource not found", data) };
  }
  if (error instanceof NotOffered)
    return { outcome: "NOT_OFFERED", error: RequestError.methodNotFound(request.method) };
  return { outcome: "INTERNAL", error: new RequestError(-32603, "Internal error"), cause: error };
}

function ofAdapter(error: FileAdapterError, request: RequestInfo): ErrorAnswer {
  const outcome = error.code;
  const code = outcome === "EXISTS" ? "INTERNAL" : outcome;
  const { rpc } = ERROR_CODES[code];
  if (code === "NOT_FOUND" || code === "PARENT_MISSING") {
    const path = shown(request.path ?? "");
    return { outcome, error: new RequestError(rpc, `Resource not found: ${pathText(path)}`, { uri: path }) };
  }
  // A symlink out of the session's directories gets the same error as any other path outside them.
  if (isByPath(error)) return { outcome, error: withReason(-32602, "outside_roots", request) };
  if (code === "CAPABILITY_DENIED") {
    const { required, have: held } = error.data;
    return { outcome, error: new RequestError(rpc, "Permission denied", { required, held }) };
  }
  const reason = REASONS[code];
  // This policy message holds only a number of denied entries and no path, so it can be passed on.
  if (reason === "policy" && typeof error.data["denied"] === "number") {
    const data = { path: shown(request.path ?? ""), reason };
    return { outcome, error: new RequestError(rpc, error.message, data) };
  }
  if (reason !== undefined) return { outcome, error: withReason(rpc, reason, request) };
  const answered = { outcome, error: new RequestError(rpc, plainText(code)) };
  return code === "INTERNAL" ? { ...answered, cause: error } : answered;
}

function withReason(rpc: number, reason: Reason, { path = "" }: RequestInfo): RequestError {
  const data = { path: shown(path), reason };
  const text = reason === "read_only" ? TEXTS[reason] : `${TEXTS[reason]}: ${pathText(data.path)}`;
  return new RequestError(rpc, text, data);
}

/** Texts for errors without `data`: their own messages may name paths that the agent did not send. */
function plainText(code: ErrorCode): string {
  if (code === "APPROVAL_REQUIRED") return "A person has to allow this, and nobody can be asked here";
  switch (ERROR_CODES[code].rpc) {
    case -32602:
      return "Invalid params";
    case -32003:
      return "Permission denied";
    case -32800:
      return "Request cancelled";
    case -32601:
      return "Method not found";
    default:
      return "Internal error";
  }
}

const shown = (path: string): string => (path.length <= MAX_SHOWN ? path : `${path.slice(0, MAX_SHOWN)}…`);
