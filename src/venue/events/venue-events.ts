// The events of a venue: audit records and jobs are published, and readers opened, within their rights and a number each.

import type { HostedFileAdapter } from "../../adapter/adapter.js";
import type { AuditSink } from "../../audit/record.js";
import type { Caller } from "../../core/call/caller.js";
import { FileAdapterError, Overloaded, venueCloses } from "../../core/errors/errors.js";
import type { JsonObject, SurfaceContext } from "../../core/ports/adapter.js";
import type {
  EventReader,
  EventSink,
  EventTopic,
  VenueEvent,
  VenueEvents,
  VenueTopic,
} from "../../core/ports/changes/events.js";
import type { JobRecord } from "../../core/ports/job.js";
import { Holds, settleWithin } from "../../core/turns.js";
import type { PlaceFilter } from "../../dispatch/place-filter.js";
import type { WatchInput } from "../../dispatch/watches.js";
import { type EventLog, type Filter, hasLost, LogReader } from "../../feed/event-log.js";
import type { Access } from "../identity/access.js";
import { accessDid } from "../identity/access-entry.js";
import type { HearJob } from "../jobs/job.js";

/** Readers of one caller. */
const MAX_PER_CALLER = 64;
/** Asked of a caller with too many of them, in milliseconds. */
const RETRY_MS = 5000;
/** How long a reader waits until changes by others are seen. */
const READY_MS = 1000;

/** Tells of each audit record to the operator, to the caller whose call it was, and to the maker of its token. */
export const auditEvents = (
  log: EventSink,
  access: Pick<Access, "did" | "accessTokens" | "canonicalDid">,
): AuditSink => ({
  write: (record) => {
    if (!log.wants("audit")) return;
    const maker = makerOf(record.caller, access);
    log.publish("audit", { data: { ...record }, audience: [record.caller, ...(maker === undefined ? [] : [maker])] });
  },
  close: async () => {},
});

/** DID of who made the access token that a caller is; the operator hears of all anyway. */
function makerOf(caller: string, access: Pick<Access, "did" | "accessTokens" | "canonicalDid">): string | undefined {
  const start = accessDid(access, "");
  if (!caller.startsWith(start)) return undefined;
  const maker = access.accessTokens?.find(caller.slice(start.length))?.entry.maker;
  return maker === undefined || maker.kind === "operator" ? undefined : access.canonicalDid(maker.did);
}

/** An event of a job, without what it was given and what it answers. */
export function jobEvent(record: JobRecord, audience: readonly string[]): VenueEvent {
  const { input: _, output: __, ...data } = record;
  return { data, audience };
}

/** Tells of each job. */
export const jobEvents =
  (log: EventSink): HearJob =>
  (record, audience) => {
    if (log.wants("job")) log.publish("job", jobEvent(record, audience));
  };

/** A place that is followed, without what lies deeper than right in it. */
interface FollowedPlace extends WatchInput {
  readonly name: string;
}

/** A reader whose places come and go. */
export interface FollowingReader extends EventReader {
  /** Reads of another place too. @returns once changes by others are seen, or after a second */
  follow(place: FollowedPlace): Promise<void>;
  unfollow(name: string): void;
  /** How deep in its root such a place lies, behind links. */
  depthOf(name: string): number;
  /** Whether events of such a place were missed, where the caller may see its place now. */
  hasLostOf(name: string, position: number): boolean;
}

/** The events of a venue, by readers whose places come and go. */
export interface FollowedEvents extends VenueEvents {
  open(...args: Parameters<VenueEvents["open"]>): FollowingReader;
}

export interface VenueEventsParts {
  readonly servesAnonymous: boolean;
  readonly files: Pick<HostedFileAdapter, "watchPlace">;
  /** Judges a caller anew; `undefined`: it would be refused now. */
  readonly rejudge: (context: SurfaceContext) => SurfaceContext | undefined;
}

