// Paired timing: forms of the same work take turns, so that whatever else happens on the machine hits all alike.

/** Median of a list that is not empty. */
export function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Nearest rank. */
export function percentile(values, percent) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)];
}

/** Milliseconds of one piece of work. */
export async function timed(work) {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** Milliseconds of processor time that this process spends meanwhile, in all its threads; neighbours change it less. */
export async function spent(work) {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e3;
}

/** @returns each of so many timings, in milliseconds */
export async function timings(count, work) {
  const times = [];
  for (let index = 0; index < count; index++) times.push(await timed(() => work(index)));
  return times;
}

/**
 * Values of several forms, round by round; every other round in reverse order.
 *
 * @param forms by name: `(round) => value`
 * @returns by name: the value of each round
 */
export async function inTurns(rounds, forms) {
  const names = Object.keys(forms);
  const values = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) values[name].push(await forms[name](round));
  }
  return values;
}

/** Ratios of two lists, round by round. */
export const ratios = (ours, theirs) => ours.map((value, round) => value / theirs[round]);

/** The middle half of a list: how steady it is. */
export const middleHalf = (values) => [percentile(values, 25), percentile(values, 75)];

/** What a reading grows by at most, above what it was before. @param read gives a number, such as bytes of memory */
export async function growthWhile(read, work, everyMs = 50) {
  const before = read();
  let peak = before;
  const timer = setInterval(() => {
    peak = Math.max(peak, read());
  }, everyMs);
  try {
    const result = await work();
    return { result, before, peak, growth: Math.max(peak, read()) - before };
  } finally {
    clearInterval(timer);
  }
}

/** Calls begun at fixed times, whether those before have ended or not. @returns milliseconds of each */
export async function steadily({ count, everyMs }, call) {
  const started = performance.now();
  const running = [];
  for (let index = 0; index < count; index++) {
    const early = started + index * everyMs - performance.now();
    if (early > 0) await new Promise((resolve) => setTimeout(resolve, early));
    running.push(timed(() => call(index)));
  }
  return Promise.all(running);
}
