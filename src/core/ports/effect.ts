// The effects of a call, as a person is shown them before it runs.

import type { Sha256 } from "../etag.js";

/** Kinds of effect that a root can ask about. `overwrite`: any replacing or shortening of content but by edit. */
const APPROVED_ACTIONS = ["delete", "overwrite", "edit", "move", "create", "exec"] as const;
export type ApprovedAction = (typeof APPROVED_ACTIONS)[number];

/** An entry before or after an effect. */
export interface EffectState {
  readonly type: "file" | "directory" | "link";
  readonly etag?: string | undefined;
  /** Whole hash of a file, which an approval is bound to. */
  readonly sha256?: Sha256 | undefined;
  /** Bytes; of a directory, of all files below. */
  readonly size?: number | undefined;
  /** Entries below a directory. */
  readonly entries?: number | undefined;
  /** The first of them, below the directory; that of a directory ends with a slash. */
  readonly names?: readonly string[] | undefined;
}

/** One thing that a call would do. */
export interface Effect {
  readonly root: string;
  readonly path: string;
  /** Where links lead to from `path`, if elsewhere. */
  readonly real?: string | undefined;
  readonly action: ApprovedAction;
  /** Target of a move. */
  readonly to?: string | undefined;
  /** Where links lead to from `to`, if elsewhere. */
  readonly toReal?: string | undefined;
  /** First characters of the command. */
  readonly command?: string | undefined;
  /** Absent: nothing is there. */
  readonly before?: EffectState | undefined;
  /** Absent: nothing will be there, or it is not known yet. */
  readonly after?: EffectState | undefined;
}

/** All paths that an effect concerns: the person that decides needs the ability on each. */
export const pathsOf = ({ path, real = path, to = path, toReal = to }: Effect): readonly (readonly string[])[] =>
  [...new Set([path, real, to, toReal])].map((one) => one.split("/").filter((name) => name !== ""));

/** An effect as shown without the right to read: neither etag and size, which tell the content, nor targets of links. */
export const withoutContent = ({ before, after, real: _, toReal: __, ...effect }: Effect): Effect => ({
  ...effect,
  before: before && { type: before.type },
  after: after && { type: after.type },
});

/** Most names of a directory that are shown. */
export const SHOWN_NAMES = 20;

/** Most effects of a request that are shown. */
const SHOWN_EFFECTS = 20;

/** The shown effects of a request, and the number of further ones. */
export function shownPart(effects: readonly Effect[]): { readonly effects: readonly Effect[]; readonly more?: number } {
  const more = effects.length - SHOWN_EFFECTS;
  return more > 0 ? { effects: effects.slice(0, SHOWN_EFFECTS), more } : { effects };
}

/** The user of a client, who may be asked about the call that waits and no other. */
export interface ClientApproval {
  /** The client started this process, so its user is asked unless a root says otherwise. */
  readonly isLocal: boolean;
  /** The user has seen and allowed exactly what this call does. */
  readonly hasAllowed?: true;
  /** Asks the user. Absent: the user cannot be asked now. */
  ask?(question: ClientQuestion): void;
  /** Present where this process asks the user itself, and makes the call again with what was allowed. */
  readonly review?: ClientReview;
}

/** Effects that the user of a client in this process has allowed one call. */
export interface ClientReview {
  /** Whether every change in a root is asked about, without a rule of the root too. */
  asksIn(root: string): boolean;
  /** Whether the user has allowed exactly this, from what is there now. */
  allows(part: EffectPart): boolean;
  ask(proposal: Proposal): void;
}

/** Effects on one root, as texts to compare: what is there, and what it becomes. */
export interface EffectPart {
  readonly root: string;
  readonly before: string;
  readonly after: string;
}

/** Effect a call is about to have. Nothing has been changed. */
export interface Proposal {
  readonly parts: readonly EffectPart[];
  readonly effects: readonly Effect[];
  readonly diff?: string | undefined;
}

/** Question to the user of a client. */
export interface ClientQuestion {
  /** Names the question in the answer: valid once, for the caller that was asked. */
  readonly token: string;
  /** Dispatch name. */
  readonly operation: string;
  readonly effects: readonly Effect[];
  /** Number of further effects. */
  readonly more?: number | undefined;
  readonly diff?: string | undefined;
}
