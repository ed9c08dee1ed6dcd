// Shortens the schemas that models see in tools/list, to save tokens.

import type { JsonObject, OperationMetadata } from "../../core/ports/adapter.js";

/** Fields that mean the same in every tool; the server's instructions explain them once. */
const SAID_ONCE: ReadonlySet<string> = new Set([
  ...["root", "path", "toRoot", "parents"],
  ...["ifMatch", "ifNoneMatch", "ifMatchTo", "ifNoneMatchTo"],
]);
/**
 * Keywords left out: a call that violates them is refused with a text that names them, which costs a model nothing
 * before.
 */
const BOUNDS: ReadonlySet<string> = new Set([
  ...["minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "pattern"],
  ...["additionalProperties", "default"],
]);

/**
 * An operation as models see it in a tool list. The input keeps all fields with types and descriptions, but no bounds;
 * the output schema is dropped, since the model will see the output. The catalogue has the full schemas, and calls are
 * checked against them.
 */
export function briefTool(metadata: OperationMetadata): OperationMetadata {
  return { ...metadata, input: briefSchema(metadata.input), output: { type: "object" } };
}

function briefSchema(schema: JsonObject): JsonObject {
  const members = Object.entries(schema).filter(([key]) => !BOUNDS.has(key));
  return Object.fromEntries(
    members.map(([key, value]) => {
      if (key === "properties" && isObject(value)) return [key, briefFields(value)];
      if (key === "items" && isObject(value)) return [key, briefSchema(value)];
      return [key, value];
    }),
  );
}

function briefFields(fields: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => {
      if (!isObject(field)) return [name, field];
      const { description, ...rest } = briefSchema(field);
      return [name, description === undefined || SAID_ONCE.has(name) ? rest : { ...rest, description }];
    }),
  );
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);
