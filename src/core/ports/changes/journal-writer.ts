// Port by which the backend of a root writes its journal: planned changes, made changes, and the content they replaced.

import type { Sha256 } from "../../etag.js";
import type { Awaitable } from "../../io.js";
import type { OpenFile } from "../open-file.js";
import type { ChangedKind, ChangeOrigin, ChangeRecord, EntryChange, EntryState } from "./change.js";
import type { KeptState, NotUndoable } from "./journal.js";

/** Content from before a change, and where it is kept. */
export type Kept =
  | { readonly in: "value"; readonly bytes: Buffer }
  /** In the trash under {@link JournalWriter.trashName}. `version`: of the file there, to notice if it is altered. */
  | { readonly in: "trash"; readonly size: number; readonly version?: string }
  | { readonly in: "nothing"; readonly reason: NotUndoable };

/** A record with the id of its entry. */
export type IdentifiedRecord = ChangeRecord & { readonly id: string };

/** A change that is about to be made. */
export interface Planned {
  readonly origin: ChangeOrigin;
  readonly change: EntryChange;
  /** Inode of the entry that gets the name. Absent: it is made under that name. */
  readonly inode?: string | undefined;
  /** As for {@link JournalWriter.add}. */
  readonly kept?: Kept | undefined;
}

/** `auto`: what cannot be kept is deleted all the same. `required`: it is not deleted. `off`: deletions are final. */
export type TrashMode = "auto" | "required" | "off";

/** An open journal, as a backend sees it. No method throws: a journal that cannot be written stops no change. */
export interface JournalWriter {
  readonly mode: "metadata" | "on";
  readonly trashMode: TrashMode;
  newId(): string;
  /** Name of the content of an entry in the trash; holds a secret, so that others cannot forge it. */
  trashName(id: string): string;
  /** Whether content of this size may be kept, if only for a day. */
  hasRoom(bytes: number): boolean;
  /**
   * Notes a change right before its commit: if this process dies, the next start tells by it whether the change was made,
   * and completes its entry. Called again with the same id, the last note counts.
   * @returns `false` if there is no room for the entry
   */
  begin(id: string, planned: Planned): boolean;
  /** Forgets a change noted by {@link begin} that was not made. */
  cancel(id: string): void;
  /**
   * Adds the entry of a committed change.
   * @param kept absent if nothing had to be kept to undo it
   * @param reason why it cannot be undone, whatever was kept
   * @returns `false` if there is no room for it
   */
  add(record: IdentifiedRecord, kept?: Kept, reason?: NotUndoable): boolean;
  /** Records since a time in milliseconds, newest first, as far back as is looked. */
  madeSince(time: number): Iterable<IdentifiedRecord>;
  /**
   * Removes the oldest content from the trash, as much as gives this many bytes of its disk; nothing, if all of it would
   * not.
   * @param mayGiveUp whether what is kept of an entry may go @returns whether there is that much room now
   */
  freeSpace(bytes: number, mayGiveUp: (path: readonly string[]) => boolean): Promise<boolean>;
}

/** Something in the trash folder. */
export interface TrashItem {
  readonly name: string;
  readonly kind: ChangedKind;
  /** Bytes; 0 unless it is a file. */
  readonly size: number;
  /** When it came here; milliseconds since the epoch. */
  readonly changed: number;
}

/** The entry at a path of the root. */
export interface Present {
  readonly kind: ChangedKind;
  readonly state: EntryState;
  /** Hash of the part of a file that was asked for. */
  readonly partSha256?: Sha256;
}

/** A part of a file, in bytes. */
export interface Part {
  readonly offset: number;
  readonly length: number;
}

/** The trash folder of a root, and the root around it, as its journal sees them. */
export interface TrashFolder {
  /** Names below the staging directory that lead to it. */
  readonly folder: readonly string[];
  /** Whether it is there, or could be made. */
  isUsable(): Awaitable<boolean>;
  /** Items whose names begin with `prefix`. @param isWanted others are not looked at */
  list(prefix: string, isWanted?: (name: string) => boolean): Awaitable<readonly TrashItem[]>;
  /** Opens a file if it still has this version. @param below its names below the item, if that is a directory */
  open(
    name: string,
    version: string | undefined,
    below?: readonly string[],
  ): Awaitable<OpenFile | "missing" | "altered">;
  /** Present state of an item, or of an entry in it. @param below its names below the item, if that is a directory */
  look(name: string, below: readonly string[]): Awaitable<KeptState | undefined>;
  /** Counts a file, or all files in a tree. @param onlyFreed only those that removing it gives back to the disk */
  measure(name: string, onlyFreed?: boolean): Awaitable<{ readonly bytes: number; readonly files: number }>;
  /** Completes changes that dead processes left half done in the root, as {@link present} needs. */
  recover(): Awaitable<void>;
  /** The entry at a real path. @param part of a file, to be hashed @returns `unknown`: it cannot be looked at */
  present(path: readonly string[], part?: Part): Awaitable<Present | "missing" | "unknown">;
  /** Removes items for good. Never fails: what cannot be removed stays. */
  remove(names: readonly string[]): Awaitable<void>;
}
