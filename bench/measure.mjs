import { SUBJECTS } from "./subjects.mjs";
import { inTurns, median, percentile } from "./timing.mjs";

/** Calls at the start of each turn that are checked but not timed: caches and sleeping processes wake up in them. */
const RAMP_CALLS = 3;

/**
 * Measures one row: round by round, each subject in turn.
 *
 * @param row `{ rounds, calls, warmup, forms, checks?, setting?, inFlight? }`: in each round, each subject makes `calls`
 *   timed calls (times its form's `times`) after `checks` others whose answers are compared with what is right
 * @returns by subject: `{ median, p99, roundMedians, samples }`, in microseconds a call (of a row in flight: calls a second)
 */
export async function measure(row, ports) {
  const subjects = await bind(row, ports);
  const checks = row.checks ?? Math.min(RAMP_CALLS, row.calls);
  for (const subject of subjects) await turn(subject, { calls: row.warmup, checks: Math.max(checks, 1) });
  const forms = subjects.map((subject) => [
    subject.id,
    () => turn(subject, { calls: row.calls * (subject.form.times ?? 1), checks }),
  ]);
  const rounds = await inTurns(row.rounds, Object.fromEntries(forms));
  return Object.fromEntries(
    Object.entries(rounds).map(([id, turns]) => {
      const samples = turns.flat();
      const roundMedians = turns.map(median);
      return [id, { median: median(samples), p99: percentile(samples, 99), roundMedians, samples }];
    }),
  );
}

/** The subjects that have a form of a row, each with what it calls. */
async function bind(row, ports) {
  const bound = [];
  for (const [id, { form: formName, port: portName, isRaw }] of Object.entries(SUBJECTS)) {
    const form = row.forms[formName];
    if (form === undefined) continue;
    const port = portName === undefined ? undefined : await ports.get(portName, { setting: row.setting, isRaw });
    // A row may count the calls on: what they make needs a name of its own.
    bound.push({ id, form, call: port?.call, next: 0, inFlight: row.inFlight });
  }
  return bound;
}

/** Some calls of one subject: first the checked ones, then the timed ones. */
async function turn(subject, { calls, checks }) {
  const { id, form, call } = subject;
  for (let count = 0; count < checks; count++) {
    const index = subject.next++;
    form.before?.(index, id);
    form.check(await form.run(call, index, id), index, id);
  }
  if (subject.inFlight !== undefined) return [await throughput(subject, calls)];
  const samples = [];
  for (let count = 0; count < calls; count++) {
    const index = subject.next++;
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
async function throughput(subject, calls) {
  const { id, form, call, inFlight } = subject;
  let left = calls;
  const worker = async () => {
    while (left-- > 0) await form.run(call, subject.next++, id);
  };
  const start = performance.now();
  await Promise.all(Array.from({ length: inFlight }, worker));
  return (calls * 1000) / (performance.now() - start);
}
