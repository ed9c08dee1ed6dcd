import type { Ability } from "../call/capability.js";
import type { RelPath } from "../call/path.js";
import type { PathRules } from "../call/path-rules.js";
import type { CallScope } from "../call/scope.js";
import type { Place } from "../errors/texts.js";
import type { Expected, Sha256 } from "../etag.js";
import type { Awaitable } from "../io.js";
import type { MountedDirectory, MountOptions } from "./mount.js";
import type { TreeSource } from "./tree-source.js";

export type RootKind = "host" | "temp" | "dlfs" | "memory";
export type EntryType = "file" | "directory" | "symlink" | "other";

/** What a backend knows of the call it serves, and whom it asks before it acts. */
export interface Access {
  /** The requested place, for errors. */
  readonly place: Place;
  /** What is being done, for errors: `write`. */
  readonly verb: string;
  readonly scope: CallScope;
  /**
   * Authorises the place the request really leads to. A backend calls it after resolving links and before any effect,
   * and again for nothing else. @throws CAPABILITY_DENIED
   */
  real(segments: readonly string[]): void;
  /** Authorises one directory that `parents` is about to create. @throws CAPABILITY_DENIED */
  create(requested: readonly string[], real: readonly string[]): void;
  /** What the root keeps everybody away from; absent: nothing. {@link real} and {@link create} ask it too. */
  readonly policy?: PlacePolicy | undefined;
  /** What the facade that calls asks of every path beside; absent: nothing. */
  readonly rules?: PathRules | undefined;
  /** Whether the caller holds another ability too, on the requested place and on the real one. Tells, and refuses nothing. */
  holds(ability: Ability): boolean;
  /** A link anywhere in a path is refused, as SYMLINK_ESCAPE. Absent: those that stay inside are followed. */
  readonly links?: "refuse" | undefined;
}

/** The deny patterns of a root, as they hold below one requested place, on the path there and on the real one. */
export interface PlacePolicy {
  /** Whether an entry is denied, of a directory that is not. @param below from the place to that directory */
  denies(below: readonly string[], name: string): boolean;
  /**
   * Depths below the place, from 1, of the directories above a denied entry that must keep their names so that it stays
   * denied. Absent: all of them.
   */
  anchors?(below: readonly string[], name: string): readonly number[];
}

/** One entry of a directory, described from the entry itself: links are never followed. */
export interface Entry {
  /** The exact name; bytes that are not UTF-8 are shown as `\xhh`. */
  readonly name: string;
  readonly type: EntryType;
  /** Bytes; 0 for anything but a file. */
  readonly size: number;
  /** Milliseconds since the epoch. */
  readonly modified: number;
  /** The path grammar refuses the name, so no operation can reach the entry. */
  readonly unreachable?: true;
}

export interface Listing {
  readonly entries: readonly Entry[];
  /** Number of names in the directory, without those that are denied. */
  readonly total: number;
  /** Number of names that were left out because the policy denies them, if there are any. */
  readonly denied?: number;
}

/** An entry met by a walk; the optional fields only when sizes were asked for. */
export interface WalkEntry {
  readonly name: string;
  readonly type: EntryType;
  /** Bytes; 0 for anything but a file. */
  readonly size: number | undefined;
  /** 1 for children of the start directory. */
  readonly depth: number;
  /** Milliseconds since the epoch; told of files only. */
  readonly modified?: number;
  /** Of a file with several names: the same under each of them. */
  readonly identity?: string;
  /** The path grammar refuses the name, so no operation can reach the entry. */
  readonly unreachable?: true;
}

/** `read`: the content of a file is wanted, by {@link WalkOptions.content}. */
export type WalkStep = "enter" | "skip" | "stop" | "read";
/** The walk waits for it. */
export type Visit = (entry: WalkEntry) => Awaitable<WalkStep>;

/** The bytes of a file that a walk has met, or why there are none. They are the walk's own: look at them before answering. */
export type WalkContent = Buffer | "too large" | "unreadable";

