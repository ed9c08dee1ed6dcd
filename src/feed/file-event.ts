// Events of files: made from a committed change, merged where one follows another closely, and not repeated where known.

import { isSamePath } from "../core/call/path.js";
import type { Clock } from "../core/clock.js";
import { etagOf } from "../core/etag.js";
import type { ChangeRecord } from "../core/ports/changes/change.js";

/** One change in a root. Paths are real segments below the root. */
export interface FileEvent {
  readonly type: "created" | "modified" | "deleted" | "moved";
  readonly path: readonly string[];
  /** Where a moved entry was. */
  readonly from?: readonly string[] | undefined;
  readonly entryType: "file" | "directory";
  /** Etag of the file's content, where all of it was seen. */
  readonly etag?: string | undefined;
  /** `external`: somebody else's change, as far as it was seen. */
  readonly origin: "adapter" | "external";
}

/** The events of a committed change, in order. */
export function eventsOf({ action, kind, path, from, fromRoot, made = [], after }: ChangeRecord): FileEvent[] {
  const origin = "adapter";
  const isMove = action === "moved" && from !== undefined && fromRoot === undefined;
  const folders = made.map((folder) => ({ type: "created", path: folder, entryType: "directory", origin }) as const);
  const event: FileEvent = {
    type: action === "moved" && !isMove ? "created" : action,
    path,
    from: isMove ? from : undefined,
    entryType: kind === "directory" ? "directory" : "file",
    etag: after?.sha256 && etagOf(after.sha256),
    origin,
  };
  const isToldAlready = folders.some((folder) => isSamePath(folder.path, path)) && event.type === "created";
  return isToldAlready ? folders : [...folders, event];
}

const keyOf = (path: readonly string[]): string => path.join("/");

/** Whether a path is a directory or below it. @param fold names that it makes alike are one */
export const isWithin = (
  path: readonly string[],
  directory: readonly string[],
  fold?: ((name: string) => string) | undefined,
): boolean =>
  path.length >= directory.length &&
  directory.every(
    (name, index) => path[index] === name || (fold !== undefined && fold(path[index] ?? "") === fold(name)),
  );

// Merges the changes of one path that follow each other closely: the first is told at once, what follows as one.

/** Time in which further changes of a path become one event. */
const WINDOW_MS = 100;

/** A path of which an event was told lately. */
interface Window {
  /** Monotonic milliseconds. */
  readonly until: number;
  /** Whether something is there, by what was told. */
  readonly exists: boolean;
  /** The latest change that was not told yet. */
  pending?: FileEvent;
}

/** Passes events on, at most one each 100 ms for a path, and the last one always. */
export class Merging {
  readonly #clock: Clock;
  readonly #tell: (event: FileEvent) => void;
  /** By path, the one that ends first in front. */
  readonly #windows = new Map<string, Window>();
  #timer: NodeJS.Timeout | undefined;

  constructor(clock: Clock, tell: (event: FileEvent) => void) {
    this.#clock = clock;
    this.#tell = tell;
  }

  add(event: FileEvent): void {
    const { type, from, path, entryType } = event;
    // Pending events of an entry that moves are reported under its old name first.
    if (from !== undefined) this.#settle(from, (pending) => this.#tell(pending));
    if (type === "deleted" && entryType === "directory") this.#settle(path, () => {});
    const key = keyOf(path);
    const window = this.#windows.get(key);
    if (window !== undefined && type !== "moved") {
      window.pending = event;
      return;
    }
    if (from !== undefined) this.#open(keyOf(from), false);
    this.#open(key, type !== "deleted");
    this.#tell(event);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#windows.clear();
  }

  #open(key: string, exists: boolean): void {
    this.#windows.delete(key);
    this.#windows.set(key, { until: this.#clock.monotonicMs() + WINDOW_MS, exists });
    this.#timer ??= this.#schedule(WINDOW_MS);
  }

  /** Ends what is pending below a directory. */
  #settle(directory: readonly string[], end: (pending: FileEvent) => void): void {
    for (const window of this.#windows.values()) {
      const event = window.pending;
      if (event === undefined || !isWithin(event.path, directory)) continue;
      delete window.pending;
      const final = finalOf(event, window);
      if (final !== undefined) end(final);
    }
  }

  #schedule(ms: number): NodeJS.Timeout {
    return setTimeout(() => this.#flush(), ms).unref();
  }

  #flush(): void {
    this.#timer = undefined;
    const now = this.#clock.monotonicMs();
    for (const [key, window] of this.#windows) {
      if (window.until > now) {
        this.#timer ??= this.#schedule(window.until - now);
        return;
      }
      this.#windows.delete(key);
      const final = window.pending && finalOf(window.pending, window);
      if (final === undefined) continue;
      // Behind all others, so that the loop comes to it last and ends there.
      this.#open(key, final.type !== "deleted");
      this.#tell(final);
    }
  }
}

/** The change from the state last told to the present one. `undefined`: there is none. */
function finalOf(pending: FileEvent, { exists }: Window): FileEvent | undefined {
  if (pending.type === "deleted") return exists ? pending : undefined;
  const type = exists ? "modified" : "created";
  return pending.type === type ? pending : { ...pending, type };
}

// States that this venue's own changes have left, kept briefly so that an observer does not report them as changes by
// others.

/** How long an observer may take to notice a change. */
const KNOWN_MS = 10_000;
/** Most states; the oldest goes first. */
const MOST = 20_000;

interface Known {
  /** `null`: no entry. For a directory every version counts as known, since its entries change it. */
  readonly version: string | "directory" | "tree" | null;
  /** Monotonic milliseconds. */
  readonly until: number;
}

/** The latest known states of paths in one root. */
export class KnownStates {
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
