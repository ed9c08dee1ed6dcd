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

/**
 * @param run what is measured, `beside` what is measured in turns with it, so that the machine is the same for both
 * @returns median and 95th percentile of the processor time of each, with all threads of the process, in milliseconds
 */
export function processorTime(run, beside, { rounds, prepare }) {
  const samples = { run: [], beside: [] };
  for (let round = -rounds / 2; round < rounds; round++) {
    const prepared = prepare();
    const ran = spent(() => run(prepared));
    const besides = spent(beside);
    if (round < 0) continue;
    samples.run.push(ran);
    samples.beside.push(besides);
  }
  return { run: spread(samples.run), beside: spread(samples.beside) };
}

function spent(work) {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e3;
}

function spread(samples) {
  samples.sort((a, b) => a - b);
  return { median: samples[samples.length >> 1], p95: samples[Math.floor(samples.length * 0.95)] };
}
