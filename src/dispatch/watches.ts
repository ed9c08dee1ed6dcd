// Opens the changes of places for callers, whose rights are judged again at every read.

import type { CallScope } from "../core/call/scope.js";
import { FileAdapterError } from "../core/errors/errors.js";
import { tooManyPolls } from "../core/errors/repeat-texts.js";
import type { SurfaceContext } from "../core/ports/adapter.js";
import type { FileChange, PollChanges, WatchedChanges, WatchPoll } from "../core/ports/changes/events.js";
import { isPersonal, type PathCall, type RootFacts } from "../core/ports/operation.js";
import { deferred, Holds, settleWithin } from "../core/turns.js";
import type { ChangeFeed } from "../feed/change-feed.js";
import { type EventLog, LogReader } from "../feed/event-log.js";
import { parsePath } from "../path/grammar.js";
import type { CallAccess } from "./call/access.js";
import { ownerOf } from "./call/drives.js";
import { findOperation } from "./call/parts.js";
import { referredRoot } from "./call/references.js";
import { authoriserOf, CallState, type DispatchParts } from "./call/state.js";
import { type Judge, PlaceFilter } from "./place-filter.js";

/** Name by which the rights of watches are judged and audited. */
export const WATCH = "file:watch";
/** Polls of one caller that may wait at the same time. */
const MAX_WAITING = 64;
/** A poll that has something to tell waits so long for more, so that a burst is one answer. */
const GATHER_MS = 5;
/** How long an answer waits until changes by others are seen. */
const READY_MS = 1000;

interface WatchesParts extends DispatchParts {
  readonly feed: ChangeFeed;
}

/** The place that a watch is on. */
export interface WatchInput {
  readonly root: string;
  readonly path?: string | undefined;
  /** Default: everything below the path too. */
  readonly recursive?: boolean | undefined;
}

export class Watches {
  readonly #parts: WatchesParts;
  /** Callers whose polls wait. */
  readonly #waiting = new Holds(MAX_WAITING);

  constructor(parts: WatchesParts) {
    this.#parts = parts;
  }

  /** Polls at the place of a call, which is authorised. */
  createPoll(
    { root, path, access }: Pick<PathCall, "root" | "path"> & { access: CallAccess },
    context: SurfaceContext,
  ): PollChanges {
    return async (request) => {
      const { recursive } = request;
      const filter = new PlaceFilter({
        feed: this.#parts.feed.of({ root: root.name, drive: root.drive, owner: root.drive && root.owner }),
        // Behind links, where the changes are.
        ...placeIn(root, access.realPath, recursive),
        ...{ root, mayRead: () => true },
        ...this.#readerParts(root.name, { path: path.text, recursive }, context),
      });
      try {
        return await this.#poll(filter, request, { caller: context.callerDID ?? "", scope: access.scope });
      } finally {
        filter.close();
      }
    };
  }

