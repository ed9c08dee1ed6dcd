// Port of the events of a venue besides those of files: who publishes them, and who may see each.

import type { JsonObject, SurfaceContext } from "../adapter.js";

/** `files` events have a feed of their own. */
export type VenueTopic = "audit" | "job" | "auth" | "approval";

/** One event. */
export interface VenueEvent {
  /** Sent as JSON as it is: without secrets, content and host paths. */
  readonly data: JsonObject;
  /**
   * Who may see it, besides the operator: DIDs of whose call or token it is, and who made the token that was used, and
   * `narrowedTo` of whose job it is. Judged when it is delivered.
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
