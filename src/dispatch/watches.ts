// Opens watches of places for callers, and checks the caller's rights again at every read.

import type { Authoriser } from "../authz/authorise.js";
import type { Awaitable } from "../core/io.js";
import type { SurfaceContext } from "../core/ports/adapter.js";
import type { PlaceWatch, PollChanges } from "../core/ports/changes/watch.js";
import { type AnyOperation, isPersonal, type OpenRoot, type PathCall } from "../core/ports/operation.js";
import type { ChangeFeed } from "../feed/change-feed.js";
import { parsePath } from "../path/grammar.js";
import type { CallAccess } from "./call/access.js";
import { ownerOf } from "./call/drives.js";
import type { DispatchOptions } from "./options.js";
import { type Judge, openWatch, Polls } from "./place-watch.js";

/** Name by which the rights of watches are judged and audited. */
export const WATCH = "file:watch";

export interface WatchesParts {
  readonly feed: ChangeFeed;
  readonly options: DispatchOptions;
  readonly rootOf: (name: string) => OpenRoot | undefined;
  readonly authoriserOf: (operation: string, context: SurfaceContext) => Authoriser;
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
  readonly #polls: Polls;

  constructor(parts: WatchesParts) {
    this.#parts = parts;
    this.#polls = new Polls(parts.feed.log);
  }

  /** Answers the polls that wait with what there is. */
  endPolls(): void {
    this.#polls.end();
  }

  /** Polls at the place of a call, which is authorised. */
  createPoll(
    { root, path, access }: Pick<PathCall, "root" | "path"> & { access: CallAccess },
    context: SurfaceContext,
  ) {
    const poll: PollChanges = async (request) => {
      const { recursive } = request;
      const caller = context.callerDID ?? "";
      const watch = openWatch({
        feed: this.#parts.feed.of({ root: root.name, drive: root.drive, owner: root.drive && root.owner }),
        // Behind links, where the changes are.
        place: { path: access.realPath, recursive },
        root,
        ...this.#readerParts(root.name, { path: path.text, recursive }, context),
      });
      try {
        return await this.#polls.poll(watch, request, { caller, scope: access.scope });
      } finally {
        watch.close();
      }
    };
    return poll;
  }

  /**
   * Opens the changes of a place for a reader that stays. The caller needs no right on the place itself: each event is
   * judged by itself. @returns `undefined` where the caller sees no such root @throws INVALID_PATH and the like
   */
  open({ root: name, path = "", recursive = true }: WatchInput, context: SurfaceContext): PlaceWatch | undefined {
    const { feed, options, rootOf, authoriserOf } = this.#parts;
    const { segments, text } = parsePath(name, path);
    const found = rootOf(name);
    const authoriser = authoriserOf(WATCH, context);
    if (found === undefined || authoriser.hidesRoot(name) || !authoriser.seesRoot(name)) return undefined;
    const owner = isPersonal(found) ? ownerOf(name, context, options) : undefined;
    return openWatch({
      feed: feed.of({ root: name, drive: found.drive, owner }),
      place: { path: segments, recursive },
      root: isPersonal(found) ? { backend: {} } : found,
      ...this.#readerParts(name, { path: text, recursive }, context),
    });
  }

  #readerParts(name: string, { path, recursive }: { path: string; recursive: boolean }, context: SurfaceContext) {
    const binding = JSON.stringify([name, path, recursive, context.callerDID ?? ""]);
    return { log: this.#parts.feed.log, binding, judge: () => this.#judge(name, context) };
  }

  /** Judges what a caller may see in a root at this moment. */
  #judge(name: string, context: SurfaceContext): Judge {
    const { options, rootOf, authoriserOf } = this.#parts;
    const now = options.rejudge === undefined ? context : options.rejudge(context);
    const root = rootOf(name);
    if (now === undefined || root === undefined) return () => false;
    const authoriser = authoriserOf(WATCH, now);
    const { policy } = root;
    return (path) =>
      policy?.denies(path) !== true &&
      policy?.isDoubtful?.(path) !== true &&
      authoriser.allows([name, ...path], "crud/read");
  }
}

/** Runs an operation; while it changes something, the feed knows. */
export function withChangeBracket<T>(
  { changes }: Pick<AnyOperation, "changes">,
  { feed }: Pick<DispatchOptions, "feed">,
  run: () => Awaitable<T>,
): Awaitable<T> {
  return changes && feed !== undefined ? bracketed(feed, run) : run();
}

async function bracketed<T>(feed: ChangeFeed, run: () => Awaitable<T>): Promise<T> {
  feed.beginChange();
  try {
    return await run();
  } finally {
    feed.endChange();
  }
}
