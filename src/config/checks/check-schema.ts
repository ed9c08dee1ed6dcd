// Validates a configuration against `schemas/config.json` and collects every problem with its key.

import { resolve } from "node:path";
import { isObject } from "../../core/unknown.js";
import { nearestName } from "../../schema/nearest.js";
import { type KeyPath, keyText } from "../errors.js";
import { expandHome } from "../home.js";

/** State of checking one config. Problems are collected, so that all are reported together. */
export interface SchemaCheck {
  /** The whole schema, for resolving `$ref`. */
  readonly document: JsonSchema;
  /** Path of the checked value in the author's file: `venues[0]`. */
  readonly above: KeyPath;
  /** Number of leading path keys that are not in the author's text. */
  readonly hiddenKeys: number;
  /** Absolute base directory of relative paths. */
  readonly baseDir: string;
  /** Further names to suggest for unknown top-level keys, besides those of the schema. */
  readonly alsoKnown?: readonly string[];
  readonly problems: string[];
}

/** A place in the checked config. */
export interface Place {
  readonly check: SchemaCheck;
  /** From the top of the venue. */
  readonly path: KeyPath;
}

/** Schema shared by all paths in a config; identifies values to make absolute. */
const PATH = "#/$defs/path";

/** The child place at a key or index. */
export const placeBelow = ({ check, path }: Place, ...keys: KeyPath): Place => ({ check, path: [...path, ...keys] });

/** Adds a problem with the value at a place. */
export const report = (place: Place, text: string): void => {
  place.check.problems.push(`${quotedPath(place)} ${text}`);
};

/** The key path of a place as its author wrote it, in quotes. */
export function quotedPath({ check, path }: Place): string {
  const written = [...check.above, ...path.slice(check.hiddenKeys)];
  return written.length === 0 ? "Config" : `'${keyText(written)}'`;
}

/**
 * Checks a value against a schema, adding problems to the check.
 *
 * @returns a copy with defaults filled in and paths made absolute; every invalid part is `undefined`
 */
export function checkValue(place: Place, given: JsonSchema, value: unknown): unknown {
  const { document, problems } = place.check;
  const schema = chooseBranch(document, resolveRef(document, given), value);
  if (schema === undefined || !matches(schema, value)) {
    problems.push(`${quotedPath(place)} must be ${expectation(document, schema ?? given)}${foundType(schema, value)}`);
    return undefined;
  }
  if (isObject(value)) return schema.type === "object" ? checkObject(place, schema, value) : value;
  if (typeof value === "string") return schema.$ref === PATH ? resolve(place.check.baseDir, expandHome(value)) : value;
  if (!Array.isArray(value)) return value;
  return value.map((item, index) => checkValue(placeBelow(place, index), schema.items ?? {}, item));
}

function chooseBranch(document: JsonSchema, schema: JsonSchema, value: unknown): JsonSchema | undefined {
  if (schema.anyOf === undefined) return schema;
  return schema.anyOf.map((branch) => resolveRef(document, branch)).find((branch) => isOfKind(branch, value));
}

/** Describes the wrong type that was found. Strings are never shown, since they may be paths or secrets. */
function foundType(schema: JsonSchema | undefined, value: unknown): string {
  if (typeof value === "string") return schema?.type === "string" || schema?.enum !== undefined ? "" : ", not a string";
  if (Array.isArray(value)) return schema?.type === "array" ? "" : ", not an array";
  if (isObject(value)) return ", not an object";
  const isHidden = schema?.writeOnly === true || (typeof value === "number" && schema?.type === "string");
  return isHidden && value !== null ? `, not a ${typeof value}` : `, not ${String(value)}`;
}

type Members = Readonly<Record<string, unknown>>;

