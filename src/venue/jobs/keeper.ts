// Keeps jobs where each instance of the venue finds them, once their ids are told while they run.

import type { JobRecord } from "../../core/ports/job.js";

/** A job as it is kept. */
export interface KeptJob {
  readonly id: string;
  readonly isPrivate: boolean;
  /** Callers that may see it. */
  readonly owners: readonly string[];
  record(): JobRecord;
}

/** Nothing here rejects: without the shared state a job is told all the same, and kept later. */
export interface JobKeeper {
  /** Number of this instance, which ids of jobs carry. */
  readonly instance: number;
  /** Before the id is told. */
  begin(job: KeptJob): Promise<void>;
  /** Before the end shows. */
  end(job: KeptJob, record: JobRecord): Promise<void>;
  remove(job: KeptJob): Promise<void>;
}
