// Port of the journal of one root: its entries, the content before each change, and the trash.

import type { Awaitable } from "../../io.js";
import type { OpenFile } from "../open-file.js";
import type { ChangedKind, ChangeOrigin, ChangeRecord, EntryState } from "./change.js";

/** Why an entry cannot be undone. `pending`: its change was not seen to end. `visited`: nor were others of its group. */
export type NotUndoable =
  | "too_large"
  | "denied"
  | "altered"
  | "permanent"
  | "off"
  | "other_device"
  | "quota"
  | "pruned"
  | "purged"
  | "pending"
  | "interrupted"
  | "concurrent"
  | "visited"
  | "no_state_dir"
  | "no_lmdb"
  | "no_trash"
  | "not_kept";

/** Reasons that are a choice of the operator or the caller rather than a fault. */
const CHOSEN: ReadonlySet<NotUndoable> = new Set(["off", "permanent", "purged", "denied"]);

export const isChosen = (reason: NotUndoable): boolean => CHOSEN.has(reason);

/** Why a root keeps no replaced or deleted content; `no_trash`: it keeps small replaced files only. */
export interface Lack {
  /** `off`: by the configuration. The others: though it should. */
  readonly reason: Extract<NotUndoable, "off" | "no_state_dir" | "no_lmdb" | "no_trash">;
  /** For the operator, with paths of the host; of `off` the key that would keep it. */
  readonly why: string;
}

/** One entry. Paths and states are as in the record of the change; `before` and `after` are states of `path`. */
export interface JournalEntry extends ChangeRecord {
  /** Unique over all roots; sorts by time. */
  readonly id: string;
  /** Whether the content needed to undo it was kept. The undo itself finds out whether its state still stands. */
  readonly undoable: boolean;
  readonly reason?: NotUndoable;
  /** Id of the entry that has undone it. */
  readonly undoneBy?: string;
}

export type Side = "before" | "after";

/**
 * Content of a file as it was. Bytes that were altered since through another descriptor are not given: `altered`.
 */
export interface Image {
  readonly size: number;
  /** Opens the content, which the caller closes. @throws NOT_FOUND once it was pruned */
  open(): Awaitable<OpenFile>;
}

/** An entry of a kept tree, as it will be once the tree is brought back. */
export interface KeptState extends EntryState {
  readonly kind: ChangedKind;
  /** Names in it; present for a directory. */
  readonly names?: readonly string[];
}

export interface JournalQuery {
  /** Entries of this path and of what lies below it, by `path` or `from`. Absent: all. */
  readonly path?: readonly string[];
  /** Every spelling of `path` that the root does not tell apart counts. */
  readonly folds?: boolean | undefined;
  readonly actor?: string;
  readonly via?: string;
  readonly group?: string;
  /** Entries of this time and later; milliseconds since the epoch. */
  readonly since?: number;
  /** Entries older than this id: the last one of the page before. */
  readonly before?: string;
  readonly limit: number;
  /** Whether the caller may know of an entry. Others are left out and not counted. */
  readonly sees: (entry: JournalEntry) => boolean;
}

/** `damaged`: a part cannot be read; `lost`: entries could not be written; `waiting`: some cannot be written for now. */
export type JournalFault = "damaged" | "lost" | "waiting";

export interface JournalPage {
  /** Newest first. */
  readonly entries: readonly JournalEntry[];
  /** Id to go on before; absent: there are no more. */
  readonly next?: string | undefined;
  readonly complete: boolean;
  /** `visited`: the search ended at its limit, go on from `next`. */
  readonly reason?: "visited" | JournalFault;
}

/** A deleted entry that can be brought back. */
export interface TrashEntry {
  /** Id of the entry of its deletion; of one without an entry, its name in the trash. */
  readonly id: string;
  /** Empty if it is not known. */
  readonly path: readonly string[];
  readonly kind: ChangedKind;
  /** Bytes of a file; absent for a tree. */
  readonly size?: number;
  /** Milliseconds since the epoch. */
  readonly deleted: number;
  /** Actor; `unknown` without an entry. */
  readonly by: string;
}

/** Size of a journal, and the number of changes it could not keep since it was opened. */
export interface JournalFacts {
  readonly entries: number;
  /** Bytes of kept content. */
  readonly bytes: number;
  /** Changes whose earlier content could not be kept. */
  readonly unkept: number;
  /** Entries that could not be written. */
  readonly lost: number;
  readonly fault?: JournalFault;
}

/** Origin and scope of a purge. */
export interface Purge extends ChangeOrigin {
  /** Scope of the purge: a path and everything below it. */
  readonly path: readonly string[];
}

/** Result of {@link Journal.purge}. */
export interface Purged {
  /** Ids of entries whose content is gone. */
  readonly purged: readonly string[];
}

/** Additions of an operation to the entry that its backend reported. */
export interface EntryNote {
  readonly undoneBy?: string;
}

/** The journal of one root, unfiltered: the operations on it judge what a caller may know. */
export interface Journal {
  /** `metadata`: entries without content, none of which can be undone. */
  readonly mode: "metadata" | "on";
  /** Whether everything deleted is kept until its time: `trash: "required"`. */
  readonly keepsDeleted: boolean;
  /** The root had another path before, whose journal has what was changed until then. */
  readonly isMoved?: boolean;
  /** Entries that match, newest first. Includes those that this process has not written yet. */
  query(query: JournalQuery): Awaitable<JournalPage>;
  /** The newest entry that matches among those not written yet. A query would write them first, which takes longer. */
  waiting?(sees: JournalQuery["sees"]): JournalEntry | undefined;
  entry(id: string): Awaitable<JournalEntry | undefined>;
  /** Members of a group in this root, oldest first. */
  group(id: string): Awaitable<readonly JournalEntry[]>;
  /** Content of a file before or after an entry; or why there is none. */
  image(entry: JournalEntry, side: Side): Awaitable<Image | NotUndoable>;
  /**
   * Content of a file in a tree that an entry has deleted. @param names of the file below the tree, without links
   * @param version the file must still have it. Absent where that cannot be looked up
   */
  imageBelow?(entry: JournalEntry, names: readonly string[], version: string): Awaitable<Image | NotUndoable>;
  /**
   * State of an entry in a deleted tree. Absent where that cannot be looked up.
   * @param names below the tree, without links
   */
  stateBelow?(entry: JournalEntry, names: readonly string[]): Awaitable<KeptState | undefined>;
  /** The entry, with the present state of its kept content, which others may have altered or removed. Absent: they cannot. */
  asKept?(entry: JournalEntry): Awaitable<JournalEntry>;
  /**
   * Where the deleted entry or replaced file itself lies, for a {@link GroupChange} "restore": names below the staging
   * directory of the root. `undefined`: it is kept in another way, see {@link image}, or not at all.
   */
  keptAt(entry: JournalEntry): Awaitable<readonly string[] | undefined>;
  /**
   * Paths, from the top of the root, at which the directory at `path` holds something else than an entry has left;
   * `undefined`: too many. Absent where the versions of what is there tell.
   */
  differences?(entry: JournalEntry, path: readonly string[]): Awaitable<readonly (readonly string[])[] | undefined>;
  /** Marks entries as undone, or with `undefined` as standing again. */
  note(ids: readonly string[], note: EntryNote): Awaitable<void>;
  /** Entries in the trash, newest first. */
  trash(): Awaitable<readonly TrashEntry[]>;
  /**
   * Removes images and trash of entries for good. The entries stay, and one more says who did it.
   * @throws ENOSPC if they may still be in a file
   */
  purge(ids: readonly string[] | "all", by: Purge): Awaitable<Purged>;
}
