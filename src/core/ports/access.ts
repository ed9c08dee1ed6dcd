// Port of one call as its backend sees it: authorisation checks, policies, and the report of changes.

import type { Ability } from "../call/capability.js";
import type { PathRules } from "../call/path.js";
import type { CallScope } from "../call/scope.js";
import type { Place } from "../errors/texts.js";
import type { ChangeOrigin, EntryChange } from "./changes/change.js";
import type { NotUndoable } from "./changes/journal.js";

/** Context of the call a backend serves, and the authorisation checks it must make before acting. */
export interface Access {
  /** The requested place, for error messages. */
  readonly place: Place;
  /** The action, for error messages: `write`. */
  readonly verb: string;
  readonly scope: CallScope;
  /** The caller: state kept from one call to the next serves the same caller only. Absent: none is kept. */
  readonly caller?: string | undefined;
  /**
   * Authorises the real path of the request. A backend calls it once, after resolving links and before any effect.
   * @param crossedLink `false`: it differs from the request at most in the spelling of names, where those fold
   * @throws CAPABILITY_DENIED
   */
  real(segments: readonly string[], crossedLink?: boolean): void;
  /** The path that {@link real} was last asked for. Absent: the requested one. */
  readonly realPath?: readonly string[];
  /** From now on {@link real} takes no other path, and throws CONFLICT; `undefined`: any. */
  pin?(real: readonly string[] | undefined): void;
  /** Authorises one directory that `parents` is about to create. @throws CAPABILITY_DENIED */
  create(requested: readonly string[], real: readonly string[]): void;
  /** Deny patterns of the root; absent: none. {@link real} and {@link create} check it too. */
  readonly policy?: PlacePolicy | undefined;
  /** Protect patterns of the root, checked likewise; absent: none, or the call changes nothing. */
  readonly protection?: PlacePolicy | undefined;
  /** Present where deny patterns could be got around by another spelling. */
  readonly spellings?: SpellingRules | undefined;
  /** Additional path rules of the calling facade; absent: none. */
  readonly rules?: PathRules | undefined;
  /** Whether the caller also holds another ability, on both the requested and the real path. Never throws. */
  holds(ability: Ability): boolean;
  /** Authorises another ability, on both the requested and the real path. @throws CAPABILITY_DENIED */
  require(ability: Ability): void;
  /** Whether the caller may give up what is kept of an entry, so that new content has room. Absent: it may not. */
  mayGiveUp?(path: readonly string[]): boolean;
  /** Any symbolic link in a path is SYMLINK_ESCAPE. Absent: links that stay inside the root are followed. */
  readonly links?: "refuse" | undefined;
  /** The call, for records of its changes. Absent: nobody keeps any. */
  readonly origin?: ChangeOrigin | undefined;
  /**
   * Tells of a change. A backend calls it exactly once for each committed change, after the commit; a call that changes
   * nothing reports nothing. Never throws. Absent: nobody listens.
   */
  readonly changed?: ((change: EntryChange) => void) | undefined;
  /** Notes that what a change has replaced is not kept, though the root keeps what it can. Absent: nobody is told. */
  lost?(reason: NotUndoable): void;
  /**
   * Tells of what failed behind a commit. The change is made, so the call does not fail for it: its answer has this sentence, and so
   * has its error where a later step fails. Absent: nobody is told.
   */
  behind?(fault: string): void;
  /** Makes all changes that this call reports from now on members of one group. Absent: nobody listens. */
  beginGroup?(): void;
}

/** Paths that a deny pattern matches only where names that differ in case are one. */
export interface SpellingRules {
  /** Whether that is so for a path, requested or real; asked while it is resolved. */
  isDoubtful(segments: readonly string[]): boolean;
  /** Judges the path again, once its directory is known to fold. @throws DENIED_BY_POLICY */
  require(segments: readonly string[]): void;
}

/** Deny or protect patterns of a root below one requested place, applied to both the requested and the real path. */
export interface PlacePolicy {
  /** Whether an entry is denied, given that its directory is not. @param below from the place to the directory */
  denies(below: readonly string[], name: string): boolean;
  /** Whether an entry that is allowed would be denied in a directory that folds case. Absent: never. */
  isDoubtful?(below: readonly string[], name: string): boolean;
  /**
   * Depths below the place, from 1, of the directories above a denied entry that must not be renamed, so that it stays
   * denied. Absent: all of them.
   */
  anchors?(below: readonly string[], name: string): readonly number[];
}
