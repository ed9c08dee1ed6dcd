// The approvals of a venue: pending requests and their decisions, in memory.

import { randomBytes, randomInt } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../../core/clock.js";
import type { Awaitable } from "../../core/io.js";
import type { SurfaceContext } from "../../core/ports/adapter.js";
import {
  type ApprovalDesk,
  type ApprovalFault,
  type ApprovalRequest,
  type ApprovalUse,
  BY_CLIENT,
} from "../../core/ports/approval.js";
import type { EventSink } from "../../core/ports/changes/events.js";
import { shownPart, withoutContent } from "../../core/ports/effect.js";
import type { Access } from "../identity/access.js";
import type { CredentialChain } from "./credentials.js";
import { factsOf, type Question, type QuestionSeal } from "./question-seal.js";

const MAX_PENDING = 1_000;
const MAX_PER_CALLER = 100;
/** Most that are kept, decided ones included. */
const MAX_KEPT = 4_000;
const MINUTE_MS = 60_000;
/** How long the user of a client has for an answer. */
const QUESTION_MS = 5 * MINUTE_MS;
/** How long one that has ended is kept, for those who look at it. */
const KEPT_MS = 10 * MINUTE_MS;

export type ApprovalState = "pending" | "once" | "denied" | "expired" | "used";

/** One request, and what became of it. Times are milliseconds since the epoch. */
export interface Approval {
  readonly id: string;
  /** Without the context of the call, which holds its body. */
  readonly request: Omit<ApprovalRequest, "context">;
  /** Canonical DID of who made the call. */
  readonly caller: string;
  /** Owner of the drives that the call was on; where there are none, as `caller`, but for an access token its maker. */
  readonly driveOwner: string;
  readonly credentials: CredentialChain;
  /** The code that a person types at the operator's terminal. */
  readonly code: string;
  readonly created: number;
  expires: number;
  state: ApprovalState;
  /** DID of who decided. */
  by?: string;
  note?: string | undefined;
}

/** How the user of a client ended a question. `dismissed`: without a decision. */
export type ClientAnswer = "allowed" | "denied" | "dismissed";

export interface Decision {
  readonly allows: boolean;
  /** DID of who decides. */
  readonly by: string;
  readonly note?: string | undefined;
}

export interface ApprovalsOptions {
  readonly clock: Clock;
  readonly events?: EventSink | undefined;
  callerOf(context: SurfaceContext): string;
  driveOwnerOf(context: SurfaceContext): string;
  credentialsOf(context: SurfaceContext): CredentialChain;
  /** Whether a caller may see an approval: it asked for it, or holds the ability to decide. */
  maySee(approval: Approval, context: SurfaceContext): boolean;
  /** For questions to the users of clients. */
  readonly seal: QuestionSeal;
  /** Default: no. */
  readonly isForClients?: boolean;
}

/** The owner of the drives that a caller uses. */
export const driveOwnerOf = (
  { callerDID, access: token }: SurfaceContext,
  { canonicalDid, operator }: Pick<Access, "canonicalDid" | "operator">,
): string => {
  const did = token?.maker ?? callerDID;
  return did === undefined ? operator : canonicalDid(did);
};

export class Approvals implements ApprovalDesk {
  readonly #options: ApprovalsOptions;
  /** In the order in which they were asked for. */
  protected readonly kept = new Map<string, Approval>();
  readonly #waiting = new Map<string, Set<() => void>>();
  /** Questions that were answered, with their end: each is taken once. */
  readonly #answered = new Map<string, number>();

  constructor(options: ApprovalsOptions) {
    this.#options = options;
  }

  get isForClients(): boolean {
    return this.#options.isForClients === true;
  }

