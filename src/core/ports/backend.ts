// Port of a root's storage: what every kind of root must be able to do.

import type { RelPath } from "../call/path.js";
import type { Expected, Sha256 } from "../etag.js";
import type { Awaitable } from "../io.js";
import type { Access, At, Looks } from "./access.js";
import type { ChangedKind, EntryState } from "./changes/change.js";
import type { NotUndoable } from "./changes/journal.js";
import type { Observation, ObservedPlace, Observer } from "./changes/observer.js";
import type { Stamp } from "./open-file.js";
import type { MountedDirectory, MountOptions } from "./sandbox.js";
import type { SourceOptions, TreeSource } from "./tree-source.js";
import type { ListedPart, Listing } from "./walk.js";

export type * from "./access.js";
export type { SourceOptions } from "./tree-source.js";
export type {
  Entry,
  EntryType,
  ListedPart,
  Listing,
  Visit,
  WalkContent,
  WalkEntry,
  WalkOptions,
  WalkStep,
} from "./walk.js";

export type RootKind = "host" | "temp" | "dlfs" | "memory";

/** Bytes to read. A backend returns fewer only at the end of the file. */
export interface ReadRange {
  readonly offset: number;
  readonly length: number;
}

export interface ReadBytes {
  readonly bytes: Buffer;
  /** Size of the whole file in bytes. */
  readonly size: number;
  readonly stamp?: Stamp;
}

export interface ChangeOptions {
  /** Precondition on the content, checked under the lock that every writer of the target takes. @throws CONFLICT */
  readonly expected?: Expected | undefined;
}

export interface WriteOptions extends ChangeOptions {
  /** Create missing parent directories. */
  readonly parents: boolean;
  /** Time that a written file gets, in milliseconds since the epoch; drives ignore it. Absent: now. */
  readonly modified?: number | undefined;
  /** Return the stamp of the new content, so that it is known at once. Absent: no. */
  readonly stamps?: boolean;
}

export interface AppendOptions extends WriteOptions {
  /** Required size of the file in bytes; makes a repeated append idempotent. @throws CONFLICT */
  readonly expectedSize?: number | undefined;
  /** Bytes of the file once all of its parts are added; Infinity: unknown. Absent: this append is the only part. */
  readonly whole?: number | undefined;
}

export interface Written {
  /** Bytes written; 0 for an append that was already done. */
  readonly bytes: number;
  readonly created: boolean;
  /** Hash of the whole new content, if all of it was seen. */
  readonly sha256?: Sha256;
  /** Size of the whole file in bytes afterwards. */
  readonly size?: number;
  /** Where it was asked for, and names this content alone. */
  readonly stamp?: Stamp;
  /** The append was already done. */
  readonly isRepeated?: true;
}

export interface RemoveOptions extends ChangeOptions {
  readonly recursive: boolean;
  /** Keep nothing in the trash. @throws DENIED_BY_POLICY in a root that keeps everything */
  readonly permanent?: boolean | undefined;
  /** Keep nothing anywhere: the call takes back what it has made itself. */
  readonly discards?: boolean | undefined;
}

export interface Removed {
  readonly existed: boolean;
  /** Whether it lies in the trash; absent where the root has none. */
  readonly trashed?: boolean;
  /** Id of the journal entry, by which it can be brought back. */
  readonly id?: string;
  /** Why it is not in the trash. */
  readonly reason?: NotUndoable;
}

/** Options for putting an entry at a place. `expected` applies to what is there before. */
export interface PlaceOptions extends WriteOptions {
  /** A file replaces a file. A directory never replaces anything, and nothing replaces one. */
  readonly overwrite: boolean;
  /**
   * With `overwrite`: anything replaces anything, as a whole, if the caller also holds `crud/delete` there. The old
   * entry goes only when the new one is ready, and comes back when that fails. Absent: no.
   */
  readonly replaces?: boolean;
}

export interface MoveOptions extends PlaceOptions {
  /** Precondition on the source. @throws CONFLICT, and unless it is a file IS_A_DIRECTORY, NOT_A_FILE */
  readonly expectedFrom?: Expected | undefined;
}

export interface Moved {
  readonly overwritten: boolean;
  /** Hash of a moved file, where all of it was seen. */
  readonly sha256?: Sha256;
  /** Stamp of the file before the move. */
  readonly stamp?: Stamp;
}