  /**
   * Opens the changes of a place for a reader that stays. The caller needs no right on the place itself: each event is
   * judged by itself. Links are followed for who may read what they lead to. @returns `undefined` where the caller sees no such root @throws INVALID_PATH and the like
   */
  open({ root: name, path = "", recursive = true }: WatchInput, context: SurfaceContext): PlaceFilter | undefined {
    const { feed, roots } = this.#parts;
    const { segments, text } = parsePath(name, path);
    const found = roots().get(name);
    const authoriser = authoriserOf(this.#parts, WATCH, context);
    if (found === undefined || authoriser.hidesRoot(name) || !authoriser.seesRoot(name)) return undefined;
    const owner = isPersonal(found) ? ownerOf(name, context, this.#parts) : undefined;
    const filter = new PlaceFilter({
      feed: feed.of({ root: name, drive: found.drive, owner }),
      ...placeIn(found, segments, recursive),
      root: isPersonal(found) ? { backend: {} } : found,
      mayRead: () => this.#mayRead(name, segments, context),
      ...this.#readerParts(name, { path: text, recursive }, context),
    });
    // Drives have no links.
    if (segments.length > 0 && found.drive === undefined) filter.leadTo(this.#realPathOf(name, text, context));
    return filter;
  }

  /** Where a path leads, for a caller that may read it, here and there. Not recorded. */
  async #realPathOf(root: string, path: string, context: SurfaceContext): Promise<readonly string[] | undefined> {
    try {
      const call = new CallState(this.#parts, WATCH, { ...context, exactPaths: true });
      call.begin(findOperation(this.#parts.operations, WATCH, context).operation, {});
      const place = call.at({ root, path, abilities: ["crud/read"], changes: false });
      await place.root.backend.stat(place.path, place.access);
      return place.access.realPath;
    } catch (error) {
      if (!(error instanceof FileAdapterError)) this.#parts.onFault(error);
      return undefined;
    }
  }

  #readerParts(name: string, { path, recursive }: { path: string; recursive: boolean }, context: SurfaceContext) {
    const binding = JSON.stringify([name, path, recursive, context.callerDID ?? ""]);
    const actor = this.#parts.actorOf?.(context) ?? context.callerDID;
    // The operator takes from nobody else: often there is no other caller, and a tree of thousands of directories.
    return { binding, judge: () => this.#judge(name, context), caller: actor === "operator" ? undefined : actor };
  }

  /** Whether a caller may see something at a place or below it at this moment. */
  #mayRead(name: string, path: readonly string[], context: SurfaceContext): boolean {
    const now = this.#rejudged(context);
    const isDenied = this.#parts.roots().get(name)?.policy?.denies(path) === true;
    return now !== undefined && !isDenied && authoriserOf(this.#parts, WATCH, now).readsAt(name, path);
  }

  #rejudged(context: SurfaceContext): SurfaceContext | undefined {
    const { rejudge } = this.#parts;
    return rejudge === undefined ? context : rejudge(context);
  }

  /** Judges what a caller may see in a root at this moment. */
  #judge(name: string, context: SurfaceContext): Judge {
    const { roots } = this.#parts;
    const now = this.#rejudged(context);
    const root = roots().get(name) ?? referredRoot(name, this.#parts);
    if (now === undefined || root === undefined) return () => false;
    const authoriser = authoriserOf(this.#parts, WATCH, now);
    const { policy } = root;
    return (path) =>
      policy?.denies(path) !== true &&
      policy?.isDoubtful?.(path) !== true &&
      authoriser.allows([name, ...path], "crud/read");
  }

  /**
   * Answers what there is, or what comes first within `waitMs`.
   *
   * @throws INVALID_INPUT, LIMIT, ABORTED
   */
  async #poll(
    filter: PlaceFilter,
    { cursor, waitMs, limit }: WatchPoll,
    options: { readonly caller: string; readonly scope: CallScope },
  ): Promise<WatchedChanges> {
    const { log } = this.#parts.feed;
    const reader = readerOf(log, filter);
    const { ready } = filter.coverage;
    if (ready !== undefined) await options.scope.race(settleWithin(ready, READY_MS));
    const began = cursor === undefined ? undefined : reader.positionOf(cursor);
    const answer = (events: readonly FileChange[], at: number, { overflow = false, isCut = false } = {}) => ({
      ...{ events, cursor: reader.cursorAt(at), overflow, isCut },
      isCovered: isCovered(filter, overflow ? undefined : began),
    });
    if (began === undefined) return answer([], log.position);
    const deadline = performance.now() + waitMs;
    for (let from = began; ; ) {
      const now = log.position;
      if (reader.hasLost(from)) return answer([], now, { overflow: true });
      const { events, end } = takeEvents(reader, from, limit);
      if (events.length > 0) return answer(events, end ?? now, { isCut: end !== undefined });
      from = now;
      const restMs = deadline - performance.now();
      if (restMs <= 0 || log.isEnded) return answer([], now);
      await this.#wait(reader, restMs, options);
    }
  }

  /** Until there is something to read. @throws LIMIT, ABORTED */
  async #wait(
    reader: LogReader<FileChange>,
    ms: number,
    { caller, scope }: { caller: string; scope: CallScope },
  ): Promise<void> {
    const leave = this.#waiting.take(caller);
    if (leave === undefined) throw tooManyPolls(MAX_WAITING);
    const { promise: woken, resolve: wake } = deferred();
    const stop = reader.listen(() => setTimeout(wake, GATHER_MS));
    try {
      await scope.race(settleWithin(woken, ms));
    } finally {
      stop();
      // Ends the timer of a poll that was cancelled.
      wake();
      leave();
    }
  }
}

/** A place as the feed has it: where a directory of a drive is a root, in the drive. */
const placeIn = ({ subpath: top = [] }: RootFacts, path: readonly string[], recursive: boolean) => ({
  ...{ top, place: { path: [...top, ...path], recursive } },
});

/** Reads the changes of one place, by cursors of its own. */
export const readerOf = (log: EventLog, filter: PlaceFilter): LogReader<FileChange> =>
  new LogReader(log, [[WATCH, filter]], filter.binding);

/** Whether changes by others were seen everywhere in a place since a position. */
const isCovered = ({ coverage }: PlaceFilter, since: number | undefined): boolean =>
  coverage.isComplete && coverage.ready === undefined && (since === undefined || coverage.lookedSince(since));

/** Events up to a limit. `end`: the position of the last one, where more follow. */
function takeEvents(reader: LogReader<FileChange>, from: number, limit: number) {
  const events: FileChange[] = [];
  let last = from;
  for (const { position, data } of reader.read(from)) {
    if (events.length === limit) return { events, end: last };
    events.push(data);
    last = position;
  }
  return { events, end: undefined };
}
