// Messages of calls that wait for a person.

import type { ApprovalFault } from "../ports/approval.js";
import { type Effect, shownPart } from "../ports/effect.js";
import { adapterError, type FileAdapterError } from "./errors.js";
import { pathText } from "./texts.js";

export interface RequiredApproval {
  readonly effects: readonly Effect[];
  /** Absent: no person can be asked here. */
  readonly pending?: { readonly id: string; readonly expires: number };
  /** Why no person can be asked. */
  readonly hint?: string | undefined;
  readonly diff?: string | undefined;
}

/** Names the root only beside effects in another root than the given one. */
const shownIn =
  (root: string | undefined) =>
  ({ root: own, ...effect }: Effect) =>
    own === root ? effect : { root: own, ...effect };

/** The call changed nothing: a person has to allow it first. */
export function approvalRequired({ effects, pending, hint, diff }: RequiredApproval): FileAdapterError {
  const [first] = effects;
  const what = first === undefined ? "this" : `${first.action} "${pathText(first.path)}" in root '${first.root}'`;
  const more = effects.length > 1 ? ` and ${effects.length - 1} more` : "";
  const shown = shownPart(effects);
  const next = pending === undefined ? `. ${hint ?? "Nobody can be asked"}` : `. ${nextText(pending.id)}`;
  return adapterError("APPROVAL_REQUIRED", `A person has to allow this: ${what}${more}${next}`, {
    ...(first === undefined ? {} : { root: first.root }),
    ...(pending === undefined ? {} : { approvalId: pending.id, expires: pending.expires }),
    effect: shown.effects.map(shownIn(first?.root)),
    ...(shown.more === undefined ? {} : { more: shown.more }),
    ...(diff === undefined ? {} : { diff }),
    ...(hint === undefined ? {} : { hint }),
  });
}

/** Why a call that brings an approval is refused; with the others it is asked about anew. */
type DenialReason = Exclude<ApprovalFault, "pending" | "uncovered">;

const REASONS: Readonly<Record<DenialReason, string>> = {
  denied: "it was denied. Do not ask again without a reason",
  expired: "it has expired, or there is none with this id. Make the call without 'approval' to ask again",
  used: "it was used already. Make the call without 'approval' to ask again",
  other_input: "it was given for another operation, input or caller",
  changed: "what is there has changed since. Look again, then make the call without 'approval' to ask again",
};

export const approvalDenied = (approvalId: string, reason: DenialReason): FileAdapterError =>
  adapterError("APPROVAL_DENIED", `The approval does not allow this: ${REASONS[reason]}`, { approvalId, reason });

/** Advice on a call that waits for a person, without the places it names; `undefined`: another error. */
export function approvalAdvice({ code, message, data }: FileAdapterError): string | undefined {
  if (code === "APPROVAL_DENIED") return message;
  if (code !== "APPROVAL_REQUIRED") return undefined;
  const { approvalId, hint } = data;
  return `A person has to allow this. ${typeof approvalId === "string" ? nextText(approvalId) : String(hint)}`;
}

const nextText = (id: string): string =>
  `Ask them to (venue-files approvals), then repeat the same call with approval: "${id}"`;

/** @param state of an approval that somebody decided, or that expired, before */
export const approvalDecided = (state: string): FileAdapterError =>
  adapterError("CONFLICT", `Cannot decide: this approval is not pending any more (${state})`, { state });
