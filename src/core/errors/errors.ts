// Error codes with their HTTP and JSON-RPC status, the error class of all operations, and that of overload.

/**
 * All error codes. `http` is the status of an endpoint whose response is the error itself, `rpc` the JSON-RPC code,
 * `retry` whether the same call can succeed later unchanged. Codes are stable within a major version.
 */
export const ERROR_CODES = {
  INVALID_INPUT: { http: 400, rpc: -32602, retry: false },
  UNKNOWN_ROOT: { http: 404, rpc: -32602, retry: false },
  UNKNOWN_OPERATION: { http: 404, rpc: -32601, retry: false },
  CAPABILITY_DENIED: { http: 403, rpc: -32003, retry: false },
  INVALID_PATH: { http: 400, rpc: -32602, retry: false },
  PATH_NOT_RELATIVE: { http: 400, rpc: -32602, retry: false },
  PATH_ESCAPES_ROOT: { http: 400, rpc: -32602, retry: false },
  SYMLINK_ESCAPE: { http: 403, rpc: -32602, retry: false },
  DANGLING_SYMLINK: { http: 404, rpc: -32602, retry: false },
  OTHER_DEVICE: { http: 403, rpc: -32602, retry: false },
  READ_ONLY_ROOT: { http: 403, rpc: -32003, retry: false },
  NOT_FOUND: { http: 404, rpc: -32002, retry: false },
  NOT_A_DIRECTORY: { http: 409, rpc: -32602, retry: false },
  IS_A_DIRECTORY: { http: 409, rpc: -32602, retry: false },
  NOT_A_FILE: { http: 409, rpc: -32602, retry: false },
  PARENT_MISSING: { http: 409, rpc: -32002, retry: false },
  EXISTS_NOT_DIRECTORY: { http: 409, rpc: -32602, retry: false },
  NOT_EMPTY: { http: 409, rpc: -32602, retry: false },
  ROOT_DELETE: { http: 403, rpc: -32602, retry: false },
  HARD_LINKED: { http: 409, rpc: -32602, retry: false },
  NOT_TEXT: { http: 422, rpc: -32602, retry: false },
  NOT_JSON: { http: 422, rpc: -32602, retry: false },
  TOO_LARGE: { http: 413, rpc: -32602, retry: false },
  ASSET_NOT_FOUND: { http: 404, rpc: -32602, retry: false },
  ASSET_NO_CONTENT: { http: 404, rpc: -32602, retry: false },
  DRIVE_REQUIRES_AUTH: { http: 401, rpc: -32003, retry: false },
  CONFLICT: { http: 412, rpc: -32603, retry: false },
  OUTCOME_UNKNOWN: { http: 409, rpc: -32603, retry: false },
  ALREADY_EXISTS: { http: 409, rpc: -32602, retry: false },
  NO_MATCH: { http: 422, rpc: -32602, retry: false },
  AMBIGUOUS_MATCH: { http: 422, rpc: -32602, retry: false },
  OVERLAPPING_EDITS: { http: 422, rpc: -32602, retry: false },
  INVALID_PATTERN: { http: 400, rpc: -32602, retry: false },
  DENIED_BY_POLICY: { http: 403, rpc: -32003, retry: false },
  QUOTA_EXCEEDED: { http: 507, rpc: -32603, retry: false },
  BAD_FORMAT: { http: 422, rpc: -32602, retry: false },
  UNSUPPORTED_CELL: { http: 422, rpc: -32602, retry: false },
  MISSING_CELL: { http: 422, rpc: -32602, retry: false },
  LIMIT: { http: 413, rpc: -32602, retry: false },
  FUTURE_TIME: { http: 422, rpc: -32602, retry: false },
  KEY_REQUIRED: { http: 403, rpc: -32602, retry: false },
  STORE_UNAVAILABLE: { http: 503, rpc: -32603, retry: true },
  SHARED_STATE_UNAVAILABLE: { http: 503, rpc: -32603, retry: true },
  INSTANCE_LOST: { http: 500, rpc: -32603, retry: false },
  STORE_DAMAGED: { http: 500, rpc: -32603, retry: false },
  APPROVAL_REQUIRED: { http: 403, rpc: -32003, retry: false },
  APPROVAL_DENIED: { http: 403, rpc: -32003, retry: false },
  PERMISSION_DENIED: { http: 403, rpc: -32003, retry: false },
  NO_SPACE: { http: 507, rpc: -32603, retry: false },
  NOT_SUPPORTED: { http: 501, rpc: -32603, retry: false },
  TIMEOUT: { http: 504, rpc: -32603, retry: true },
  ABORTED: { http: 503, rpc: -32800, retry: true },
  BUSY: { http: 503, rpc: -32603, retry: true },
  IO_ERROR: { http: 500, rpc: -32603, retry: true },
  INTERNAL: { http: 500, rpc: -32603, retry: false },
} as const satisfies Record<string, { http: number; rpc: number; retry: boolean }>;

