// One call of a dispatcher, from its name to its audit record: what it was given, what it may do, and what it has done.

import { randomBytes } from "node:crypto";
import { Authoriser } from "../../authz/authorise.js";
import { capsOf } from "../../authz/caps-list.js";
import { driveOfKey } from "../../authz/drive-key.js";
import type { Scheme } from "../../authz/grant.js";
import type { KeptDirectories } from "../../backend/archive/kept.js";
import { CallScope, cancelledBy } from "../../core/call/scope.js";
import { newGroupId } from "../../core/entry-id.js";
import { adapterError, FileAdapterError } from "../../core/errors/errors.js";
import { invalidInput } from "../../core/errors/texts.js";
import { MADE, UNFLUSHED } from "../../core/errors/undo-texts.js";
import type { SurfaceContext } from "../../core/ports/adapter.js";
import type { ChangeOrigin, ChangeRecord, EntryChange } from "../../core/ports/changes/change.js";
import type { NotUndoable } from "../../core/ports/changes/journal.js";
import type { AnyOperation, Call, OpenRoot, PathCall, PlaceRequest, RootFacts } from "../../core/ports/operation.js";
import type { SandboxExit } from "../../core/ports/sandbox.js";
import { isObject } from "../../core/unknown.js";
import { tokenId } from "../../ucan/token/id.js";
import type { ChainLink } from "../../ucan/verify/proof.js";
import { ApprovalGate } from "../approvals/approval-gate.js";
import type { DispatchOptions } from "../options.js";

/** Names this process where neither a credential nor a session does. */
const PROCESS_ID = `p${randomBytes(8).toString("hex")}`;
/** Operations that callers know by another name. */
const KNOWN_AS: Readonly<Record<string, string>> = { upload: "write" };

/** State shared by all calls of a dispatcher. */
export interface DispatchParts extends Omit<DispatchOptions, "roots" | "versions">, Pick<Call, "versions" | "turns"> {
  readonly scheme: Scheme;
  /** Directories of archives that were looked into. */
  readonly archives: KeptDirectories;
  roots(): ReadonlyMap<string, OpenRoot>;
  /** Resolves and authorises a place of a call. */
  place(call: CallState, request: PlaceRequest): PathCall;
  /** Logs a fault of ours, or of a sink that breaks its contract. @returns what the caller is told */
  onFault(error: unknown): FileAdapterError;
}

/** A place of a call, and the checks made there. */
interface JudgedPlace {
  readonly request: PlaceRequest;
  readonly access: { readonly realPath: readonly string[] };
}

/** Made when a call arrives; its audit record is the last that reads it. */
export class CallState {
  readonly parts: DispatchParts;
  /** Dispatch name. */
  readonly name: string;
  context: SurfaceContext;
  readonly scope: CallScope;
  /** The input without `null`. */
  given: Readonly<Record<string, unknown>> = {};
  /** The approval that the call brings. */
  approval: string | undefined;
  /** Types of entries that were seen in the course of the call, by root and path. */
  readonly looks = new Map<string, string>();
  /** Collects the places of a call that may be repeated. */
  places: JudgedPlace[] | undefined;
  /** Root and path segments, as far as they could be parsed. */
  resource: readonly string[] | undefined;
  /** Resources of the other paths, where a call is on several. */
  others: (readonly string[])[] = [];
  bytes = 0;
  exit: SandboxExit | undefined;
  /** The person who approved the call, where the root asks for approval. */
  approvedBy: string | undefined;
  #operation: AnyOperation | undefined;
  #authoriser: Authoriser | undefined;
  #gate: ApprovalGate | undefined;
  #aside: CallState | undefined;
  #group: string | undefined;
  #lost: NotUndoable | undefined;
  readonly #behind = new Set<string>();
  readonly #origins = new Map<string, ChangeOrigin>();

