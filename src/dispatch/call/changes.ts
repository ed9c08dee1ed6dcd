// Reports the changes of one call: adds their origin (caller, credential, operation), and passes them to the sinks.

import { randomBytes } from "node:crypto";
import type { CallScope } from "../../core/call/scope.js";
import { newGroupId } from "../../core/entry-id.js";
import { adapterError, FileAdapterError } from "../../core/errors/errors.js";
import { MADE, UNFLUSHED } from "../../core/errors/undo-texts.js";
import type { SurfaceContext } from "../../core/ports/adapter.js";
import type { ChangeOrigin, ChangeRecord, ChangeSink, EntryChange } from "../../core/ports/changes/change.js";
import type { NotUndoable } from "../../core/ports/changes/journal.js";
import type { RootFacts } from "../../core/ports/operation.js";
import { fieldsOf, isObject } from "../../core/unknown.js";
import { tokenId } from "../../ucan/token/id.js";
import type { DispatchOptions } from "../options.js";

/** Names this process where neither a credential nor a session does. */
const PROCESS_ID = `p${randomBytes(8).toString("hex")}`;
/** Operations that callers know by another name. */
const KNOWN_AS: Readonly<Record<string, string>> = { upload: "write" };

export interface ReportParts {
  readonly op: string;
  readonly scheme: ChangeOrigin["scheme"];
  readonly context: SurfaceContext;
  readonly sinks: readonly ChangeSink[];
  readonly actorOf: (context: SurfaceContext) => string;
  readonly nowMs: () => number;
  /** Told of a sink that throws against its contract: the change has been made, so the call goes on. */
  readonly onFault: (error: unknown) => FileAdapterError;
}

/** The changes of one call, which may be in several roots. */
export class CallChanges {
  readonly #parts: ReportParts;
  #group: string | undefined;
  #lost: NotUndoable | undefined;
  readonly #behind = new Set<string>();
  readonly #origins = new Map<string, ChangeOrigin>();

  constructor(parts: ReportParts) {
    this.#parts = parts;
    this.#group = parts.context.changeGroup;
  }

  /** All later changes of the call are members of one group. */
  beginGroup(): void {
    if (this.#group !== undefined) return;
    this.#group = newGroupId(this.#parts.nowMs());
    this.#origins.clear();
  }

  /** Whom the records name as the maker of the changes. */
  get maker(): Pick<ChangeOrigin, "actor" | "via"> {
    const { context, actorOf } = this.#parts;
    return { actor: actorOf(context), via: viaOf(context) };
  }

  originIn({ name: root, drive, owner }: Pick<RootFacts, "name" | "drive" | "owner">): ChangeOrigin {
    let origin = this.#origins.get(root);
    if (origin === undefined) {
      const { op, scheme, context, actorOf } = this.#parts;
      // Written out: several spread objects in one literal take ten times as long.
      origin = {
        root,
        scheme,
        op: KNOWN_AS[op] ?? op,
        actor: actorOf(context),
        via: viaOf(context),
        surface: surfaceOf(context),
      };
      if (drive !== undefined && owner !== undefined) origin = { ...origin, driveOwner: owner };
      if (this.#group !== undefined) origin = { ...origin, group: this.#group };
      this.#origins.set(root, origin);
    }
    return origin;
  }

  /** No sink listens, so changes need not be reported. */
  get isUnheard(): boolean {
    return this.#parts.sinks.length === 0;
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
  tellMade(error: unknown, { isMade }: Pick<CallScope, "isMade">): unknown {
    // A lost flush of a change that was not made is that of a parent folder, or of a copy that was taken back.
    const behind = [...this.#behind].filter((fault) => isMade || fault !== UNFLUSHED);
    if (!isMade && behind.length === 0) return error;
    const { code, message, data } = error instanceof FileAdapterError ? error : this.#parts.onFault(error);
    const hints = [data["hint"], ...behind, ...(isMade ? [MADE] : [])].filter((one) => one !== undefined);
    return adapterError(code, message, { ...data, ...(isMade ? { made: true } : {}), hint: hints.join(". ") });
  }

  report(origin: ChangeOrigin, change: EntryChange): void {
    const record: ChangeRecord = Object.assign({}, origin, change, { time: this.#parts.nowMs() });
    for (const sink of this.#parts.sinks) {
      try {
        sink(record);
      } catch (error) {
        this.#parts.onFault(error);
      }
    }
  }
}

interface ReportOptions extends Pick<ReportParts, "scheme" | "onFault"> {
  /** Not copied: that took a tenth of a small call. */
  readonly options: Pick<DispatchOptions, "actorOf" | "changeSinks" | "clock">;
}

/** The changes of a call that begins. */
export function changesOf(
  { name: op }: { readonly name: string },
  context: SurfaceContext,
  { options, scheme, onFault }: ReportOptions,
): CallChanges {
  const { actorOf = operatorUnlessNamed, changeSinks: sinks = [], clock } = options;
  return new CallChanges({ op, scheme, context, sinks, actorOf, nowMs: () => clock.nowMs(), onFault });
}

const operatorUnlessNamed = ({ callerDID }: SurfaceContext): string => callerDID ?? "operator";

/** Tools of profiles are named `<profile>:<tool>`. */
const surfaceOf = ({ tool, surface = "library" }: SurfaceContext): string => tool?.split(":", 1)[0] ?? surface;

/** The id of the credential, else of the session, else of the process. Static tokens have no id that may be told. */
export function viaOf({ credential, identityTokens: [top] = [], session }: SurfaceContext): string {
  if (credential !== undefined && "id" in credential) return credential.id;
  if (top !== undefined) return tokenId(top.slice(0, Math.max(0, top.lastIndexOf("."))));
  return session ?? PROCESS_ID;
}

/** Fields that make a change depend on what is there. */
const PRECONDITIONS = ["ifMatch", "ifMatchTo", "ifNoneMatch", "ifNoneMatchTo", "expectedSize"] as const;

/** Remark for a caller whose `null` precondition had no effect. */
export const NO_PRECONDITION = "no precondition was applied";

/** Whether a precondition was left out by `null`, by a program that may not have meant to. @param given before that */
export const hasNullPrecondition = (given: unknown): boolean =>
  PRECONDITIONS.some((name) => fieldsOf(given)[name] === null);

/** The output of an operation with a remark beside what it says. */
export function addRemark(output: unknown, remark: string): unknown {
  if (!isObject(output)) return output;
  const { hint } = output;
  return { ...output, hint: typeof hint === "string" ? `${hint}. ${remark}` : remark };
}
