import type { Limits } from "../core/limits.js";
import type { OpenRoot, RootFacts } from "../core/operation.js";
import { invalidInput } from "../core/texts.js";

/** The limits themselves, but for a root with one of its own. */
export function limitsOf({ maxReadBytes }: RootFacts, limits: Limits): Limits {
  return maxReadBytes === undefined ? limits : { ...limits, maxReadBytes };
}

/** Roots by their names. */
export const byName = (roots: readonly OpenRoot[]): ReadonlyMap<string, OpenRoot> =>
  new Map(roots.map((root) => [root.name, root]));

/** @throws INVALID_INPUT */
export function parseInput(input: unknown): Record<string, unknown> {
  const given = input ?? {};
  if (typeof given !== "object") throw invalidInput("'input' must be a JSON object", "", "object");
  return given as Record<string, unknown>;
}
