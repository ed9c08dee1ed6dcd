// Jobs of a venue of several instances: what is kept for the others, and when.
import { expect, test } from "@jest/globals";
import type { JobRecord } from "../../../src/core/ports/job.js";
import type { JobKeeper } from "../../../src/venue/jobs/keeper.js";
import { ALICE, call, store } from "./job-store.js";

class Keeper implements JobKeeper {
  readonly instance = 0x0a0b;
  readonly did: string[] = [];
  /** What an end waits for. */
  written: Promise<void> = Promise.resolve();

  begin = async ({ id }: { id: string }): Promise<void> => void this.did.push(`begin ${id}`);
  end = async ({ id }: { id: string }, { status }: JobRecord): Promise<void> => {
    this.did.push(`end ${id} ${status}`);
    await this.written;
  };
  remove = async ({ id }: { id: string }): Promise<void> => void this.did.push(`remove ${id}`);
}

function waiting(keeper: Keeper) {
  let end = (_output: unknown): void => {};
  const output = new Promise((resolve) => {
    end = resolve;
  });
  const { jobs } = store({ wait: () => output, read: () => ({ size: 1 }) }, { keeper });
  return { jobs, end };
}

test("ids carry the number of the instance in place of a counter", () => {
  const { jobs } = waiting(new Keeper());
  const ids = [1, 2].map(() => jobs.submit(call("file:read")).id);
  expect(ids.map((id) => id.slice(12, 16))).toEqual(["0a0b", "0a0b"]);
  expect(new Set(ids).size).toBe(2);
});

test("a call that ends within its reply is kept for nobody", async () => {
  const keeper = new Keeper();
  const { jobs } = waiting(keeper);
  const job = jobs.submit(call("file:read"));
  expect((await job.settled(1000)).status).toBe("COMPLETE");
  await jobs.delete(job.id, ALICE);
  expect(keeper.did).toEqual([]);
});

test("one that is handed out is kept before its id is told, and its end before it shows", async () => {
  const keeper = new Keeper();
  const { jobs, end } = waiting(keeper);
  const job = jobs.submit(call("file:wait"));
  expect((await job.settled(1)).status).toBe("STARTED");
  expect(keeper.did).toEqual([`begin ${job.id}`]);
  let written = (): void => {};
  keeper.written = new Promise((resolve) => {
    written = resolve;
  });
  end({ size: 7 });
  await new Promise(setImmediate);
  expect(keeper.did[1]).toBe(`end ${job.id} COMPLETE`);
  expect(jobs.get(job.id, ALICE)).toMatchObject({ found: { status: "STARTED" } });
  written();
  await job.result;
  expect(jobs.get(job.id, ALICE)).toMatchObject({ found: { status: "COMPLETE", output: { size: 7 } } });
  await jobs.delete(job.id, ALICE);
  expect(keeper.did.slice(2)).toEqual([`remove ${job.id}`]);
});

test("one that is forgotten while it runs does not come back by its end", async () => {
  const keeper = new Keeper();
  const { jobs, end } = waiting(keeper);
  const job = jobs.submit(call("file:wait"));
  await job.settled(1);
  await jobs.delete(job.id, ALICE);
  end({});
  await job.result;
  expect(keeper.did).toEqual([`begin ${job.id}`, `remove ${job.id}`]);
});

test("a private one is dropped everywhere once it was delivered", async () => {
  const keeper = new Keeper();
  const { jobs, end } = waiting(keeper);
  const job = jobs.submit(call("file:wait", {}, { private: true }));
  await job.settled(1);
  end({});
  await job.result;
  expect(jobs.get(job.id, ALICE)).toMatchObject({ found: { status: "COMPLETE" } });
  expect(jobs.get(job.id, ALICE)).toEqual({ refused: "unknown" });
  expect(keeper.did.at(-1)).toBe(`remove ${job.id}`);
});

test("one that others hold for lost stays lost, and stops", async () => {
  const keeper = new Keeper();
  const { jobs, end } = waiting(keeper);
  const job = jobs.submit(call("file:wait"));
  const lost = { ...(await job.settled(1)), status: "FAILED", errorCode: "INSTANCE_LOST", updated: 5 } as const;
  const heard: unknown[] = [];
  jobs.watch(job.id, ALICE, (record) => heard.push(record?.errorCode));
  jobs.lose(job, lost);
  expect(heard).toEqual(["INSTANCE_LOST"]);
  end({ size: 7 });
  await job.result;
  expect(jobs.get(job.id, ALICE)).toMatchObject({
    found: { status: "FAILED", errorCode: "INSTANCE_LOST", updated: 5 },
  });
  expect([keeper.did, jobs.running]).toEqual([[`begin ${job.id}`], 0]);
});
