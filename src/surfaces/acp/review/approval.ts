// Approval of writes and commands, with the "always" answers that stand for the rest of a session.

import { FileAdapterError } from "../../../core/errors/errors.js";
import type { Effect } from "../../../core/ports/effect.js";
import { rejectOnAbort } from "../../../core/turns.js";
import type { Overwritten } from "./modified.js";

export type ApprovalAnswer = "allow" | "reject" | "allow_always" | "reject_always";

/** A write that awaits approval. */
export interface WriteRequest {
  readonly kind: "write";
  readonly sessionId: string;
  /** As agents see it. */
  readonly path: string;
  /** `null`: the file does not exist, or its content is not shown and `overwrites` describes it. */
  readonly oldText: string | null;
  /** Present if the existing content is not shown: it is not text, is too large, or may not be read by the caller. */
  readonly overwrites?: Overwritten;
  readonly newText: string;
  /** Unified diff. */
  readonly diff: string;
  readonly signal: AbortSignal;
}

/** A command that awaits approval. */
export interface CommandRequest {
  readonly kind: "terminal";
  readonly sessionId: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Working directory, as agents see it. */
  readonly path: string;
  readonly signal: AbortSignal;
}

/** A change by a tool that awaits approval. */
export interface ChangeRequest {
  readonly kind: "change";
  readonly sessionId: string;
  /** `file:move`. */
  readonly operation: string;
  /** What is changed, or the target; as agents see it. */
  readonly path: string;
  /** By root and path in it. */
  readonly effects: readonly Effect[];
  /** Number of further effects. */
  readonly more?: number;
  /** Unified diff of texts, possibly cut. */
  readonly diff?: string;
  readonly signal: AbortSignal;
}

export type ApprovalRequest = WriteRequest | CommandRequest | ChangeRequest;
/** Kinds for which "always" answers stand. Changes by tools are writes. */
type Kind = "write" | "terminal";

/** Decides about one request. The request's `signal` aborts when the answer is no longer needed. */
export type Approve = (request: ApprovalRequest) => ApprovalAnswer | Promise<ApprovalAnswer>;

/** The user or a rule of the host rejected the request. */
export class Rejected extends Error {
  override readonly name = "Rejected";
}

/** "Always" answers, kept for a session by kind and root. */
export class StandingAnswers {
  readonly #answers = new Map<string, "allow" | "reject">();

  /** @returns `undefined` without an "always" answer */
  of(kind: Kind, root: string): "allow" | "reject" | undefined {
    return this.#answers.get(`${kind} ${root}`);
  }

  keep(kind: Kind, root: string, answer: "allow" | "reject"): void {
    this.#answers.set(`${kind} ${root}`, answer);
  }
}

interface Asking {
  readonly approve: Approve | undefined;
  readonly standing: StandingAnswers;
  readonly root: string;
}

/**
 * Resolves if the request is approved.
 * @param describe builds the request; called only if the approval hook is asked
 * @returns whether the hook was asked about this very request
 * @throws Rejected; ABORTED if the request is cancelled meanwhile; any error of the hook
 */
export async function requireApproval(
  kind: Kind,
  { approve, standing, root }: Asking,
  describe: () => ApprovalRequest,
): Promise<boolean> {
  if (approve === undefined) return false;
  const known = standing.of(kind, root);
  if (known === "allow") return false;
  if (known === "reject") throw new Rejected();
  const answer = await ask(approve, describe());
  if (answer === "allow_always") standing.keep(kind, root, "allow");
  else if (answer === "reject_always") standing.keep(kind, root, "reject");
  if (!isYes(answer)) throw new Rejected();
  return true;
}

const ask = (approve: Approve, request: ApprovalRequest): Promise<ApprovalAnswer> =>
  rejectOnAbort(Promise.resolve(approve(request)), request.signal);

const isYes = (answer: ApprovalAnswer): boolean => answer === "allow" || answer === "allow_always";

/** Asks about one change, whatever was answered "always". @throws as {@link requireApproval} */
export async function requireThisApproval(approve: Approve, request: ApprovalRequest): Promise<void> {
  if (!isYes(await ask(approve, request))) throw new Rejected();
}

/**
 * Runs what is approved. A root that asks about every single change (`approve` of its configuration) takes no "always"
 * for an answer: the hook is asked about this one.
 *
 * @param describe builds the request; called only if the approval hook is asked
 * @param run `isAllowed`: the hook has allowed exactly this
 * @throws as {@link requireApproval}, and as `run`
 */
export async function runApproved<T>(
  kind: Kind,
  asking: Asking,
  describe: () => ApprovalRequest,
  run: (isAllowed: boolean) => Promise<T>,
): Promise<T> {
  const { approve } = asking;
  const wasAsked = await requireApproval(kind, asking, describe);
  try {
    return await run(wasAsked);
  } catch (error) {
    const isAskedFor = error instanceof FileAdapterError && error.code === "APPROVAL_REQUIRED";
    if (!isAskedFor || wasAsked || approve === undefined) throw error;
  }
  await requireThisApproval(approve, describe());
  return run(true);
}
