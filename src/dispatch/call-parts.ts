// Parts of a dispatch that need no dispatcher: the operation, effective limits, the call's deadline, the shape of input.

import type { Limits } from "../core/call/limits.js";
import { FileAdapterError } from "../core/errors/errors.js";
import { invalidInput, rootRequired, unknownOperation } from "../core/errors/texts.js";
import type { SurfaceContext } from "../core/ports/adapter.js";
import type { AnyOperation, Call, OpenRoot, PathCall, RootFacts } from "../core/ports/operation.js";
import type { RegisteredOperation } from "./options.js";

/** A streaming operation exists only for calls that bring a transfer. @throws UNKNOWN_OPERATION */
export function findOperation(
  operations: ReadonlyMap<string, RegisteredOperation>,
  name: string,
  { transfer }: SurfaceContext,
): RegisteredOperation {
  const registered = operations.get(name);
  const streams = registered?.operation.streams === true;
  if (registered === undefined || streams !== (transfer !== undefined)) throw unknownOperation(name);
  return registered;
}

/** A call at a place. */
export function placedCall(
  call: Call,
  { root, path, access, limits }: Pick<PathCall, "root" | "path" | "access" | "limits">,
): PathCall {
  const { budget, memory, resolveAsset, cancellation, versions, caller } = call;
  const { scanners, pdf, terms, transfer, issueTicket } = call;
  // Written out: an object made by a spread is slow (dictionary mode), and this runs at every call.
  return {
    limits,
    budget,
    memory,
    resolveAsset,
    cancellation,
    versions,
    caller,
    scanners,
    pdf,
    terms,
    transfer,
    issueTicket,
    root,
    path,
    access,
  };
}

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

/** The refusal of a call without a root names those that the caller may use. @returns any other error as it is */
export function namingRoots(error: unknown, visible: () => readonly string[]): unknown {
  const isRootMissing =
    error instanceof FileAdapterError &&
    error.data["pointer"] === "/root" &&
    error.message.startsWith("'root' is required");
  return isRootMissing ? rootRequired(error, visible()) : error;
}
