import type { JsonObject, OperationMetadata } from "../../core/ports/adapter.js";

/** Fields that mean the same in every tool: the instructions of the server say what, once. */
const SAID_ONCE: ReadonlySet<string> = new Set([
  ...["root", "path", "toRoot", "parents"],
  ...["ifMatch", "ifNoneMatch", "ifMatchTo", "ifNoneMatchTo"],
]);
/** What a call is refused for, with a text that says it, costs a model nothing before that. */
const BOUNDS: ReadonlySet<string> = new Set([
  ...["minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "pattern"],
  ...["additionalProperties", "default"],
]);

/**
 * An operation as a model reads it before it has asked for anything: of the input all fields with their types and
 * meanings, but no bounds; of the output nothing, since it will read that. The rest stands in the catalogue, and is checked
 * as ever.
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
