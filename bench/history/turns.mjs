// Two forms of the same work in turns, so that whatever else happens on the machine hits both alike.
import { median } from "../measure.mjs";

/** By then the journal has written what waits, within the turn that caused it. */
const WRITTEN_MS = 25;

/**
 * @param forms two functions `(index) => milliseconds` of one call, or of what it is compared with
 * @returns the ratio of the medians, first to second, and that of each round
 */
export async function inTurns(forms, { rounds, calls, warmup = calls }) {
  let next = 0;
  const samples = forms.map(() => []);
  const ratios = [];
  const busy = [0, 0];
  for (let round = -1; round < rounds; round++) {
    const medians = [];
    for (const index of round % 2 === 0 ? [0, 1] : [1, 0]) {
      const before = process.cpuUsage();
      const times = [];
      for (let call = round < 0 ? warmup : calls; call > 0; call--) times.push(await forms[index](next++));
      await new Promise((resolve) => setTimeout(resolve, WRITTEN_MS));
      const { user, system } = process.cpuUsage(before);
      medians[index] = median(times);
      if (round < 0) continue;
      busy[index] += user + system;
      samples[index].push(...times);
    }
    if (round >= 0) ratios.push(medians[0] / medians[1]);
  }
  const [one, other] = samples.map(median);
  const note = `${us(one)} to ${us(other)}; processor ${(busy[0] / busy[1]).toFixed(2)}x`;
  return { value: one / other, ratios, note };
}

const us = (ms) => (ms < 10 ? `${(ms * 1000).toFixed(0)} µs` : `${ms.toFixed(1)} ms`);

/** Milliseconds of one call. */
export async function timed(work) {
  const start = performance.now();
  await work();
  return performance.now() - start;
}