export function createVenueEvents(log: EventLog, parts: VenueEventsParts): FollowedEvents {
  const holds = new Holds(MAX_PER_CALLER);
  return {
    servesAnonymous: parts.servesAnonymous,
    open(topics, caller, context) {
      if (log.isEnded) throw venueCloses();
      const leave = holds.take(caller.did);
      if (leave === undefined) throw new Overloaded("Too many streams: end another one first", RETRY_MS);
      const reader = { ...parts, log, caller, context, places: new Map(), leave };
      try {
        return new CallerReader(topics, reader);
      } catch (error) {
        end(reader);
        throw error;
      }
    },
  };
}

interface ReaderParts extends VenueEventsParts {
  readonly log: EventLog;
  readonly caller: Caller;
  readonly context: SurfaceContext;
  /** Takes those that it opens, by their topics. */
  readonly places: Map<string, PlaceFilter>;
  /** Lets another reader of the caller open. */
  readonly leave: () => void;
}

function end({ places, leave }: ReaderParts): void {
  for (const place of places.values()) place.close();
  places.clear();
  leave();
}

/** Neither a root that is unknown nor one without rights tells anything, not even that. */
function openPlace(followed: FollowedPlace, { files, context, places }: ReaderParts): PlaceFilter | undefined {
  const place = files.watchPlace(followed, context);
  if (place !== undefined) places.set(followed.name, place);
  return place;
}

class CallerReader extends LogReader<JsonObject> implements FollowingReader {
  readonly ready: Promise<void>;
  readonly sight: string;
  readonly #parts: ReaderParts;
  #isClosed = false;

  constructor(topics: readonly EventTopic[], parts: ReaderParts) {
    const { log, caller, context, places } = parts;
    const filters = topics.flatMap((topic): [string, Filter<JsonObject>][] => {
      if (topic.kind !== "files") return [[topic.name, topicFilter(topic.kind, parts)]];
      const place = openPlace(topic, parts);
      return place === undefined ? [] : [[topic.name, place]];
    });
    super(log, filters);
    this.#parts = parts;
    this.sight = JSON.stringify([caller, context, filters.map(([name, { topic }]) => [name, topic.key])]);
    this.ready = settleWithin(Promise.all([...places.values()].map((place) => place.ready())), READY_MS);
  }

  async follow(followed: FollowedPlace): Promise<void> {
    let place: PlaceFilter | undefined;
    try {
      place = openPlace({ recursive: false, ...followed }, this.#parts);
    } catch (error) {
      // A path that is none: nothing happens there.
      if (!(error instanceof FileAdapterError)) throw error;
    }
    if (place === undefined) return;
    this.add(followed.name, place);
    await settleWithin(place.ready(), READY_MS);
  }

  unfollow(name: string): void {
    const place = this.#parts.places.get(name);
    if (place === undefined) return;
    this.remove(place);
    this.#parts.places.delete(name);
    place.close();
  }

  depthOf(name: string): number {
    return this.#parts.places.get(name)?.depth ?? 0;
  }

  hasLostOf(name: string, position: number): boolean {
    const place = this.#parts.places.get(name);
    return place !== undefined && hasLost(place, position) && place.isSeen;
  }

  override get isOver(): boolean {
    return super.isOver || this.#parts.rejudge(this.#parts.context) === undefined;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    end(this.#parts);
  }
}

/** A caller sees the events of those things that the matching list operation would show it. */
function topicFilter(kind: VenueTopic, { log, caller, context, rejudge }: ReaderParts): Filter<JsonObject> {
  return {
    topic: log.topic<VenueEvent>(kind),
    judge() {
      const now = rejudge(context);
      const maySee = now && sightOf(kind, caller, now);
      return (event: VenueEvent) => (maySee?.(event) === true ? event.data : undefined);
    },
  };
}

/**
 * As `audit:query`, `auth:list`, `approval:list` and the list of jobs judge, at the time of the delivery. UCANs that narrow
 * their DID are in the audience of their jobs alone: they would see what their DID does elsewhere.
 */
function sightOf(
  topic: VenueTopic,
  { did, isOperator, narrowedTo = did }: Caller,
  context: SurfaceContext,
): (event: VenueEvent) => boolean {
  const isOwn = ({ audience }: VenueEvent): boolean => audience.includes(narrowedTo);
  if (topic === "offer") return () => true;
  if (topic === "approval") return (event) => event.maySee?.(context) ?? isOwn(event);
  return isOperator ? () => true : isOwn;
}
