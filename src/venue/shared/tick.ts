// The tick: each second, and at each notification, one statement that writes the heartbeat and reads epoch and peers.

import type { Log } from "../../core/ports/log.js";
import type { SharedQuery } from "../../core/ports/shared.js";
import { codeOf, fieldsOf } from "../../core/unknown.js";
import { type Connection, giveUpAfter, unavailable } from "./connection.js";
import type { OwnInstance, SeenInstance, TickRow } from "./instances.js";

const TICK_MS = 1000;
/** Between attempts to reach an engine that is gone; jittered. */
const RETRY_MS = 500;
/** From this age on the view decides nothing that it could get wrong. */
export const STALE_MS = 5000;
const MOST_WAIT_MS = 2000;
const CLOCKS_APART_MS = 5000;
/** Every so many ticks go by the listener's connection, which shows that it hears. */
const BY_LISTENER = 5;

export interface TickOptions {
  readonly own: OwnInstance;
  /** Connections of the tick and of the listener. */
  readonly connection: Connection;
  readonly listener: Connection;
  readonly log: Log;
  /**
   * Takes in what changed; `since` 0: all. @returns the epoch up to which it has read
   * @param isLost the engine has lost writes that this instance saw
   */
  read(since: number, query: SharedQuery, isLost: boolean): Promise<number>;
  /** After each tick, with the same connection. */
  took(row: TickRow, query: SharedQuery): Promise<void>;
  /** @throws where the engine is another's */
  check(row: TickRow): void;
}

/** When a view was asked for, by both clocks: one stops while the machine sleeps, the other may be set. */
interface Moment {
  readonly wall: number;
  readonly monotonic: number;
}

export class Tick {
  readonly #options: TickOptions;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #asked: Moment = { wall: Number.NEGATIVE_INFINITY, monotonic: Number.NEGATIVE_INFINITY };
  #seen = 0;
  /** The highest epoch ever seen. */
  #top = 0;
  #count = 0;
  #isDown = false;
  #areClocksApart = false;
  #isStopped = false;
  instances: readonly SeenInstance[] = [];

  constructor(options: TickOptions) {
    this.#options = options;
  }

  /** The epoch up to which everything is known here. */
  get seen(): number {
    return this.#seen;
  }

  /** Age of the view, from when it was asked for. */
  get ageMs(): number {
    return Math.max(Date.now() - this.#asked.wall, performance.now() - this.#asked.monotonic);
  }

  get isStale(): boolean {
    return this.ageMs >= STALE_MS;
  }

  /** @returns `undefined`: fresh. Else as of {@link refresh} */
  fresh(): Promise<void> | undefined {
    return this.isStale ? this.refresh() : undefined;
  }

  /** Reads what is there now. @throws SHARED_STATE_UNAVAILABLE where that takes more than 2 s */
  refresh(): Promise<void> {
    let keep = () => {};
    const late = new Promise<never>((_, reject) => {
      keep = giveUpAfter(MOST_WAIT_MS, () => reject(unavailable("stale")));
    });
    return Promise.race([this.now(), late]).finally(keep);
  }

  /** A read that begins after this call. @throws SHARED_STATE_UNAVAILABLE */
  now(): Promise<void> {
    if (this.#running === undefined) return this.#begin();
    this.#next ??= this.#running
      .catch(() => {})
      .then(() => {
        this.#next = undefined;
        return this.#begin();
      });
    return this.#next;
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  #begin(): Promise<void> {
    clearTimeout(this.#timer);
    const running = this.#once().finally(() => {
      this.#running = undefined;
    });
    this.#running = running;
    running.then(
      () => this.#after(TICK_MS),
      (error: unknown) => {
        this.#failed(error);
        this.#after(RETRY_MS * (0.75 + Math.random() / 2));
      },
    );
    return running;
  }

  #after(ms: number): void {
    clearTimeout(this.#timer);
    if (this.#isStopped || this.#running !== undefined) return;
    // Failures are told by `#failed`.
    this.#timer = setTimeout(() => void this.now().catch(() => {}), ms);
  }

  async #once(): Promise<void> {
    const { own, connection, listener, read, took, check } = this.#options;
    const by = this.#count++ % BY_LISTENER === BY_LISTENER - 1 && listener.isOpen ? listener : connection;
    // A new connection may lead to another engine: all is read again, since rows may be gone, or lost.
    if (!by.isOpen) this.#seen = 0;
    const asked = { wall: Date.now(), monotonic: performance.now() };
    await by.run(async (query) => {
      const row = await own.tick(this.#seen, query);
      check(row);
      const isLost = row.n < this.#top;
      if (isLost) this.#seen = 0;
      if (row.n !== this.#seen) this.#seen = await read(this.#seen, query, isLost);
      this.#top = this.#seen;
      this.#asked = asked;
      this.#compareClocks(row.now, asked.wall);
      this.instances = row.instances.filter(({ number }) => number !== own.number);
      await took(row, query);
    });
    if (this.#isDown) this.#options.log.warn({}, "the shared state is reached again");
    this.#isDown = false;
  }

  #failed(error: unknown): void {
    if (!this.#isDown) this.#options.log.error({ reason: reasonOf(error) }, "the shared state is not reached");
    this.#isDown = true;
  }

  #compareClocks(engine: number, asked: number): void {
    const now = Date.now();
    // The engine's clock was read in between.
    const apart = engine < asked ? asked - engine : Math.max(0, engine - now);
    const areApart = apart > CLOCKS_APART_MS;
    if (areApart && !this.#areClocksApart) {
      this.#options.log.warn(
        { ms: Math.round(apart) },
        "the clocks of this machine and of the shared engine are apart",
      );
    }
    this.#areClocksApart = areApart;
  }
}

/** The code alone: drivers tell addresses and users. */
export const reasonOf = (error: unknown): string =>
  String(fieldsOf(fieldsOf(error)["data"])["reason"] ?? codeOf(error) ?? "unknown");
