// Time in tests, on machines that are slow, busy, or stand still for some seconds.
import { setTimeout as pause } from "node:timers/promises";

/** Far longer than anything takes that comes at all. */
export const PATIENCE_MS = 60_000;

/** Waits until something holds. @throws Error where that takes a minute */
export async function until(holds: () => unknown, everyMs = 20): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`It never came true: ${holds}`);
    await pause(everyMs);
  }
}

const STEP_MS = 20;

/** Milliseconds that something takes while this process runs: what it stands still counts as one step. */
export async function steadyMs(work: () => Promise<unknown>): Promise<number> {
  let steps = 0;
  const timer = setInterval(() => steps++, STEP_MS);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  return steps * STEP_MS;
}

/** Milliseconds of processor time that some work takes in this process: what others do on the machine does not count. */
export async function processorMs(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
