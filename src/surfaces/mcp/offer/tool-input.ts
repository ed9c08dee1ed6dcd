// Translates the arguments of an MCP tool call into the input of its operation: models and hosts vary in how they write
// some.

import { namesDrive } from "../../../authz/drive-key.js";
import type { JsonObject, OperationMetadata } from "../../../core/ports/adapter.js";
import { isObject } from "../../../core/unknown.js";
import { parseInput } from "../../../schema/exact-json.js";
import type { ToolInput } from "../host.js";

/**
 * Translates the arguments of a tool call. Fields that are absent or `null` get the defaults for models.
 * @param onlyRoot name of the only configured root, where there is exactly one
 */
export function toolInput(
  tool: OperationMetadata,
  args: Readonly<Record<string, unknown>>,
  onlyRoot: string | undefined,
): ToolInput {
  const fields = properties(tool.input);
  const { renderFields = {} } = tool;
  const { own, rendering } = split(readStrings(args, { properties: { ...fields, ...renderFields } }), renderFields);
  const isInOnlyRoot =
    onlyRoot !== undefined &&
    Object.hasOwn(fields, "root") &&
    (own["root"] ?? null) === null &&
    !namesDrive(own["from"] ?? own["path"]);
  const given = isInOnlyRoot ? { ...own, root: onlyRoot } : own;
  const input = withDefaults(given, tool.modelDefaults);
  const shown = { ...input, ...rendering };
  return isInOnlyRoot ? { input, shown, root: onlyRoot } : { input, shown };
}

/** Takes out the fields that only choose how the answer is shown. One with another value stays, to be refused. */
function split(read: Readonly<Record<string, unknown>>, renderFields: JsonObject) {
  const isShown = ([name, value]: readonly [string, unknown]): boolean => {
    if (!Object.hasOwn(renderFields, name)) return false;
    const { enum: values = [] } = renderFields[name] as { enum?: readonly unknown[] };
    return value === null || values.includes(value);
  };
  const entries = Object.entries(read);
  return {
    own: Object.fromEntries(entries.filter((entry) => !isShown(entry))),
    rendering: Object.fromEntries(entries.filter((entry) => isShown(entry) && entry[1] !== null)),
  };
}

function withDefaults(given: Readonly<Record<string, unknown>>, defaults: JsonObject = {}): Record<string, unknown> {
  const missing = Object.entries(defaults).filter(([name]) => !Object.hasOwn(given, name) || given[name] === null);
  return { ...given, ...Object.fromEntries(missing) };
}

const properties = ({ properties: fields }: JsonObject): JsonObject => (fields as JsonObject | undefined) ?? {};

// Some hosts send lists and numbers as strings of JSON; these are parsed where the schema allows no string.

/** Fields whose strings are never parsed, whatever a schema says. */
const NEVER: ReadonlySet<string> = new Set([
  ...["content", "value", "oldText", "newText", "path", "pattern", "glob", "exclude", "caps", "ucans"],
]);
/** JSON's integers, as many digits as a double keeps. */
const INTEGER = /^-?(?:0|[1-9]\d{0,15})$/;

/**
 * An object with strings read as JSON where its schema asks for an integer, an object or a list of objects. A string
 * that cannot be parsed stays as it is, to be refused. Booleans are not read: a wrong one would change what a call does.
 */
function readStrings(given: Readonly<Record<string, unknown>>, schema: JsonObject): Readonly<Record<string, unknown>> {
  const fields = (schema["properties"] as Readonly<Record<string, JsonObject>> | undefined) ?? {};
  const read = ([name, value]: readonly [string, unknown]): readonly [string, unknown] => {
    const field = Object.hasOwn(fields, name) && !NEVER.has(name) ? fields[name] : undefined;
    return [name, field === undefined ? value : readValue(value, field)];
  };
  return Object.fromEntries(Object.entries(given).map(read));
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
    return parseInput(value);
  } catch {
    return value;
  }
}
