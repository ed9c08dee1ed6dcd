// Concurrency limits.

/** A number of slots, taken in the order of arrival. @returns waits for one; what it resolves to frees it, once */
export function createSlots(count: number): () => Promise<() => void> {
  const waiting: (() => void)[] = [];
  let free = count;
  const end = (): void => {
    const next = waiting.shift();
    if (next === undefined) free += 1;
    else next();
  };
  return async () => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => void waiting.push(resolve));
    return end;
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
