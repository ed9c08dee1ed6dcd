import { aborted } from "../../../core/errors/texts.js";
import type { Overwritten } from "./changes.js";

export type ApprovalAnswer = "allow" | "reject" | "allow_always" | "reject_always";

/** A change that waits for its approval. */
export interface WriteRequest {
  readonly kind: "write";
  readonly sessionId: string;
  /** As agents see it. */
  readonly path: string;
  /** `null`: there is no such file, or `overwrites` says what there is in place of a text. */
  readonly oldText: string | null;
  /** There is a file, but no text that could be shown: it is none, is too large, or may not be read. */
  readonly overwrites?: Overwritten;
  readonly newText: string;
  /** Unified. */
  readonly diff: string;
  readonly signal: AbortSignal;
}

/** A command that waits for its approval. */
export interface CommandRequest {
  readonly kind: "terminal";
  readonly sessionId: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** As agents see it. */
  readonly path: string;
  readonly signal: AbortSignal;
}

export type ApprovalRequest = WriteRequest | CommandRequest;

/** Says whether something may be done. `signal` says that nobody waits for it any more. */
export type Approve = (request: ApprovalRequest) => ApprovalAnswer | Promise<ApprovalAnswer>;

/** The user, or a rule of the host, said no. */
export class Rejected extends Error {
  override readonly name = "Rejected";
}

/** Answers that hold for a whole session, by kind and root. */
export class StandingAnswers {
  readonly #answers = new Map<string, "allow" | "reject">();

  /** @returns `undefined`: nobody said "always" */
  of(kind: ApprovalRequest["kind"], root: string): "allow" | "reject" | undefined {
    return this.#answers.get(`${kind} ${root}`);
  }

  keep(kind: ApprovalRequest["kind"], root: string, answer: "allow" | "reject"): void {
    this.#answers.set(`${kind} ${root}`, answer);
  }
}

export interface Asking {
  readonly approve: Approve | undefined;
  readonly standing: StandingAnswers;
  readonly root: string;
}

/**
 * Returns once it is allowed. @throws Rejected; ABORTED when the request is cancelled meanwhile; what the hook throws
 * @param describe called only where somebody is asked
 */
export async function requireApproval(
  kind: ApprovalRequest["kind"],
  { approve, standing, root }: Asking,
  describe: () => ApprovalRequest,
): Promise<void> {
  if (approve === undefined) return;
  const known = standing.of(kind, root);
  if (known === "allow") return;
  if (known === "reject") throw new Rejected();
  const request = describe();
  const answer = await unlessAborted(Promise.resolve(approve(request)), request.signal);
  if (answer === "allow_always") standing.keep(kind, root, "allow");
  else if (answer === "reject_always") standing.keep(kind, root, "reject");
  if (answer !== "allow" && answer !== "allow_always") throw new Rejected();
}

/** @throws ABORTED, as soon as the signal says so, whatever `work` does */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const stop = () => reject(aborted());
    if (signal.aborted) {
      work.catch(() => {});
      stop();
      return;
    }
    signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}
