// One watch: the part of the feed that lies in its place and that its caller may see at that moment.

import type { CallScope } from "../core/call/scope.js";
import { cursorOfAnother, tooManyPolls } from "../core/errors/repeat-texts.js";
import type { ObservedPlace } from "../core/ports/changes/observer.js";
import type { FileChange, PlacedEvent, PlaceWatch, WatchedChanges, WatchPoll } from "../core/ports/changes/watch.js";
import { deferred, settleWithin } from "../core/turns.js";
import type { EventLog } from "../feed/event-log.js";
import { type FileEvent, isWithin } from "../feed/file-event.js";
import type { Coverage, RootFeed, WatchedRoot } from "../feed/root-feed.js";

/** Polls of one caller that may wait at the same time. */
const MAX_WAITING = 64;
/** A poll that has something to tell waits so long for more, so that a burst is one answer. */
const GATHER_MS = 5;
/** How long an answer waits until changes by others are seen. */
const READY_MS = 1000;

/** Position of a reader that has nothing of what there is. */
const BEFORE_ALL = -1;

/** Whether the caller may see a path below the root, as things stand when it is made. */
export type Judge = (path: readonly string[]) => boolean;

export interface PlaceWatchParts {
  readonly feed: RootFeed;
  readonly place: ObservedPlace;
  readonly root: WatchedRoot;
  readonly log: EventLog;
  /** Binding of its cursors. */
  readonly binding: string;
  /** Judges anew: called for each reading. */
  readonly judge: () => Judge;
}

/** Opens the changes of a place for one caller. */
export const openWatch = (parts: PlaceWatchParts): PlaceWatch => new Watch(parts);

class Watch implements PlaceWatch {
  readonly #parts: PlaceWatchParts;
  #coverage: Coverage;
  #isClosed = false;

  constructor(parts: PlaceWatchParts) {
    this.#parts = parts;
    this.#coverage = parts.feed.cover(parts.place, parts.root);
  }

  get ring(): number {
    return this.#parts.feed.ring.number;
  }

  get isComplete(): boolean {
    return this.#coverage.isComplete;
  }

  lookedSince(position: number): boolean {
    return this.#coverage.lookedSince(position);
  }

  get ready(): Promise<void> | undefined {
    return this.#coverage.ready;
  }

  *read(after: number): Generator<PlacedEvent<FileChange>> {
    const { feed, place, judge } = this.#parts;
    let maySee: Judge | undefined;
    for (const { position, event } of feed.ring.after(after)) {
      if (!isInPlace(event, place)) continue;
      maySee ??= judge();
      const change = changeFor(event, place, maySee);
      if (change !== undefined) yield { position, event: change };
    }
  }

  hasLost(position: number): boolean {
    const { feed, place, root } = this.#parts;
    if (this.#coverage.isOver && !this.#isClosed) this.#coverage = feed.cover(place, root);
    return feed.ring.hasLost(position) || !this.#coverage.holdsSince(position) || this.#lostTop(position);
  }

  listen(listener: () => void): () => void {
    return this.#parts.feed.ring.listen(listener);
  }

  cursorAt(position: number): string {
    return this.#parts.log.cursor(position, this.#parts.binding);
  }

  positionOf(cursor: string): number {
    const position = this.#parts.log.positionOf(cursor, this.#parts.binding);
    if (position === "malformed" || position === "binding") throw cursorOfAnother();
    return position === "start" ? BEFORE_ALL : position;
  }

  close(): void {
    this.#isClosed = true;
    this.#coverage.release();
  }

  /** Whether a directory above the place was replaced, with all that was in the place. */
  #lostTop(position: number): boolean {
    const { feed, place } = this.#parts;
    if (place.path.length === 0) return false;
    const isAbove = (path: readonly string[]) => path.length < place.path.length && isWithin(place.path, path);
    for (const { event } of feed.ring.after(position)) {
      const { type, path, from } = event;
      if (type === "modified") continue;
      if (isAbove(path) || (from !== undefined && isAbove(from))) return true;
    }
    return false;
  }
}

const isIn = (path: readonly string[], { path: top, recursive }: ObservedPlace): boolean =>
  isWithin(path, top) && (recursive || path.length <= top.length + 1);

const isInPlace = ({ path, from }: FileEvent, place: ObservedPlace): boolean =>
  isIn(path, place) || (from !== undefined && isIn(from, place));

