// Outputs that report a failure. The error code travels in a symbol property, so it is not serialised.

import type { JsonObject } from "../ports/adapter.js";
import { fieldsOf } from "../unknown.js";
import type { ErrorCode } from "./errors.js";

const CODE = Symbol("errorCode");

/**
 * Marks an output as a failure, for operations that return failures as outputs. {@link errorCodeOf} finds the code;
 * JSON contains the value alone.
 */
export function errorOutput(value: JsonObject, code: ErrorCode): JsonObject {
  return Object.defineProperty({ ...value }, CODE, { value: code });
}

/** The error code of an output; `undefined` if it reports no failure. */
export function errorCodeOf(output: unknown): ErrorCode | undefined {
  const { [CODE]: code }: { [CODE]?: ErrorCode } = fieldsOf(output);
  return code;
}
