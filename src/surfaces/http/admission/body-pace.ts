import type { IncomingMessage } from "node:http";

/** How slowly a body may come. */
export interface PaceRule {
  /** Time at the start that is not judged, in milliseconds. */
  readonly graceMs: number;
  /** What the average is taken of, in milliseconds. */
  readonly windowMs: number;
  /** Least average, in bytes a second. */
  readonly bytesPerSecond: number;
}

/** How many looks are taken at a body in each window. */
const LOOKS = 15;

/** Judges how fast something comes, by one look after another at what has come so far. */
export class Pace {
  readonly #leastBytes: number;
  /** What had come at the looks of the last window, oldest first. */
  readonly #looks: number[] = [];

  constructor({ windowMs, bytesPerSecond }: PaceRule) {
    this.#leastBytes = (bytesPerSecond * windowMs) / 1000;
  }

  /**
   * @param bytes that have come so far
   * @param isTaken whether all that came is taken: what is left lying tells nothing about its sender
   * @returns whether it comes too slowly
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
 * Watches a body that comes in, until it is whole or the request is gone.
 *
 * @param options.mostMs longest time for all of it
 * @param options.onLate called once, when it comes too slowly
 * @returns ends it
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
  // Most bodies are whole before that.
  let timer = setTimeout(look, Math.min(mostMs, rule.graceMs)).unref();
  for (const event of ["end", "close"]) request.once(event, stop);
  return stop;
}
