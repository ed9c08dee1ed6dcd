import type { Buffered } from "../files/buffers.js";
import type { Content, FilePlace } from "../files/files.js";

/** Bounds of what one session keeps. Sizes are bytes. */
export interface HistoryLimits {
  readonly entries: number;
  readonly bytes: number;
}

/** A file that can be told of. */
export interface ShownPlace extends FilePlace {
  /** As agents see it. */
  readonly sent: string;
  /** What the file is known by in its session. */
  readonly key: string;
}

/** Content that is held, so that it can be put back. */
export type Held = Extract<Content, { kind: "text" | "bytes" | "missing" }>;

/** What is known of content that is told without its text. Bytes; neither is there of what the caller may not read. */
export interface Overwritten {
  readonly size?: number;
  /** `sha256:` and 64 hex digits. */
  readonly hash?: string;
}

/** Content that is gone: it was too large to be held, or not for the caller to see. */
export interface Lost extends Overwritten {
  readonly kind: "lost";
}

/** One change. It can be undone where what was there before is held; else nothing before it can be either. */
export interface Change {
  readonly place: ShownPlace;
  readonly before: Held | Lost;
  readonly after: Held;
  /** Directories that were made for it, the outermost first. */
  readonly directories?: readonly string[];
  /** What was open in the editor before, where that was something else. */
  readonly buffer?: Buffered;
}

/** A file that has changed in a session. */
export interface Modified {
  readonly path: string;
  /** `null`: there was no such file, or `overwrites` says what there was in place of a text. */
  readonly oldText: string | null;
  readonly newText: string;
  /** There was a file, but no text that could be told. */
  readonly overwrites?: Overwritten;
  /** There was more than can be kept: the texts are not here. */
  readonly omitted?: true;
}

interface Tracked {
  readonly place: ShownPlace;
  readonly first: Held | Lost;
  readonly latest: Held;
  readonly omitted: boolean;
}

const sizeOf = (content: Held | Lost): number => ("text" in content || "bytes" in content ? content.size : 0);
/** `undefined`: not known, and like no other. */
const hashOf = (content: Held | Lost): string | null | undefined => (content.kind === "missing" ? null : content.hash);
const sizeOfChange = ({ before, after }: Change): number => sizeOf(before) + sizeOf(after);
const textOf = (content: Held | Lost): string | null => (content.kind === "text" ? content.text : null);

/** What is told of content in place of a text. `undefined`: there was none, or it is a text. */
export function overwrittenBy(content: Held | Lost): Overwritten | undefined {
  if (content.kind === "missing" || content.kind === "text") return undefined;
  const { size, hash } = content;
  return { ...(size === undefined ? {} : { size }), ...(hash === undefined ? {} : { hash }) };
}

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
  record(change: Change, first: Held | Lost = change.before): void {
    this.#stepBytes -= sum(this.#undone);
    this.#undone = [];
    this.#done.push(change);
    this.#stepBytes += sizeOfChange(change);
    while (this.#done.length > this.#limits.entries || this.#stepBytes > this.#limits.bytes) this.#dropOldest();
    this.#track({ place: change.place, first, latest: change.after });
  }

  /** A change by a caller who may not know what was there: no step of undo. */
  recordBlind(place: ShownPlace, after: Held): void {
    this.#stepBytes -= sum(this.#undone);
    this.#undone = [];
    this.#track({ place, first: { kind: "lost" }, latest: after });
  }

  /** The change that undo or redo would take back. */
  next(direction: "undo" | "redo"): Change | undefined {
    return (direction === "undo" ? this.#done : this.#undone).at(-1);
  }

  /** That change has been taken back. @param now as it is to be taken back the next time */
  moved(direction: "undo" | "redo", now: Change): void {
    const [from, to] = direction === "undo" ? [this.#done, this.#undone] : [this.#undone, this.#done];
    const { place, before, after } = now;
    const latest = direction === "undo" ? before : after;
    if (latest.kind === "lost" || from.pop() === undefined) return;
    to.push(now);
    this.#track({ place, first: before, latest });
  }

  /** Files that are not as they were, in the order of their first change. */
  modified(): Modified[] {
    return [...this.#files.values()]
      .filter(({ first, latest, omitted }) => omitted || hashOf(first) !== hashOf(latest))
      .filter(({ latest }) => latest.kind !== "missing")
      .map(({ place, first, latest, omitted }) => {
        const overwritten = overwrittenBy(first);
        const overwrites = overwritten === undefined ? {} : { overwrites: overwritten };
        return omitted
          ? { path: place.sent, oldText: null, newText: "", omitted: true, ...overwrites }
          : { path: place.sent, oldText: textOf(first), newText: textOf(latest) ?? "", ...overwrites };
      });
  }

  of(key: string): Modified | undefined {
    const sent = this.#files.get(key)?.place.sent;
    return this.modified().find(({ path }) => path === sent);
  }

  #track({ place, first, latest }: Omit<Tracked, "omitted">): void {
    const { key } = place;
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
      const overwritten = overwrittenBy(tracked.first);
      const first: Held | Lost = overwritten === undefined ? nothing : { kind: "lost", ...overwritten };
      this.#files.set(old, { ...tracked, first, latest: nothing, omitted: true });
    }
  }

  #dropOldest(): void {
    const oldest = this.#done.shift();
    if (oldest !== undefined) this.#stepBytes -= sizeOfChange(oldest);
  }
}

const sum = (changes: readonly Change[]): number => changes.reduce((total, change) => total + sizeOfChange(change), 0);
const sizeOfTracked = ({ first, latest }: Tracked): number => sizeOf(first) + sizeOf(latest);
