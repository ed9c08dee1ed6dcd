// The feed of changes in all roots of an adapter: a topic of the event log for each, and the watching of outside changes while
// a reader is there. Costs nothing before the first reader.

import { isSamePath } from "../core/call/path.js";
import type { Clock } from "../core/clock.js";
import type { Awaitable } from "../core/io.js";
import { isPending } from "../core/io.js";
import type { Backend } from "../core/ports/backend.js";
import type { ChangeRecord, ChangeSink } from "../core/ports/changes/change.js";
import type { Observation, ObservedPlace, Observer } from "../core/ports/changes/observer.js";
import type { PathPolicy } from "../core/ports/path-policy.js";
import { BEFORE_ALL, EventLog, type Topic } from "./event-log.js";
import { changeInDrive, type DriveOf, type FeedPlace, topicOf } from "./feed-topic.js";
import { eventsOf, type FileEvent, isWithin, KnownStates, Merging } from "./file-event.js";

/** Watching goes on this long without readers, so that a polling client misses no change between two polls. */
const LINGER_MS = 60_000;
/** Most places of one root that are watched so: readers come and go quickly, each with places of its own. */
const MOST_LINGERING = 256;

/** Observation of a backend that cannot observe: others do not change it, or cannot be seen. */
const NOTHING_TO_SEE: Observation = { ready: undefined, isComplete: true, isPolled: false, close: () => {} };

export interface ChangeFeedOptions {
  readonly clock: Clock;
  /** Shared with other topics, so that one cursor holds for all. Default: its own. */
  readonly log?: EventLog | undefined;
  /** The drive behind a root, and the directory in it; `undefined`: it is no drive. */
  readonly placeOf: DriveOf;
  /** Called once, for the first reader: from then on the feed must be told of changes. */
  readonly onFirstReader: (sink: ChangeSink) => void;
}

/** The changes in the roots of an adapter. */
export class ChangeFeed {
  readonly log: EventLog;
  readonly #options: ChangeFeedOptions;
  readonly #roots = new Map<string, RootFeed>();
  #changing = 0;

  constructor(options: ChangeFeedOptions) {
    this.#options = options;
    this.log = options.log ?? new EventLog();
  }