  ask(request: ApprovalRequest): { readonly id: string; readonly expires: number } | undefined {
    this.#sweep();
    const { clock, callerOf, driveOwnerOf: ownerOf, credentialsOf } = this.#options;
    const caller = callerOf(request.context);
    const credentials = credentialsOf(request.context);
    // A caller that UCANs narrow is not shown what was asked for without them.
    const isShown = (one: Approval): boolean =>
      request.context.narrowedTo === undefined || isDeepStrictEqual(one.credentials, credentials);
    const pending = [...this.kept.values()].filter(({ state }) => state === "pending");
    const same = pending.find((one) => one.caller === caller && isShown(one) && isSame(one.request, request));
    // A model that calls again and again asks once.
    if (same !== undefined) return { id: same.id, expires: same.expires };
    if (pending.length >= MAX_PENDING || this.kept.size >= MAX_KEPT) return undefined;
    if (pending.filter((one) => one.caller === caller).length >= MAX_PER_CALLER) return undefined;
    const created = clock.nowMs();
    const { context: _, ...kept } = request;
    const approval: Approval = {
      ...{ id: randomBytes(16).toString("hex"), request: kept, caller, created, state: "pending" },
      driveOwner: request.driveOwner ?? ownerOf(request.context),
      credentials,
      code: String(randomInt(10_000)).padStart(4, "0"),
      expires: created + request.minutes * MINUTE_MS,
    };
    this.kept.set(approval.id, approval);
    this.#tell(approval);
    return { id: approval.id, expires: approval.expires };
  }

  use(id: string, { digest, context, part }: ApprovalUse, goesOn: boolean): ApprovalFault | undefined {
    const approval = this.find(id);
    if (approval === undefined) return "expired";
    const { request } = approval;
    const isSameCall = approval.caller === this.#options.callerOf(context) && request.digest === digest;
    // A caller with the id of another's approval learns nothing about its outcome.
    if (!isSameCall) return "other_input";
    if (approval.state === "once" && !this.isAtHand(id)) return "used";
    if (approval.state !== "once" && !(goesOn && approval.state === "used")) return approval.state;
    const given = request.parts.find(({ root }) => root === part.root);
    if (given === undefined) return "uncovered";
    if (given.before !== part.before) return "changed";
    if (given.after !== part.after) return "other_input";
    if (!goesOn) this.#setState(approval, "used");
    return undefined;
  }

  decidedBy(id: string): string | undefined {
    return this.kept.get(id)?.by;
  }

  question(id: string): string | undefined {
    const approval = this.find(id);
    if (approval?.state !== "pending") return undefined;
    const { clock, seal } = this.#options;
    return seal.seal({ id, until: clock.nowMs() + QUESTION_MS, facts: factsIn(approval) });
  }

