// Validates the inputs of operations, with messages that name the field and what it takes. A field that is `null` is left out.

import { createRequire } from "node:module";
import type { ErrorObject, ValidateFunction } from "ajv";
import type { FileAdapterError } from "../core/errors/errors.js";
import { escapeText, invalidInput } from "../core/errors/texts.js";
import type { Awaitable } from "../core/io.js";
import { laterPackage } from "../core/later.js";
import type { JsonObject } from "../core/ports/adapter.js";
import { isObject } from "../core/unknown.js";
import { loadGenerated } from "./generated.js";
import { nearestName } from "./nearest.js";

/**
 * Validates inputs against the schemas of their operations. Each validator is loaded on first use: the one that the build has
 * generated, else, for schemas of other adapters, one that Ajv compiles.
 */
export class InputValidator {
  readonly #compiled = new Map<string, ValidateFunction>();
  readonly #strict: boolean;
  #loaded: Compiler | undefined;

  /** @param options.strict `false` for third-party schemas, which may contain unknown keywords */
  constructor(options: { strict: boolean } = { strict: true }) {
    this.#strict = options.strict;
  }

  /** @throws INVALID_INPUT for the first fault found */
  check(operation: string, schema: JsonObject, input: unknown): Awaitable<void> {
    const validate = this.#compiled.get(operation);
    return validate === undefined ? this.#compile(operation, schema, input) : run(validate, schema, input);
  }

  #compiler(): Compiler {
    this.#loaded ??= loadCompiler(this.#strict);
    return this.#loaded;
  }

  async #compile(operation: string, schema: JsonObject, input: unknown): Promise<void> {
    const validate = (this.#strict ? await loadGenerated(schema) : undefined) ?? this.#compiler()(schema);
    this.#compiled.set(operation, validate);
    run(validate, schema, input);
  }
}

type Compiler = (schema: JsonObject) => ValidateFunction;

const loadAjv = laterPackage<typeof import("ajv")>(createRequire(import.meta.url), "ajv");

function loadCompiler(strict: boolean): Compiler {
  const { Ajv } = loadAjv();
  const ajv = new Ajv({ strict, verbose: true, messages: false, validateFormats: strict, logger: false });
  return (schema) => ajv.compile(schema);
}

function run(validate: ValidateFunction, schema: JsonObject, input: unknown): void {
  if (validate(input)) return;
  const fault = validate.errors?.[0];
  throw fault === undefined ? invalidInput("'input' is not valid", "", "valid input") : explain(fault, schema);
}

/** Fields that are looked at for a misspelt name. */
const MAX_FIELDS = 100;

const NOUNS: Readonly<Record<string, string>> = {
  string: "string",
  boolean: "boolean",
  integer: "whole number",
  number: "number",
  object: "JSON object",
  array: "list",
};

function explain(fault: ErrorObject, schema: JsonObject): FileAdapterError {
  const pointer = fault.instancePath;
  const field = pointer === "" ? "input" : pointer.slice(1).replaceAll("/", ".");
  switch (fault.keyword) {
    case "required": {
      const missing = String(fault.params["missingProperty"]);
      return invalidInput(
        `'${missing}' is required${findMisspelt(missing, fault)}`,
        `${pointer}/${missing}`,
        "a value",
      );
    }
    case "additionalProperties":
      return unknownField(
        String(fault.params["additionalProperty"]),
        pointer,
        pointer === "" ? schema : (fault.parentSchema as JsonObject),
      );
    case "type": {
      const type = String(fault.params["type"]);
      if (isUnsafe(fault.data) && /^(?:integer|number)$/.test(type))
        return outOfRange(field, pointer, { ...SAFE, ...(fault.parentSchema as Range) });
      return invalidInput(
        `'${field}' must be a ${NOUNS[type] ?? type}${adviceOn(field, fault, schema)}`,
        pointer,
        type,
      );
    }
    case "enum":
      return notOneOf(field, pointer, fault);
    case "minimum":
    case "maximum":
      return outOfRange(field, pointer, fault.parentSchema as Range);
    case "minLength":
      return invalidInput(`'${field}' must not be empty`, pointer, "a text");
    case "minItems":
    case "maxItems": {
      const { minItems = 0, maxItems } = fault.parentSchema as { minItems?: number; maxItems?: number };
      const bounds = maxItems === undefined ? `at least ${minItems}` : `${minItems} to ${maxItems}`;
      return invalidInput(`'${field}' must have ${bounds} items`, pointer, `${bounds} items`);
    }
    default:
      return invalidInput(`'${field}' is not valid`, pointer, fault.keyword);
  }
}

