// The bus of a venue: keeps the latest events of each topic for the readers of `/api/v1/events`.

import type { EventSink, VenueEvent, VenueTopic } from "../../core/ports/changes/events.js";
import type { EventLog, EventRing } from "../../feed/event-log.js";

export interface EventBus extends EventSink {
  /** The ring of a topic, which is filled from the first time on that somebody asks for it. */
  ring(topic: VenueTopic): EventRing<VenueEvent>;
}

/** @param log shared with the feed of files, so that one cursor holds for all topics */
export function createEventBus(log: EventLog): EventBus {
  const rings = new Map<VenueTopic, EventRing<VenueEvent>>();
  return {
    wants: (topic) => rings.has(topic),
    publish: (topic, event) => rings.get(topic)?.append(event),
    ring(topic) {
      const known = rings.get(topic) ?? log.ring<VenueEvent>();
      rings.set(topic, known);
      return known;
    },
  };
}
