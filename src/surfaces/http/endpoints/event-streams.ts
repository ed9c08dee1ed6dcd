// The open streams of `/api/v1/events`. All are written in common turns, in which streams of one credential and the same
// topics share what is judged and what is written.

import type { ServerResponse } from "node:http";
import type { EventReader } from "../../../core/ports/changes/events.js";

/** Interval of comments; a second below the longest silence that is allowed, since timers may be late. */
const HEARTBEAT_MS = 14_000;
/** How often the credentials of readers are looked at. */
const JUDGE_MS = 500;
/** Events share a write: the next turn begins no sooner than this after one. */
const LEAST_GATHER_MS = 50;
/** And no later than this, however long the turn took. Where a stream is behind, it is the least time. */
const MAX_GATHER_MS = 250;
/** In between a turn is followed by so many times its own duration, so that many streams leave time for calls. */
const GATHER_FACTOR = 100;
/** Most events of one write. The rings keep what a slow reader has not taken. */
const MAX_AT_ONCE = 500;

/** One stream to be written. */
export interface StreamParts {
  readonly raw: ServerResponse;
  readonly reader: EventReader;
  /** Whether the credential that opened it would be refused now. */
  readonly isRefused: () => boolean;
  /** Equal for streams that may see the same: of one credential, one caller and the same topics in the same order. */
  readonly sight: string;
}

/** The streams of one venue. */
export class EventStreams {
  readonly #open = new Set<EventStream>();
  #due = new Set<EventStream>();
  #timer: NodeJS.Timeout | undefined;
  #intervals: readonly NodeJS.Timeout[] = [];
  /** When the next turn may begin, by the monotonic clock. */
  #next = 0;

  /** Writes a stream from now on, or from behind the event that its client had last. */
  begin(parts: StreamParts, lastId: string | undefined): void {
    const stream = new EventStream(parts, () => this.#schedule(stream));
    this.#open.add(stream);
    if (this.#open.size === 1) this.#startIntervals();
    parts.raw.once("close", () => {
      this.#open.delete(stream);
      this.#due.delete(stream);
      if (this.#open.size === 0) this.#stopIntervals();
    });
    if (stream.begin(lastId, new Turn())) this.#schedule(stream);
  }

  #schedule(stream: EventStream): void {
    if (!stream.takes) return;
    this.#due.add(stream);
    this.#timer ??= setTimeout(() => this.#writeAll(), Math.max(0, this.#next - performance.now()));
  }

  #writeAll(): void {
    this.#timer = undefined;
    const due = this.#due;
    this.#due = new Set();
    const turn = new Turn();
    const began = performance.now();
    const behind = [...due].filter((stream) => stream.write(turn));
    const ended = performance.now();
    const wished = behind.length > 0 ? LEAST_GATHER_MS : GATHER_FACTOR * (ended - began);
    this.#next = ended + Math.min(Math.max(LEAST_GATHER_MS, wished), MAX_GATHER_MS);
    for (const stream of behind) this.#schedule(stream);
  }

  #startIntervals(): void {
    const judge = () => {
      const turn = new Turn();
      for (const stream of this.#open) stream.endIfOver(turn);
    };
    const beat = () => {
      for (const stream of this.#open) stream.beat();
    };
    this.#intervals = [setInterval(judge, JUDGE_MS), setInterval(beat, HEARTBEAT_MS)];
  }

  #stopIntervals(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const interval of this.#intervals) clearInterval(interval);
  }
}

/** The events behind a position, as they are written. */
interface Piece {
  /** Empty: there are none. */
  readonly bytes: Buffer;
  /** Where the next piece begins. */
  readonly position: number;
  /** There are more. */
  readonly isCut: boolean;
}

/**
 * State shared by streams of one sight. A turn runs in one piece and nothing can change meanwhile, so that whatever is judged
 * for one of them holds for all.
 */
class Turn {
  readonly #shared = new Map<string, { readonly isOver: boolean; readonly pieces: Map<number, Piece> }>();

  isOver({ sight, reader, isRefused }: StreamParts): boolean {
    return this.#sharedBy(sight, () => reader.isOver || isRefused()).isOver;
  }

  /** The events of a reader that is not over. */
  piece({ sight, reader }: StreamParts, after: number): Piece {
    const { pieces } = this.#sharedBy(sight, () => reader.isOver);
    const known = pieces.get(after);
    if (known !== undefined) return known;
    const made = pieceOf(reader, after);
    pieces.set(after, made);
    return made;
  }

  #sharedBy(sight: string, isOver: () => boolean) {
    const known = this.#shared.get(sight);
    if (known !== undefined) return known;
    const made = { isOver: isOver(), pieces: new Map<number, Piece>() };
    this.#shared.set(sight, made);
    return made;
  }
}

function pieceOf(reader: EventReader, after: number): Piece {
  const end = reader.end;
  const parts: string[] = [];
  let last = after;
  for (const { position, topic, data } of reader.read(after)) {
    // An event that several topics tell of is in one piece.
    if (parts.length >= MAX_AT_ONCE && position > last)
      return { bytes: Buffer.from(parts.join("")), position: last, isCut: true };
    last = position;
    parts.push(`id: ${reader.cursorAt(position)}\nevent: ${topic}\ndata: ${JSON.stringify(data)}\n\n`);
  }
  return { bytes: Buffer.from(parts.join("")), position: end, isCut: false };
}

/** Writes what a reader may see, no faster than its client takes it. */
class EventStream {
  readonly #parts: StreamParts;
  readonly #schedule: () => void;
  #position = 0;

  constructor(parts: StreamParts, schedule: () => void) {
    this.#parts = parts;
    this.#schedule = schedule;
  }

  /** @returns whether there is more to write */
  begin(lastId: string | undefined, turn: Turn): boolean {
    const { raw, reader } = this.#parts;
    this.#position = lastId === undefined ? reader.end : reader.positionOf(lastId);
    // An id without data: a client that is cut off before the first event goes on from here.
    raw.write(`retry: 2000\nid: ${reader.cursorAt(this.#position < 0 ? reader.end : this.#position)}\n\n`);
    raw.on("drain", this.#schedule);
    raw.once("close", reader.listen(this.#schedule));
    return this.write(turn);
  }

  /** Whether what is written goes out instead of being kept here. */
  get takes(): boolean {
    const { destroyed, writableEnded, writableNeedDrain } = this.#parts.raw;
    return !destroyed && !writableEnded && !writableNeedDrain;
  }

  /** @returns whether there is more to write */
  write(turn: Turn): boolean {
    if (!this.takes) return false;
    if (turn.isOver(this.#parts)) {
      this.#end();
      return false;
    }
    const { raw, reader } = this.#parts;
    if (reader.hasLost(this.#position)) {
      this.#position = reader.end;
      raw.write(`id: ${reader.cursorAt(this.#position)}\nevent: overflow\ndata: {}\n\n`);
      return false;
    }
    const { bytes, position, isCut } = turn.piece(this.#parts, this.#position);
    this.#position = position;
    if (bytes.length > 0) raw.write(bytes);
    return isCut;
  }

  beat(): void {
    if (this.takes) this.#parts.raw.write(":\n\n");
  }

  endIfOver(turn: Turn): void {
    if (turn.isOver(this.#parts)) this.#end();
  }

  #end(): void {
    const { raw } = this.#parts;
    if (!raw.destroyed && !raw.writableEnded) raw.end("event: end\ndata: {}\n\n");
  }
}
