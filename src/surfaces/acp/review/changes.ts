// The changes of a session: the modified set shown to the user, and the history for undo and redo, both within byte
// limits.

import type { Buffered } from "../files/buffers.js";
import type { Content, FilePlace } from "../files/files.js";

/** Limits of one session's history. Sizes are in bytes. */
export interface HistoryLimits {
  readonly entries: number;
  readonly bytes: number;
}

/** A file with the path to show for it. */
export interface ShownPlace extends FilePlace {
  /** As agents see it. */
  readonly sent: string;
  /** Key of the file in its session (see `keyOf`). */
  readonly key: string;
}

/** Content kept in memory, so that it can be restored. */
export type Held = Extract<Content, { kind: "text" | "bytes" | "missing" }>;

/** Size (bytes) and hash of content that is not shown. Both are absent if the caller may not read it. */
export interface Overwritten {
  readonly size?: number;
  /** `sha256:` and 64 hex digits. */
  readonly hash?: string;
}

/** Content that was not kept: it was too large, or the caller may not read it. */
export interface Lost extends Overwritten {
  readonly kind: "lost";
}

/** One change. If neither `before` nor a journal has kept it, neither this change nor any earlier one can be undone. */
export interface Change {
  readonly place: ShownPlace;
  readonly before: Held | Lost;
  readonly after: Held;
  /** Directories created for the file, outermost first. */
  readonly directories?: readonly string[];
  /** The dirty editor buffer that the write replaced, if there was one. */
  readonly buffer?: Buffered;
  /** Entry of the journal by which the last undo or redo of it is taken back. */
  readonly entry?: string | undefined;
}

/** A file changed in a session. */
export interface Modified {
  readonly path: string;
  /** `null`: the file did not exist, or its content is not shown and `overwrites` describes it. */
  readonly oldText: string | null;
  readonly newText: string;
  /** Present if the original content existed but is not shown. */
  readonly overwrites?: Overwritten;
  /** The texts exceed the history limits and are omitted. */
  readonly omitted?: true;
}

interface Tracked {
  readonly place: ShownPlace;
  readonly first: Held | Lost;
  readonly latest: Held;
  readonly omitted: boolean;
}

const sizeOf = (content: Held | Lost): number => ("text" in content || "bytes" in content ? content.size : 0);
/** `undefined`: unknown, and equal to no other content. */
const hashOf = (content: Held | Lost): string | null | undefined => (content.kind === "missing" ? null : content.hash);
const sizeOfChange = ({ before, after }: Change): number => sizeOf(before) + sizeOf(after);
const textOf = (content: Held | Lost): string | null => (content.kind === "text" ? content.text : null);

/** Size and hash of content that is not text. `undefined` if it is text or does not exist. */
export function overwrittenBy(content: Held | Lost): Overwritten | undefined {
  if (content.kind === "missing" || content.kind === "text") return undefined;
  const { size, hash } = content;
  return { ...(size === undefined ? {} : { size }), ...(hash === undefined ? {} : { hash }) };
}

/** Maximum files in the modified set; the oldest are dropped. */
const MAX_FILES = 10_000;

/** First and latest texts of every changed file, and the changes in between for undo and redo. */
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

  /** @param first original content for the modified set: the editor's text where it differs from the file */
  record(change: Change, first: Held | Lost = change.before): void {
    this.#stepBytes -= sum(this.#undone);
    this.#undone = [];
    this.#done.push(change);
    this.#stepBytes += sizeOfChange(change);
    while (this.#done.length > this.#limits.entries || this.#stepBytes > this.#limits.bytes) this.#dropOldest();
    this.#track({ place: change.place, first, latest: change.after });
  }

  /** Records a write by a caller who may not read the file: it cannot be undone. */
  recordBlind(place: ShownPlace, after: Held): void {
    this.#stepBytes -= sum(this.#undone);
    this.#undone = [];
    this.#track({ place, first: { kind: "lost" }, latest: after });
  }

  /** The change that undo or redo would apply next. */
  next(direction: "undo" | "redo"): Change | undefined {
    return (direction === "undo" ? this.#done : this.#undone).at(-1);
  }

  /** Moves that change to the other list. @param now the change to record there */
  moveChange(direction: "undo" | "redo", now: Change): void {
    const [from, to] = direction === "undo" ? [this.#done, this.#undone] : [this.#undone, this.#done];
    const { place, before, after } = now;
    const latest = direction === "undo" ? before : after;
    if (from.pop() === undefined) return;
    to.push(now);
    // What a journal has brought back is not known here; it is what the session found.
    if (latest.kind === "lost") this.#forget(place.key);
    else this.#track({ place, first: before, latest });
  }

  /** Files that differ from their original, in the order of their first change. */
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
    this.#dropOverLimits();
  }

  #forget(key: string): void {
    const known = this.#files.get(key);
    if (known !== undefined) this.#fileBytes -= sizeOfTracked(known);
    this.#files.delete(key);
  }

  #dropOverLimits(): void {
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
