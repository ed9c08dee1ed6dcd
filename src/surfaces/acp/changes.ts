import type { Buffered } from "./buffers.js";
import type { Content, FilePlace } from "./files.js";

/** Bounds of what one session keeps. Sizes are bytes. */
export interface HistoryLimits {
  readonly entries: number;
  readonly bytes: number;
}

/** A file that can be told of. */
export interface ShownPlace extends FilePlace {
  /** As agents see it. */
  readonly sent: string;
}

/** Content that is held, so that it can be put back. */
export type Held = Extract<Content, { kind: "text" | "bytes" | "missing" }>;

/** One change that can be undone. */
export interface Change {
  readonly place: ShownPlace;
  readonly before: Held;
  readonly after: Held;
  /** What was open in the editor before, where that was something else. */
  readonly buffer?: Buffered;
}

/** A file that has changed in a session. */
export interface Modified {
  readonly path: string;
  /** `null`: there was no such file, or it was no text. */
  readonly oldText: string | null;
  readonly newText: string;
  /** There was more than can be kept: the texts are not here. */
  readonly omitted?: true;
}

interface Tracked {
  readonly place: ShownPlace;
  readonly first: Held;
  readonly latest: Held;
  readonly omitted: boolean;
}

const sizeOf = (content: Held): number => (content.kind === "missing" ? 0 : content.size);
const hashOf = (content: Held): string | null => (content.kind === "missing" ? null : content.hash);
const sizeOfChange = ({ before, after }: Change): number => sizeOf(before) + sizeOf(after);
const textOf = (content: Held): string | null => (content.kind === "text" ? content.text : null);

/** Files that are told of: the oldest go. */
const MAX_FILES = 10_000;

/** What one session has changed: first and latest texts of every file, and the steps between for undo and redo. */
export class Changes {
  readonly #limits: HistoryLimits;
  readonly #files = new Map<string, Tracked>();
  #fileBytes = 0;
  #done: Change[] = [];
  #undone: Change[] = [];
  #stepBytes = 0;

  constructor(limits: HistoryLimits) {
    this.#limits = limits;
  }

  /** @param first as the editor showed it, where that is not what the disk had */
  record(key: string, change: Change, first: Held = change.before): void {
    this.#stepBytes -= sum(this.#undone);
    this.#undone = [];
    this.#done.push(change);
    this.#stepBytes += sizeOfChange(change);
    while (this.#done.length > this.#limits.entries || this.#stepBytes > this.#limits.bytes) this.#dropOldest();
    this.#track(key, { place: change.place, first, latest: change.after });
  }

  /** A change that cannot be undone, since what was there before is too large, or not for the caller. */
  recordBlind(key: string, place: ShownPlace, after: Held): void {
    this.#stepBytes -= sum(this.#undone);
    this.#undone = [];
    this.#track(key, { place, first: { kind: "missing" }, latest: after });
  }

  /** The change that undo or redo would take back. */
  next(direction: "undo" | "redo"): Change | undefined {
    return (direction === "undo" ? this.#done : this.#undone).at(-1);
  }

  /** That change has been taken back. */
  moved(direction: "undo" | "redo", key: string): void {
    const [from, to] = direction === "undo" ? [this.#done, this.#undone] : [this.#undone, this.#done];
    const change = from.pop();
    if (change === undefined) return;
    to.push(change);
    const latest = direction === "undo" ? change.before : change.after;
    this.#track(key, { place: change.place, first: change.before, latest });
  }

  /** Files that are not as they were, in the order of their first change. */
  modified(): Modified[] {
    return [...this.#files.values()]
      .filter(({ first, latest, omitted }) => omitted || hashOf(first) !== hashOf(latest))
      .filter(({ latest }) => latest.kind !== "missing")
      .map(({ place, first, latest, omitted }) =>
        omitted
          ? { path: place.sent, oldText: null, newText: "", omitted: true }
          : { path: place.sent, oldText: textOf(first), newText: textOf(latest) ?? "" },
      );
  }

  of(key: string): Modified | undefined {
    const sent = this.#files.get(key)?.place.sent;
    return this.modified().find(({ path }) => path === sent);
  }

  #track(key: string, { place, first, latest }: Omit<Tracked, "omitted">): void {
    const known = this.#files.get(key);
    const next: Tracked =
      known === undefined
        ? { place, first, latest, omitted: false }
        : { ...known, latest: known.omitted ? { kind: "text", text: "", hash: "", size: 0 } : latest };
    this.#fileBytes += sizeOfTracked(next) - (known === undefined ? 0 : sizeOfTracked(known));
    this.#files.set(key, next);
    this.#bound();
  }

  #bound(): void {
    const [eldest] = this.#files.keys();
    if (this.#files.size > MAX_FILES && eldest !== undefined) {
      const gone = this.#files.get(eldest);
      this.#fileBytes -= gone === undefined ? 0 : sizeOfTracked(gone);
      this.#files.delete(eldest);
    }
    for (const [old, tracked] of this.#files) {
      if (this.#fileBytes <= this.#limits.bytes) break;
      this.#fileBytes -= sizeOfTracked(tracked);
      const nothing: Held = { kind: "text", text: "", hash: "", size: 0 };
      this.#files.set(old, { ...tracked, first: nothing, latest: nothing, omitted: true });
    }
  }

  #dropOldest(): void {
    const oldest = this.#done.shift();
    if (oldest !== undefined) this.#stepBytes -= sizeOfChange(oldest);
  }
}

const sum = (changes: readonly Change[]): number => changes.reduce((total, change) => total + sizeOfChange(change), 0);
const sizeOfTracked = ({ first, latest }: Tracked): number => sizeOf(first) + sizeOf(latest);
