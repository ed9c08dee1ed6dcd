// Opens the events of a venue for its callers, within their rights and a number of readers each.

import type { Caller } from "../../core/call/caller.js";
import type { JsonObject, SurfaceContext } from "../../core/ports/adapter.js";
import type { EventReader, EventTopic, TopicEvent, VenueEvents } from "../../core/ports/changes/event-reader.js";
import type { VenueEvent, VenueTopic } from "../../core/ports/changes/events.js";
import type { EventSource, PlaceWatch } from "../../core/ports/changes/watch.js";
import { settleWithin } from "../../core/turns.js";
import type { EventLog } from "../../feed/event-log.js";
import type { EventBus } from "./event-bus.js";

/** Readers of one caller. */
const MAX_PER_CALLER = 64;
/** How long a reader waits until changes by others are seen. */
const READY_MS = 1000;

export interface VenueEventsParts {
  readonly log: EventLog;
  readonly bus: EventBus;
  readonly servesAnonymous: boolean;
  /** The changes of a place; `undefined`: the caller sees no such root. */
  readonly watch: (
    input: { readonly root: string; readonly path: string },
    context: SurfaceContext,
  ) => PlaceWatch | undefined;
  /** Who a caller is now; `undefined`: it would be refused. */
  readonly rejudge: (context: SurfaceContext) => SurfaceContext | undefined;
  /** Which events of a topic besides files a caller may see now. */
  readonly sight: (topic: VenueTopic, caller: Caller, context: SurfaceContext) => (event: VenueEvent) => boolean;
}

/** The events of a venue, and the end of all readers when it closes. */
export interface ClosableEvents extends VenueEvents {
  close(): void;
}

export function createVenueEvents(parts: VenueEventsParts): ClosableEvents {
  const readers = new Set<Reader>();
  const openOf = new Map<string, number>();
  let isClosed = false;
  return {
    servesAnonymous: parts.servesAnonymous,
    open(topics, caller, context) {
      const count = openOf.get(caller.did) ?? 0;
      if (count >= MAX_PER_CALLER || isClosed) return undefined;
      const reader = new Reader(topics, { parts, caller, context }, () => {
        readers.delete(reader);
        const left = (openOf.get(caller.did) ?? 1) - 1;
        if (left === 0) openOf.delete(caller.did);
        else openOf.set(caller.did, left);
      });
      openOf.set(caller.did, count + 1);
      readers.add(reader);
      return reader;
    },
    close() {
      isClosed = true;
      for (const reader of readers) reader.stop();
    },
  };
}

interface ReaderOf {
  readonly parts: VenueEventsParts;
  readonly caller: Caller;
  readonly context: SurfaceContext;
}

interface Topic {
  readonly name: string;
  readonly source: EventSource<JsonObject>;
}

class Reader implements EventReader {
  readonly ready: Promise<void>;
  readonly sight: string;
  readonly #of: ReaderOf;
  readonly #topics: readonly Topic[];
  readonly #watches: readonly PlaceWatch[];
  readonly #onClosed: () => void;
  readonly #listeners = new Set<() => void>();
  #isEnded = false;
  #isClosed = false;

  constructor(topics: readonly EventTopic[], of: ReaderOf, onClosed: () => void) {
    this.#of = of;
    this.#onClosed = onClosed;
    const watches: PlaceWatch[] = [];
    this.#topics = topics.flatMap((topic): Topic[] => {
      if (topic.kind !== "files") return [{ name: topic.name, source: this.#busSource(topic.kind) }];
      const watch = of.parts.watch(topic, of.context);
      // Neither a root that is unknown nor one without rights tells anything, not even that.
      if (watch === undefined) return [];
      watches.push(watch);
      return [{ name: topic.name, source: watch as unknown as EventSource<JsonObject> }];
    });
    this.#watches = watches;
    this.sight = JSON.stringify([of.caller, of.context, this.#topics.map(({ name, source }) => [name, source.ring])]);
    this.ready = settleWithin(Promise.all(watches.map(({ ready }) => ready)), READY_MS);
  }

  get end(): number {
    return this.#of.parts.log.position;
  }

  get isOver(): boolean {
    return this.#isEnded || this.#of.parts.rejudge(this.#of.context) === undefined;
  }

  *read(after: number): Generator<TopicEvent> {
    if (this.isOver) return;
    const heads = this.#topics.map(({ name, source }) => {
      const events = source.read(after)[Symbol.iterator]();
      return { name, events, head: events.next() };
    });
    for (;;) {
      let first: (typeof heads)[number] | undefined;
      for (const one of heads) {
        if (one.head.done === true) continue;
        if (first === undefined || first.head.done === true || one.head.value.position < first.head.value.position)
          first = one;
      }
      if (first === undefined || first.head.done === true) return;
      const { position, event } = first.head.value;
      first.head = first.events.next();
      yield { position, topic: first.name, data: event };
    }
  }

  hasLost(position: number): boolean {
    return this.#topics.some(({ source }) => source.hasLost(position));
  }

  cursorAt(position: number): string {
    return this.#of.parts.log.cursor(position);
  }

  positionOf(cursor: string): number | undefined {
    const position = this.#of.parts.log.positionOf(cursor);
    return typeof position === "number" ? position : undefined;
  }

  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    const stops = this.#topics.map(({ source }) => source.listen(listener));
    return () => {
      this.#listeners.delete(listener);
      for (const stop of stops) stop();
    };
  }

  /** The venue closes. */
  stop(): void {
    this.#isEnded = true;
    for (const listener of this.#listeners) listener();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const watch of this.#watches) watch.close();
    this.#onClosed();
  }

  /** The events of a topic that the caller may see. */
  #busSource(topic: VenueTopic): EventSource<JsonObject> {
    const { caller, context, parts } = this.#of;
    const ring = parts.bus.ring(topic);
    return {
      ring: ring.number,
      *read(after) {
        const now = parts.rejudge(context);
        if (now === undefined) return;
        const maySee = parts.sight(topic, caller, now);
        for (const { position, event } of ring.after(after)) if (maySee(event)) yield { position, event: event.data };
      },
      hasLost: (position) => ring.hasLost(position),
      listen: (listener) => ring.listen(listener),
    };
  }
}
