// Translates the arguments of an MCP tool call into the input of its operation: models and hosts vary in how they write
// some.

import type { JsonObject, OperationMetadata } from "../../core/ports/adapter.js";
import type { ToolInput } from "../../surfaces/mcp/host.js";
import { readStrings } from "./string-arguments.js";

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
  const { renderFields } = tool;
  const read = readStrings(args, { properties: renderFields === undefined ? fields : { ...fields, ...renderFields } });
  const { own, rendering } = renderFields === undefined ? { own: read } : split(read, renderFields);
  const isInOnlyRoot = onlyRoot !== undefined && Object.hasOwn(fields, "root") && (own["root"] ?? null) === null;
  const given = isInOnlyRoot ? withRoot(own, onlyRoot) : own;
  const input = tool.modelDefaults === undefined ? given : withDefaults(given, tool.modelDefaults);
  const shown = rendering === undefined ? input : { ...input, ...rendering };
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

/** The root comes first where it is absent: to add a name to a copy takes microseconds. */
const withRoot = (given: Readonly<Record<string, unknown>>, root: string): Readonly<Record<string, unknown>> =>
  Object.hasOwn(given, "root") ? { ...given, root } : { root, ...given };

function withDefaults(given: Readonly<Record<string, unknown>>, defaults: JsonObject): Record<string, unknown> {
  const missing = Object.entries(defaults).filter(([name]) => !Object.hasOwn(given, name) || given[name] === null);
  return { ...given, ...Object.fromEntries(missing) };
}

const properties = ({ properties: fields }: JsonObject): JsonObject => (fields as JsonObject | undefined) ?? {};
