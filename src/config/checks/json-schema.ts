// Matches values against the part of JSON Schema that the schema of the configuration uses.

import { isObject } from "../../core/unknown.js";

/**
 * The subset of JSON Schema (2020-12) supported by {@link matches} and `check-schema.ts`: everything used by
 * `schemas/config.json` except `if`, which is for editors and repeated in code. `title` is the noun phrase for a value
 * that must match `pattern`, used in messages.
 */
export interface JsonSchema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
  readonly title?: string;
  readonly description?: string;
  readonly default?: unknown;
  /** The value may be a secret, so messages never show it. */
  readonly writeOnly?: boolean;
  readonly type?: "object" | "array" | "string" | "integer" | "boolean";
  readonly const?: boolean | string | null;
  readonly enum?: readonly (string | boolean)[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly pattern?: string;
  readonly items?: JsonSchema;
  readonly minItems?: number;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: false | JsonSchema;
  readonly propertyNames?: JsonSchema;
  readonly required?: readonly string[];
  readonly dependentRequired?: Readonly<Record<string, readonly string[]>>;
  /** Mutually exclusive keys. */
  readonly not?: { readonly anyOf: readonly { readonly required: readonly string[] }[] };
  /** Alternatives that differ in the type of the value. */
  readonly anyOf?: readonly JsonSchema[];
  /** Alternatives that differ in the one key they require. */
  readonly oneOf?: readonly { readonly required: readonly string[] }[];
}

/** Resolves `$ref`; only `description` and `default` may occur next to one. */
export function resolveRef(document: JsonSchema, schema: JsonSchema): JsonSchema {
  if (schema.$ref === undefined) return schema;
  const target = document.$defs?.[schema.$ref.replace("#/$defs/", "")];
  if (target === undefined) throw new Error(`No such definition: ${schema.$ref}`);
  return { ...resolveRef(document, target), ...schema };
}

/** Whether `value` satisfies `schema` (resolved, without `anyOf`), not counting its members. */
export function matches(schema: JsonSchema, value: unknown): boolean {
  if (schema.type !== undefined && !hasType(schema.type, value)) return false;
  if (schema.const !== undefined && value !== schema.const) return false;
  if (schema.enum !== undefined && !schema.enum.some((allowed) => allowed === value)) return false;
  if (typeof value === "number") {
    return value >= (schema.minimum ?? value) && value <= (schema.maximum ?? value);
  }
  if (typeof value === "string") {
    // JSON Schema counts code points.
    if (schema.minLength !== undefined && [...value].length < schema.minLength) return false;
    return schema.pattern === undefined || new RegExp(schema.pattern, "u").test(value);
  }
  return !Array.isArray(value) || value.length >= (schema.minItems ?? 0);
}

/** Whether `value` has the type, or is the constant, of `schema` (resolved). */
export function isOfKind(schema: JsonSchema, value: unknown): boolean {
  return schema.const === undefined ? schema.type !== undefined && hasType(schema.type, value) : value === schema.const;
}

function hasType(type: NonNullable<JsonSchema["type"]>, value: unknown): boolean {
  if (type === "integer") return Number.isSafeInteger(value);
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isObject(value);
  return typeof value === type;
}

/** Describes the expected value for messages: `an integer from 0 to 65535`. */
export function expectation(document: JsonSchema, given: JsonSchema): string {
  const schema = resolveRef(document, given);
  if (schema.anyOf !== undefined) return schema.anyOf.map((branch) => expectation(document, branch)).join(" or ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((allowed) => JSON.stringify(allowed)).join(" or ");
  if (schema.pattern !== undefined && schema.title !== undefined) return schema.title;
  if (schema.type === "integer") {
    const from = schema.minimum ?? Number.MIN_SAFE_INTEGER;
    return schema.maximum === undefined
      ? `an integer of at least ${from}`
      : `an integer from ${from} to ${schema.maximum}`;
  }
  if (schema.type === "boolean") return "true or false";
  if (schema.type === "string") return schema.minLength === undefined ? "a string" : "a string that is not empty";
  if (schema.type === "array") return schema.minItems === undefined ? "an array" : "an array that is not empty";
  return "an object";
}