  /**
   * Takes the answer to a question from the caller that was asked, once.
   * @returns the approval to repeat the call with; `undefined`: there is no such question, or no decision
   */
  answer(token: string, answer: ClientAnswer, context: SurfaceContext): Awaitable<string | undefined> {
    const question = this.#answered.has(token) ? undefined : this.asked(token, context);
    if (question === undefined) return undefined;
    const now = this.#options.clock.nowMs();
    for (const [old, until] of this.#answered) if (until <= now) this.#answered.delete(old);
    this.#answered.set(token, question.until);
    if (answer === "dismissed") return undefined;
    void this.decide(question.id, { allows: answer === "allowed", by: BY_CLIENT });
    return question.id;
  }

  /** The question that a caller was asked and that still waits. */
  protected asked(token: string, context: SurfaceContext): Question | undefined {
    const { clock, seal, callerOf } = this.#options;
    const question = seal.open(token);
    if (question === undefined || question.until <= clock.nowMs()) return undefined;
    const pending = this.find(question.id);
    const isAbout = pending?.caller === callerOf(context) && factsIn(pending).equals(question.facts);
    return isAbout && pending.state === "pending" ? question : undefined;
  }

  /** A kept approval, with its state as of now. */
  find(id: string): Approval | undefined {
    const approval = this.kept.get(id);
    const isOpen = approval?.state === "pending" || approval?.state === "once";
    if (approval !== undefined && isOpen && approval.expires <= this.#options.clock.nowMs()) {
      this.#setState(approval, "expired");
    }
    return approval;
  }

  /** The newest first. */
  list(): readonly Approval[] {
    this.#sweep();
    return [...this.kept.keys()].reverse().flatMap((id) => this.find(id) ?? []);
  }

  /** Takes in what others did. */
  refresh(): Awaitable<void> {}

  /** @returns `false`: somebody has decided, or it has expired */
  decide(id: string, decision: Decision): Awaitable<boolean> {
    const decided = this.decided(id, decision);
    if (decided !== undefined) this.take(decided);
    return decided !== undefined;
  }

  /** An approval that waits, as it is with a decision. */
  protected decided(id: string, { allows, by, note }: Decision): Approval | undefined {
    const approval = this.find(id);
    if (approval?.state !== "pending") return undefined;
    const expires = this.#options.clock.nowMs() + approval.request.minutes * MINUTE_MS;
    return { ...approval, by, note, expires, state: allows ? "once" : "denied" };
  }

  /** Takes an approval as it is now. */
  protected take(now: Approval): void {
    const known = this.kept.get(now.id);
    const isOther = known?.state !== now.state;
    const approval = known === undefined ? now : Object.assign(known, now);
    this.kept.set(now.id, approval);
    if (isOther) this.#setState(approval, now.state);
  }

  /** Whether one that was allowed can be used here. */
  protected isAtHand(_id: string): boolean {
    return true;
  }

  /** Resolves when it is no longer pending, after `ms`, or when `signal` aborts. */
  async wait(id: string, ms: number, signal: AbortSignal | undefined): Promise<void> {
    const approval = this.find(id);
    if (approval?.state !== "pending" || signal?.aborted === true) return;
    const listeners = this.#waiting.get(id) ?? new Set();
    this.#waiting.set(id, listeners);
    const left = Math.min(ms, approval.expires - this.#options.clock.nowMs());
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        listeners.delete(end);
        signal?.removeEventListener("abort", end);
        resolve();
      };
      const timer = setTimeout(end, left);
      listeners.add(end);
      signal?.addEventListener("abort", end, { once: true });
    });
    if (listeners.size === 0) this.#waiting.delete(id);
  }

  #setState(approval: Approval, state: ApprovalState): void {
    approval.state = state;
    for (const end of this.#waiting.get(approval.id) ?? []) end();
    this.#tell(approval);
  }

  #tell(approval: Approval): void {
    const { events, maySee } = this.#options;
    if (events?.wants("approval") !== true) return;
    const { id, state, request, caller, created, expires } = approval;
    const { operation, effects, allowed } = request;
    // One event for the asking caller and for those who decide.
    const { effects: effect, ...more } = shownPart(effects.slice(allowed).map(withoutContent));
    const data = { id, state, operation, caller, created, expires, effect, ...more };
    events.publish("approval", { data, audience: [caller], maySee: (context) => maySee(approval, context) });
  }

  #sweep(): void {
    const now = this.#options.clock.nowMs();
    for (const id of [...this.kept.keys()]) {
      const approval = this.find(id);
      const isOver = approval?.state !== "pending" && approval?.state !== "once";
      if (approval !== undefined && isOver && approval.expires + KEPT_MS <= now) this.kept.delete(id);
    }
  }
}

/** The facts that an answer is bound to, so that it holds for no other question. */
const factsIn = ({ caller, request: { operation, digest, parts } }: Approval): Buffer =>
  factsOf([caller, operation, digest, ...parts.map(({ root, before, after }) => [root, before, after])]);

/** Whether one that waits already is about the same call, and all that it is about to do now. */
const isSame = (one: Approval["request"], { digest, parts }: ApprovalRequest): boolean =>
  one.digest === digest && parts.every((part) => one.parts.some((known) => isDeepStrictEqual(known, part)));