/** The event as the caller may see it: half a move is something created or deleted. */
function changeFor(event: FileEvent, place: ObservedPlace, maySee: Judge): FileChange | undefined {
  const { type, path, from, entryType, etag, origin } = event;
  const isSeen = isIn(path, place) && maySee(path);
  const content = etag === undefined ? {} : { etag };
  if (type !== "moved" || from === undefined) {
    return isSeen ? { type, path: path.join("/"), entryType, ...content, origin } : undefined;
  }
  const isFromSeen = isIn(from, place) && maySee(from);
  const old = from.join("/");
  if (!isSeen) return isFromSeen ? { type: "deleted", path: old, entryType, origin } : undefined;
  const whole = path.join("/");
  if (!isFromSeen) return { type: "created", path: whole, entryType, ...content, origin };
  return { type, path: whole, from: old, entryType, ...content, origin };
}

/** The polls of an adapter. */
export class Polls {
  readonly #log: EventLog;
  /** Waiting polls by caller. */
  readonly #waiting = new Map<string, number>();
  readonly #wakes = new Set<() => void>();
  #isEnding = false;

  constructor(log: EventLog) {
    this.#log = log;
  }

  /** Answers those that wait with what there is; later ones do not wait. */
  end(): void {
    this.#isEnding = true;
    for (const wake of this.#wakes) wake();
  }

  /**
   * Answers what there is, or what comes first within `waitMs`.
   *
   * @throws INVALID_INPUT, LIMIT, ABORTED
   */
  async poll(
    watch: PlaceWatch,
    { cursor, waitMs, limit }: WatchPoll,
    options: { readonly caller: string; readonly scope: CallScope },
  ): Promise<WatchedChanges> {
    const { scope } = options;
    if (watch.ready !== undefined) await scope.race(settleWithin(watch.ready, READY_MS));
    const began = cursor === undefined ? undefined : watch.positionOf(cursor);
    const answer = (events: readonly FileChange[], at: number, how: { overflow: boolean; isCut: boolean }) => ({
      ...{ events, cursor: watch.cursorAt(at), ...how },
      isCovered:
        watch.isComplete &&
        watch.ready === undefined &&
        (began === undefined || how.overflow || watch.lookedSince(began)),
    });
    if (began === undefined) return answer([], this.#log.position, { overflow: false, isCut: false });
    let from = began;
    const deadline = performance.now() + waitMs;
    for (;;) {
      const now = this.#log.position;
      if (watch.hasLost(from)) return answer([], now, { overflow: true, isCut: false });
      const { events, end } = takeEvents(watch, from, limit);
      if (events.length > 0) return answer(events, end ?? now, { overflow: false, isCut: end !== undefined });
      from = now;
      const restMs = deadline - performance.now();
      if (restMs <= 0 || this.#isEnding) return answer([], now, { overflow: false, isCut: false });
      await this.#wait(watch, restMs, options);
    }
  }

  /** Until there is something to read. @throws LIMIT, ABORTED */
  async #wait(watch: PlaceWatch, ms: number, { caller, scope }: { caller: string; scope: CallScope }): Promise<void> {
    const waiting = this.#waiting.get(caller) ?? 0;
    if (waiting >= MAX_WAITING) throw tooManyPolls(MAX_WAITING);
    this.#waiting.set(caller, waiting + 1);
    const { promise: woken, resolve: wake } = deferred();
    this.#wakes.add(wake);
    const stop = watch.listen(() => setTimeout(wake, GATHER_MS));
    try {
      await scope.race(settleWithin(woken, ms));
    } finally {
      stop();
      this.#wakes.delete(wake);
      // Ends the timer of a poll that was cancelled.
      wake();
      const left = (this.#waiting.get(caller) ?? 1) - 1;
      if (left === 0) this.#waiting.delete(caller);
      else this.#waiting.set(caller, left);
    }
  }
}

/** Events up to a limit. `end`: the position of the last one, where more follow. */
function takeEvents(watch: PlaceWatch, from: number, limit: number): { events: FileChange[]; end: number | undefined } {
  const events: FileChange[] = [];
  let last = from;
  for (const { position, event } of watch.read(from)) {
    if (events.length === limit) return { events, end: last };
    events.push(event);
    last = position;
  }
  return { events, end: undefined };
}