export interface CopyOptions extends PlaceOptions {
  /** The source as it was requested, for the record of the change. */
  readonly from?: { readonly root: string; readonly path: readonly string[] };
  /** Entries below the top get the times of the source, where a backend has such times. Absent: no. */
  readonly keepsTimes?: boolean;
  /** Read the copy back and compare. @throws IO_ERROR */
  readonly verify?: boolean;
  /** Return the hash of a file, even if that takes another read. */
  readonly hash?: boolean;
  /** Called after reading, before the copy becomes visible; throws to prevent it. @param sha256 of a file, if known */
  readonly approve?: (sha256: Sha256 | undefined) => void;
}

export interface Copied {
  readonly overwritten: boolean;
  readonly files: number;
  readonly bytes: number;
  /** Hash of a copied file, where all of it was seen. */
  readonly sha256?: Sha256;
}

/** A file of a group; `modified`, and `mode` (permission bits), where they are restored; `newMode`: if nothing is there. */
export type GroupWriteOptions = WriteOptions & {
  /** Whether all that may read the file may run it. Absent: as before. Drives have no such bits. */
  readonly executable?: boolean | undefined;
} & {
  readonly [bits in "mode" | "newMode"]?: number | undefined;
};

/** Preconditions that must hold when a group is committed. @throws CONFLICT */
export interface Standing {
  /** The entry still has this version; see {@link EntryState}. */
  readonly version?: string | undefined;
}

type GroupRemoveOptions = ChangeOptions & Standing & { readonly recursive: boolean };

/** One change of a group. Each sees the effects of those before it, and fails as it would alone. */
export type GroupChange =
  | { readonly kind: "write"; readonly at: At; readonly body: Body; readonly options: GroupWriteOptions & Standing }
  /** Unlike {@link Backend.remove}, NOT_FOUND if nothing is there. */
  | { readonly kind: "remove"; readonly at: At; readonly options: GroupRemoveOptions }
  /** `version`: of the source. */
  | { readonly kind: "move"; readonly from: At; readonly to: At; readonly options: MoveOptions & Standing }
  | { readonly kind: "mkdir"; readonly at: At; readonly options: WriteOptions }
  /**
   * Gives an entry its place that is kept in the root's staging directory, or in the log of a drive. At the top of a
   * drive: gives all of it the content that it had before the entry, if it still is as that has left it.
   */
  | {
      readonly kind: "restore";
      readonly kept: readonly string[];
      /** The entry must still be of this kind. */
      readonly is?: ChangedKind;
      readonly at: At;
      readonly options: WriteOptions;
    };

export interface GroupEffect {
  /** Something was at the place before: replaced, removed, or a directory that `mkdir` found. */
  readonly existed: boolean;
  /** Hash of the content written. */
  readonly sha256?: Sha256;
}

/** `modified`: milliseconds since the epoch. */
export type TouchOptions = Pick<WriteOptions, "modified">;

/** New content, loaded only after all other checks have passed. */
export interface Body {
  /** @throws INVALID_INPUT, TOO_LARGE, ASSET_NOT_FOUND, ASSET_NO_CONTENT; the stream may throw them later as well */
  load(): Awaitable<Buffer | AsyncIterable<Uint8Array>>;
  /** Like `load`, but the buffer is lent: its owner uses it again once the operation has ended. */
  borrow?(): Awaitable<Buffer>;
  /** Bytes, if announced: kept content is not given up for a stream of unknown length. */
  readonly length?: number | undefined;
  /** The hash of what was lent, if its owner knows it. */
  hash?(): Sha256 | undefined;
  /** Bytes an append adds to a file that starts with these two; `undefined`: those of `load`. @throws NOT_TEXT */
  addedTo?(head: Buffer, size: number): Buffer | undefined;
}

/** The methods of a backend that read single entries. */
export type ReadBackend = Pick<Backend, "stat" | "read" | "open"> & Partial<Pick<Backend, "list" | "foldsCase">>;

/**
 * Storage of a root. The dispatcher has validated, normalised and authorised the request; a backend resolves the path,
 * calls {@link Access.real}, and acts. Every backend passes the suite in `src/backend-suite`.
 * Failures are `FileAdapterError`s that name the requested place.
 */
