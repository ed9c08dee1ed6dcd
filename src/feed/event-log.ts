// Rings of the latest events, and cursors that say up to where a reader has them.
//
// All rings of a log count together, so that one position holds for all of them. A cursor is one encrypted block: it
// shows neither how many events were left out for its reader nor what goes on elsewhere.

import { createCipheriv, createDecipheriv, hash, randomBytes } from "node:crypto";

/** Most events that a ring holds; the oldest goes first. */
const RING_EVENTS = 10_000;
/** A cursor: 4 bytes of the start, 6 of the position, 6 of what it is bound to. */
const BLOCK_BYTES = 16;
const START_BYTES = 4;
const POSITION_BYTES = 6;
/** Cursors that are kept. */
const MAX_RECENT = 1000;
const CURSOR = /^[A-Za-z0-9_-]{22}$/;

/** Why a cursor leads nowhere. `start`: it is of another process, or of another start of this one. */
export type CursorFault = "malformed" | "start" | "binding";

/** The events of one process. */
export class EventLog {
  #position = 0;
  #rings = 0;
  #cursors: CursorCipher | undefined;
  /** Gives the next position to a ring. */
  readonly #next = (): number => ++this.#position;

  /** Position of the newest event in any ring. */
  get position(): number {
    return this.#position;
  }

  ring<Event>(size = RING_EVENTS): EventRing<Event> {
    return new EventRing(size, { number: ++this.#rings, next: this.#next, now: () => this.#position });
  }

  /** A cursor at a position. @param binding what it can be used for; default: anything */
  cursor(position: number, binding = ""): string {
    this.#cursors ??= new CursorCipher();
    return this.#cursors.seal(position, binding);
  }

  /** The position of a cursor. */
  positionOf(cursor: string, binding = ""): number | CursorFault {
    this.#cursors ??= new CursorCipher();
    return this.#cursors.open(cursor, binding);
  }
}

class CursorCipher {
  readonly #start = randomBytes(START_BYTES);
  readonly #seal;
  readonly #open;
  /** Cursors made lately that are bound to nothing: many streams tell of the same events. */
  readonly #recent = new Map<number, string>();

  constructor() {
    const key = randomBytes(BLOCK_BYTES);
    // Single blocks, no two of which are alike: no mode that chains them is needed.
    this.#seal = createCipheriv("aes-128-ecb", key, null).setAutoPadding(false);
    this.#open = createDecipheriv("aes-128-ecb", key, null).setAutoPadding(false);
  }

  seal(position: number, binding: string): string {
    if (binding !== "") return this.#sealed(position, binding);
    const known = this.#recent.get(position);
    if (known !== undefined) return known;
    const made = this.#sealed(position, binding);
    if (this.#recent.size >= MAX_RECENT) this.#recent.clear();
    this.#recent.set(position, made);
    return made;
  }

  #sealed(position: number, binding: string): string {
    const block = Buffer.alloc(BLOCK_BYTES);
    this.#start.copy(block);
    block.writeUIntBE(position, START_BYTES, POSITION_BYTES);
    bindingOf(binding).copy(block, START_BYTES + POSITION_BYTES);
    return this.#seal.update(block).toString("base64url");
  }

  open(cursor: string, binding: string): number | CursorFault {
    if (!CURSOR.test(cursor)) return "malformed";
    const block = this.#open.update(Buffer.from(cursor, "base64url"));
    if (!block.subarray(0, START_BYTES).equals(this.#start)) return "start";
    const isBound = block.subarray(START_BYTES + POSITION_BYTES).equals(bindingOf(binding));
    return isBound ? block.readUIntBE(START_BYTES, POSITION_BYTES) : "binding";
  }
}

const NOT_BOUND = Buffer.alloc(BLOCK_BYTES - START_BYTES - POSITION_BYTES);
let lastBinding = { text: "", bytes: NOT_BOUND };

function bindingOf(text: string): Buffer {
  if (text === "") return NOT_BOUND;
  if (lastBinding.text !== text) {
    lastBinding = { text, bytes: hash("sha256", text, "buffer").subarray(0, NOT_BOUND.length) };
  }
  return lastBinding.bytes;
}

/** An event in its ring. */
export interface Placed<Event> {
  readonly position: number;
  readonly event: Event;
}

interface RingPlace {
  /** Tells the rings of a log apart. */
  readonly number: number;
  readonly next: () => number;
  readonly now: () => number;
}

/** The latest events of one topic. */
export class EventRing<Event> {
  readonly number: number;
  readonly #size: number;
  readonly #next: () => number;
  readonly #now: () => number;
  readonly #events: Placed<Event>[] = [];
  /** Index of the oldest event, once the ring is full. */
  #oldest = 0;
  /** Readers that are not beyond this position have missed something. */
  #lostUntil: number;
  readonly #listeners = new Set<() => void>();

  constructor(size: number, { number, next, now }: RingPlace) {
    this.number = number;
    this.#size = size;
    this.#next = next;
    this.#now = now;
    this.#lostUntil = now();
  }

  append(event: Event): void {
    const placed = { position: this.#next(), event };
    if (this.#events.length < this.#size) this.#events.push(placed);
    else {
      this.#lostUntil = this.#events[this.#oldest]?.position ?? this.#lostUntil;
      this.#events[this.#oldest] = placed;
      this.#oldest = (this.#oldest + 1) % this.#size;
    }
    this.#tell();
  }

  /** Goes on by one position, so that cursors from before and after can be told apart. @returns the position */
  step(): number {
    return this.#next();
  }

  /** Something happened that nobody saw: every reader has to look for itself. */
  markLost(): void {
    this.#lostUntil = this.#next();
    this.#tell();
  }

  /** Whether a reader at a position has missed something. */
  hasLost(position: number): boolean {
    return position < this.#lostUntil;
  }

  /** The position up to which a reader that has looked for itself has everything. */
  get end(): number {
    return this.#now();
  }

  /** Events behind a position, oldest first. */
  *after(position: number): Generator<Placed<Event>> {
    for (let index = this.#indexAfter(position); index < this.#events.length; index++) {
      const placed = this.#at(index);
      if (placed !== undefined) yield placed;
    }
  }

  /** Is told of each new event, and must not throw. @returns ends that */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Number of listeners. */
  get listeners(): number {
    return this.#listeners.size;
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }

  #at(index: number): Placed<Event> | undefined {
    return this.#events[(this.#oldest + index) % this.#size];
  }

  #indexAfter(position: number): number {
    let [low, high] = [0, this.#events.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#at(middle)?.position ?? 0) <= position) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
