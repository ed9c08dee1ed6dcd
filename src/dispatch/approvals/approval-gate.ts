// The gate of one call on roots that ask a person: looks at what the call is about to do, and lets it pass or asks.

import { hash } from "node:crypto";
import { approvalDenied, approvalRequired } from "../../core/errors/approval-texts.js";
import type { FileAdapterError } from "../../core/errors/errors.js";
import { notSupportedHere } from "../../core/errors/texts.js";
import type { Access, StandingEntry } from "../../core/ports/access.js";
import type { SurfaceContext } from "../../core/ports/adapter.js";
import { type ApprovalDesk, type ApprovalRequest, type ApprovalRules, BY_CLIENT } from "../../core/ports/approval.js";
import {
  type ClientApproval,
  type Effect,
  type EffectPart,
  shownPart,
  withoutContent,
} from "../../core/ports/effect.js";
import { stringifyExact } from "../../schema/exact-json.js";
import type { CountedSource } from "./counted-source.js";
import { joinDiffs } from "./difference.js";

/** Effects of one commit of a call. */
export interface Intent {
  readonly effects: readonly Effect[];
  /** Hash of a tree, which an approval is bound to besides the effects. */
  readonly state?: string;
  readonly diff?: string | undefined;
  /** By requested path: whether an entry there is the one that was looked at. */
  readonly seen?: Map<string, (now: StandingEntry) => boolean>;
}

/** The call at the gate. */
interface GatedCall {
  /** Dispatch name. */
  readonly name: string;
  readonly given: Readonly<Record<string, unknown>>;
  readonly context: SurfaceContext;
  /** `approvals` absent: nobody can be asked. */
  readonly parts: { readonly approvals?: ApprovalDesk | undefined };
  /** The approval that the call brings. */
  readonly approval: string | undefined;
  /** Takes who allowed the call, for its record. */
  approvedBy: string | undefined;
}

/** Effects that an approval allowed a call in one root. */
interface Allowed {
  readonly effects: readonly Effect[];
  readonly part: EffectPart;
  readonly diff: string | undefined;
}

/** A root that asks, as the caller sees it. */
export interface AskingRoot {
  /** `undefined`: the operator. */
  readonly owner: string | undefined;
  readonly isDrive: boolean;
  /** Whether the caller may allow an effect itself. */
  mayApprove(effect: Effect): boolean;
  /** Whether the caller may read what it changes. */
  mayRead(effect: Effect): boolean;
}

/** A question about to be asked for one root. */
interface Question {
  readonly rules: ApprovalRules;
  readonly intent: Intent;
}

/**
 * One call at the gate. Two roots of one owner are asked about together. A used approval allows everything that the same
 * input makes the call do in these roots. If another root asks after that, the new approval covers both questions, so
 * that one approval is enough for the call.
 */
export class ApprovalGate {
  readonly #call: GatedCall;
  /** By root. */
  readonly #allowed = new Map<string, Allowed>();
  /** Sources of copies, by the access to their targets. */
  readonly counted = new Map<Access, CountedSource>();
  /** Roots that ask about this call. */
  readonly #roots = new Map<string, AskingRoot>();
  #held: Question | undefined;
  #hasUsed = false;
  /** Owner of the drives that ask. */
  #driveOwner: string | undefined;

  constructor(call: GatedCall) {
    this.#call = call;
  }

  /** Whether a question waits for what the call does in another root. */
  get holds(): boolean {
    return this.#held !== undefined;
  }

