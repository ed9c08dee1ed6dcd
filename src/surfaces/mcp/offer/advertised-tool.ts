// A tool as a list of tools shows it to models: in the part of JSON Schema that their hosts take, and short.

import type { JsonObject, OperationMetadata } from "../../../core/ports/adapter.js";
import { isObject } from "../../../core/unknown.js";

/** Descriptions of fields that mean the same in every file tool. */
const SHORT: Readonly<Record<string, string>> = {
  root: "Root name",
  path: "In the root",
  toRoot: "Root of to",
  parents: "Make missing directories",
  ifMatch: "etag or hash",
  ifNoneMatch: '"*": only if new',
  ifMatchTo: "etag or hash of the target",
  ifNoneMatchTo: '"*": only a new target',
};
/** Bounds of our own operations are left out: a call that violates them is refused with a text that names them. */
const BOUNDS: ReadonlySet<string> = new Set([
  ...["minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "pattern"],
]);
/** Keywords that OpenAI's non-strict function schemas and Gemini's subset of OpenAPI 3.0 both take. */
const TAKEN: ReadonlySet<string> = new Set([
  "type",
  "description",
  "enum",
  "properties",
  "required",
  "items",
  ...BOUNDS,
]);

export interface Advertising {
  /** For our own operations: without bounds, and with the shortest descriptions that do. */
  readonly isBrief: boolean;
  /** `root` may be left out. */
  readonly hasOnlyRoot: boolean;
}

/**
 * A tool for a list of tools: one `type` a node, a description for every field, no alternatives, no empty values. Calls
 * are checked against the full schema, which the catalogue has. The output schema of our own tools only says that it is
 * an object: a model will see the output.
 */
export function advertisedTool(tool: OperationMetadata, { isBrief, hasOnlyRoot }: Advertising): OperationMetadata {
  const { type: _, ...schema } = tool.input;
  const all = Object.entries({ ...objectOf(schema["properties"]), ...tool.renderFields });
  const fields = Object.fromEntries(all.filter(([name]) => !(isBrief && FOR_PROGRAMS.has(`${tool.name} ${name}`))));
  const full = advertised({ ...schema, type: "object", properties: fields }, isBrief);
  const { required: own = [], ...input } = full;
  const named = isBrief ? fieldsNamed(tool, fields) : [];
  const required = [...new Set([...named, ...(own as readonly string[])])].filter(
    (name) => !hasOnlyRoot || name !== "root",
  );
  return {
    ...tool,
    input: required.length === 0 ? input : { ...input, required },
    ...(isBrief ? { output: { type: "object" } } : {}),
  };
}

/** Their answers are about all roots where no root is named. */
const ON_ALL_ROOTS: ReadonlySet<string> = new Set(["file:history", "file:undo"]);

/** Fields that a model names, where a program may give a reference in their place. */
function fieldsNamed({ name }: OperationMetadata, fields: JsonObject): readonly string[] {
  const hasRoot = fields["root"] !== undefined && !ON_ALL_ROOTS.has(name);
  return [...(hasRoot ? ["root"] : []), ...(fields["from"] === undefined ? [] : ["path"])];
}

/** The schema of one value in the form that all hosts take; it allows what the given one does, and possibly more. */
function advertised(schema: JsonObject, isBrief: boolean): JsonObject {
  const one = oneOf(schema);
  const { type, ...others } = one;
  const kept = Object.entries(others).filter(([key]) => TAKEN.has(key) && !(isBrief && BOUNDS.has(key)));
  const result: Record<string, unknown> = { ...(type === undefined ? {} : { type }), ...Object.fromEntries(kept) };
  if (result["type"] === "object") result["properties"] = advertisedFields(objectOf(one["properties"]), isBrief);
  else for (const key of ["properties", "required"]) delete result[key];
  // Gemini takes no list without a schema of its items.
  if (result["type"] === "array") result["items"] = advertised(objectOf(one["items"] ?? { type: "string" }), isBrief);
  else delete result["items"];
  const values = enumOf(one);
  if (values === undefined) delete result["enum"];
  else result["enum"] = values;
  return result;
}

function advertisedFields(fields: JsonObject, isBrief: boolean): JsonObject {
  return Object.fromEntries(
    visibleFields(fields, isBrief).map(([name, value]) => {
      const { description, ...field } = advertised(objectOf(value), isBrief);
      const short = isBrief ? SHORT[name] : undefined;
      return [name, { ...field, description: short ?? description ?? name }];
    }),
  );
}

/**
 * Fields for programs, not for models: these look before they repeat a change, see the differences in place of counting, and
 * have no assets. Calls take them all the same. Those of one tool stand behind its name.
 */
const FOR_PROGRAMS: ReadonlySet<string> = new Set([
  "operationId",
  "expect",
  "expectedSize",
  "asset",
  "contentRef",
  "from",
  "maxFileBytes",
  ...["list bytes", "extract bytes", "zip path", "zip name", "zip destRoot", "zip ifNoneMatch"].map(
    (field) => `archive:${field}`,
  ),
]);

const visibleFields = (fields: JsonObject, isBrief: boolean) =>
  Object.entries(fields).filter(([name]) => !(isBrief && FOR_PROGRAMS.has(name)));

/**
 * A schema without alternatives: a list where one of them is a list (it also has room for a single value), else the
 * first that is not `null`.
 */
function oneOf(schema: JsonObject): JsonObject {
  const { type, anyOf, oneOf: alternatives, const: constant, ...rest } = schema;
  const own = constant === undefined ? rest : { ...rest, enum: [constant] };
  const choices = ((anyOf ?? alternatives ?? []) as readonly JsonObject[])
    .filter((choice) => choice["type"] !== "null")
    .map(oneOf);
  const chosen = choices.find((choice) => choice["type"] === "array") ?? choices[0];
  const types = [type ?? chosen?.["type"] ?? typeBy(own) ?? []].flat().filter((name) => name !== "null");
  const single = types.includes("array") ? "array" : types[0];
  return { ...chosen, ...own, ...(single === undefined ? {} : { type: single }) };
}

/** The type that a schema without one implies. */
function typeBy({ properties, items, enum: values }: JsonObject): string | undefined {
  if (properties !== undefined) return "object";
  if (items !== undefined) return "array";
  return Array.isArray(values) && values.every((value) => typeof value === "string") ? "string" : undefined;
}

/** The values of an `enum` of texts; Gemini takes no empty ones, and no others than texts. */
function enumOf({ type, enum: values }: JsonObject): readonly unknown[] | undefined {
  const texts = ((values ?? []) as readonly unknown[]).filter((value) => typeof value === "string" && value !== "");
  return type === "string" && texts.length > 0 ? texts : undefined;
}

const objectOf = (value: unknown): JsonObject => (isObject(value) ? value : {});
