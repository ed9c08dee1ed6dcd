// Port of `/api/v1/events`: the topics of a venue as one caller may read them.

import type { Caller } from "../../call/caller.js";
import type { JsonObject, SurfaceContext } from "../adapter.js";
import type { VenueTopic } from "./events.js";

/** A requested topic. `name` is the topic as requested, and the name of its events. */
export type EventTopic =
  | { readonly name: string; readonly kind: VenueTopic }
  | { readonly name: string; readonly kind: "files"; readonly root: string; readonly path: string };

export interface TopicEvent {
  readonly position: number;
  /** The name of the topic. */
  readonly topic: string;
  readonly data: JsonObject;
}

/** The events of some topics for one caller. Whoever opened it closes it. */
export interface EventReader {
  /** Resolves once changes by others are seen, or after a second. */
  readonly ready: Promise<void>;
  /** Equal for readers of one caller and the same topics, which see the same at any moment. */
  readonly sight: string;
  /** Position of the newest event. */
  readonly end: number;
  /** Events behind a position, of all topics in order. Rights are judged now. */
  read(after: number): Iterable<TopicEvent>;
  hasLost(position: number): boolean;
  cursorAt(position: number): string;
  /** The position of a cursor; `undefined`: it is of another start, or none. */
  positionOf(cursor: string): number | undefined;
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
  /** @returns `undefined`: the caller has as many open as it may @throws INVALID_PATH and the like */
  open(topics: readonly EventTopic[], caller: Caller, context: SurfaceContext): EventReader | undefined;
}
