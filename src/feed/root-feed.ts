// The feed of one root: its latest events, and the watching of changes by others while somebody reads.

import type { Clock } from "../core/clock.js";
import { isPending } from "../core/io.js";
import type { Backend } from "../core/ports/backend.js";
import type { ChangeRecord } from "../core/ports/changes/change.js";
import type { Observation, ObservedPlace, Observer } from "../core/ports/changes/observer.js";
import type { PathPolicy } from "../core/ports/path-policy.js";
import type { EventRing } from "./event-log.js";
import { eventsOf, type FileEvent, isSamePath, isWithin, keyOf } from "./file-event.js";
import { Merging } from "./merging.js";

/** Watching goes on for so long when nobody reads, so that a client that polls misses nothing between two polls. */
const LINGER_MS = 60_000;

interface RootFeedOptions {
  readonly ring: EventRing<FileEvent>;
  readonly clock: Clock;
  /** Whether a change of the venue is under way. */
  readonly isBusy: () => boolean;
}

/** Backend and deny patterns of the watched root. */
export interface WatchedRoot {
  readonly backend: Pick<Backend, "observe">;
  readonly policy?: PathPolicy | undefined;
}

/** A reader's hold on the watching of a place. */
export interface Coverage {
  /** Whether changes by others are seen everywhere in it. */
  readonly isComplete: boolean;
  /** Whether it was looked at wherever it cannot be watched, after a position. */
  lookedSince(position: number): boolean;
  /** Whether they were seen from a position on. Until they are seen that is not known, and counts as so. */
  holdsSince(position: number): boolean;
  /** It ended from the other side: the root is another one. */
  readonly isOver: boolean;
  /** Resolves once they are seen. */
  readonly ready: Promise<void> | undefined;
  /** Idempotent. */
  release(): void;
}

const BEFORE_ALL = -1;

/** Backends without an observer: nobody else changes them, or nobody can see it. */
const NOTHING_TO_WATCH: Coverage = {
  isComplete: true,
  lookedSince: () => true,
  holdsSince: () => true,
  isOver: false,
  ready: undefined,
  release: () => {},
};

/** The events of one root. */
export class RootFeed {
  readonly ring: EventRing<FileEvent>;
  readonly #options: RootFeedOptions;
  readonly #merging: Merging;
  readonly #known: KnownStates;
  readonly #watched = new Set<Watched>();

  constructor(options: RootFeedOptions) {
    this.#options = options;
    this.ring = options.ring;
    this.#merging = new Merging(options.clock, (event) => this.ring.append(event));
    this.#known = new KnownStates(options.clock);
  }

