// The filter of one place: the events of its root that lie in it, as far as its reader may see them at that moment.

import { isSamePath } from "../core/call/path.js";
import type { FileChange } from "../core/ports/changes/events.js";
import type { ObservedPlace } from "../core/ports/changes/observer.js";
import type { Coverage, RootFeed, WatchedRoot } from "../feed/change-feed.js";
import type { Filter } from "../feed/event-log.js";
import { type FileEvent, isWithin } from "../feed/file-event.js";

/** Whether the reader may see a path below the root, as things stand when it is made. */
export type Judge = (path: readonly string[]) => boolean;

interface PlaceParts {
  readonly feed: RootFeed;
  readonly place: ObservedPlace;
  /** Directory of a drive that the paths of its reader begin at. */
  readonly top: readonly string[];
  readonly root: WatchedRoot;
  /** The reader, in whose share of what can be watched it is. Absent: in nobody's. */
  readonly caller?: string | undefined;
  /** Whether the reader may see something there now. What is watched for nobody tells nothing by how long that takes. */
  readonly mayRead: () => boolean;
  /** The value that cursors are bound to when the place is read alone. */
  readonly binding: string;
  /** Judges anew: called for each reading. */
  readonly judge: () => Judge;
}

type Watched = Pick<Coverage, "isComplete" | "isOver" | "ready" | "lookedSince" | "holdsSince" | "release">;

const UNWATCHED: Watched = {
  ...{ isComplete: true, isOver: true, ready: undefined },
  ...{ lookedSince: () => true, holdsSince: () => true, release: () => {} },
};

/** Changes by others are watched while it is open. The opener closes it, once. */
export class PlaceFilter implements Filter<FileChange> {
  #parts: PlaceParts;
  #coverage: Watched;
  #isClosed = false;
  #led: Promise<void> | undefined;

  constructor(parts: PlaceParts) {
    this.#parts = parts;
    this.#coverage = parts.mayRead() ? parts.feed.cover(parts.place, parts.root, parts.caller) : UNWATCHED;
  }

  get binding(): string {
    return this.#parts.binding;
  }

  get topic(): RootFeed["topic"] {
    return this.#parts.feed.topic;
  }

  /** Takes the place behind links, once that is known. */
  leadTo(real: Promise<readonly string[] | undefined>): void {
    this.#led = real.then((path) => {
      const { feed, place, root, caller } = this.#parts;
      if (path === undefined || this.#isClosed || isSamePath(path, place.path)) return;
      this.#parts = { ...this.#parts, place: { ...place, path } };
      this.#coverage.release();
      this.#coverage = feed.cover(this.#parts.place, root, caller);
    });
  }

  /** Resolves once the place is known, and changes by others in it are seen. */
  async ready(): Promise<void> {
    await this.#led;
    await this.#coverage.ready;
  }

  /** Whether and since when changes by others are seen in it. */
  get coverage(): Pick<Coverage, "isComplete" | "ready" | "lookedSince"> {
    return this.#coverage;
  }

  judge(): (event: FileEvent) => FileChange | undefined {
    let maySee: Judge | undefined;
    return (event) => {
      const { path, from } = event;
      if (!this.#has(path) && (from === undefined || !this.#has(from))) return undefined;
      maySee ??= this.#parts.judge();
      return this.#changeFor(event, maySee);
    };
  }

  hasLost(position: number): boolean {
    const { feed, place, root, caller, mayRead } = this.#parts;
    if (this.#coverage.isOver && !feed.isClosed && mayRead()) this.#coverage = feed.cover(place, root, caller);
    return !this.#coverage.holdsSince(position) || this.#lostTop(position);
  }

  get depth(): number {
    return this.#parts.place.path.length;
  }

  /** Whether the reader may see the place itself now. */
  get isSeen(): boolean {
    return this.#parts.judge()(this.#parts.place.path);
  }

  close(): void {
    this.#isClosed = true;
    this.#coverage.release();
  }

  #has(path: readonly string[]): boolean {
    const { path: top, recursive } = this.#parts.place;
    return isWithin(path, top, this.#parts.root.foldName) && (recursive || path.length <= top.length + 1);
  }

  /** The event as the reader may see it: half a move is something created or deleted. */
  #changeFor(event: FileEvent, maySee: Judge): FileChange | undefined {
    const { type, path, from, entryType, etag, origin } = event;
    const { length } = this.#parts.top;
    const isSeen = this.#has(path) && maySee(path.slice(length));
    const content = etag === undefined ? {} : { etag };
    if (type !== "moved" || from === undefined) {
      return isSeen ? { type, path: path.slice(length).join("/"), entryType, ...content, origin } : undefined;
    }
    const isFromSeen = this.#has(from) && maySee(from.slice(length));
    const old = from.slice(length).join("/");
    if (!isSeen) return isFromSeen ? { type: "deleted", path: old, entryType, origin } : undefined;
    const whole = path.slice(length).join("/");
    if (!isFromSeen) return { type: "created", path: whole, entryType, ...content, origin };
    return { type, path: whole, from: old, entryType, ...content, origin };
  }

  /** Whether a directory above the place was replaced, with all that was in the place. */
  #lostTop(position: number): boolean {
    const top = this.#parts.place.path;
    if (top.length === 0) return false;
    const isAbove = (path: readonly string[]) =>
      path.length < top.length && isWithin(top, path, this.#parts.root.foldName);
    for (const { event } of this.topic.after(position)) {
      const { type, path, from } = event;
      if (type === "modified") continue;
      if (isAbove(path) || (from !== undefined && isAbove(from))) return true;
    }
    return false;
  }
}
