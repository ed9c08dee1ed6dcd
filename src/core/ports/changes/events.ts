// Port of events: changes of files, and the other topics of a venue, as one caller may read them.

import type { Caller } from "../../call/caller.js";
import type { JsonObject, SurfaceContext } from "../adapter.js";

/** Topics besides the files of each root. `offer`: roots, rights or operations may be others now. */
export type VenueTopic = "audit" | "job" | "auth" | "approval" | "offer";

/** An event of such a topic. */
export interface VenueEvent {
  /** Sent as JSON as it is: without secrets, content and host paths. */
  readonly data: JsonObject;
  /**
   * Callers that may see the event besides the operator: DIDs of the caller or holder of a token, and of the maker of the
   * token used; `narrowedTo` of the owner of a job. Judged on delivery.
   */
  readonly audience: readonly string[];
  /** Judged when it is delivered, in place of the audience: for what is seen by a right. */
  maySee?(context: SurfaceContext): boolean;
}

/** Takes the events of a venue. */
export interface EventSink {
  /** Whether anybody has ever asked for the topic. If not, an event need not even be made. */
  wants(topic: VenueTopic): boolean;
  /** Quick, and never throws. */
  publish(topic: VenueTopic, event: VenueEvent): void;
}

/** A change of a file or directory, as a caller is told of it. Paths are real ones below the root. */
export type FileChange = {
  readonly type: "created" | "modified" | "deleted" | "moved";
  readonly path: string;
  /** Where a moved entry was. */
  readonly from?: string;
  readonly entryType: "file" | "directory";
  readonly etag?: string;
  /** `external`: by somebody else than this venue, as far as it was seen. */
  readonly origin: "adapter" | "external";
};

/** A requested topic. `name` is the topic as requested, and the name of its events. */
export type EventTopic =
  | { readonly name: string; readonly kind: VenueTopic }
  | { readonly name: string; readonly kind: "files"; readonly root: string; readonly path: string };

/** An event as a reader is told of it. All events of a process are ordered by their positions. */
export interface ToldEvent<Data = JsonObject> {
  readonly position: number;
  /** The name of the topic. */
  readonly topic: string;
  readonly data: Data;
}

/** The events of some topics for one caller; the opener of the reader closes it. */
export interface EventReader {
  /** Resolves once changes by others are seen, or after a second. */
  readonly ready: Promise<void>;
  /** Equal for readers of one caller and the same topics, which see the same at any moment. */
  readonly sight: string;
  /** Position of the newest event. */
  readonly end: number;
  /** Events behind a position, of all topics in order. Rights are judged now. */
  read(after: number): Iterable<ToldEvent>;
  hasLost(position: number): boolean;
  cursorAt(position: number): string;
  /** The position of a cursor; negative, and lost, if it is of another start, or none. */
  positionOf(cursor: string): number;
  /** Is told when there is something to read, or the reader has to end. @returns ends that */
  listen(listener: () => void): () => void;
  /** Whether the caller would be refused now, or the venue closes. */
  readonly isOver: boolean;
  close(): void;
}

/** The events of a venue. */
export interface VenueEvents {
  /** Whether callers without credentials may read. */
  readonly servesAnonymous: boolean;
  /** @throws Overloaded where the caller has as many open as it may; INVALID_PATH and the like */
  open(topics: readonly EventTopic[], caller: Caller, context: SurfaceContext): EventReader;
}

/** Request of one poll of `file:watch`. */
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
