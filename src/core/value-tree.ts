// Reads, lists, slices and counts values inside a JSON tree by path, such as a venue's own data.

import type { Page } from "./call/page.js";
import type { JsonObject } from "./ports/adapter.js";
import { isObject } from "./unknown.js";

/** Type names of values. */
export type ValueType = "Map" | "Vector" | "String" | "Long" | "Double" | "Boolean" | "Null";

/** Answer for a path without a value. */
export interface AbsentValue {
  readonly exists: false;
}

export type ReadValue =
  | { readonly exists: true; readonly value: unknown; readonly type: ValueType; readonly valueBytes: number }
  | { readonly exists: true; readonly truncated: true; readonly type: ValueType; readonly valueBytes: number };

export interface ListedValue {
  readonly exists: true;
  readonly type: ValueType;
  /** Total number of parts; 0 for a scalar. */
  readonly count: number;
  readonly offset: number;
  /** Maps only. */
  readonly keys?: readonly string[];
}

export interface SlicedValue {
  readonly exists: true;
  readonly type: ValueType;
  /** Items of a vector; `{key, value}` entries of a map. */
  readonly values: readonly unknown[];
  readonly count: number;
  readonly offset: number;
}

export interface CountedValue {
  readonly exists: true;
  readonly count: number;
}

const INDEX = /^(?:0|[1-9]\d{0,14})$/;
const ABSENT: AbsentValue = { exists: false };

/** Reads the value at a path. @param maxSize bytes of JSON; a larger value is omitted (`truncated`) */
export function readValue(tree: JsonObject, path: string, maxSize = Number.POSITIVE_INFINITY): ReadValue | AbsentValue {
  const found = find(tree, path);
  if (found === undefined) return ABSENT;
  const { value } = found;
  const type = typeOf(value);
  const valueBytes = Buffer.byteLength(JSON.stringify(value), "utf8");
  if (valueBytes > maxSize) return { exists: true, truncated: true, type, valueBytes };
  return { exists: true, value, type, valueBytes };
}

/** Lists the keys of the value at a path. */
export function listValue(tree: JsonObject, path: string, { offset, limit }: Page): ListedValue | AbsentValue {
  const found = find(tree, path);
  if (found === undefined) return ABSENT;
  const { value } = found;
  const type = typeOf(value);
  if (!isObject(value)) return { exists: true, type, count: partsOf(value)?.length ?? 0, offset };
  const keys = Object.keys(value);
  return { exists: true, type, count: keys.length, offset, keys: keys.slice(offset, offset + limit) };
}

/** Returns one page of the parts of the value at a path. */
export function sliceValue(tree: JsonObject, path: string, { offset, limit }: Page): SlicedValue | AbsentValue {
  const found = find(tree, path);
  if (found === undefined) return ABSENT;
  const parts = partsOf(found.value) ?? [];
  const values = parts.slice(offset, offset + limit);
  return { exists: true, type: typeOf(found.value), values, count: parts.length, offset };
}

/** Counts the parts of the value at a path; absent for a scalar. */
export function countValue(tree: JsonObject, path: string): CountedValue | AbsentValue {
  const parts = partsOf(find(tree, path)?.value);
  return parts === undefined ? ABSENT : { exists: true, count: parts.length };
}

/** Follows keys and indexes; own properties only. */
function find(tree: JsonObject, path: string): { readonly value: unknown } | undefined {
  const inner = path.startsWith("/") ? path.slice(1) : path;
  let value: unknown = tree;
  for (const key of inner === "" ? [] : inner.split("/")) {
    if (Array.isArray(value) && INDEX.test(key) && Number(key) < value.length) value = value[Number(key)];
    else if (isObject(value) && Object.hasOwn(value, key)) value = value[key];
    else return undefined;
  }
  return { value };
}

function partsOf(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value;
  return isObject(value) ? Object.entries(value).map(([key, part]) => ({ key, value: part })) : undefined;
}

function typeOf(value: unknown): ValueType {
  switch (typeof value) {
    case "string":
      return "String";
    case "boolean":
      return "Boolean";
    case "number":
      return Number.isInteger(value) ? "Long" : "Double";
    default:
      return value === null ? "Null" : Array.isArray(value) ? "Vector" : "Map";
  }
}
