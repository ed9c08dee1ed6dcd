// Parts of a dispatch that need no dispatcher: effective limits, the call's deadline, the shape of the input.

import type { Limits } from "../core/call/limits.js";
import { invalidInput } from "../core/errors/texts.js";
import type { AnyOperation, OpenRoot, RootFacts } from "../core/ports/operation.js";

/** The adapter's limits, with the root's own `maxReadBytes` where it has one. */
export function limitsOf({ maxReadBytes }: RootFacts, limits: Limits): Limits {
  return maxReadBytes === undefined ? limits : { ...limits, maxReadBytes };
}

/** Added to an operation's own time limit: time for its last slow step and for its answer. */
const GRACE_MS = 5000;

/** Milliseconds that a call may take: `timeoutMs`, or longer where the operation's own time limit requires it. */
export function timeoutOf(operation: AnyOperation, given: Record<string, unknown>, limits: Limits): number {
  return Math.max(limits.timeoutMs, (operation.patienceMs?.(given, limits) ?? -GRACE_MS) + GRACE_MS);
}

export const byName = (roots: readonly OpenRoot[]): ReadonlyMap<string, OpenRoot> =>
  new Map(roots.map((root) => [root.name, root]));

/** The input as an object; an absent input is empty. @throws INVALID_INPUT */
export function parseInput(input: unknown): Record<string, unknown> {
  const given = input ?? {};
  if (typeof given !== "object") throw invalidInput("'input' must be a JSON object", "", "object");
  return given as Record<string, unknown>;
}
