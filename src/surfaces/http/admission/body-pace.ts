// Enforces a minimum transfer rate for request bodies (protection against slow clients).

import type { IncomingMessage } from "node:http";

/** Minimum rate of a body. */
export interface PaceRule {
  /** Grace period at the start, in milliseconds. */
  readonly graceMs: number;
  /** Window over which the rate is averaged, in milliseconds. */
  readonly windowMs: number;
  /** Minimum average rate in bytes per second. */
  readonly bytesPerSecond: number;
}

/** Samples per window. */
const LOOKS = 15;

/** Judges a transfer rate from samples of the bytes received so far. */
export class Pace {
  readonly #leastBytes: number;
  /** Samples of the last window, oldest first. */
  readonly #looks: number[] = [];

  constructor({ windowMs, bytesPerSecond }: PaceRule) {
    this.#leastBytes = (bytesPerSecond * windowMs) / 1000;
  }

  /**
   * @param bytes received so far
   * @param isTaken whether all received bytes were consumed; if not, the delay is not the sender's, and the window
   * restarts
   * @returns whether the rate is too low
   */
  isTooSlow(bytes: number, isTaken: boolean): boolean {
    if (!isTaken) this.#looks.length = 0;
    this.#looks.push(bytes);
    if (this.#looks.length <= LOOKS) return false;
    const before = this.#looks.shift() ?? 0;
    return bytes - before < this.#leastBytes;
  }
}

/**
 * Watches a request body until it is complete or the request is gone.
 *
 * @param options.mostMs time limit for the whole body, in milliseconds
 * @param options.onLate called once, when the body is too slow
 * @returns a function that stops watching
 */
export function watchPace(
  request: IncomingMessage,
  { rule, mostMs, onLate }: { rule: PaceRule; mostMs: number; onLate: () => void },
): () => void {
  const pace = new Pace(rule);
  const startedMs = performance.now();
  const { socket } = request;
  const stop = () => clearTimeout(timer);
  const late = () => {
    stop();
    if (!request.complete) onLate();
  };
  const look = () => {
    const leftMs = startedMs + mostMs - performance.now();
    if (leftMs <= 0 || pace.isTooSlow(socket.bytesRead, request.readableLength === 0)) return late();
    timer = setTimeout(look, Math.min(leftMs, rule.windowMs / LOOKS)).unref();
  };
  let timer = setTimeout(look, Math.min(mostMs, rule.graceMs)).unref();
  for (const event of ["end", "close"]) request.once(event, stop);
  return stop;
}
