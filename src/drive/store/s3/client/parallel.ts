// Concurrency limits and per-name serialisation.

/** Semaphore with first-come, first-served order. */
export interface Slots {
  /** Resolves to a function that frees the slot. */
  take(): Promise<() => void>;
}

export function createSlots(count: number): Slots {
  const waiting: (() => void)[] = [];
  let free = count;
  const end = (): void => {
    const next = waiting.shift();
    if (next === undefined) free += 1;
    else next();
  };
  return {
    async take() {
      if (free > 0) free -= 1;
      else await new Promise<void>((resolve) => void waiting.push(resolve));
      let isEnded = false;
      return () => {
        if (!isEnded) end();
        isEnded = true;
      };
    },
  };
}

/**
 * Works on all items in order, some concurrently. The first failure stops it, after the work already begun has ended.
 */
export async function inParallel<T, R>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const failures: unknown[] = [];
  const run = async (): Promise<void> => {
    while (next < items.length && failures.length === 0) {
      const place = next++;
      const item = items[place];
      if (item === undefined) continue;
      try {
        results[place] = await work(item);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, run));
  if (failures.length > 0) throw failures[0];
  return results;
}

/** Serialises the work on each name. */
export function createTurns(): <T>(name: string, work: () => Promise<T>) => Promise<T> {
  const tails = new Map<string, Promise<unknown>>();
  return (name, work) => {
    const done = (tails.get(name) ?? Promise.resolve()).then(work, work);
    const tail = done
      .catch(() => undefined)
      .then(() => {
        if (tails.get(name) === tail) tails.delete(name);
      });
    tails.set(name, tail);
    return done;
  };
}