  /** The feed of a root, which records from the first call on. */
  of(place: FeedPlace): RootFeed {
    const key = topicOf(place);
    const known = this.#roots.get(key);
    if (known !== undefined) return known;
    if (this.#roots.size === 0) this.#options.onFirstReader((record) => this.#publish(record));
    const made = new RootFeed(this.log, key, this.#options.clock, () => this.#changing > 0);
    this.#roots.set(key, made);
    return made;
  }

  /** Runs an operation that changes something. */
  async duringChange<T>(run: () => Awaitable<T>): Promise<T> {
    this.#changing += 1;
    try {
      return await run();
    } finally {
      this.#changing -= 1;
    }
  }

  /** The roots were opened anew: readers have to look for themselves. */
  restart(): void {
    for (const feed of this.#roots.values()) feed.restart();
  }

  /** Ends all readers. */
  close(): void {
    this.log.end();
    for (const feed of this.#roots.values()) feed.close();
  }

  #publish(record: ChangeRecord): void {
    const { topic, change } = changeInDrive(record, this.#options.placeOf) ?? {
      topic: topicOf(record),
      change: record,
    };
    this.#roots.get(topic)?.publish(change);
  }
}

/** Backend and rules of the watched root. */
export interface WatchedRoot {
  readonly backend: Pick<Backend, "observe">;
  readonly policy?: PathPolicy | undefined;
  /** Names that it makes alike are one name. */
  readonly foldName?: ((name: string) => string) | undefined;
}

/** The events of one root. */
export class RootFeed {
  readonly topic: Topic<FileEvent>;
  readonly #log: EventLog;
  readonly #isBusy: () => boolean;
  readonly #merging: Merging;
  readonly #known: KnownStates;
  readonly #covered = new Set<Coverage>();
  /** Feeds without readers, the latest at the end. */
  readonly #lingering = new Set<Coverage>();

  /** @param isBusy whether a change of the venue is under way */
  constructor(log: EventLog, key: string, clock: Clock, isBusy: () => boolean) {
    this.#log = log;
    this.#isBusy = isBusy;
    this.topic = log.topic(key);
    this.#merging = new Merging(clock, (event) => this.topic.append(event));
    this.#known = new KnownStates(clock);
  }

  /** Nothing is watched anew then. */
  get isClosed(): boolean {
    return this.#log.isEnded;
  }

  /** Takes a change of this venue. */
  publish(record: ChangeRecord): void {
    if (this.#covered.size > 0) this.#known.note(record);
    for (const event of eventsOf(record)) this.#merging.add(event);
  }

  /**
   * Sees to it that changes by others are seen in a place. Whoever asks for it releases it, once.
   * @param caller whose share of what can be watched is used, unless it is watched already; absent: nobody's
   */
  cover(place: ObservedPlace, { backend, policy }: WatchedRoot, caller?: string): Coverage {
    for (const one of this.#covered) if (one.covers(place)) return this.#hold(one);
    const made: Coverage = new Coverage(place, this.#log, {
      observe: (beginLook) =>
        backend.observe?.(place, { ...this.#observer(policy), caller, beginLook }) ?? NOTHING_TO_SEE,
      onLeft: () => this.#linger(made),
      onClosed: () => {
        this.#covered.delete(made);
        this.#lingering.delete(made);
      },
    });
    this.#covered.add(made);
    return made.hold();
  }

  #hold(one: Coverage): Coverage {
    this.#lingering.delete(one);
    return one.hold();
  }

  #linger(left: Coverage): void {
    this.#lingering.add(left);
    for (const first of this.#lingering) {
      if (this.#lingering.size <= MOST_LINGERING) return;
      first.close();
    }
  }

  /** Ends all watching, since the root is another one now. */
  restart(): void {
    for (const one of this.#covered) one.close();
    this.#known.clear();
    this.topic.markLost();
  }

  close(): void {
    for (const one of this.#covered) one.close();
    this.#merging.close();
  }

  #observer(policy: PathPolicy | undefined): Omit<Observer, "beginLook"> {
    return {
      changed: ({ version, ...change }) => {
        this.#known.set(change.path, change.entryType === "directory" && version !== null ? "directory" : version);
        this.#merging.add({ ...change, origin: "external" });
      },
      knows: (path, version) => this.#known.has(path, version),
      isBusy: this.#isBusy,
      ignores: (path) => policy?.denies(path) === true,
      lost: () => this.topic.markLost(),
    };
  }
}

interface CoverageParts {
  readonly observe: (beginLook: Observer["beginLook"]) => Observation;
  /** Its last reader has left. */
  readonly onLeft: () => void;
  readonly onClosed: () => void;
}

/** The watching of a place for changes by others, shared by its readers. */
export class Coverage {
  readonly #place: ObservedPlace;
  readonly #observation: Observation;
  readonly #onLeft: () => void;
  readonly #onClosed: () => void;
  readonly #ready: Promise<void> | undefined;
  #holders = 0;
  #linger: NodeJS.Timeout | undefined;
  #isOver = false;
  /** Position from which on everything was seen; `undefined`: not yet. */
  #since: number | undefined;
  /** Position at which the last whole look at what cannot be watched began. */
  #lookedAt = BEFORE_ALL;

  constructor(place: ObservedPlace, log: EventLog, { observe, onLeft, onClosed }: CoverageParts) {
    this.#place = place;
    this.#onLeft = onLeft;
    this.#onClosed = onClosed;
    this.#observation = observe(() => {
      const position = log.step();
      return () => {
        this.#lookedAt = position;
      };
    });
    const { ready } = this.#observation;
    const begin = () => {
      this.#since = log.position;
    };
    if (isPending(ready)) this.#ready = ready.then(begin);
    else begin();
  }

  /** Whether changes by others are seen everywhere in it. */
  get isComplete(): boolean {
    return this.#observation.isComplete;
  }

  /** Whether the watching has ended: no reader is left, or the root is another one now. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Resolves once changes by others are seen; `undefined`: they are. */
  get ready(): Promise<void> | undefined {
    return this.#since === undefined && !this.#isOver ? this.#ready : undefined;
  }

  /** Whether it was looked at wherever it cannot be watched, after a position. */
  lookedSince(position: number): boolean {
    return !this.#observation.isPolled || this.#lookedAt > position;
  }

  /** Whether changes by others were seen from a position on. Until they are seen that is not known, and counts as so. */
  holdsSince(position: number): boolean {
    return this.#since === undefined || this.#since <= position;
  }

  covers({ path, recursive }: ObservedPlace): boolean {
    const own = this.#place;
    if (own.recursive) return isWithin(path, own.path);
    return !recursive && isSamePath(path, own.path);
  }

  hold(): this {
    clearTimeout(this.#linger);
    this.#holders += 1;
    return this;
  }

  release(): void {
    this.#holders -= 1;
    if (this.#holders > 0 || this.#isOver) return;
    this.#linger = setTimeout(() => this.close(), LINGER_MS).unref();
    this.#onLeft();
  }

  close(): void {
    clearTimeout(this.#linger);
    this.#isOver = true;
    this.#observation.close();
    this.#onClosed();
  }
}
