/**
 * A computation that runs either synchronously or asynchronously: a generator that yields a promise whenever it has to
 * wait. With synchronous system calls it never yields and ends at once; with thread-pool calls the same code waits.
 * On a local disk a thread-pool call costs many times the system call itself.
 */
export type Io<T> = Generator<Promise<unknown>, T, unknown>;

export type Awaitable<T> = T | Promise<T>;

/** Runs `io` to completion: synchronously if it never waits, else as a promise. `scope` can end the wait early. */
export function runIo<T>(io: Io<T>, scope?: WaitScope): Awaitable<T> {
  const first = io.next();
  if (first.done === true) return first.value;
  return scope === undefined ? drain(io, first.value) : scope.race(drain(io, first.value));
}

/** Can end a wait before the awaited promise settles; the computation itself continues until its next checkpoint. */
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

/** Whether a value is a thenable, including promises of another library or realm. */
export function isPending<T>(value: Awaitable<T>): value is Promise<T> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

/** Awaits `value` inside an {@link Io}, if it is a promise. */
export function* wait<T>(value: Awaitable<T>): Io<T> {
  return isPending(value) ? ((yield value) as T) : value;
}

/** Calls `next` with `value`: synchronously, or once the promise resolves. */
export function after<T, R>(value: Awaitable<T>, next: (value: T) => Awaitable<R>): Awaitable<R> {
  return isPending(value) ? value.then(next) : next(value);
}

const yielding: (() => void)[] = [];

/**
 * Lets other ready work of the event loop run first. Each turn of the loop resumes one waiting call, the first that
 * yielded: so turns stay as short as the work between two yields, however many calls run.
 */
export const yieldToLoop = (): Promise<void> =>
  new Promise((resolve) => {
    if (yielding.push(resolve) === 1) setImmediate(resumeNext);
  });

function resumeNext(): void {
  yielding.shift()?.();
  if (yielding.length > 0) setImmediate(resumeNext);
}

/** The result of `act`; `undefined` if it throws, whatever the reason. */
export function attempt<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}

/** Whether `act` ends without an error. */
export const works = (act: () => unknown): boolean =>
  attempt(() => {
    act();
    return true;
  }) ?? false;
