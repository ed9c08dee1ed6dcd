/** What an exponent may lie above the one expected. */
export const SLACK = 0.2;
const ROUNDS = 5;
/** Processor time of one round, in microseconds, and most calls in it. */
const ROUND_US = 60_000;
const MAX_CALLS = 2_000;

/** Slope of log(cost) over log(size), by least squares. */
export function slopeOf(sizes, costs) {
  const [x, y] = [sizes, costs].map((values) => values.map(Math.log));
  const [meanX, meanY] = [x, y].map((values) => values.reduce((sum, value) => sum + value, 0) / values.length);
  const over = x.reduce((sum, value, index) => sum + (value - meanX) * (y[index] - meanY), 0);
  return over / x.reduce((sum, value) => sum + (value - meanX) ** 2, 0);
}

/**
 * Costs of a call at each size. The sizes are measured in turn, round by round, so that whatever else happens hits all alike.
 *
 * @param subject `{ sizes, open(size) }`; `open` gives `{ call(index), close(), cpuUs?() }`
 * @returns microseconds of processor time a call, by size
 */
export async function grown({ sizes, open }) {
  const opened = [];
  for (const size of sizes) opened.push({ ...(await open(size)), samples: [], next: 0 });
  for (const one of opened) one.calls = await callsOfRound(one);
  for (let round = 0; round < ROUNDS; round++) {
    for (const one of opened) one.samples.push(await timed(one, one.calls));
  }
  for (const { close } of opened) await close();
  // The least disturbed round: neighbours on the machine only ever add to a cost.
  return opened.map(({ samples }) => Math.min(...samples));
}

/** Warms up, and finds how many calls fill a round. */
async function callsOfRound(one) {
  // Processor time, so that a busy machine does not shorten the warm-up.
  let spentUs = 0;
  let calls = 1;
  for (;;) {
    spentUs += calls * (await timed(one, calls));
    if (spentUs >= ROUND_US || calls >= MAX_CALLS) break;
    calls *= 2;
  }
  return Math.max(1, calls >> 1);
}

async function timed(one, calls) {
  const cpuUs = one.cpuUs ?? ownCpuUs;
  const before = cpuUs();
  for (let call = 0; call < calls; call++) await one.call(one.next++);
  return Math.max(0.1, (cpuUs() - before) / calls);
}

function ownCpuUs() {
  const { user, system } = process.cpuUsage();
  return user + system;
}
