// Preconditions that a caller left out by `null`, and the remark that tells of it.

import { fieldsOf, isObject } from "../core/unknown.js";

/** Fields that make a change depend on what is there. */
const PRECONDITIONS = ["ifMatch", "ifMatchTo", "ifNoneMatch", "ifNoneMatchTo", "expectedSize"] as const;

/** Remark for a caller whose `null` precondition had no effect. */
export const NO_PRECONDITION = "no precondition was applied";

/** Whether a precondition was left out by `null`, by a program that may not have meant to. @param given before that */
export const hasNullPrecondition = (given: unknown): boolean =>
  PRECONDITIONS.some((name) => fieldsOf(given)[name] === null);

/** The output of an operation with a remark beside what it says. */
export function addRemark(output: unknown, remark: string): unknown {
  if (!isObject(output)) return output;
  const { hint } = output;
  return { ...output, hint: typeof hint === "string" ? `${hint}. ${remark}` : remark };
}
