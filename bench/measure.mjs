import { NoSuchTool } from "./native.mjs";
import { SUBJECT_IDS, SUBJECTS } from "./subjects.mjs";

/** Calls at the start of each turn that are checked but not timed: caches and sleeping processes wake up in them. */
const RAMP_CALLS = 3;

/**
 * Measures one row: round by round, each subject in turn, so that whatever else happens on the machine hits all alike.
 *
 * @param row `{ rounds, calls, warmup, forms, checks?, setting?, inFlight? }`: in each round, each subject makes `calls`
 *   timed calls (times its form's `times`) after `checks` others whose answers are compared with what is right
 * @returns by subject: `{ samples, roundMedians }`, in microseconds a call (of a throughput row: calls a second)
 */
export async function measure(row, ports) {
  const subjects = await bind(row, ports);
  const results = Object.fromEntries(subjects.map(({ id }) => [id, { samples: [], roundMedians: [] }]));
  const checks = row.checks ?? Math.min(RAMP_CALLS, row.calls);
  for (const subject of subjects) await turn(subject, { calls: row.warmup, checks: Math.max(checks, 1) });
  for (let round = 0; round < row.rounds; round++) {
    for (const subject of subjects) {
      const samples = await turn(subject, { calls: row.calls * (subject.form.times ?? 1), checks });
      results[subject.id].samples.push(...samples);
      results[subject.id].roundMedians.push(median(samples));
    }
  }
  return results;
}

/** The forms of a row that there are, each with what it calls. */
async function bind(row, ports) {
  const bound = [];
  for (const id of SUBJECT_IDS) {
    const { form: formName, port: portName } = SUBJECTS[id];
    const form = row.forms[formName];
    if (form === undefined) continue;
    const port = portName === undefined ? undefined : await ports.get(portName, row.setting);
    const call = port?.tool ?? port?.invoke;
    // A row may count the calls on: what they make needs a name of its own.
    const state = { next: 0 };
    if (!SUBJECTS[id].isForeign) bound.push({ id, form, call, state, row });
    else if (await hasTools(call, form, { id, state }))
      bound.push({ id, form: { ...form, check: () => {} }, call, state, row });
  }
  return bound;
}

/** Whether a server that is neither ours nor server-filesystem has what a row calls. */
async function hasTools(call, form, { id, state }) {
  const index = state.next++;
  try {
    form.before?.(index, id);
    await form.run(call, index, id);
    return true;
  } catch (error) {
    if (error instanceof NoSuchTool) return false;
    throw error;
  } finally {
    form.after?.(id);
  }
}

/** Some calls of one subject: first the checked ones, then the timed ones. */
async function turn({ id, form, call, state, row }, { calls, checks }) {
  for (let count = 0; count < checks; count++) {
    const index = state.next++;
    form.before?.(index, id);
    form.check(await form.run(call, index, id), index, id);
  }
  const samples = row.inFlight === undefined ? [] : [await throughput({ id, form, call, state }, row.inFlight, calls)];
  for (let count = 0; count < calls && row.inFlight === undefined; count++) {
    const index = state.next++;
    form.before?.(index, id);
    const start = process.hrtime.bigint();
    const answer = form.run(call, index, id);
    if (answer instanceof Promise) await answer;
    samples.push(Number(process.hrtime.bigint() - start) / 1e3);
  }
  form.after?.(id);
  return samples;
}

/** Calls a second with so many of them in flight. */
async function throughput({ id, form, call, state }, inFlight, calls) {
  let left = calls;
  const worker = async () => {
    while (left > 0) {
      left--;
      await form.run(call, state.next++, id);
    }
  };
  const start = process.hrtime.bigint();
  await Promise.all(Array.from({ length: inFlight }, worker));
  return calls / (Number(process.hrtime.bigint() - start) / 1e9);
}

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

/** @returns `{ median, p99, n }` of each subject, and the medians of its rounds */
export function summarise(results) {
  return Object.fromEntries(
    Object.entries(results).map(([id, { samples, roundMedians }]) => [
      id,
      { median: median(samples), p99: percentile(samples, 99), n: samples.length, roundMedians },
    ]),
  );
}

/** How a ratio of two subjects moved from round to round: the middle half. */
export function spread(numerator, denominator) {
  const ratios = numerator.roundMedians.map((value, round) => value / denominator.roundMedians[round]);
  return [percentile(ratios, 25), percentile(ratios, 75)];
}
