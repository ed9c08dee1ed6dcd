// Checks what clients send against the fields that the protocol knows. Others may be there.

import { isObject } from "../../core/unknown.js";

/** Required shape of a value. */
export interface Shape {
  readonly type: "string" | "boolean" | "object" | "array";
  readonly isOptional?: true;
  /** Fields of an object that are known, in the order they are checked. */
  readonly fields?: Fields;
  /** Shapes of the fields of an object, or of each item of a list. */
  readonly each?: Shape;
  /** All that a text may be. */
  readonly values?: readonly string[];
}

export type Fields = readonly (readonly [name: string, shape: Shape])[];

export const TEXT: Shape = { type: "string" };
export const BOOLEAN: Shape = { type: "boolean" };
export const OBJECT: Shape = { type: "object" };
export const objectOf = (...fields: Fields): Shape => ({ type: "object", fields });
export const optional = (shape: Shape): Shape => ({ ...shape, isOptional: true });

/** The first thing that is not as it has to be. */
export interface ShapeFault {
  /** Names on the way there, joined by dots. */
  readonly at: string;
  readonly problem: string;
}

/** @param at where the value stands; empty: it is the whole */
export function faultIn(value: unknown, shape: Shape, at = ""): ShapeFault | undefined {
  if (value === undefined && shape.isOptional === true) return undefined;
  const kind = kindOf(value);
  if (kind !== shape.type) return { at, problem: `Invalid input: expected ${shape.type}, received ${kind}` };
  if (shape.values?.includes(value as string) === false) {
    return { at, problem: `Invalid option: expected one of ${shape.values.map((one) => `"${one}"`).join("|")}` };
  }
  const below = at === "" ? "" : `${at}.`;
  for (const [name, field] of shape.fields ?? []) {
    const fault = faultIn((value as Record<string, unknown>)[name], field, below + name);
    if (fault !== undefined) return fault;
  }
  if (shape.each === undefined) return undefined;
  for (const [name, one] of Object.entries(value as object)) {
    const fault = faultIn(one, shape.each, below + name);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

const kindOf = (value: unknown): string =>
  value === null ? "null" : Array.isArray(value) ? "array" : isObject(value) ? "object" : typeof value;
