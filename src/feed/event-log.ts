// The log of what happens in a process: by topic the latest events, read through filters from a cursor on.
//
// All topics count together, so that one position holds for all of them.

import { cursorOfAnother } from "../core/errors/repeat-texts.js";
import type { ToldEvent } from "../core/ports/changes/events.js";
import { CursorCipher } from "./cursor-cipher.js";

/** Most events that are kept of a topic; the oldest goes first. */
const TOPIC_EVENTS = 10_000;
/** Position of a reader that has nothing of what there is. */
export const BEFORE_ALL = -1;

/** The events of one process. */
export class EventLog {
  #position = 0;
  #isEnded = false;
  readonly #topics = new Map<string, Topic<unknown>>();
  #cursors: CursorCipher | undefined;
  /** Tells readers of the end. */
  readonly #ending: Topic<never> = new Topic(this, "end");

  /** Position of the newest event. */
  get position(): number {
    return this.#position;
  }

  /** Whether readers have to end, since the process closes. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** A topic, which is kept from its first request on. */
  topic<Event>(key: string): Topic<Event> {
    const known = this.#topics.get(key) ?? new Topic<unknown>(this, key);
    this.#topics.set(key, known);
    return known as Topic<Event>;
  }

  /** Whether a topic was ever requested. */
  wants(key: string): boolean {
    return this.#topics.has(key);
  }

  publish(key: string, event: unknown): void {
    this.#topics.get(key)?.append(event);
  }

  /** Readers of some topics may have missed something. */
  markLost(isMeant: (key: string) => boolean): void {
    for (const [key, topic] of this.#topics) if (isMeant(key)) topic.markLost();
  }

  /** Goes on by one position, so that cursors from before and after can be told apart. @returns the position */
  step(): number {
    return ++this.#position;
  }

  /** Ends all readers: waiting ones wake, and later ones do not wait. */
  end(): void {
    this.#isEnded = true;
    this.#ending.markLost();
  }

  /** @returns ends it */
  onEnd(listener: () => void): () => void {
    return this.#ending.listen(listener);
  }

  /** A cursor at a position. @param binding what it can be used for; empty: anything */
  cursor(position: number, binding: string): string {
    this.#cursors ??= new CursorCipher();
    return this.#cursors.seal(position, binding);
  }

  /**
   * The position of a cursor; `start`: it is of another process, or of another start of this one; `other`: it is of
   * another binding, or none.
   */
  positionOf(cursor: string, binding: string): number | "start" | "other" {
    this.#cursors ??= new CursorCipher();
    return this.#cursors.open(cursor, binding);
  }
}

/** An event in its topic. */
interface Placed<Event> {
  readonly position: number;
  readonly event: Event;
}

/** The latest events of one topic, in a ring. */
export class Topic<Event> {
  readonly key: string;
  readonly #log: Pick<EventLog, "step">;
  readonly #size: number;
  readonly #events: Placed<Event>[] = [];
  /** Index of the oldest event, once the ring is full. */
  #oldest = 0;
  /** Readers that are not beyond this position have missed something. */
  #lostUntil: number;
  readonly #listeners = new Set<() => void>();

  constructor(log: Pick<EventLog, "step" | "position">, key: string, size = TOPIC_EVENTS) {
    this.key = key;
    this.#log = log;
    this.#size = size;
    this.#lostUntil = log.position;
  }

  append(event: Event): void {
    const placed = { position: this.#log.step(), event };
    if (this.#events.length < this.#size) this.#events.push(placed);
    else {
      this.#lostUntil = this.#events[this.#oldest]?.position ?? this.#lostUntil;
      this.#events[this.#oldest] = placed;
      this.#oldest = (this.#oldest + 1) % this.#size;
    }
    this.#tell();
  }

  /** Changes may have gone unseen: every reader has to look for itself. */
  markLost(): void {
    this.#lostUntil = this.#log.step();
    this.#tell();
  }

  /** Whether a reader at a position has missed something. */
  hasLost(position: number): boolean {
    return position < this.#lostUntil;
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

/** A topic, and which of its events one caller may see. */
export interface Filter<Data> {
  readonly topic: Topic<unknown>;
  /** Judges by the rights of this moment. @returns what the caller is told of an event; `undefined`: nothing */
  judge(): (event: never) => Data | undefined;
  /** Whether a reader at a position has missed something that the topic does not know of. */
  hasLost?(position: number): boolean;
}

/** Reads topics through filters, in the order of their events. */
export class LogReader<Data> {
  readonly #log: EventLog;
  #filters: readonly (readonly [name: string, filter: Filter<Data>])[];
  readonly #binding: string;
  /** Listeners for new events, each with its end. */
  readonly #listeners = new Map<() => void, (() => void)[]>();

  /** @param filters by the names of their events @param binding of its cursors; empty: other readers take them too */
  constructor(log: EventLog, filters: readonly (readonly [name: string, filter: Filter<Data>])[], binding = "") {
    this.#log = log;
    this.#filters = filters;
    this.#binding = binding;
  }

  get end(): number {
    return this.#log.position;
  }

  protected add(name: string, filter: Filter<Data>): void {
    this.#filters = [...this.#filters, [name, filter]];
    for (const [listener, stops] of this.#listeners) stops.push(filter.topic.listen(listener));
  }

  protected remove(filter: Filter<Data>): void {
    this.#filters = this.#filters.filter(([, one]) => one !== filter);
  }

  get isOver(): boolean {
    return this.#log.isEnded;
  }

  /** Events behind a position. */
  *read(after: number): Generator<ToldEvent<Data>> {
    const heads = this.#filters.map(([topic, filter]) => {
      const events = toldBy(topic, filter, after);
      return { events, event: events.next().value };
    });
    for (;;) {
      let first: (typeof heads)[number] | undefined;
      for (const head of heads) {
        if (head.event === undefined) continue;
        if (first?.event === undefined || head.event.position < first.event.position) first = head;
      }
      if (first?.event === undefined) return;
      yield first.event;
      first.event = first.events.next().value;
    }
  }

  hasLost(position: number): boolean {
    if (position < 0) return true;
    return this.#filters.some(([, one]) => hasLost(one, position));
  }

  cursorAt(position: number): string {
    return this.#log.cursor(position, this.#binding);
  }

  /** The position of a cursor; before all others if it is of another start. @throws INVALID_INPUT if it is bound to something else */
  positionOf(cursor: string): number {
    const position = this.#log.positionOf(cursor, this.#binding);
    if (typeof position === "number") return position;
    if (position === "other" && this.#binding !== "") throw cursorOfAnother();
    return BEFORE_ALL;
  }

  /** Is told when there is something to read, or the log ends. @returns ends that */
  listen(listener: () => void): () => void {
    const stops = [this.#log.onEnd(listener), ...this.#filters.map(([, { topic }]) => topic.listen(listener))];
    this.#listeners.set(listener, stops);
    return () => {
      this.#listeners.delete(listener);
      for (const stop of stops) stop();
    };
  }
}

/** Whether a reader at a position has missed something that passes a filter. */
export const hasLost = (filter: Pick<Filter<unknown>, "topic" | "hasLost">, position: number): boolean =>
  filter.hasLost?.(position) === true || filter.topic.hasLost(position);

function* toldBy<Data>(topic: string, filter: Filter<Data>, after: number): Generator<ToldEvent<Data>, undefined> {
  const tell = filter.judge();
  for (const { position, event } of filter.topic.after(after)) {
    const data = tell(event as never);
    if (data !== undefined) yield { position, topic, data };
  }
}
