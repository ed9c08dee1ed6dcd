// Effective limits, and the shape of the input of a call.

import type { Limits } from "../core/call/limits.js";
import { invalidInput } from "../core/errors/texts.js";
import type { RootFacts } from "../core/ports/operation.js";

/** The adapter's limits, with the root's own `maxReadBytes` where it has one. */
export function limitsOf({ maxReadBytes }: RootFacts, limits: Limits): Limits {
  return maxReadBytes === undefined ? limits : { ...limits, maxReadBytes };
}

/** The input as an object; an absent input is empty. @throws INVALID_INPUT */
export function parseInput(input: unknown): Record<string, unknown> {
  const given = input ?? {};
  if (typeof given !== "object") throw invalidInput("'input' must be a JSON object", "", "object");
  return given as Record<string, unknown>;
}