export type ErrorCode = keyof typeof ERROR_CODES;

/** Operations whose conflicts concern the present state, not a precondition of the request. */
const TAKING_BACK: ReadonlySet<string | undefined> = new Set(["file:undo", "file:restore"]);

/**
 * HTTP status of a failed call.
 * @param data of the error: a conflict that names nothing of the request, such as that of a drive, is no failed precondition
 */
export function httpStatusOf(code: string | undefined, data: unknown, operation?: string): number {
  const isOfRequest = ["expected", "operationId", "state"].some((key) => Object.hasOwn(Object(data), key));
  if (code === "CONFLICT" && (TAKING_BACK.has(operation) || !isOfRequest)) return 409;
  return Object.entries(ERROR_CODES).find(([known]) => known === code)?.[1].http ?? 500;
}

/** A code that only `venue-files/drive` throws, besides some of the above; it is never the result of a call. */
export type DriveErrorCode = "EXISTS";
export type ErrorData = Readonly<Record<string, unknown>>;

/**
 * The only error that leaves the adapter. Its message is for people and models, its code for programs.
 * Neither contains a host path, a token, a key or a system message.
 */
export class FileAdapterError extends Error {
  override readonly name = "FileAdapterError";
  readonly code: ErrorCode | DriveErrorCode;
  /** `hint`, where it is there, is one more sentence for people and models; `next` names the next step ({@link Next}). */
  readonly data: ErrorData;

  constructor(code: ErrorCode | DriveErrorCode, message: string, data: ErrorData = {}) {
    super(message);
    this.code = code;
    // Adapters in JavaScript may give `null`.
    this.data = data ?? {};
  }
}

/** Constructs every {@link FileAdapterError}; those of several rooms are in `texts.ts`. */
export function adapterError(
  code: ErrorCode | DriveErrorCode,
  message: string,
  data: ErrorData = {},
): FileAdapterError {
  // Expected errors need no stack trace, and capturing one would cost more than the failed call itself.
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  try {
    return new FileAdapterError(code, message, data);
  } finally {
    Error.stackTraceLimit = limit;
  }
}

/** Too many requests of a kind: refused before any effect, so the request can be retried. */
export class Overloaded extends Error {
  override readonly name = "Overloaded";
  /** Delay before a retry, in milliseconds. */
  readonly retryAfterMs: number;
  /** No request of the kind is taken any more, however few there are. */
  readonly isClosing: boolean;

  /** @param text the reason, safe to show to the caller */
  constructor(text: string, retryAfterMs: number, isClosing = false) {
    super(text);
    this.retryAfterMs = retryAfterMs;
    this.isClosing = isClosing;
  }
}

export const venueCloses = (): Overloaded => new Overloaded("The venue is closing", 1000, true);

const CODE = Symbol("errorCode");

/**
 * Marks an output as a failure, for operations that return failures as outputs. {@link errorCodeOf} finds the code;
 * JSON contains the value alone.
 */
export function errorOutput(value: ErrorData, code: ErrorCode): ErrorData {
  return Object.defineProperty({ ...value }, CODE, { value: code });
}

/** The error code of an output; `undefined` if it reports no failure. */
export function errorCodeOf(output: unknown): ErrorCode | undefined {
  const { [CODE]: code }: { [CODE]?: ErrorCode } = Object(output);
  return code;
}
