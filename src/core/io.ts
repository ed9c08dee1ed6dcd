/**
 * A computation that is written once and runs in either of two ways: a generator that yields a promise whenever it has
 * to wait. With synchronous system calls nothing is ever yielded and the result is there at once; with calls in the
 * thread pool the same code waits. On a local disk the thread pool costs many times what the call itself does.
 */
export type Io<T> = Generator<Promise<unknown>, T, unknown>;

export type Awaitable<T> = T | Promise<T>;

/** Runs `io` to its end: synchronously if it never waits, else as a promise. `scope` can end the waiting early. */
export function runIo<T>(io: Io<T>, scope?: WaitScope): Awaitable<T> {
  const first = io.next();
  if (first.done === true) return first.value;
  return scope === undefined ? drain(io, first.value) : scope.race(drain(io, first.value));
}

/** Ends a wait before the awaited thing settles; the computation goes on by itself until its next check. */
export interface WaitScope {
  race<T>(work: Promise<T>): Promise<T>;
}

async function drain<T>(io: Io<T>, first: Promise<unknown>): Promise<T> {
  let waiting = first;
  for (;;) {
    let resume: () => IteratorResult<Promise<unknown>, T>;
    try {
      const value = await waiting;
      resume = () => io.next(value);
    } catch (error) {
      resume = () => io.throw(error);
    }
    const step = resume();
    if (step.done === true) return step.value;
    waiting = step.value;
  }
}

/** Whether a value has to be waited for: a promise of anybody's making, also of another realm. */
export function isPending<T>(value: Awaitable<T>): value is Promise<T> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

/** Waits for `value` inside an {@link Io}, if it is a promise. */
export function* wait<T>(value: Awaitable<T>): Io<T> {
  return isPending(value) ? ((yield value) as T) : value;
}

/** Goes on with `value` at once if it is there, else when it is. */
export function after<T, R>(value: Awaitable<T>, next: (value: T) => Awaitable<R>): Awaitable<R> {
  return isPending(value) ? value.then(next) : next(value);
}
