import type { Clock } from "../../src/core/clock.js";
import type { Submission } from "../../src/core/job.js";
import { createCatalogue } from "../../src/venue/catalogue.js";
import { createJobs, type JobLimits, type Jobs } from "../../src/venue/jobs.js";
import { type FakeAdapter, type FakeOperation, fakeAdapter } from "./fake-adapter.js";

export const CALLER = "did:key:zAlice";

/** A clock that the test moves. */
export class TestClock implements Clock {
  now = 1_790_000_000_000;
  nowMs = (): number => this.now;
  monotonicMs = (): number => this.now - 1_000_000;
}

export interface Store {
  readonly jobs: Jobs;
  readonly clock: TestClock;
  readonly adapter: FakeAdapter;
  readonly logged: unknown[];
}

/** A job store over fake operations. */
export function store(operations: Record<string, FakeOperation>, limits: Partial<JobLimits> = {}): Store {
  const adapter = fakeAdapter(operations);
  const clock = new TestClock();
  const logged: unknown[] = [];
  const jobs = createJobs({
    catalogue: createCatalogue({ did: "did:key:zVenue", adapters: [adapter] }),
    clock,
    limits: { max: 100, maxBytes: 1_000_000, ttlMs: 1000, ...limits },
    logInternal: (error, requestId) => logged.push([error, requestId]),
  });
  return { jobs, clock, adapter, logged };
}

/** A submission as a surface makes it. */
export const call = (operation: string, input: unknown = {}, more: Partial<Submission> = {}): Submission => ({
  operation,
  input,
  caller: CALLER,
  context: { callerDID: CALLER },
  ...more,
});
