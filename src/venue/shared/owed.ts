// Writes that rows of the engine have yet to get.

import { setTimeout as pause } from "node:timers/promises";

const RETRY_MS = 1000;

interface Write {
  readonly run: () => Promise<unknown>;
  running?: Promise<unknown>;
}

/** The last write of each row that failed, tried again each second until it is done. */
export class Owed {
  readonly #most: number;
  readonly #onDrop: (row: string) => void;
  readonly #writes = new Map<string, Write>();
  #isPaying = false;
  #isClosed = false;

  /** @param most of them: with more the oldest are dropped */
  constructor(most: number, onDrop: (row: string) => void = () => {}) {
    this.#most = most;
    this.#onDrop = onDrop;
  }

  owe(row: string, run: () => Promise<unknown>): void {
    for (const oldest of this.#writes.keys()) {
      if (this.#writes.size < this.#most) break;
      this.#writes.delete(oldest);
      this.#onDrop(oldest);
    }
    this.#writes.set(row, { run });
    if (!this.#isPaying) void this.#payOn();
  }

  /** Makes the write that a row is owed, for whoever goes on with it: later it would undo what came after it. */
  async pay(row: string): Promise<void> {
    const write = this.#writes.get(row);
    if (write === undefined) return;
    write.running ??= write.run().finally(() => delete write.running);
    await write.running;
    if (this.#writes.get(row) === write) this.#writes.delete(row);
  }

  /** Takes the write away that another makes needless, once it is not under way. */
  async supersede(row: string): Promise<void> {
    const { running } = this.#writes.get(row) ?? {};
    this.#writes.delete(row);
    await running?.catch(() => {});
  }

  /** Tries all once more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#payAll().catch(() => {});
  }

  async #payAll(): Promise<void> {
    for (const row of this.#writes.keys()) await this.pay(row);
  }

  async #payOn(): Promise<void> {
    this.#isPaying = true;
    while (this.#writes.size > 0 && !this.#isClosed) {
      await pause(RETRY_MS, undefined, { ref: false });
      // The engine may still be away.
      await this.#payAll().catch(() => {});
    }
    this.#isPaying = false;
  }
}
