// The body of an upload in large pieces: senders deliver it in small ones, each of which would cost a turn of every step that
// it goes through.

import type { IncomingMessage } from "node:http";
import { aborted } from "../../../core/errors/texts.js";
import { sendContinue } from "../admission/connections.js";

/** Bytes of a piece: at least, unless no more come for a while, and at most, unless one comes that is larger. */
const LEAST_BYTES = 65_536;
const MOST_BYTES = 262_144;
/** How long a smaller piece waits for more. */
const WAIT_MS = 10;
/** Bytes that may wait to be taken. The sender waits beyond that. */
const AHEAD_BYTES = 1_048_576;

/**
 * Reads a body, from when the first piece is asked for. Not reading it to the end leaves the connection open, since the
 * response still needs it.
 */
export class BodyChunks implements AsyncIterableIterator<Uint8Array> {
  readonly #raw: IncomingMessage;
  readonly #mostBytes: number;
  readonly #come: Buffer[] = [];
  #bytes = 0;
  #state: "new" | "reading" | "ended" | "broken" | "left" = "new";
  #wake: () => void = () => {};

  /** @param mostBytes up to which pieces are joined; 0 for a reader that copies them itself */
  constructor(raw: IncomingMessage, mostBytes = MOST_BYTES) {
    this.#raw = raw;
    this.#mostBytes = mostBytes;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** @throws ABORTED if the sender disconnects */
  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    if (this.#state === "new") this.#begin();
    if (this.#bytes < LEAST_BYTES) await this.#more();
    if (this.#bytes > 0 && this.#state !== "left") return { done: false, value: this.#take() };
    // Any failure after a disconnect counts as aborted: nobody is left to be told.
    if (this.#state === "broken") throw aborted();
    return { done: true, value: undefined };
  }

  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    if (this.#state === "reading") {
      this.#end("left");
      this.#raw.pause();
    }
    return { done: true, value: undefined };
  }

  #begin(): void {
    const raw = this.#raw;
    sendContinue(raw);
    if (raw.readableEnded) {
      this.#state = "ended";
      return;
    }
    if (raw.destroyed) {
      this.#state = "broken";
      return;
    }
    this.#state = "reading";
    raw.on("data", this.#onData).once("end", this.#onEnd).once("error", this.#onBreak).once("close", this.#onBreak);
    // After the response, as to a stalled sender, Node no longer tells the request that its connection is closed.
    raw.socket.once("close", this.#onDisconnect);
    raw.resume();
  }

  /** Waits for the first bytes, then for a while until there are enough. */
  async #more(): Promise<void> {
    for (let isLate = false; this.#state === "reading" && this.#bytes < LEAST_BYTES; ) {
      if (isLate && this.#bytes > 0) return;
      await new Promise<void>((resolve) => {
        // A body that is complete is about to end.
        const isComing = this.#bytes > 0 && !this.#raw.complete;
        const timer = isComing ? setTimeout(() => this.#wake(), WAIT_MS) : undefined;
        isLate = timer !== undefined;
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  #take(): Buffer {
    const pieces = [this.#come.shift() ?? Buffer.alloc(0)];
    let size = pieces[0]?.length ?? 0;
    for (let [next] = this.#come; next !== undefined && size + next.length <= this.#mostBytes; [next] = this.#come) {
      this.#come.shift();
      pieces.push(next);
      size += next.length;
    }
    this.#bytes -= size;
    if (this.#state === "reading" && this.#bytes < AHEAD_BYTES && this.#raw.isPaused()) this.#raw.resume();
    const [only] = pieces;
    return pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces, size);
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#come.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes >= AHEAD_BYTES) this.#raw.pause();
    if (this.#bytes >= LEAST_BYTES || this.#bytes === chunk.length) this.#wake();
  };

  readonly #onEnd = (): void => this.#end("ended");
  readonly #onBreak = (): void => this.#end("broken");
  /** A body that is complete is still there to be taken. */
  readonly #onDisconnect = (): void => {
    if (!this.#raw.complete) this.#onBreak();
  };

  #end(state: "ended" | "broken" | "left"): void {
    const raw = this.#raw;
    this.#state = state;
    raw.off("data", this.#onData).off("end", this.#onEnd).off("error", this.#onBreak).off("close", this.#onBreak);
    raw.socket.off("close", this.#onDisconnect);
    this.#wake();
  }
}