export interface Backend extends Looks {
  /** Names that differ in case or Unicode composition are one name. Turns true once a directory that folds is seen. */
  readonly foldsCase?: boolean;
  /** Sorted entries; `offset` and `limit` count names. @throws NOT_FOUND, NOT_A_DIRECTORY */
  list(path: RelPath, page: ListedPart, access: Access): Awaitable<Listing>;
  /**
   * Runs work that reads one state of the root, whatever changes meanwhile. Absent: every read sees the newest.
   * @param files of one call, which the work will read
   */
  onOneState?<T>(files: readonly At[], work: (state: ReadBackend) => Promise<T>): Promise<T>;
  /** Calls `plan` with the size, then reads the range it returns. @throws NOT_FOUND, IS_A_DIRECTORY, NOT_A_FILE */
  read(path: RelPath, plan: (size: number) => ReadRange, access: Access): Awaitable<ReadBytes>;
  /** Replaces the content atomically. @throws PARENT_MISSING, NOT_A_DIRECTORY, IS_A_DIRECTORY, NOT_A_FILE, CONFLICT */
  write(path: RelPath, body: Body, options: WriteOptions, access: Access): Awaitable<Written>;
  /** Appends, creating the file if needed. @throws as {@link write}, and HARD_LINKED */
  append(path: RelPath, body: Body, options: AppendOptions, access: Access): Awaitable<Written>;
  /** @throws PARENT_MISSING, NOT_A_DIRECTORY, EXISTS_NOT_DIRECTORY, CONFLICT */
  mkdir(path: RelPath, options: WriteOptions, access: Access): Awaitable<{ created: boolean }>;
  /** Removes the entry, never a link's target; a directory tree atomically. @throws NOT_EMPTY, ROOT_DELETE, CONFLICT */
  remove(path: RelPath, options: RemoveOptions, access: Access): Awaitable<Removed>;
  /**
   * Sets the time of an existing entry, following links; without a time it only authorises.
   * @throws NOT_FOUND, PERMISSION_DENIED; NOT_SUPPORTED for a time where times decide merges
   */
  touch(path: RelPath, options: TouchOptions, access: Access): Awaitable<void>;
  /**
   * Moves an entry (never a link's target) in one step within this backend, which also checks that the target is free.
   * @returns `undefined` if it cannot be done in one step: nothing has changed
   * @throws NOT_FOUND, ALREADY_EXISTS, CONFLICT, NOT_A_FILE, PARENT_MISSING, INVALID_INPUT for a directory into itself
   */
  move(from: At, to: At, options: MoveOptions): Awaitable<Moved | undefined>;
  /** Opens the source of a copy, which the caller closes. @throws NOT_FOUND, NOT_A_FILE */
  source(path: RelPath, options: SourceOptions, access: Access): Awaitable<TreeSource>;
  /** Puts a copy in place atomically; a failed one leaves nothing. @throws as {@link move}, DENIED_BY_POLICY */
  place(path: RelPath, source: TreeSource, options: CopyOptions, access: Access): Awaitable<Copied>;
  /**
   * Makes all changes, or none of them, also when the process or the machine dies meanwhile. Others may see the moment
   * between two of them on host roots, never on drives. Any number of changes.
   * @returns effects, in the order of the changes
   * @throws as the single change that fails; NOT_SUPPORTED if the root cannot stage changes
   */
  changeAll(changes: readonly GroupChange[]): Awaitable<readonly GroupEffect[]>;
  /** Refuses what {@link changeAll} would, and changes nothing; what depends on earlier changes may pass. Absent: all passes. */
  checkAll?(changes: readonly GroupChange[]): Awaitable<void>;
  /**
   * Opens a host directory for commands; a missing one appears empty. Absent: the backend has no host directories.
   * @throws NOT_A_DIRECTORY, DENIED_BY_POLICY if too many entries would have to be hidden, QUOTA_EXCEEDED
   */
  mount?(path: RelPath, options: MountOptions, access: Access): Promise<MountedDirectory>;
  /** Watches a place for changes by others. Absent: others make none, or they cannot be seen. */
  observe?(place: ObservedPlace, observer: Observer): Observation;
  close(): Awaitable<void>;
}
