// `null` for an optional field means that the field is left out: many programs send every field they know.

import type { JsonObject } from "../core/ports/adapter.js";
import { isObject } from "../core/unknown.js";

/**
 * The input without fields that are `null`, in lists of objects too. Kept are those that are required, unknown, or may be
 * `null`. @returns the input itself where nothing is left out
 */
export function withoutNulls(input: unknown, schema: JsonObject): unknown {
  if (!hasNull(input, schema)) return input;
  return strip(input, schema);
}

/** Whether an object has a `null` where its schema names fields; nearly no call has. No deeper: `value` may be any JSON. */
function hasNull(value: unknown, { properties, items }: JsonObject): boolean {
  if (Array.isArray(value))
    return isObject(items) && items["type"] === "object" && value.some((item) => hasNull(item, items));
  if (!isObject(value) || !isObject(properties)) return false;
  return Object.entries(value).some(([name, member]) => {
    const field = Object.hasOwn(properties, name) ? properties[name] : undefined;
    return isObject(field) && (member === null || hasNull(member, field));
  });
}

function strip(value: unknown, schema: JsonObject): unknown {
  const { properties, items, required } = schema as {
    properties?: Readonly<Record<string, JsonObject>>;
    items?: JsonObject;
    required?: readonly string[];
  };
  if (Array.isArray(value)) return items?.["type"] === "object" ? value.map((item) => strip(item, items)) : value;
  if (!isObject(value) || properties === undefined) return value;
  const kept = Object.entries(value).flatMap(([name, member]) => {
    const field = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (field === undefined) return [[name, member] as const];
    if (member !== null) return [[name, strip(member, field)] as const];
    return required?.includes(name) === true || allowsNull(field) ? [[name, member] as const] : [];
  });
  return Object.fromEntries(kept);
}

/** A schema without a type or alternatives, such as that of `value`, allows everything. */
function allowsNull({ type, anyOf, enum: values }: JsonObject): boolean {
  if (type === undefined) return anyOf === undefined && values === undefined;
  return Array.isArray(type) && type.includes("null");
}
