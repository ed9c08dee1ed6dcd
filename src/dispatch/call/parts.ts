// Parts of a dispatch that need no dispatcher: the operation, effective limits, the call's deadline, the shape of
// input.

import type { Authoriser } from "../../authz/authorise.js";
import type { Limits } from "../../core/call/limits.js";
import { CallScope, cancelledBy } from "../../core/call/scope.js";
import { adapterError, FileAdapterError } from "../../core/errors/errors.js";
import { invalidInput, unknownOperation } from "../../core/errors/texts.js";
import { type Awaitable, isPending } from "../../core/io.js";
import type { JsonObject, SurfaceContext } from "../../core/ports/adapter.js";
import type { AnyOperation, Call, OpenRoot, PathCall, PlaceRequest, RootFacts } from "../../core/ports/operation.js";
import type { TicketRequest } from "../../core/ports/transfer.js";
import type { InputValidator } from "../../schema/validate.js";
import type { ApprovalGate } from "../approvals/approval-gate.js";
import type { DispatchOptions, RegisteredOperation } from "../options.js";
import type { CallAccess } from "./access.js";
import type { CallChanges } from "./changes.js";
import type { Progress } from "./record.js";

/** A call whose input has its fields without `null`, and is about to be validated. */
export interface ValidCall extends Pick<Preparing, "name" | "given" | "context" | "progress"> {
  /** The approval that the input brings. */
  readonly approval: string | undefined;
}

/** A call whose operation has not started yet. */
export interface Preparing {
  /** Dispatch name. */
  readonly name: string;
  readonly given: Record<string, unknown>;
  readonly context: SurfaceContext;
  readonly scope: CallScope;
  readonly authoriser: Authoriser;
  readonly progress: Progress;
  readonly changes: CallChanges;
  readonly gate: ApprovalGate;
  /** Types of entries that were seen in the course of the call, by root and path. */
  readonly looks: Map<string, string>;
  /** Collects the places of a call that may be repeated. */
  readonly places?: JudgedPlace[];
}

/** A place of a call, and the checks made there. */
export interface JudgedPlace {
  readonly request: PlaceRequest;
  readonly access: CallAccess;
}

/** Parts that all calls of a dispatcher share. */
export interface SharedState extends Pick<Call, "versions" | "turns"> {}

/** A streaming operation exists only for calls that bring a transfer. @throws UNKNOWN_OPERATION */
export function findOperation(
  operations: ReadonlyMap<string, RegisteredOperation>,
  name: string,
  { transfer, isInternal }: SurfaceContext,
): RegisteredOperation {
  const registered = operations.get(name);
  const streams = registered?.operation.streams === true;
  const isHidden = registered?.operation.internal === true && isInternal !== true;
  if (registered === undefined || streams !== (transfer !== undefined) || isHidden) throw unknownOperation(name);
  return registered;
}

/** The part of a call that every operation gets. */
export function callOf(
  { context, scope }: Pick<Preparing, "context" | "scope">,
  { limits, tickets, tagOf, scanners, pdf }: DispatchOptions,
  { versions, turns }: SharedState,
): Call {
  const { budget, takesBytes = false, memory, resolveAsset, transfer, terms, callerDID: caller } = context;
  const issueTicket = tickets && ((request: TicketRequest) => tickets.issue(request, context));
  return {
    limits,
    budget,
    takesBytes,
    memory,
    resolveAsset,
    scope,
    versions,
    tagOf,
    turns,
    caller,
    scanners,
    pdf,
    terms,
    transfer,
    issueTicket,
  };
}

/** A call at a place. */
export function createPathCall(
  call: Call,
  {
    root,
    path,
    access,
    limits,
    at,
    pollChanges,
  }: Pick<PathCall, "root" | "path" | "access" | "limits" | "at" | "pollChanges">,
): PathCall {
  const { budget, takesBytes, memory, resolveAsset, scope, versions, turns, caller } = call;
  const { scanners, pdf, tagOf, terms, transfer, issueTicket } = call;
  // Written out: an object made by a spread is slow (dictionary mode), and this runs at every call.
  return {
    limits,
    budget,
    takesBytes,
    memory,
    resolveAsset,
    scope,
    versions,
    tagOf,
    turns,
    caller,
    scanners,
    pdf,
    terms,
    transfer,
    issueTicket,
    pollChanges,
    root,
    path,
    access,
    at,
  };
}

/** The adapter's limits, with the root's own `maxReadBytes` where it has one. */
export function limitsOf({ maxReadBytes }: RootFacts, limits: Limits): Limits {
  return maxReadBytes === undefined ? limits : { ...limits, maxReadBytes };
}

/** Added to an operation's own time limit: time for its last slow step and for its answer. */
const GRACE_MS = 5000;

/** The scope of a call; it takes `timeoutMs`, or longer where the operation's own time limit requires it. */
export function scopeOf(
  operation: AnyOperation,
  { given, context }: Pick<Preparing, "given" | "context">,
  { clock, limits }: DispatchOptions,
): CallScope {
  const timeoutMs = Math.max(limits.timeoutMs, (operation.patienceMs?.(given, limits) ?? -GRACE_MS) + GRACE_MS);
  const waitsMs = operation.waitsMs?.(given) ?? 0;
  const cancellation = context.cancellation ?? cancelledBy(context.signal);
  return new CallScope({ clock, timeoutMs: timeoutMs + waitsMs, cancellation, report: context.report });
}

export const byName = (roots: readonly OpenRoot[]): ReadonlyMap<string, OpenRoot> =>
  new Map(roots.map((root) => [root.name, root]));

/** The input as an object; an absent input is empty. @throws INVALID_INPUT */
export function parseInput(input: unknown): Record<string, unknown> {
  const given = input ?? {};
  if (typeof given !== "object") throw invalidInput("'input' must be a JSON object", "", "object");
  return given as Record<string, unknown>;
}

/** Validates an input. @param request.visible the roots that the caller may use @throws INVALID_INPUT */
export function checkInput(
  validator: InputValidator,
  request: Pick<ValidCall, "name" | "given"> & { readonly schema: JsonObject; visible(): readonly string[] },
): Awaitable<void> {
  const { name, schema, given, visible } = request;
  const explain = (error: unknown): never => {
    throw addVisibleRoots(error, visible);
  };
  try {
    const checking = validator.check(name, schema, given);
    return isPending(checking) ? checking.catch(explain) : undefined;
  } catch (error) {
    return explain(error);
  }
}

/** The refusal of a call without a root names those that the caller may use. @returns any other error as it is */
function addVisibleRoots(error: unknown, visible: () => readonly string[]): unknown {
  const isRootMissing =
    error instanceof FileAdapterError &&
    error.data["pointer"] === "/root" &&
    error.message.startsWith("'root' is required");
  if (!isRootMissing) return error;
  return adapterError("INVALID_INPUT", `${error.message}. Configured: [${visible().join(", ")}]`, error.data);
}
