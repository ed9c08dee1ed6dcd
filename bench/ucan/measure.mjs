/** @returns median and 95th percentile of what `run` takes, in microseconds @param batch calls timed as one */
export function timed(run, { rounds, batch = 1 }) {
  for (let index = 0; index < rounds / 4; index++) run(index);
  const samples = [];
  for (let round = 0; round < rounds; round++) {
    const start = process.hrtime.bigint();
    for (let index = 0; index < batch; index++) run(index);
    samples.push(Number(process.hrtime.bigint() - start) / 1e3 / batch);
  }
  return spread(samples);
}

/** @returns median and 95th percentile of the processor time of `run`, with all threads of the process, in milliseconds */
export function processorTime(run, { rounds, prepare }) {
  const samples = [];
  for (let round = -rounds / 4; round < rounds; round++) {
    const prepared = prepare();
    const before = process.cpuUsage();
    run(prepared);
    const { user, system } = process.cpuUsage(before);
    if (round >= 0) samples.push((user + system) / 1e3);
  }
  return spread(samples);
}

function spread(samples) {
  samples.sort((a, b) => a - b);
  return { median: samples[samples.length >> 1], p95: samples[Math.floor(samples.length * 0.95)] };
}
