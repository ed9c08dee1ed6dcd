// The gate of one call on roots that ask a person: looks at what the call is about to do, and lets it pass or asks.

import { hash } from "node:crypto";
import { approvalDenied, approvalRequired } from "../../core/errors/approval-texts.js";
import { FileAdapterError } from "../../core/errors/errors.js";
import { invalidInput } from "../../core/errors/texts.js";
import type { SurfaceContext } from "../../core/ports/adapter.js";
import type { ApprovalDesk, ApprovalRequest, ApprovalRules, Effect } from "../../core/ports/approval.js";
import { stringifyExact } from "../../schema/exact-json.js";

const MOST_EFFECTS = 20;
const MOST_APPROVALS = 2;

/** What is about to happen at one commit of a call. */
export interface Intent {
  readonly effects: readonly Effect[];
  /** What is there now beyond what the effects say: counts of a tree. */
  readonly state?: string;
  /** Made only if somebody is asked. */
  diff?(): string | undefined;
}

export interface GateOptions {
  /** Dispatch name. */
  readonly name: string;
  readonly given: Readonly<Record<string, unknown>>;
  readonly context: SurfaceContext;
  /** Absent: nobody can be asked. */
  readonly desk: ApprovalDesk | undefined;
  /** The approval that the call brings. */
  readonly approval: string | undefined;
}

/** One call at the gate. Once an approval is used, all may happen that the same input makes it do in these roots. */
export class ApprovalGate {
  readonly #options: GateOptions;
  readonly #approved = new Set<string>();

  constructor(options: GateOptions) {
    this.#options = options;
  }

  get isApproved(): boolean {
    return this.#approved.size > 0;
  }

  /** @throws APPROVAL_REQUIRED, APPROVAL_DENIED; nothing has been changed then */
  pass(rules: ApprovalRules, intent: Intent): void {
    if (intent.effects.every(({ root }) => this.#approved.has(root)) || !isCovered(rules, intent.effects)) return;
    const { desk, approval } = this.#options;
    if (approval === undefined) throw this.#ask(rules, intent);
    const request = this.#request(rules, intent);
    // Two roots that both ask need an approval each: "<id>,<id>".
    const faults = approval
      .split(",", MOST_APPROVALS)
      .map((id) => (desk === undefined ? "expired" : desk.use(id, request)));
    if (!faults.includes(undefined)) {
      const [fault = "expired"] = faults;
      throw this.isApproved || fault === "pending" ? this.#ask(rules, intent) : approvalDenied(approval, fault);
    }
    for (const { root } of intent.effects) this.#approved.add(root);
  }

  /** The error of a change that no longer found what was approved. */
  explain(error: unknown): unknown {
    const { approval } = this.#options;
    const isConflict = error instanceof FileAdapterError && error.code === "CONFLICT";
    return isConflict && this.isApproved && approval !== undefined ? approvalDenied(approval, "changed") : error;
  }

  #ask(rules: ApprovalRules, intent: Intent): FileAdapterError {
    const { desk } = this.#options;
    const diff = intent.diff?.();
    const request = { ...this.#request(rules, intent), ...(diff === undefined ? {} : { diff }) };
    const { effects } = request;
    const told = { effects, ...(diff === undefined ? {} : { diff }) };
    if (desk === undefined) return approvalRequired({ ...told, hint: NOBODY });
    const asked = desk.ask(request);
    return approvalRequired(asked === undefined ? { ...told, hint: TOO_MANY } : { ...told, asked });
  }

  #request({ minutes }: ApprovalRules, { effects, state = "" }: Intent): ApprovalRequest {
    const { name: operation, context } = this.#options;
    const before = JSON.stringify([state, effects.map(({ root, path, before: one }) => [root, path, one])]);
    const after = JSON.stringify(effects.map(({ action, to, after: one }) => [action, to, one]));
    return {
      ...{ operation, digest: this.#digest(), context, before, after, minutes },
      effects: effects.slice(0, MOST_EFFECTS),
    };
  }

  #digest(): string {
    const { operationId: _, ...input } = this.#options.given;
    const fields = Object.entries(input).sort(([one], [other]) => (one < other ? -1 : 1));
    return hash("sha256", stringifyExact([this.#options.name, fields]));
  }
}

const NOBODY = "Nobody can be asked here: run 'venue-files serve', and connect by its URL";
const TOO_MANY = "Too many requests wait for a person already. Try again later";

/** Takes the field `approval` out of the input of a change. @throws INVALID_INPUT */
export function splitApproval(
  given: Record<string, unknown>,
  changes: boolean,
): { readonly given: Record<string, unknown>; readonly approval: string | undefined } {
  if (!changes || !("approval" in given)) return { given, approval: undefined };
  const { approval, ...rest } = given;
  if (approval === undefined || approval === null) return { given: rest, approval: undefined };
  if (typeof approval === "string") return { given: rest, approval };
  throw invalidInput("'approval' must be a string", "/approval", "id of an approval");
}

/** Whether a root asks about something like this. */
function isCovered({ for: actions, over }: ApprovalRules, effects: readonly Effect[]): boolean {
  const covered = effects.filter(({ action }) => actions.includes("all") || actions.includes(action));
  if (covered.length === 0) return false;
  if (over === undefined) return true;
  const sum = (amount: (effect: Effect) => number) => covered.reduce((total, effect) => total + amount(effect), 0);
  const entries = sum(({ before }) => 1 + (before?.entries ?? 0));
  const bytes = sum(({ before, after }) => before?.size ?? after?.size ?? 0);
  return entries > (over.entries ?? Number.POSITIVE_INFINITY) || bytes > (over.bytes ?? Number.POSITIVE_INFINITY);
}
