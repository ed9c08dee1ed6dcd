/** Fields that make a change depend on what is there. */
const PRECONDITIONS = ["ifMatch", "ifMatchTo", "ifNoneMatch", "ifNoneMatchTo", "expectedSize"] as const;

/** Remark for a caller whose `null` precondition had no effect. */
export const NO_PRECONDITION = "no precondition was applied";

/** Whether a precondition was left out by `null`, by a program that may not have meant to. @param given before that */
export const hasNullPrecondition = (given: unknown): boolean =>
  typeof given === "object" &&
  given !== null &&
  PRECONDITIONS.some((name) => Object.hasOwn(given, name) && (given as Record<string, unknown>)[name] === null);

/** The output of an operation with a remark beside what it says. */
export function addRemark(output: unknown, remark: string): unknown {
  if (typeof output !== "object" || output === null) return output;
  const { hint } = output as { hint?: unknown };
  return { ...output, hint: typeof hint === "string" ? `${hint}. ${remark}` : remark };
}