function checkObject(place: Place, schema: JsonSchema, value: Members): Members {
  const properties = schema.properties ?? {};
  // Keys that a reported misspelt key probably stands for; they are not reported as missing as well.
  const excused: string[] = [];
  const result: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    if (Object.hasOwn(properties, key)) continue;
    if (isObject(schema.additionalProperties)) {
      checkName(placeBelow(place, key), schema.propertyNames ?? {}, key);
      result[key] = checkValue(placeBelow(place, key), schema.additionalProperties, value[key]);
    } else {
      excused.push(...reportUnknown(placeBelow(place, key), Object.keys(properties)));
    }
  }
  for (const [key, property] of Object.entries(properties)) {
    const member = isSet(value, key) ? value[key] : property.default;
    if (member !== undefined) result[key] = checkValue(placeBelow(place, key), property, member);
  }
  checkPresence(place, schema, { value, excused });
  return result;
}

/** A key that is `undefined`, as embedders may write, counts as absent. */
const isSet = (value: Members, key: string): boolean => Object.hasOwn(value, key) && value[key] !== undefined;

function checkName(place: Place, given: JsonSchema, name: string): void {
  const schema = resolveRef(place.check.document, given);
  if (matches(schema, name)) return;
  place.check.problems.push(
    `${quotedPath(place)} has an invalid name: expected ${expectation(place.check.document, schema)}`,
  );
}

/** Reports an unknown key. @returns the known keys it may stand for */
function reportUnknown({ check, path }: Place, known: readonly string[]): readonly string[] {
  const names = path.length === 1 ? [...known, ...(check.alsoKnown ?? [])] : known;
  const nearest = nearestName(String(path.at(-1)), names);
  const question = nearest === undefined ? "" : ` - did you mean '${nearest}'?`;
  check.problems.push(`Unknown config key ${quotedPath({ check, path })}${question}`);
  return nearest === undefined ? [] : [nearest];
}

function checkPresence(
  place: Place,
  schema: JsonSchema,
  { value, excused }: { value: Members; excused: readonly string[] },
): void {
  const { document, problems } = place.check;
  const isUnlike = excused.length === 0 && Object.keys(value).some((key) => schema.properties?.[key] === undefined);
  const [purpose] = isUnlike ? (schema.description?.split(". ") ?? []) : [];
  let meaning = purpose === undefined ? "" : `. ${quotedPath(place)} means: ${purpose}`;
  for (const key of schema.required ?? []) {
    if (isSet(value, key) || excused.includes(key)) continue;
    const expected = expectation(document, schema.properties?.[key] ?? {});
    problems.push(`${quotedPath(placeBelow(place, key))} is missing: expected ${expected}${meaning}`);
    meaning = "";
  }
  for (const [key, needed] of Object.entries(schema.dependentRequired ?? {})) {
    if (!isSet(value, key) || needed.every((other) => isSet(value, other))) continue;
    problems.push(`${quotedPath(placeBelow(place, key))} is only allowed together with '${needed.join("' and '")}'`);
  }
  for (const { required } of schema.not?.anyOf ?? []) {
    if (!required.every((key) => isSet(value, key))) continue;
    problems.push(`${required.map((key) => quotedPath(placeBelow(place, key))).join(" and ")} cannot both be set`);
  }
  const choices = schema.oneOf?.flatMap((alternative) => alternative.required) ?? [];
  const chosen = choices.filter((key) => isSet(value, key)).length;
  if (choices.length > 0 && (chosen > 1 || (chosen === 0 && !choices.some((key) => excused.includes(key))))) {
    problems.push(`${quotedPath(place)} must have exactly one of ${joinNames(choices)}`);
  }
}

/** `'a', 'b' and 'c'`. */
function joinNames(keys: readonly string[]): string {
  const names = keys.map((key) => `'${key}'`);
  return [names.slice(0, -1).join(", "), ...names.slice(-1)].filter((part) => part !== "").join(" and ");
}

// Matches values against the part of JSON Schema that the schema of the configuration uses.

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
function isOfKind(schema: JsonSchema, value: unknown): boolean {
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
