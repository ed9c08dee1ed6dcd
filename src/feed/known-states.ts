// States that this venue's own changes have left, kept briefly so that an observer does not report them as changes by
// others.

import type { Clock } from "../core/clock.js";
import type { ChangeRecord } from "../core/ports/changes/change.js";
import { keyOf } from "./file-event.js";

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