/** Some clients make an object of the JSON that a model gives as text. */
function adviceOn(field: string, { data }: ErrorObject, { properties }: JsonObject): string {
  const isObject = typeof data === "object" && data !== null && !Array.isArray(data) && Object.keys(data).length > 0;
  if (!isObject || !/(?:^|\.)content$/.test(field)) return "";
  const takesValue = Object.hasOwn(Object(properties), "value");
  return takesValue ? ". Pass JSON as 'value', text as 'content'" : ". Pass JSON as its text";
}

/** The unknown field that probably is the missing one, misspelt. */
function findMisspelt(missing: string, { data, parentSchema }: ErrorObject): string {
  const known = Object.keys((parentSchema as { properties?: object } | undefined)?.properties ?? {});
  const given = Object.keys(typeof data === "object" && data !== null ? data : {}).slice(0, MAX_FIELDS);
  const meant = given.find((name) => !known.includes(name) && nearestName(name, known) === missing);
  if (meant === undefined) return "";
  return `. Unknown field '${escapeText(meant.slice(0, 100))}' - did you mean '${missing}'?`;
}

/** Integers beyond the safe range arrive as `bigint`; a smaller `bigint` comes from code and has the wrong type. */
const isUnsafe = (value: unknown): boolean =>
  typeof value === "bigint" && (value > Number.MAX_SAFE_INTEGER || value < Number.MIN_SAFE_INTEGER);

interface Range {
  readonly minimum?: number;
  readonly maximum?: number;
}

const SAFE: Range = { minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };

function outOfRange(field: string, pointer: string, { minimum, maximum }: Range): FileAdapterError {
  if (minimum === undefined || maximum === undefined) {
    const bound = minimum === undefined ? `at most ${maximum}` : `at least ${minimum}`;
    return invalidInput(`'${field}' must be ${bound}`, pointer, bound);
  }
  return invalidInput(`'${field}' must be between ${minimum} and ${maximum}`, pointer, `${minimum}..${maximum}`);
}

function notOneOf(field: string, pointer: string, fault: ErrorObject): FileAdapterError {
  const values = (fault.params["allowedValues"] as string[]).filter((value) => value !== "").join(", ");
  const given = escapeText(String(fault.data)).slice(0, 100);
  return field === "mode"
    ? invalidInput(`Unknown mode '${given}'. Expected: ${values}`, pointer, values)
    : invalidInput(`'${field}' must be one of: ${values}`, pointer, values);
}

/** A name as one step of a JSON pointer (RFC 6901). */
const pointerToken = (name: string): string => name.replaceAll("~", "~0").replaceAll("/", "~1");

function unknownField(name: string, pointer: string, schema: JsonObject): FileAdapterError {
  const known = Object.keys((schema["properties"] as JsonObject | undefined) ?? {});
  const expected = known.length === 0 ? "no fields" : known.join(", ");
  const shown = escapeText(name.slice(0, 100));
  const near = nearestName(name, known);
  const advice =
    near === undefined
      ? `. Known fields: ${known.length === 0 ? "none" : known.join(", ")}`
      : ` - did you mean '${near}'?`;
  return invalidInput(`Unknown field '${shown}'${advice}`, `${pointer}/${pointerToken(shown)}`, expected);
}

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