  /** Takes a change of this venue. */
  publish(record: ChangeRecord): void {
    if (this.#watched.size > 0) this.#known.note(record);
    for (const event of eventsOf(record)) this.#merging.add(event);
  }

  /** Sees to it that changes by others are seen in a place. The caller releases it. */
  cover(place: ObservedPlace, { backend, policy }: WatchedRoot): Coverage {
    if (backend.observe === undefined) return NOTHING_TO_WATCH;
    for (const one of this.#watched) if (one.covers(place)) return one.hold();
    let lookedAt = BEFORE_ALL;
    const beginLook = () => {
      const position = this.ring.step();
      return () => {
        lookedAt = position;
      };
    };
    const watched = new Watched(place, {
      observation: backend.observe(place, { ...this.#observer(policy), beginLook }),
      lookedAt: () => lookedAt,
      now: () => this.ring.end,
      closed: () => this.#watched.delete(watched),
    });
    this.#watched.add(watched);
    return watched.hold();
  }

  /** The root is another one now: what was watched is not it. */
  restart(): void {
    for (const one of this.#watched) one.close();
    this.#known.clear();
    this.ring.markLost();
  }

  close(): void {
    for (const one of this.#watched) one.close();
    this.#merging.close();
  }

  #observer(policy: PathPolicy | undefined): Omit<Observer, "beginLook"> {
    return {
      changed: ({ version, ...change }) => {
        this.#known.set(change.path, change.entryType === "directory" && version !== null ? "directory" : version);
        this.#merging.add({ ...change, origin: "external" });
      },
      knows: (path, version) => this.#known.has(path, version),
      isBusy: this.#options.isBusy,
      ignores: (path) => policy?.denies(path) === true,
      lost: () => this.ring.markLost(),
    };
  }
}

interface WatchedParts {
  readonly observation: Observation;
  /** Position at which the last whole look at what cannot be watched began. */
  readonly lookedAt: () => number;
  /** Position of the newest event. */
  readonly now: () => number;
  readonly closed: () => void;
}

/** A watched place with its readers. */
class Watched {
  readonly #place: ObservedPlace;
  readonly #parts: WatchedParts;
  readonly #ready: Promise<void> | undefined;
  #holders = 0;
  #linger: NodeJS.Timeout | undefined;
  #isClosed = false;
  /** Position from which on everything was seen; `undefined`: not yet. */
  #since: number | undefined;

  constructor(place: ObservedPlace, parts: WatchedParts) {
    this.#place = place;
    this.#parts = parts;
    const { ready } = parts.observation;
    const begin = () => {
      this.#since = parts.now();
    };
    if (isPending(ready)) this.#ready = ready.then(begin);
    else begin();
  }

  covers({ path, recursive }: ObservedPlace): boolean {
    const own = this.#place;
    if (own.recursive) return isWithin(path, own.path);
    return !recursive && isSamePath(path, own.path);
  }

  hold(): Coverage {
    clearTimeout(this.#linger);
    this.#holders += 1;
    let isHeld = true;
    const { observation, lookedAt } = this.#parts;
    const isOver = () => this.#isClosed;
    const ready = () => (this.#since === undefined && !this.#isClosed ? this.#ready : undefined);
    return {
      get isComplete() {
        return observation.isComplete;
      },
      lookedSince: (position) => !observation.isPolled || lookedAt() > position,
      holdsSince: (position) => this.#since === undefined || this.#since <= position,
      get isOver() {
        return isOver();
      },
      get ready() {
        return ready();
      },
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        this.#holders -= 1;
        if (this.#holders === 0) this.#linger = setTimeout(() => this.close(), LINGER_MS).unref();
      },
    };
  }

  close(): void {
    clearTimeout(this.#linger);
    this.#isClosed = true;
    this.#parts.observation.close();
    this.#parts.closed();
  }
}

// States that this venue's own changes have left, kept briefly so that an observer does not report them as changes by
// others.

/** How long an observer may take to notice a change. */
const KNOWN_MS = 10_000;
/** Most states; the oldest goes first. */
const MOST = 20_000;

interface Known {
  /** `null`: nothing is there. Of a directory any version is known, since its entries change it. */
  readonly version: string | "directory" | "tree" | null;
  /** Monotonic milliseconds. */
  readonly until: number;
}

/** The latest known states of paths in one root. */
class KnownStates {
  readonly #clock: Clock;
  /** In the order in which they became known. */
  readonly #states = new Map<string, Known>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Remembers a change of this venue. */
  note({ action, kind, path, from, fromRoot, made = [], files, after }: ChangeRecord): void {
    for (const folder of made) this.set(folder, "directory");
    if (action === "moved" && from !== undefined && fromRoot === undefined) this.set(from, null);
    const isTree = action === "moved" || files !== undefined;
    const version = kind === "directory" ? (isTree ? "tree" : "directory") : after?.version;
    if (after === null) this.set(path, null);
    else if (version !== undefined) this.set(path, version);
  }

  set(path: readonly string[], version: Known["version"]): void {
    const key = keyOf(path);
    const now = this.#clock.monotonicMs();
    this.#states.delete(key);
    this.#states.set(key, { version, until: now + KNOWN_MS });
    for (const [oldest, { until }] of this.#states) {
      if (until > now && this.#states.size <= MOST) return;
      this.#states.delete(oldest);
    }
  }

  /** Whether the state of a path is known: see `Observer.knows`. */
  has(path: readonly string[], version: string | null): "tree" | boolean {
    const known = this.#states.get(keyOf(path));
    if (known === undefined || known.until <= this.#clock.monotonicMs()) return false;
    if (version === null || known.version === null) return known.version === version;
    if (known.version === "tree") return "tree";
    return known.version === "directory" || known.version === version;
  }

  clear(): void {
    this.#states.clear();
  }
}