export interface WalkOptions {
  readonly visit: Visit;
  /** Tell size, time and identity of files. */
  readonly sizes: boolean;
  /** Called in place of `visit` for what the policy denies, and for all below that. Default: it is left out. */
  readonly visitDenied?: Visit;
  /** Files of these names are read before the entries of their directory are visited. */
  readonly rules?: {
    readonly names: readonly string[];
    readonly maxBytes: number;
    /** @param depth of the directory, 0 for the start @param contents as `names`; `undefined`: no regular file has it */
    found(depth: number, contents: readonly (WalkContent | undefined)[]): void;
  };
  /** What is made of files that the visit wants read. The walk waits for it. */
  readonly content?: {
    readonly maxBytes: number;
    take(entry: WalkEntry, content: WalkContent): Awaitable<"on" | "stop">;
  };
  /** Told of each directory that could not be entered or listed, the start among them never. */
  readonly unreadable?: () => void;
  /**
   * Told when something was passed by that may be there to be seen another time: descriptors had run out, or a directory
   * was moved while the walk was below it. What is passed by is told to {@link unreadable} or `content` too.
   */
  readonly exhausted?: () => void;
}

export interface FileStat {
  readonly type: EntryType;
  readonly size: number;
  readonly modified: number;
  /** The process may not write the file. */
  readonly readOnly: boolean;
  /** The requested name itself is a link. */
  readonly symlink: boolean;
  /** Milliseconds since the epoch, where it is known. */
  readonly created?: number;
  readonly stamp?: Stamp;
}

/**
 * Names the content of a file within its root: as long as it is the same, so is the content. Left out where that cannot
 * be told, as of a host file that changed less than 2 s ago.
 */
export type Stamp = string;

/** Bytes to fetch. A backend returns fewer only at the end of the file. */
export interface ReadRange {
  readonly offset: number;
  readonly length: number;
}

export interface ReadBytes {
  readonly bytes: Buffer;
  /** Size of the whole file in bytes. */
  readonly size: number;
  readonly stamp?: Stamp;
  /** Lets the backend read into `bytes` again. Whoever calls it must have copied what they need, and not look again. */
  release?(): void;
}

/** A regular file held open: one file, whatever happens to its name meanwhile. Whoever opens it closes it. */
export interface OpenFile {
  /** Bytes, when it was opened. */
  readonly size: number;
  /** Milliseconds since the epoch. */
  readonly modified: number;
  readonly stamp?: Stamp;
  /** Of this process: the system may copy from it. */
  readonly descriptor?: number;
  /** Fewer bytes than `length` only at the end. They are the caller's own. @throws ABORTED, TIMEOUT, IO_ERROR */
  read(offset: number, length: number): Awaitable<Buffer>;
  /** More than once is harmless. */
  close(): void;
}

/** A change, and what it is meant to find. */
export interface ChangeOptions {
  /** Decided on content, under the lock that every writer of the target takes. @throws CONFLICT */
  readonly expected?: Expected | undefined;
}

export interface WriteOptions extends ChangeOptions {
  /** Make missing directories above the target. */
  readonly parents: boolean;
}

export interface AppendOptions extends WriteOptions {
  /** Bytes that the file must have; the same call once more does no harm. @throws CONFLICT */
  readonly expectedSize?: number | undefined;
}

export interface Written {
  /** Bytes that were written; 0 for an append that had been done already. */
  readonly bytes: number;
  readonly created: boolean;
  /** Of the whole content now there, where all of it was seen. */
  readonly sha256?: Sha256;
  /** Bytes of the whole file now. */
  readonly size?: number;
  /** An append that had been done already. */
  readonly isRepeated?: true;
}

/** A requested place in one backend. */
export interface At {
  readonly path: RelPath;
  readonly access: Access;
}

/** How something comes to a place. `expected`: of what is there before. */
export interface PlaceOptions extends WriteOptions {
  /** A file replaces a file. A directory never replaces anything, and nothing replaces one. */
  readonly overwrite: boolean;
}

export interface MoveOptions extends PlaceOptions {
  /** What is moved. @throws CONFLICT, and for anything but a file IS_A_DIRECTORY, NOT_A_FILE */
  readonly expectedFrom?: Expected | undefined;
}

export interface Moved {
  readonly overwritten: boolean;
  /** Of a file, where all of it was seen. */
  readonly sha256?: Sha256;
  /** Of the file before it was moved. */
  readonly stamp?: Stamp;
}

export interface CopyOptions extends PlaceOptions {
  /** Read what has been written once more, and compare. @throws IO_ERROR */
  readonly verify?: boolean;
  /** Give the hash of a file, whatever that costs. */
  readonly hash?: boolean;
  /** Asked when all has been read, before it is put in place; throws to prevent that. @param sha256 of a file, if it is known */
  readonly approve?: (sha256: Sha256 | undefined) => void;
}

