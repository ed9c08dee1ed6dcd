// Port of reading events: of files in one place, and of the other topics of a venue.

/** A change of a file or directory, as a caller is told of it. Paths are real ones below the root. */
export interface FileChange {
  readonly type: "created" | "modified" | "deleted" | "moved";
  readonly path: string;
  /** Where a moved entry was. */
  readonly from?: string;
  readonly entryType: "file" | "directory";
  readonly etag?: string;
  /** `external`: by somebody else than this venue, as far as it was seen. */
  readonly origin: "adapter" | "external";
}

/** An event with its position, by which the events of all topics are ordered. */
export interface PlacedEvent<Event> {
  readonly position: number;
  readonly event: Event;
}

/** Events that one reader may see. */
export interface EventSource<Event> {
  /** Number of the ring that its events come from. */
  readonly ring: number;
  /** Events behind a position, oldest first. Rights are judged now. */
  read(after: number): Iterable<PlacedEvent<Event>>;
  /** Whether a reader at a position has missed something. */
  hasLost(position: number): boolean;
  /** Is told when there is something to read. @returns ends that */
  listen(listener: () => void): () => void;
}

/** The changes in one place, as one caller may see them. Whoever opened it closes it. */
export interface PlaceWatch extends EventSource<FileChange> {
  /** Whether changes by others are seen everywhere in it. */
  readonly isComplete: boolean;
  /** Whether all of it was looked at after a position, wherever changes by others are not told by the system. */
  lookedSince(position: number): boolean;
  /** Resolves once they are seen; `undefined`: they are. */
  readonly ready: Promise<void> | undefined;
  /** A cursor of this place and caller. */
  cursorAt(position: number): string;
  /** The position of one; before all others if it is of another start. @throws INVALID_INPUT if it is not of this place */
  positionOf(cursor: string): number;
  close(): void;
}

/** Request of one poll. */
export interface WatchPoll {
  readonly recursive: boolean;
  readonly cursor?: string | undefined;
  /** Milliseconds. */
  readonly waitMs: number;
  readonly limit: number;
}

export interface WatchedChanges {
  readonly events: readonly FileChange[];
  readonly cursor: string;
  /** Events were missed: look again, and go on from the cursor. */
  readonly overflow: boolean;
  /** Whether changes by others are seen everywhere in the place. */
  readonly isCovered: boolean;
  /** There are more events than were asked for. */
  readonly isCut: boolean;
}

/** Polls the changes at the place of a call. @throws INVALID_INPUT for a cursor of another call; LIMIT, ABORTED */
export type PollChanges = (poll: WatchPoll) => Promise<WatchedChanges>;
