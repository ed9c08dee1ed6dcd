// Maps every failure to the JSON-RPC error sent to the agent and to the outcome recorded in the audit.

import { RequestError } from "@agentclientprotocol/sdk";
import { ERROR_CODES, type ErrorCode, FileAdapterError } from "../../../core/errors/errors.js";
import { pathText } from "../../../core/errors/texts.js";
import { isByPath } from "../files/files.js";
import { Rejected } from "../review/approval.js";

/**
 * The error sent to an agent and its outcome code in the audit. `cause`: the unexpected error behind it, for the log.
 */
interface ErrorAnswer {
  readonly error: RequestError;
  readonly outcome: string;
  readonly cause?: unknown;
}

/** A request that is refused before it becomes a call. */
export class Refused extends Error implements ErrorAnswer {
  override readonly name = "Refused";
  readonly outcome: string;
  readonly error: RequestError;

  constructor(outcome: string, error: RequestError) {
    super(error.message);
    this.outcome = outcome;
    this.error = error;
  }
}

/** A parameter does not match the protocol. */
export const invalidParams = (text: string): Refused =>
  new Refused("INVALID_PARAMS", new RequestError(-32602, `Invalid params: ${text}`));

/** The path is outside every directory that the session can reach. */
export const outsideRoots = (path: string): Refused =>
  new Refused("PATH_ESCAPES_ROOT", withReason(-32602, "outside_roots", path));

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

/**
 * Converts any error to a JSON-RPC error. Discloses nothing beyond what the agent sent itself or may know.
 * @param sent the path of the request, as the agent sent it
 */
export function answerFor(error: unknown, sent = ""): ErrorAnswer {
  if (error instanceof FileAdapterError) return ofAdapter(error, sent);
  if (error instanceof Refused) return error;
  if (error instanceof Rejected) {
    const data = { path: shown(sent), reason: "rejected" };
    return { outcome: "REJECTED", error: new RequestError(-32003, "Rejected", data) };
  }
  return { outcome: "INTERNAL", error: new RequestError(-32603, "Internal error"), cause: error };
}

function ofAdapter(error: FileAdapterError, sent: string): ErrorAnswer {
  const outcome = error.code;
  const code = outcome === "EXISTS" ? "INTERNAL" : outcome;
  const { rpc } = ERROR_CODES[code];
  if (code === "NOT_FOUND" || code === "PARENT_MISSING") {
    const path = shown(sent);
    return { outcome, error: new RequestError(rpc, `Resource not found: ${pathText(path)}`, { uri: path }) };
  }
  // A symlink out of the session's directories gets the same error as any other path outside them.
  if (isByPath(error)) return { outcome, error: withReason(-32602, "outside_roots", sent) };
  if (code === "CAPABILITY_DENIED") {
    const { required, have: held } = error.data;
    return { outcome, error: new RequestError(rpc, "Permission denied", { required, held }) };
  }
  const reason = REASONS[code];
  // This policy message holds only a number of denied entries and no path, so it can be passed on.
  if (reason === "policy" && typeof error.data["denied"] === "number") {
    return { outcome, error: new RequestError(rpc, error.message, { path: shown(sent), reason }) };
  }
  if (reason !== undefined) return { outcome, error: withReason(rpc, reason, sent) };
  const answered = { outcome, error: new RequestError(rpc, plainText(code)) };
  return code === "INTERNAL" ? { ...answered, cause: error } : answered;
}

function withReason(rpc: number, reason: Reason, sent: string): RequestError {
  const data = { path: shown(sent), reason };
  const text = reason === "read_only" ? TEXTS[reason] : `${TEXTS[reason]}: ${pathText(data.path)}`;
  return new RequestError(rpc, text, data);
}

/** Texts by JSON-RPC code for errors without `data`: their own messages may name paths that the agent did not send. */
const PLAIN_TEXTS: ReadonlyMap<number, string> = new Map([
  [-32602, "Invalid params"],
  [-32003, "Permission denied"],
  [-32800, "Request cancelled"],
  [-32601, "Method not found"],
]);

const plainText = (code: ErrorCode): string =>
  code === "APPROVAL_REQUIRED"
    ? "A person has to allow this, and nobody can be asked here"
    : (PLAIN_TEXTS.get(ERROR_CODES[code].rpc) ?? "Internal error");

const shown = (path: string): string => (path.length <= MAX_SHOWN ? path : `${path.slice(0, MAX_SHOWN)}…`);
