// Port of approvals: what a call asks a person for, and how an answer is used.

import type { SurfaceContext } from "./adapter.js";

/** Kinds of effect that a root can ask about. `overwrite` is any replacing or shortening of content. */
export const APPROVED_ACTIONS = ["delete", "overwrite", "edit", "move", "create", "exec"] as const;
export type ApprovedAction = (typeof APPROVED_ACTIONS)[number];

/** What of a root needs approval, and when. */
export interface ApprovalRules {
  readonly for: readonly (ApprovedAction | "all")[];
  /** Only what goes beyond one of these. Absent: everything. */
  readonly over?: { readonly entries?: number; readonly bytes?: number };
  /** How long a request waits, and how long an approval can be used. */
  readonly minutes: number;
}

/** As written in a configuration. `minutes`: default 10. */
export type ApprovalRulesInput = Omit<ApprovalRules, "minutes"> & Partial<Pick<ApprovalRules, "minutes">>;

/** An entry before or after an effect. */
export interface EffectState {
  readonly type: "file" | "directory" | "link";
  readonly etag?: string;
  /** Bytes; of a directory, of all files below. */
  readonly size?: number;
  /** Entries below a directory. */
  readonly entries?: number;
}

/** One thing that a call would do. */
export interface Effect {
  readonly root: string;
  readonly path: string;
  readonly action: ApprovedAction;
  /** Target of a move. */
  readonly to?: string;
  /** Absent: nothing is there. */
  readonly before?: EffectState;
  /** Absent: nothing will be there, or it is not known yet. */
  readonly after?: EffectState;
}

/** What a call would do, as it was looked at before anything was changed. */
export interface ApprovalRequest {
  /** Dispatch name. */
  readonly operation: string;
  /** SHA-256 of operation and input. */
  readonly digest: string;
  readonly context: SurfaceContext;
  /** The first 20. */
  readonly effects: readonly Effect[];
  /** What is there now, as one text: the approval holds only while it is so. */
  readonly before: string;
  /** What will be there, likewise. */
  readonly after: string;
  readonly diff?: string;
  readonly minutes: number;
}

export type ApprovalFault = "denied" | "expired" | "used" | "other_input" | "changed" | "pending";

/** Keeps requests until a person has decided. */
export interface ApprovalDesk {
  /** @returns `undefined`: too many wait */
  ask(request: ApprovalRequest): { readonly id: string; readonly expires: number } | undefined;
  /** Uses an approval, once. @returns why not */
  use(id: string, request: ApprovalRequest): ApprovalFault | undefined;
}
