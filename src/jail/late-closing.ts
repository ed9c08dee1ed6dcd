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

export class LateClosing {
  readonly #trackBackground: (work: Promise<unknown>) => void;
  #waiting: number[] = [];
  #timer: NodeJS.Timeout | undefined;
  #closing = 0;
  #room: Promise<void> | undefined;
  #onClosed: () => void = () => {};

  /** @param trackBackground receives what the close of the jail must wait for */
  constructor(trackBackground: (work: Promise<unknown>) => void) {
    this.#trackBackground = trackBackground;
  }

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
    this.#closing += waiting.length;
    for (const fd of waiting) this.#trackBackground(pool.close(fd).finally(() => this.#closed()));
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

  #closed(): void {
    this.#closing -= 1;
    this.#onClosed();
  }
}
