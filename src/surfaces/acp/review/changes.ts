// The changes of a session for undo and redo, within limits. Changes that a journal takes back are held there.

import type { Buffered } from "../files/buffers.js";
import { type Held, type Lost, ModifiedSet, overwrittenBy, type ShownPlace, sizeOf } from "./modified.js";

/** Limits of one session's history. Sizes are in bytes. */
export interface HistoryLimits {
  readonly entries: number;
  readonly bytes: number;
}

/**
 * One change. Changes that a journal takes back are not held here. If `before` is lost and there is no `entry`, neither this
 * change nor any earlier one can be undone.
 */
export interface Change {
  readonly place: ShownPlace;
  readonly before: Held | Lost;
  readonly after: Held | Lost;
  /** Directories created for the file, outermost first. */
  readonly directories?: readonly string[];
  /** The dirty editor buffer that the write replaced, if there was one. */
  readonly buffer?: Buffered;
  /** Entry of the journal by which it is undone, or redone once it was undone. */
  readonly entry?: string | undefined;
  /** The source, where a file was moved to `place`. */
  readonly moved?: MovedFile;
  /** It concerns a directory or a link, which are not among the modified files. */
  readonly isOther?: true;
}

/** A file that a move has taken away. */
export interface MovedFile {
  readonly place: ShownPlace;
  readonly before: Held | Lost;
}

const MISSING: Held = { kind: "missing" };

/** The change without contents that a journal has. */
const withoutKept = (change: Change): Change =>
  change.entry === undefined
    ? change
    : { ...change, before: withoutContent(change.before), after: withoutContent(change.after) };

const withoutContent = (content: Held | Lost): Held | Lost =>
  content.kind === "missing" ? content : { ...overwrittenBy({ ...content, kind: "lost" }), kind: "lost" };

/** The changes of a session, and the set of files they have modified. */
export class Changes {
  readonly modified: ModifiedSet;
  readonly #limits: HistoryLimits;
  #done: Change[] = [];
  #undone: Change[] = [];

  constructor(limits: HistoryLimits) {
    this.modified = new ModifiedSet(limits.bytes);
    this.#limits = limits;
  }

  /** @param first original content for the modified set: the editor's text where it differs from the file */
  record(change: Change, first: Held | Lost = change.before): void {
    const { entries, bytes } = this.#limits;
    this.#undone = [];
    this.#done.push(withoutKept(change));
    while (this.#done.length > entries || sum(this.#done) > bytes) this.#done.shift();
    this.#track(change, first, change.after);
    if (change.moved !== undefined) this.#track(change, change.moved.before, MISSING, change.moved.place);
  }

  #track({ isOther, place: own }: Change, first: Held | Lost, latest: Held | Lost, place = own): void {
    if (isOther !== true) this.modified.track({ place, first, latest });
  }

  /** Records a write by a caller who may not read the file: it cannot be undone. */
  recordBlind(place: ShownPlace, after: Held | Lost): void {
    this.#undone = [];
    this.modified.track({ place, first: { kind: "lost" }, latest: after });
  }

  /** The change that undo or redo would apply next. */
  next(direction: "undo" | "redo"): Change | undefined {
    return (direction === "undo" ? this.#done : this.#undone).at(-1);
  }

  /**
   * Moves that change to the other list.
   * @param now the change to record there
   * @param latest the content that the file has now
   */
  moveChange(direction: "undo" | "redo", now: Change, latest: Held | Lost): void {
    const [from, to] = direction === "undo" ? [this.#done, this.#undone] : [this.#undone, this.#done];
    if (from.pop() === undefined) return;
    to.push(now);
    this.#track(now, now.before, latest);
    const { moved } = now;
    if (moved !== undefined) this.#track(now, moved.before, direction === "undo" ? moved.before : MISSING, moved.place);
  }
}

const sum = (changes: readonly Change[]): number =>
  changes.reduce((total, { before, after }) => total + sizeOf(before) + sizeOf(after), 0);
