// Port of one call as its backend sees it: authorisation checks, policies, and the report of changes.

import type { Ability } from "../call/capability.js";
import type { PathRules, RelPath } from "../call/path.js";
import type { CallScope } from "../call/scope.js";
import type { Place } from "../errors/texts.js";
import type { Awaitable } from "../io.js";
import type { ChangedKind, ChangeOrigin, EntryChange, EntryState } from "./changes/change.js";
import type { NotUndoable } from "./changes/journal.js";
import type { OpenFile, Stamp } from "./open-file.js";
import type { EntryType, WalkOptions } from "./walk.js";

/** A requested place in one backend. */
export interface At {
  readonly path: RelPath;
  readonly access: Access;
  /** A place that holds it, which a person is asked about as a whole. Absent: this one is asked about by itself. */
  readonly whole?: At;
}

/** A change that is about to be made: its content is staged, and the locks of its places are held. */
export interface PlannedChange {
  /** `before` is also `null` where it is unknown, since earlier changes of the group decide about the entry. */
  readonly change: EntryChange;
  readonly at: At;
  /** Where a move starts. */
  readonly from?: At | undefined;
  /** The entry comes back from content that the root kept, whose bytes are not known. */
  readonly isKept?: boolean;
  /** The new content, or the bytes added to a file; `undefined`: longer than `most` bytes. */
  content?(most: number): Awaitable<Buffer | undefined>;
}

/** Called with what stands at a place right before its change. @throws APPROVAL_DENIED, CONFLICT if it is not what was looked at */
export type Recheck = (at: At, now: StandingEntry | undefined) => void;

/** Stat of an entry. */
export type StandingEntry = { readonly version: string; readonly nlink: number; isDirectory(): boolean };

export interface FileStat {
  readonly type: EntryType;
  readonly size: number;
  readonly modified: number;
  /** This process has no write permission for the file. */
  readonly readOnly: boolean;
  /** The requested name itself is a symbolic link. */
  readonly symlink: boolean;
  /** Milliseconds since the epoch, if known. */
  readonly created?: number;
  readonly stamp?: Stamp;
}

/** State of an entry now; comparable with those that changes report. */
export type CurrentState = EntryState & { readonly kind: ChangedKind };

/** The part of a backend by which somebody looks at what is in a place. */
export interface Looks {
  /** Visits entries below a directory, depth first, sorted, not through links. @throws NOT_FOUND, NOT_A_DIRECTORY */
  walk(path: RelPath, options: WalkOptions, access: Access): Awaitable<void>;
  /** `undefined` if nothing exists there. @throws SYMLINK_ESCAPE, DANGLING_SYMLINK */
  stat(path: RelPath, access: Access): Awaitable<FileStat | undefined>;
  /** State of the entry itself, never of a link's target; `undefined`: no entry. Absent: changes here cannot be undone. */
  state?(path: RelPath, access: Access): Awaitable<CurrentState | undefined>;
  /** Calls {@link Access.real} before it discloses anything. @throws NOT_FOUND, IS_A_DIRECTORY, NOT_A_FILE */
  open(path: RelPath, access: Access): Awaitable<OpenFile>;
}

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
  /**
   * Asks whether changes may be made. A backend calls it right before the commit, once for all that is committed together, and changes
   * nothing if it throws. Absent: they may.
   * @param before the root as it is before them, where others may be about to change it. Absent: the backend
   * @returns present if somebody has allowed them
   * @throws APPROVAL_REQUIRED, APPROVAL_DENIED, CONFLICT
   */
  approve?: ((changes: readonly PlannedChange[], before?: Looks) => Awaitable<Recheck | undefined>) | undefined;
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
  /** Whether the caller may give up kept content of an entry to make room for new content. Absent: it may not. */
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
  /** Notes that the content a change replaced is not kept, though the root has a journal. Absent: not reported. */
  lost?(reason: NotUndoable): void;
  /**
   * Reports a fault behind a commit. The change is made, so the call does not fail: its answer contains this sentence, as
   * does its error where a later step fails. Absent: not reported.
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
