// Merges the changes of one path that follow each other closely: the first is told at once, what follows as one.

import type { Clock } from "../core/clock.js";
import { type FileEvent, isWithin, keyOf } from "./file-event.js";

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

/** The change from what was told to what is there. `undefined`: there is none. */
function finalOf(pending: FileEvent, { exists }: Window): FileEvent | undefined {
  if (pending.type === "deleted") return exists ? pending : undefined;
  const type = exists ? "modified" : "created";
  return pending.type === type ? pending : { ...pending, type };
}
