// Reads values of unknown shape: parsed JSON, queries, and thrown errors, which may be of another realm.

import type { JsonObject } from "./ports/adapter.js";

/** Whether a value is an object, neither `null` nor an array. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The fields of a value; none if it is no object. */
export const fieldsOf = (value: unknown): JsonObject =>
  typeof value === "object" && value !== null ? (value as JsonObject) : {};

/** The code of an error that has one, such as that of a system call. */
export function codeOf(error: unknown): string | undefined {
  const { code } = fieldsOf(error);
  return typeof code === "string" ? code : undefined;
}

/** Whether something could not be written for want of room. */
export const isFull = (error: unknown): boolean => ["ENOSPC", "EDQUOT"].includes(codeOf(error) ?? "");
