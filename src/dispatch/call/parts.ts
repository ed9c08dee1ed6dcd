// Parts of a dispatch that need no dispatcher: the operation, the shape of its input, what it gets, the record of its call.

import { createHash } from "node:crypto";
import { type AuditRecord, deniedBy } from "../../audit/record.js";
import { printResource, type Scheme } from "../../authz/grant.js";
import { openArchive } from "../../backend/archive/opened.js";
import { adapterError, FileAdapterError } from "../../core/errors/errors.js";
import { invalidInput, unknownOperation } from "../../core/errors/texts.js";
import { type Awaitable, isPending } from "../../core/io.js";
import type { JsonObject, SurfaceContext } from "../../core/ports/adapter.js";
import type { AnyOperation, Call, OpenRoot, PathCall } from "../../core/ports/operation.js";
import type { TicketRequest } from "../../core/ports/transfer.js";
import { fieldsOf } from "../../core/unknown.js";
import type { RegisteredOperation } from "../options.js";
import { inTurn } from "./archives.js";
import { type CallState, viaOf } from "./state.js";

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
export function callOf(call: CallState): Call {
  const { context, scope, parts } = call;
  const { limits, tickets, tagOf, scanners, documents, versions, turns } = parts;
  const { budget, takesBytes = false, memory, resolveAsset, storeAsset, transfer, terms, callerDID: caller } = context;
  const issueTicket = tickets && ((request: TicketRequest) => tickets.issue(request, context));
  return {
    limits,
    budget,
    takesBytes,
    memory,
    resolveAsset,
    storeAsset,
    openArchive: (file, about) => inTurn(call, file.size, () => openArchive(file, about)),
    scope,
    versions,
    tagOf,
    turns,
    caller,
    scanners,
    documents,
    terms,
    transfer,
    issueTicket,
  };
}

/** Limits of an operation at a place: the adapter's, with the root's own `maxReadBytes` where it has one. */
export function placedCall(state: CallState, place: Omit<PathCall, keyof Call>): PathCall {
  // No spread: an object made by one is slow (dictionary mode), and this runs at every call.
  const call = Object.assign(callOf(state), place);
  const { maxReadBytes } = place.root;
  return maxReadBytes === undefined ? call : Object.assign(call, { limits: { ...call.limits, maxReadBytes } });
}

/** Added to an operation's own time limit: time for its last slow step and for its answer. */
const GRACE_MS = 5000;

/** Milliseconds that an operation may take beyond the limit for all. */
export function extraTimeOf(operation: AnyOperation, { given, parts: { limits } }: CallState): number {
  const patienceMs = (operation.patienceMs?.(given, limits) ?? -GRACE_MS) + GRACE_MS;
  return Math.max(0, patienceMs - limits.timeoutMs) + (operation.waitsMs?.(given) ?? 0);
}

export const byName = (roots: readonly OpenRoot[]): ReadonlyMap<string, OpenRoot> =>
  new Map(roots.map((root) => [root.name, root]));

/** The input as an object; an absent input is empty. @throws INVALID_INPUT */
export function parseInput(input: unknown): Record<string, unknown> {
  const given = input ?? {};
  if (typeof given !== "object") throw invalidInput("'input' must be a JSON object", "", "object");
  return given as Record<string, unknown>;
}

/** Validates an input. @param visible the roots that the caller may use @throws INVALID_INPUT */
export function checkInput(
  { name, given, parts: { validator } }: CallState,
  schema: JsonObject,
  visible: () => readonly Pick<OpenRoot, "name">[],
): Awaitable<void> {
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

export const namesOf = (roots: readonly Pick<OpenRoot, "name">[]): string[] => roots.map(({ name }) => name);

/** The refusal of a call without a root names those that the caller may use. @returns any other error as it is */
export function addVisibleRoots(error: unknown, visible: () => readonly Pick<OpenRoot, "name">[]): unknown {
  const isRootMissing =
    error instanceof FileAdapterError &&
    error.data["pointer"] === "/root" &&
    error.message.startsWith("'root' is required");
  if (!isRootMissing) return error;
  return adapterError("INVALID_INPUT", `${error.message}. Configured: [${namesOf(visible()).join(", ")}]`, error.data);
}

/** Fields that make a change depend on what is there. */
const PRECONDITIONS = ["ifMatch", "ifMatchTo", "ifNoneMatch", "ifNoneMatchTo", "expectedSize"] as const;

/** Remark for a caller whose `null` precondition had no effect. */
export const NO_PRECONDITION = "no precondition was applied";

/** Whether a precondition was left out by `null`, by a program that may not have meant to. @param given before that */
export const hasNullPrecondition = (given: unknown): boolean =>
  PRECONDITIONS.some((name) => fieldsOf(given)[name] === null);

const COMMAND_CHARS = 200;

/** Part of an audit record about the call itself. */
type RecordedCall = Pick<CallState, "context" | "resource"> &
  Partial<Pick<CallState, "others" | "bytes" | "exit" | "approvedBy" | "chain">>;

export interface CallEnd {
  readonly operation: string;
  /** `OK` or an error code. */
  readonly outcome: string;
  readonly failure?: FileAdapterError | undefined;
  readonly ms: number;
  /** Milliseconds since the epoch. */
  readonly time: number;
}

/** The audit record of a call that has ended. */
export function recordOf(call: RecordedCall, end: CallEnd, scheme: Scheme): AuditRecord {
  const { operation, outcome, failure, ms, time } = end;
  const { context, resource, others = [], bytes = 0, exit, approvedBy, chain } = call;
  return {
    time,
    caller: context.callerDID ?? "operator",
    operation,
    tool: context.tool,
    resource: resource === undefined ? "" : printResource(resource, scheme),
    others: others.length === 0 ? undefined : others.map((other) => printResource(other, scheme)),
    outcome,
    bytes,
    ms: Math.round(ms * 1000) / 1000,
    job: context.jobId,
    via: viaOf(context),
    denied: deniedBy(failure),
    made: failure?.data["made"] === true ? true : undefined,
    command: commandOf(context),
    exitCode: exit?.exitCode,
    approvedBy,
    proofs: chain,
  };
}

function commandOf({ transfer }: SurfaceContext): AuditRecord["command"] {
  if (transfer === undefined || !("command" in transfer)) return undefined;
  const { argv, command = argv.join(" ") } = transfer.command.request;
  const sha256 = createHash("sha256").update(command).digest("hex");
  return { sha256, start: firstCharacters(command) };
}

/** Cuts at code points, so that no surrogate pair is split. */
const firstCharacters = (text: string): string =>
  [...text.slice(0, 2 * COMMAND_CHARS)].slice(0, COMMAND_CHARS).join("");
