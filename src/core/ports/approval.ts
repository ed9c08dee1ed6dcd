// Port of approvals: the request that a call makes to a person, and the use of the decision.

import type { Awaitable } from "../io.js";
import type { SurfaceContext } from "./adapter.js";
import type { ApprovedAction, Effect, EffectPart } from "./effect.js";

/** Changes in a root that need approval. */
export interface ApprovalRules {
  readonly for: readonly (ApprovedAction | "all")[];
  /** Only what goes beyond one of these. Absent: everything. */
  readonly over?: { readonly entries?: number; readonly bytes?: number };
  /** How long a request waits, and how long an approval can be used. */
  readonly minutes: number;
  /** Whether the user of the client that calls may decide. Absent: where the client started this process. */
  readonly elicit?: boolean;
  /** Name of the root that a person is asked about, or `drive`: the drive by its canonical reference. Default: the root that has these rules. */
  readonly askedAs?: { readonly root: string } | "drive";
}

/** Effects of a call, computed before anything is changed. */
export interface ApprovalRequest {
  /** Dispatch name. */
  readonly operation: string;
  /** SHA-256 of operation and input. */
  readonly digest: string;
  readonly context: SurfaceContext;
  /** All effects: the person that decides needs the ability on each. The first twenty are shown. */
  readonly effects: readonly Effect[];
  /** How many of the effects, from the first on, were allowed for this call before. Default: none. */
  readonly allowed?: number | undefined;
  /** By root, each for its `before` alone. A call that more than one root asks about needs one approval with a part for each. */
  readonly parts: readonly EffectPart[];
  readonly diff?: string | undefined;
  /** Owner of the drives that are asked about. Absent: there are none. */
  readonly driveOwner?: string | undefined;
  readonly minutes: number;
}

/** `uncovered`: it was given before another root asked about the same call. */
export type ApprovalFault = "denied" | "expired" | "used" | "other_input" | "changed" | "pending" | "uncovered";

/** A call that brings an approval, at one root. */
export type ApprovalUse = Pick<ApprovalRequest, "digest" | "context"> & { readonly part: EffectPart };

/** Recorded as the decider, where the user of a client decided. */
export const BY_CLIENT = "client";

/** Keeps requests until a person has decided. */
export interface ApprovalDesk {
  /** Only users of clients can decide, since the venue does not listen. */
  readonly isForClients: boolean;
  /** @returns `undefined`: too many wait */
  ask(request: ApprovalRequest): { readonly id: string; readonly expires: number } | undefined;
  /**
   * Uses an approval for a part of its request.
   *
   * @param goesOn the same call has used it for another root; otherwise it is used once
   * @returns why not
   */
  use(id: string, call: ApprovalUse, goesOn: boolean): ApprovalFault | undefined;
  /**
   * Runs a call that may use or ask for an approval, where other instances have them too: the one that it brings is
   * fetched before and is nobody else's meanwhile, the one that it asks for is written before its answer.
   */
  around?<Result>(id: string | undefined, context: SurfaceContext, run: () => Awaitable<Result>): Promise<Result>;
  /** The person that decided about an approval: a DID, or {@link BY_CLIENT}. */
  decidedBy(id: string): string | undefined;
  /** A question for the user of the client that made the call. @returns its token */
  question(id: string): string | undefined;
}