  /** A root that asks takes part in the call. @throws NOT_SUPPORTED for drives of several owners: no one of them decides for all */
  join(name: string, root: AskingRoot): void {
    if (root.isDrive) this.#driveOwner ??= root.owner;
    if (root.isDrive && root.owner !== this.#driveOwner) throw notSupportedHere(DRIVES_OF_TWO);
    this.#roots.set(name, root);
  }

  /**
   * Uses an approval of exactly this, where one is needed.
   * @returns whether somebody has allowed what the call does in this root
   * @throws APPROVAL_REQUIRED, APPROVAL_DENIED; nothing has been changed then
   */
  pass(rules: ApprovalRules, intent: Intent): boolean {
    const question = { rules, intent };
    const needsAsking = this.#needsAsking(question);
    const held = this.#held;
    if (held !== undefined && partOf(held.intent).root !== partOf(intent).root) {
      this.#held = undefined;
      throw this.#ask(needsAsking ? [held, question] : [held]);
    }
    if (needsAsking) throw this.#ask([question]);
    return this.#allowed.has(partOf(intent).root);
  }

  /**
   * As {@link pass}, for what a call reads in one root in order to change another one, and changes after that. Where the
   * other one asks too, there is one question, once it is known what is to happen there.
   */
  passOrHold(rules: ApprovalRules, intent: Intent): boolean {
    const question = { rules, intent };
    const { root } = partOf(intent);
    if (!this.#needsAsking(question)) return this.#allowed.has(root);
    const own = this.#roots.get(root)?.owner;
    const isJoint = [...this.#roots].some(([other, { owner }]) => other !== root && owner === own);
    if (!isJoint) throw this.#ask([question]);
    this.#held = question;
    return false;
  }

  /** Whether a person decides about this, or has decided by what the approval of the call says. */
  concerns(question: Question): boolean {
    const { allowedRoot } = this.#call.context;
    const isAllowed = (root: string): boolean => this.#allowed.has(root) || root === allowedRoot;
    if (question.intent.effects.every(({ root }) => isAllowed(root))) return false;
    return this.asksIn(partOf(question.intent).root) || this.#isCovered(question);
  }

  /** Whether the client asks about every change in a root. */
  asksIn(root: string): boolean {
    return this.#call.context.client?.review?.asksIn(root) === true;
  }

  /** Uses what has been allowed. @throws APPROVAL_DENIED */
  #needsAsking(question: Question): boolean {
    const { intent } = question;
    const { approval, context, parts } = this.#call;
    const { approvals: desk } = parts;
    if (!this.concerns(question)) return false;
    const client = this.#clientOf(question);
    if (client?.hasAllowed === true || client?.review?.allows(partOf(intent)) === true) {
      this.#approve(intent, BY_CLIENT);
      return false;
    }
    if (approval === undefined) return true;
    const call = { digest: this.#digest(), context, part: partOf(intent) };
    const fault = desk === undefined ? "expired" : desk.use(approval, call, this.#hasUsed);
    if (fault === undefined) {
      this.#hasUsed = true;
      this.#approve(intent, desk?.decidedBy(approval) ?? "");
      return false;
    }
    if (fault === "pending" || fault === "uncovered") return true;
    // The tool of a profile may make several calls, and each of them asks.
    if (context.tool !== undefined && (fault === "other_input" || fault === "used")) return true;
    throw approvalDenied(approval, fault);
  }

  /** As {@link pass}, for a command that may change what is there. @returns whether somebody has allowed it */
  passRun(rules: ApprovalRules, place: Pick<Effect, "root" | "path" | "real">): boolean {
    const command = commandIn(this.#call.context)?.slice(0, MAX_COMMAND_CHARS);
    return this.pass(rules, { effects: [{ ...place, action: "exec", command }] });
  }

  /** As {@link pass}, for the removal of what was kept of these paths. */
  passPurge(rules: ApprovalRules, root: string, paths: readonly string[]): void {
    this.pass(rules, { effects: paths.map((path) => ({ root, path, action: "delete" })) });
  }

  /** The error of a change whose place no longer is as it was approved, or looked at. @param conflict where nothing was approved */
  changed(conflict: FileAdapterError): FileAdapterError {
    const { approval } = this.#call;
    return approval === undefined ? conflict : approvalDenied(approval, "changed");
  }

  /** Whether a root asks about something like this. */
  #isCovered({ rules: { for: actions, over }, intent }: Question): boolean {
    const isNamed = ({ action }: Effect): boolean => actions.includes("all") || actions.includes(action);
    const covered = intent.effects.filter((one) => isNamed(one) && !this.#roots.get(one.root)?.mayApprove(one));
    if (covered.length === 0) return false;
    if (over === undefined) return true;
    const amounts = covered.map(amountOf);
    const isOver = (unit: "entries" | "bytes"): boolean =>
      amounts.reduce((sum, amount) => sum + amount[unit], 0) > (over[unit] ?? Number.POSITIVE_INFINITY);
    return isOver("entries") || isOver("bytes");
  }

  #approve(intent: Intent, by: string): void {
    const part = partOf(intent);
    this.#allowed.set(part.root, { effects: intent.effects, part, diff: intent.diff });
    this.#call.approvedBy = by;
  }

  /** The client whose user may decide here, by the operator's word in each of the roots. */
  #clientOfAll(questions: readonly Question[]): ClientApproval | undefined {
    return questions.map((question) => this.#clientOf(question)).reduce((one, other) => one && other);
  }

  #clientOf(question: Question): ClientApproval | undefined {
    const { client } = this.#call.context;
    // Beyond the rules of the root it is the client that asks.
    const isBeyond = this.asksIn(partOf(question.intent).root) && !this.#isCovered(question);
    return isBeyond || (question.rules.elicit ?? client?.isLocal) === true ? client : undefined;
  }

  #ask(questions: readonly Question[]): FileAdapterError {
    const { approvals: desk } = this.#call.parts;
    const client = this.#clientOfAll(questions);
    const request = this.#request(questions);
    const { diff } = request;
    const mayRead = (one: Effect): boolean => this.#roots.get(one.root)?.mayRead(one) === true;
    const effects = request.effects.map((one) => (mayRead(one) ? one : withoutContent(one)));
    const details = { effects, diff };
    client?.review?.ask({ ...details, parts: request.parts });
    if (client?.review !== undefined) return approvalRequired(details);
    const isNobody = desk === undefined || (desk.isForClients && client?.ask === undefined);
    if (isNobody) return approvalRequired({ ...details, hint: NOBODY });
    const pending = desk.ask(request);
    if (pending === undefined) return approvalRequired({ ...details, hint: TOO_MANY });
    const token = client?.ask === undefined ? undefined : desk.question(pending.id);
    if (token !== undefined) {
      client?.ask?.({ ...details, token, operation: request.operation, ...shownPart(effects) });
    }
    return approvalRequired(desk.isForClients ? { ...details, hint: NOBODY } : { ...details, pending });
  }

  /** The request: all effects that an approval allowed this call before, and those that it is about to have. */
  #request(questions: readonly Question[]): ApprovalRequest {
    const intents = questions.map(({ intent }) => intent);
    const minutes = Math.min(...questions.map(({ rules }) => rules.minutes));
    const { name: operation, context } = this.#call;
    const earlier = [...this.#allowed.values()];
    const before = earlier.flatMap(({ effects }) => effects);
    const diff = joinDiffs([...earlier, ...intents].map(({ diff }) => diff));
    return {
      ...{ operation, digest: this.#digest(), context, minutes, diff, driveOwner: this.#driveOwner },
      parts: [...earlier.map(({ part }) => part), ...intents.map(partOf)],
      effects: [...before, ...intents.flatMap(({ effects }) => effects)],
      allowed: before.length === 0 ? undefined : before.length,
    };
  }

  #digest(): string {
    const { operationId: _, ...input } = this.#call.given;
    const { name, context } = this.#call;
    const fields = Object.entries(input).sort(([one], [other]) => (one < other ? -1 : 1));
    const command = commandIn(context);
    return hash("sha256", stringifyExact([name, fields, ...(command === undefined ? [] : [command])]));
  }
}

/** The part of an approval for one intent. All effects of an intent are in one root. */
export function partOf({ effects, state = "" }: Intent): EffectPart {
  return {
    root: effects[0]?.root ?? "",
    before: JSON.stringify([state, effects.map(({ path, real, toReal, before }) => [path, real, toReal, before])]),
    after: JSON.stringify(effects.map(({ action, to, after }) => [action, to, after])),
  };
}

/** The amount that an effect concerns: the larger of the state before and the state after. An unknown amount is infinite. */
function amountOf({ action, before, after }: Effect): { readonly entries: number; readonly bytes: number } {
  const unknown = Number.POSITIVE_INFINITY;
  const isKnown = action === "delete" || action === "move" ? before : after;
  if (isKnown === undefined) return { entries: unknown, bytes: unknown };
  const states = [before, after].filter((state) => state !== undefined);
  const sizes = states.map(
    ({ type, size, entries }) => size ?? (type === "file" || entries !== undefined ? unknown : 0),
  );
  return { entries: 1 + Math.max(...states.map(({ entries = 0 }) => entries)), bytes: Math.max(...sizes) };
}

/** Longest part of a command that is shown. */
const MAX_COMMAND_CHARS = 1000;

/** The command of a call that runs one: what is typed, or its arguments. */
function commandIn({ transfer }: SurfaceContext): string | undefined {
  if (transfer === undefined || !("command" in transfer)) return undefined;
  const { argv, command = JSON.stringify(argv), cwd } = transfer.command.request;
  return cwd === "" ? command : `${command} (in ${cwd})`;
}

const NOBODY = "Nobody can be asked here: run 'venue-files serve', and connect by its URL";
const DRIVES_OF_TWO = "changes in drives of two owners by one call, where a person is asked. Copy, then remove";
const TOO_MANY = "Too many requests wait for a person already. Try again later";
