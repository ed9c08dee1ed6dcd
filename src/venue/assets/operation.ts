// Describes operations as assets.

import type { JsonObject, OperationMetadata } from "../../core/ports/adapter.js";

/**
 * The metadata of the asset that describes an operation. It is deterministic, so the id is stable and known up front.
 */
export function operationAsset(operation: OperationMetadata): JsonObject {
  const { name, toolName, title, description, input, output } = operation;
  return { name: title, description, operation: { adapter: name, toolName, input, output } };
}
