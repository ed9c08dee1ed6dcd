// Closes handles of replaced files in the thread pool: the last one frees the content, which takes longer than a small write.

import type { Io } from "../core/io.js";
import { pool } from "./pool.js";
import { closeNow } from "./sys.js";

/** From this many handles that wait or are being closed, a change waits for one of them. */
const HIGH_WATER_MARK = 32;
/** From this many, a handle is closed at once. */
const MAX_OPEN = 128;
/** Handles handed over together: waking a thread of the pool costs as much as several system calls. */
const BATCH = 16;
/** How long a handle waits for others, in milliseconds. */
const WAIT_MS = 5;
/** Up to this size (bytes), closing may take less than handing over; the first of so many handles tells, by its time. */
const SMALL_BYTES = 32_768;
const TRIED_ONCE_IN = 32;
/** What handing over costs the calling thread, about, in milliseconds. */
const HANDING_OVER_MS = 0.02;

export class LateClosing {
  readonly #trackBackground: (work: Promise<unknown>) => void;
  #waiting: number[] = [];
  #timer: NodeJS.Timeout | undefined;
  #closing = 0;
  #room: Promise<void> | undefined;
  #onClosed: () => void = () => {};
  /** One for all that are being closed: a promise for each would outlive several collections of garbage. */
  #onIdle: () => void = () => {};

  readonly #nowMs: () => number;
  #small = 0;
  #isQuick = false;

  /** @param trackBackground receives what the close of the jail must wait for */
  constructor(trackBackground: (work: Promise<unknown>) => void, nowMs: () => number = () => performance.now()) {
    this.#trackBackground = trackBackground;
    this.#nowMs = nowMs;
  }

  /** Closes the handle of a replaced file of that size. */
  closerOf(size: number): (fd: number) => void {
    return size <= SMALL_BYTES ? this.#addSmall : this.add;
  }

  /** In memory a small file is freed at once; on a disk it may take many times as long as the write that replaced it. */
  readonly #addSmall = (fd: number): void => {
    if (this.#small++ % TRIED_ONCE_IN === 0) {
      const sinceMs = this.#nowMs();
      closeNow(fd);
      this.#isQuick = this.#nowMs() - sinceMs < HANDING_OVER_MS;
    } else if (this.#isQuick) closeNow(fd);
    else this.add(fd);
  };

  readonly add = (fd: number): void => {
    if (this.#waiting.length + this.#closing >= MAX_OPEN) {
      closeNow(fd);
      return;
    }
    this.#waiting.push(fd);
    if (this.#waiting.length >= BATCH) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), WAIT_MS);
  };

  /** Hands over what still waits. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    this.#waiting = [];
    if (this.#closing === 0) this.#trackBackground(new Promise<void>((resolve) => (this.#onIdle = resolve)));
    this.#closing += waiting.length;
    for (const fd of waiting) pool.close(fd).then(this.#onOneClosed, this.#onOneClosed);
  }

  /** Waits until only a few handles are open, before the walk of a change that may add another. */
  *waitForRoom(): Io<void> {
    while (this.#waiting.length + this.#closing >= HIGH_WATER_MARK) {
      this.flush();
      this.#room ??= new Promise((resolve) => {
        this.#onClosed = () => {
          this.#room = undefined;
          resolve();
        };
      });
      yield this.#room;
    }
  }

  readonly #onOneClosed = (): void => {
    this.#closing -= 1;
    if (this.#closing === 0) this.#onIdle();
    this.#onClosed();
  };
}
