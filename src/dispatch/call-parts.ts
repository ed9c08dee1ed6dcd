import type { Limits } from "../core/call/limits.js";
import { invalidInput } from "../core/errors/texts.js";
import type { AnyOperation, OpenRoot, RootFacts } from "../core/ports/operation.js";

/** The limits themselves, but for a root with one of its own. */
export function limitsOf({ maxReadBytes }: RootFacts, limits: Limits): Limits {
  return maxReadBytes === undefined ? limits : { ...limits, maxReadBytes };
}

/** What an operation that answers in time has for its answer, and for its last slow step. */
const GRACE_MS = 5000;

/** Milliseconds that a call may take. */
export function timeoutOf(operation: AnyOperation, given: Record<string, unknown>, limits: Limits): number {
  return Math.max(limits.timeoutMs, (operation.patienceMs?.(given, limits) ?? -GRACE_MS) + GRACE_MS);
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
