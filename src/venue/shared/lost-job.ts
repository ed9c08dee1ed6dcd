// A job that was kept by an instance that is gone, as its caller finds it.

import type { Caller } from "../../core/call/caller.js";
import type { Page, Paged } from "../../core/call/page.js";
import { adapterError, type FileAdapterError } from "../../core/errors/errors.js";
import type { CallerJobs, JobLookup, JobRecord, JobWatch } from "../../core/ports/job.js";
import { ownerOf } from "../jobs/jobs.js";
import type { KeptJob } from "../jobs/keeper.js";

/** Sealed part of a row. */
export type KeptContents = Pick<KeptJob, "owners" | "isPrivate"> & { readonly record: JobRecord };

const LOST =
  "The instance that ran this job is gone, and what it had done until then stays. Look at what is there, then call again if it is not done";

export const instanceLost = (): FileAdapterError => adapterError("INSTANCE_LOST", LOST, { mayHaveHappened: true });

/** The record of a job that did not end before its instance went. */
export function lostRecord(record: JobRecord, updated: number): JobRecord {
  const { message, code, data } = instanceLost();
  return {
    ...record,
    status: "FAILED",
    updated: Math.round(updated),
    error: message,
    errorCode: code,
    errorData: data,
  };
}

export class LostJob implements CallerJobs {
  readonly #contents: KeptContents;
  readonly #remove: () => Promise<void>;

  constructor(contents: KeptContents, remove: () => Promise<void>) {
    this.#contents = contents;
    this.#remove = remove;
  }

  list(page: Page): Paged<string> {
    return { items: [], total: 0, ...page };
  }

  find(_id: string, caller: Caller): JobLookup {
    const { record, owners } = this.#contents;
    return owners.includes(ownerOf(caller)) || caller.isOperator ? { found: record } : { refused: "denied" };
  }

  /** Drops a private job once its own caller has it. */
  get(id: string, caller: Caller): JobLookup {
    const { record, isPrivate } = this.#contents;
    const lookup = this.find(id, caller);
    if ("found" in lookup && isPrivate && record.caller === caller.did) this.#remove().catch(() => {});
    return lookup;
  }

  async cancel(id: string, caller: Caller): Promise<JobLookup> {
    return this.get(id, caller);
  }

  async delete(id: string, caller: Caller): Promise<JobLookup> {
    const lookup = this.find(id, caller);
    if ("found" in lookup) await this.#remove();
    return lookup;
  }

  watch(id: string, caller: Caller): JobWatch {
    return { ...this.get(id, caller), stop: () => {} };
  }
}