export interface Copied {
  readonly overwritten: boolean;
  readonly files: number;
  readonly bytes: number;
  /** Of a file, where all of it was seen. */
  readonly sha256?: Sha256;
}

export interface SourceOptions {
  /** Resolve a link at the end of the path. */
  readonly followLast: boolean;
  /** What the policy of another place denies is left out too. */
  readonly there?: Pick<Access, "policy">;
}

/** New content, produced only once everything before it has been checked. */
export interface Body {
  /** @throws INVALID_INPUT, TOO_LARGE, ASSET_NOT_FOUND, ASSET_NO_CONTENT; the stream may throw them later too */
  load(): Awaitable<Buffer | AsyncIterable<Uint8Array>>;
}

/**
 * What stores a root's bytes. The dispatcher has validated, normalised and authorised the request; a backend resolves
 * the path, asks {@link Access.real}, and acts. Every backend passes the suite in `src/backend-suite`.
 * Failures are `FileAdapterError`s that name the requested place.
 */
export interface Backend {
  /** Entries in order, `offset` and `limit` counted in names. @throws NOT_FOUND, NOT_A_DIRECTORY */
  list(path: RelPath, page: { offset: number; limit: number }, access: Access): Awaitable<Listing>;
  /** Entries below a directory, depth first, in order, never through links. @throws NOT_FOUND, NOT_A_DIRECTORY */
  walk(path: RelPath, options: WalkOptions, access: Access): Awaitable<void>;
  /** `undefined` when nothing is there. @throws SYMLINK_ESCAPE, DANGLING_SYMLINK */
  stat(path: RelPath, access: Access): Awaitable<FileStat | undefined>;
  /** Calls `plan` with the size once the file is found, then reads what it asks for. @throws NOT_FOUND, IS_A_DIRECTORY, NOT_A_FILE */
  read(path: RelPath, plan: (size: number) => ReadRange, access: Access): Awaitable<ReadBytes>;
  /** Calls {@link Access.real} before it tells anything. @throws as {@link read} */
  open(path: RelPath, access: Access): Awaitable<OpenFile>;
  /** Replaces the whole content atomically. `bytes` is what was written. @throws PARENT_MISSING, NOT_A_DIRECTORY, IS_A_DIRECTORY, NOT_A_FILE, CONFLICT */
  write(path: RelPath, body: Body, options: WriteOptions, access: Access): Awaitable<Written>;
  /** Adds to the end, creating the file. Errors as {@link write}, and HARD_LINKED. */
  append(path: RelPath, body: Body, options: AppendOptions, access: Access): Awaitable<Written>;
  /** @throws PARENT_MISSING, NOT_A_DIRECTORY, EXISTS_NOT_DIRECTORY, CONFLICT */
  mkdir(path: RelPath, options: WriteOptions, access: Access): Awaitable<{ created: boolean }>;
  /** Removes the entry itself, never what a link points to; a directory as a whole, at once. @throws NOT_EMPTY, ROOT_DELETE, CONFLICT */
  remove(
    path: RelPath,
    options: ChangeOptions & { readonly recursive: boolean },
    access: Access,
  ): Awaitable<{ existed: boolean }>;
  /**
   * Moves an entry itself, within this backend and in one step. Whether the target is free is decided by that step.
   * @returns `undefined` when it takes more than one: nothing has been done
   * @throws NOT_FOUND, ALREADY_EXISTS, CONFLICT, NOT_A_FILE, PARENT_MISSING, INVALID_INPUT for a directory into itself
   */
  move(from: At, to: At, options: MoveOptions): Awaitable<Moved | undefined>;
  /** Opens what is to be copied. Whoever opens it closes it. @throws NOT_FOUND, NOT_A_FILE */
  source(path: RelPath, options: SourceOptions, access: Access): Awaitable<TreeSource>;
  /** Puts a copy in place, all at once; of one that fails nothing stays. @throws as {@link move}, DENIED_BY_POLICY */
  place(path: RelPath, source: TreeSource, options: CopyOptions, access: Access): Awaitable<Copied>;
  /**
   * Opens a directory of the host for commands. Where nothing is, an empty one is shown. Absent: it has no such thing.
   * @throws NOT_A_DIRECTORY, DENIED_BY_POLICY when too much of it would have to be hidden, QUOTA_EXCEEDED
   */
  mount?(path: RelPath, options: MountOptions, access: Access): Promise<MountedDirectory>;
  close(): Awaitable<void>;
}
