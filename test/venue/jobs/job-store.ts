import type { Caller } from "../../../src/core/call/caller.js";
import type { Clock } from "../../../src/core/clock.js";
import type { JobRecord, Submission } from "../../../src/core/ports/job.js";
import { createCatalogue } from "../../../src/venue/catalogue/catalogue.js";
import { type JobLimits, Jobs, type JobsOptions } from "../../../src/venue/jobs/jobs.js";
import { type FakeAdapter, type FakeOperation, fakeAdapter } from "../catalogue/fake-adapter.js";

const caller = (did: string, isOperator = false): Caller => ({ did, authentication: "identity", isOperator });

export const PUBLIC_DID = "did:key:zVenue:public";
export const ALICE = caller("did:key:zAlice");
/** Alice, restricted by a token, and by another one. */
export const NARROWED: Caller = { ...ALICE, authentication: "ucan", narrowedTo: `${ALICE.did} one` };
export const OTHERWISE: Caller = { ...NARROWED, narrowedTo: `${ALICE.did} two` };
export const BOB = caller("did:key:zBob");
export const OPERATOR = caller("did:key:zVenue", true);
export const ANYONE: Caller = { did: PUBLIC_DID, authentication: "public", isOperator: false };
/** Id of the asset of every operation of the fake. */
export const OP_ASSET = "0123456789abcdef".repeat(4);

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
export function store(
  operations: Record<string, FakeOperation>,
  limits: Partial<JobLimits & Pick<JobsOptions, "listsAnonymous" | "keeper">> = {},
): Store {
  const { listsAnonymous = true, keeper, ...others } = limits;
  const adapter = fakeAdapter(operations);
  const clock = new TestClock();
  const logged: unknown[] = [];
  const catalogue = createCatalogue({
    did: OPERATOR.did,
    registerOperation: () => OP_ASSET,
    findAsset: () => undefined,
  });
  catalogue.add(adapter);
  const jobs = new Jobs({
    catalogue,
    clock,
    limits: { max: 100, maxBytes: 1_000_000, ttlMs: 1000, inlineWaitMs: 1000, ...others },
    publicDid: PUBLIC_DID,
    ...{ listsAnonymous, keeper },
    logInternal: (error, requestId) => logged.push([error, requestId]),
  });
  return { jobs, clock, adapter, logged };
}

/** The record of a job that may be there. */
export function recordOf(jobs: Jobs, id: string): JobRecord | undefined {
  const lookup = jobs.find(id, OPERATOR);
  return "found" in lookup ? lookup.found : undefined;
}

/** A submission as a surface makes it. */
export const call = (operation: string, input: unknown = {}, more: Partial<Submission> = {}): Submission => ({
  operation,
  input,
  caller: ALICE.did,
  context: { callerDID: ALICE.did },
  ...more,
});

/** The same for another caller. */
export const callBy = ({ did, narrowedTo }: Caller, operation: string, more: Partial<Submission> = {}): Submission =>
  call(operation, {}, { caller: did, context: { callerDID: did, narrowedTo }, ...more });
