import type { Limits } from "../core/call/limits.js";
import { invalidInput } from "../core/errors/texts.js";
import type { RootFacts } from "../core/ports/operation.js";

/** The limits themselves, but for a root with one of its own. */
export function limitsOf({ maxReadBytes }: RootFacts, limits: Limits): Limits {
  return maxReadBytes === undefined ? limits : { ...limits, maxReadBytes };
}

/** What a call was given, as an object. @throws INVALID_INPUT */
export function parseInput(input: unknown): Record<string, unknown> {
  const given = input ?? {};
  if (typeof given !== "object") throw invalidInput("'input' must be a JSON object", "", "object");
  return given as Record<string, unknown>;
}
