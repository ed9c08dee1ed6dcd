// Some hosts send lists and numbers as strings of JSON. They are read as such where the schema allows no string.

import type { JsonObject } from "../../core/ports/adapter.js";
import { isObject } from "../../core/unknown.js";
import { parseExact } from "../../schema/exact-json.js";

/** Fields whose strings are what they are, whatever a schema says. */
const NEVER: ReadonlySet<string> = new Set([
  ...["content", "value", "oldText", "newText", "path", "pattern", "glob", "exclude", "caps", "ucans"],
]);
/** JSON's integers, as many digits as a double keeps. */
const INTEGER = /^-?(?:0|[1-9]\d{0,15})$/;

/**
 * An object with strings read as JSON where its schema asks for an integer, an object or a list of objects. What cannot
 * be read so stays as it is, to be refused. Booleans are not read: a wrong one would change what a call does.
 */
export function readStrings(
  given: Readonly<Record<string, unknown>>,
  schema: JsonObject,
): Readonly<Record<string, unknown>> {
  const fields = (schema["properties"] as Readonly<Record<string, JsonObject>> | undefined) ?? {};
  let changed: Map<string, unknown> | undefined;
  for (const name of Object.keys(given)) {
    const field = Object.hasOwn(fields, name) && !NEVER.has(name) ? fields[name] : undefined;
    const value = field && readValue(given[name], field);
    if (field === undefined || value === given[name]) continue;
    changed ??= new Map(Object.entries(given));
    changed.set(name, value);
  }
  // Most calls need no copy.
  return changed === undefined ? given : Object.fromEntries(changed);
}

function readValue(value: unknown, schema: JsonObject): unknown {
  const { type, items } = schema as { type?: unknown; items?: JsonObject };
  if (type === "integer") return readInteger(value);
  if (type === "object") {
    const object = parsed(value);
    return isObject(object) ? readStrings(object, schema) : value;
  }
  if (type !== "array" || items?.["type"] !== "object") return value;
  const list = parsed(value);
  return Array.isArray(list) ? list.map((item) => readValue(item, items)) : value;
}

function readInteger(value: unknown): unknown {
  if (typeof value !== "string" || !INTEGER.test(value)) return value;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

function parsed(value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    return parseExact(value);
  } catch {
    return value;
  }
}