  constructor(parts: DispatchParts, name: string, context: SurfaceContext, scope = scopeOf(parts, context)) {
    this.parts = parts;
    this.name = name;
    this.context = context;
    this.scope = scope;
    this.#group = context.changeGroup;
  }

  /** @throws INVALID_INPUT */
  begin(operation: AnyOperation, input: Record<string, unknown>): void {
    const { given, approval = this.context.approval } = splitApproval(input, operation.changes);
    this.#operation = operation;
    this.given = given;
    this.approval = approval;
  }

  get operation(): AnyOperation {
    if (this.#operation === undefined) throw new TypeError("A call begins once its operation is found");
    return this.#operation;
  }

  get authoriser(): Authoriser {
    this.#authoriser ??= authoriserOf(this.parts, this.name, this.context);
    return this.#authoriser;
  }

  /** Judges by the rights of now. */
  judgeAnew(): void {
    this.#authoriser = undefined;
  }

  /** The tokens that the rights of the call rested on. */
  get chain(): readonly ChainLink[] | undefined {
    return this.#authoriser?.chain;
  }

  /** Asks a person; made by the first root that asks. */
  get gate(): ApprovalGate {
    this.#gate ??= new ApprovalGate(this);
    return this.#gate;
  }

  /** The same call for looks: paths mean what they say, and its record tells neither of them nor of the token used. */
  get aside(): CallState {
    if (this.#aside === undefined) {
      this.#aside = new CallState(this.parts, this.name, { ...this.context, exactPaths: true }, this.scope);
      this.#aside.#operation = this.operation;
      this.#aside.#authoriser = this.authoriser.copy();
    }
    return this.#aside;
  }

  /** @throws what a call on that place alone would throw */
  at(request: PlaceRequest): PathCall {
    return this.parts.place(this, request);
  }

  /** Notes a place for the record: its root, and once that is known, the resource. */
  notePlace(root: string): (resource: readonly string[]) => void {
    const isFirst = this.resource === undefined;
    if (isFirst) this.resource = [root];
    return (resource) => {
      if (isFirst) this.resource = resource;
      else this.others.push(resource);
    };
  }

  /** The operation runs again from the start. */
  forgetPlaces(): void {
    this.resource = undefined;
    this.others = [];
    if (this.places !== undefined) this.places = [];
  }

  /** All later changes of the call are members of one group. */
  beginGroup(): void {
    if (this.#group !== undefined) return;
    this.#group = newGroupId(this.parts.clock.nowMs());
    this.#origins.clear();
  }

  /** Whom the records name as the maker of the changes. */
  get maker(): Pick<ChangeOrigin, "actor" | "via"> {
    const { context, parts } = this;
    return { actor: parts.actorOf?.(context) ?? context.callerDID ?? "operator", via: viaOf(context) };
  }

  originIn({ name, drive, owner }: Pick<RootFacts, "name" | "drive" | "owner">): ChangeOrigin {
    let origin = this.#origins.get(name);
    if (origin === undefined) {
      const { name: op } = this.operation;
      const named = driveOfKey(name);
      const { actor, via } = this.maker;
      // Written out: several spread objects in one literal take ten times as long.
      origin = {
        root: named?.drive ?? name,
        scheme: named === undefined ? this.parts.scheme : "dlfs",
        op: KNOWN_AS[op] ?? op,
        actor,
        via,
        surface: surfaceOf(this.context),
      };
      if (drive !== undefined && owner !== undefined) origin = { ...origin, driveOwner: owner };
      if (this.#group !== undefined) origin = { ...origin, group: this.#group };
      this.#origins.set(name, origin);
    }
    return origin;
  }

  /** No sink listens, so changes need not be reported. */
  get isUnheard(): boolean {
    return this.context.onChange === undefined && (this.parts.changeSinks?.length ?? 0) === 0;
  }

  /** The change has been made, so the call goes on if a sink throws against its contract. */
  report(origin: ChangeOrigin, change: EntryChange): void {
    const { changeSinks = [], clock, onFault } = this.parts;
    const record: ChangeRecord = Object.assign({}, origin, change, { time: clock.nowMs() });
    for (const sink of [...changeSinks, this.context.onChange]) {
      try {
        sink?.(record);
      } catch (error) {
        onFault(error);
      }
    }
  }

  /** Content that the call has replaced is not kept. */
  noteLost(reason: NotUndoable): void {
    this.#lost ??= reason;
  }

  /** Something failed behind a commit. */
  noteBehind(fault: string): void {
    this.#behind.add(fault);
  }

  /** The output of the call, with the noted remarks. A deletion itself tells that its content is not kept. */
  tell(output: unknown): unknown {
    const told = this.#behind.size === 0 ? output : addRemark(output, [...this.#behind].join(". "));
    if (this.#lost === undefined || !isObject(told) || "trashed" in told) return told;
    return { ...told, kept: false, reason: this.#lost };
  }

  /** The error of a call that has changed something before it failed says so: to repeat it may do that twice. */
  tellMade(error: unknown): unknown {
    const { isMade } = this.scope;
    // A lost flush of a change that was not made is that of a parent folder, or of a copy that was taken back.
    const behind = [...this.#behind].filter((fault) => isMade || fault !== UNFLUSHED);
    if (!isMade && behind.length === 0) return error;
    const { code, message, data } = error instanceof FileAdapterError ? error : this.parts.onFault(error);
    const hints = [data["hint"], ...behind, ...(isMade ? [MADE] : [])].filter((one) => one !== undefined);
    return adapterError(code, message, { ...data, ...(isMade ? { made: true } : {}), hint: hints.join(". ") });
  }
}

const scopeOf = ({ clock, limits }: DispatchParts, { cancellation, signal, report }: SurfaceContext): CallScope =>
  new CallScope({ clock, timeoutMs: limits.timeoutMs, cancellation: cancellation ?? cancelledBy(signal), report });

/** The rights of a caller as they are now. */
export const authoriserOf = (
  { authorityOf, capsReading, driveOwner, scheme }: RightsParts,
  operation: string,
  context: SurfaceContext,
): Authoriser =>
  new Authoriser({
    operation,
    caps: capsOf(context, () => capsReading?.(context)),
    authority: authorityOf(context),
    scheme,
    driveOwner: scheme === "dlfs" ? driveOwner?.(context) : undefined,
  });

type RightsParts = Pick<DispatchParts, "authorityOf" | "capsReading" | "driveOwner" | "scheme">;

/** Tools of profiles are named `<profile>:<tool>`. */
const surfaceOf = ({ tool, surface = "library" }: SurfaceContext): string => tool?.split(":", 1)[0] ?? surface;

/** The id of the credential, else of the session, else of the process. Static tokens have no id that may be told. */
export function viaOf({ credential, identityTokens: [top] = [], session }: SurfaceContext): string {
  if (credential !== undefined && "id" in credential) return credential.id;
  if (top !== undefined) return tokenId(top.slice(0, Math.max(0, top.lastIndexOf("."))));
  return session ?? PROCESS_ID;
}

/** The output of an operation with a remark beside what it says. */
export function addRemark(output: unknown, remark: string): unknown {
  if (!isObject(output)) return output;
  const { hint } = output;
  return { ...output, hint: typeof hint === "string" ? `${hint}. ${remark}` : remark };
}

/** Takes the field `approval` out of the input of a change. @throws INVALID_INPUT */
function splitApproval(
  given: Record<string, unknown>,
  changes: boolean,
): { readonly given: Record<string, unknown>; readonly approval: string | undefined } {
  if (!changes || !("approval" in given)) return { given, approval: undefined };
  const { approval, ...rest } = given;
  if (approval === undefined || approval === null) return { given: rest, approval: undefined };
  if (typeof approval === "string") return { given: rest, approval };
  throw invalidInput("'approval' must be a string", "/approval", "id of an approval");
}
