import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import type { JobRecord } from "../../../src/core/ports/job.js";
import { silentLog } from "../../../src/core/ports/log.js";
import type { Shared } from "../../../src/core/ports/shared.js";
import { JobRows } from "../../../src/venue/shared/job-rows.js";
import { until } from "../../until.js";

test("a job that was forgotten before its first row could be written gets none later", async () => {
  const done: string[] = [];
  let isThere = true;
  const shared = {
    self: { number: 1 },
    sealed: () => ({ seal: (_: string, bytes: Buffer) => bytes, open: (_: string, bytes: Buffer) => bytes }),
    mac: () => (text: string) => text,
    on: () => () => {},
    query: async (text: string) => {
      if (!isThere) throw new Error("away");
      done.push(text.split(" ", 1)[0] ?? "");
      return [];
    },
  } as unknown as Shared;
  const rows = new JobRows({
    shared,
    log: silentLog,
    ttlMs: 1000,
    told: { job: () => {}, lostJob: () => {} },
    onLost: () => {},
  });
  const record = { id: "1", status: "STARTED" } as unknown as JobRecord;
  const job = { id: "1", isPrivate: false, owners: ["alice"], record: () => record };
  await pause(0);
  isThere = false;
  await rows.begin(job);
  isThere = true;
  done.length = 0;
  await rows.remove(job);
  await pause(1200);
  await rows.close();
  // A process that stood still looks what has become of its jobs.
  expect(done.filter((one) => one !== "SELECT")).toEqual(["DELETE"]);
});

test("a job that is forgotten while its first row is written at last has none then", async () => {
  const done: string[] = [];
  const answers: (() => void)[] = [];
  let isThere = true;
  const shared = {
    self: { number: 1 },
    sealed: () => ({ seal: (_: string, bytes: Buffer) => bytes, open: (_: string, bytes: Buffer) => bytes }),
    mac: () => (text: string) => text,
    on: () => () => {},
    query: async (text: string) => {
      if (!isThere) throw new Error("away");
      if (text.startsWith("INSERT")) await new Promise<void>((resolve) => answers.push(resolve));
      done.push(text.split(" ", 1)[0] ?? "");
      return [];
    },
  } as unknown as Shared;
  const told = { job: () => {}, lostJob: () => {} };
  const rows = new JobRows({ shared, log: silentLog, ttlMs: 1000, told, onLost: () => {} });
  const record = { id: "1", status: "STARTED" } as unknown as JobRecord;
  const job = { id: "1", isPrivate: false, owners: ["alice"], record: () => record };
  await pause(0);
  isThere = false;
  await rows.begin(job);
  isThere = true;
  done.length = 0;
  await until(() => answers.length > 0);
  const removed = rows.remove(job);
  await pause(50);
  answers[0]?.();
  await removed;
  await rows.close();
  expect(done).toEqual(["INSERT", "DELETE"]);
});

test("jobs that end in a long absence of the engine are not held in memory for ever", async () => {
  let isThere = false;
  let asked: readonly unknown[] = [];
  const shared = {
    self: { number: 1 },
    sealed: () => ({ seal: (_: string, bytes: Buffer) => bytes, open: (_: string, bytes: Buffer) => bytes }),
    mac: () => (text: string) => text,
    on: () => () => {},
    query: async (text: string, [ids]: readonly [readonly unknown[]]) => {
      if (!isThere) throw new Error("away");
      if (text.startsWith("SELECT id FROM job")) asked = ids;
      return [];
    },
  } as unknown as Shared;
  const told = { job: () => {}, lostJob: () => {} };
  const rows = new JobRows({ shared, log: silentLog, ttlMs: 1000, told, onLost: () => {} });
  const record = { id: "1", status: "STARTED" } as unknown as JobRecord;
  const jobOf = (id: string) => ({ id, isPrivate: false, owners: ["alice"], record: () => record });
  for (let index = 0; index < 1500; index++) {
    await rows.begin(jobOf(`${index}`));
    await rows.end(jobOf(`${index}`), record);
  }
  isThere = true;
  await rows.end(jobOf("last"), record);
  expect(asked.length).toBeLessThanOrEqual(1000);
  await rows.close();
});
