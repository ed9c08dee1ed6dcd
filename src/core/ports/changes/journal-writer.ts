// Port by which the backend of a root writes its journal: what it is about to do, what it did, and what it kept.

import type { Awaitable } from "../../io.js";
import type { OpenFile } from "../open-file.js";
import type { ChangedKind, ChangeRecord } from "./change.js";
import type { KeptState, NotUndoable } from "./journal.js";

/** Content from before a change, and where it is kept. */
export type Kept =
  | { readonly in: "value"; readonly bytes: Buffer }
  /** In the trash under {@link JournalWriter.trashName}. `version`: of the file there, to notice if it is altered. */
  | { readonly in: "trash"; readonly size: number; readonly version?: string }
  | { readonly in: "nothing"; readonly reason: NotUndoable };

/** A record with the id of its entry. */
export type IdentifiedRecord = ChangeRecord & { readonly id: string };

/** `auto`: what cannot be kept is deleted all the same. `required`: it is not deleted. `off`: deletions are final. */
export type TrashMode = "auto" | "required" | "off";

/** An open journal, as a backend sees it. No method throws: a journal that cannot be written stops no change. */
export interface JournalWriter {
  readonly mode: "metadata" | "on";
  readonly trashMode: TrashMode;
  newId(): string;
  /** Name of the content of an entry in the trash. It holds a secret, so nobody else can have made it. */
  trashName(id: string): string;
  /** Whether content of this size may be kept; `apart`: only for a day, as it is most of the quota. */
  room(bytes: number): "yes" | "apart" | "no";
  /** Notes what is about to go into the trash, before it does. @returns `false` if there will be no entry of it */
  begin(planned: IdentifiedRecord): boolean;
  /** Forgets what {@link begin} noted, since it was not done. */
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
  /** Hard links of a file. */
  readonly links: number;
}

/** The trash folder of a root, as its journal sees it. */
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
  /** What lies there now. @param below its names below the item, if that is a directory */
  look(name: string, below: readonly string[]): Awaitable<KeptState | undefined>;
  /** Bytes of a file or of all files in a tree. @param onlyFreed those that removing it gives back to the disk */
  measure(name: string, onlyFreed?: boolean): Awaitable<number>;
  /** Removes items for good. Never fails: what cannot be removed stays. */
  remove(names: readonly string[]): Awaitable<void>;
}
