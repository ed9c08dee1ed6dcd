import type { JsonObject } from "../ports/adapter.js";
import type { ErrorCode } from "./errors.js";

const CODE = Symbol("errorCode");

/**
 * An output that tells of a failure, of an operation whose failures are answers: those who ask find the code, JSON holds
 * the value alone.
 */
export function errorOutput(value: JsonObject, code: ErrorCode): JsonObject {
  return Object.defineProperty({ ...value }, CODE, { value: code });
}

/** The code of a failure that an output tells of; `undefined`: it tells of none. */
export function errorCodeOf(output: unknown): ErrorCode | undefined {
  const { [CODE]: code }: { [CODE]?: ErrorCode } = typeof output === "object" && output !== null ? output : {};
  return code;
}
