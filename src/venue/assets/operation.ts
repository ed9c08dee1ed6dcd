import type { JsonObject, OperationMetadata } from "../../core/ports/adapter.js";

/** The asset that stands for an operation. Its id is known before anything has been registered, and is stable. */
export function operationAsset(operation: OperationMetadata): JsonObject {
  const { name, toolName, title, description, input, output } = operation;
  return { name: title, description, operation: { adapter: name, toolName, input, output } };
}
