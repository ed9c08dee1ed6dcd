// Locks between the calls of one process, per directory and per name.

import type { Io } from "../../core/io.js";
import { deferred } from "../../core/turns.js";

/** Keys that a writer holds: `shared` admits other sharers, `exclusive` admits nobody. */
export interface LockRequest {
  readonly shared: readonly string[];
  readonly exclusive: readonly string[];
}

export interface Lock {
  release(): void;
}

interface Waiter {
  readonly request: LockRequest;
  readonly start: () => void;
}

/**
 * Queue of writers. Keys identify directories (a change below a directory shares it, its removal takes it exclusively)
 * and names in them. A request gets all its keys at once, so no writer waits while holding others.
 */
export class Locks {
  readonly #shared = new Map<string, number>();
  readonly #exclusive = new Set<string>();
  readonly #waiting: Waiter[] = [];
  #turn = 0;

  /** Number of finished writers. Findings from an earlier turn may be outdated. */
  get turn(): number {
    return this.#turn;
  }

  *hold(request: LockRequest): Io<Lock> {
    if (this.#isFree(request) && this.#passes(request, this.#waiting)) {
      this.#take(request);
      return this.#lock(request);
    }
    const { promise: granted, resolve: start } = deferred();
    const waiter: Waiter = { request, start };
    this.#waiting.push(waiter);
    yield granted;
    return this.#lock(request);
  }

  #lock(request: LockRequest): Lock {
    return { release: () => this.#release(request) };
  }

  #isFree(request: LockRequest): boolean {
    return (
      request.exclusive.every((key) => !this.#exclusive.has(key) && !this.#shared.has(key)) &&
      request.shared.every((key) => !this.#exclusive.has(key))
    );
  }

  /** Earlier waiters for the same key go first, so that small requests cannot starve a large one. */
  #passes(request: LockRequest, earlier: readonly Waiter[]): boolean {
    return earlier.every((waiter) => !conflicts(waiter.request, request));
  }

  #take(request: LockRequest): void {
    for (const key of request.exclusive) this.#exclusive.add(key);
    for (const key of request.shared) this.#shared.set(key, (this.#shared.get(key) ?? 0) + 1);
  }

  #release(request: LockRequest): void {
    this.#turn++;
    for (const key of request.exclusive) this.#exclusive.delete(key);
    for (const key of request.shared) {
      const left = (this.#shared.get(key) ?? 1) - 1;
      if (left === 0) this.#shared.delete(key);
      else this.#shared.set(key, left);
    }
    const stillWaiting: Waiter[] = [];
    for (const waiter of this.#waiting.splice(0)) {
      if (this.#isFree(waiter.request) && this.#passes(waiter.request, stillWaiting)) {
        this.#take(waiter.request);
        waiter.start();
      } else stillWaiting.push(waiter);
    }
    this.#waiting.push(...stillWaiting);
  }
}

function conflicts(a: LockRequest, b: LockRequest): boolean {
  return (
    a.exclusive.some((key) => b.exclusive.includes(key) || b.shared.includes(key)) ||
    a.shared.some((key) => b.exclusive.includes(key))
  );
}
