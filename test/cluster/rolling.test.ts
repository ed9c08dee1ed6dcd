// A rolling restart of three instances under load, behind a balancer that asks /readyz.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { cleanUp } from "../cli/process.js";
import { describeWhere } from "../needs.js";
import { hasPostgres, NO_POSTGRES, startPostgres, type TestEngine } from "../postgres.js";
import { type Cluster, haveMet, type Instance, startCluster, until } from "./instances.js";

/** Pause between two calls: enough of them to see every gap, few enough for a busy machine. */
const EVERY_MS = 20;
const LOOK_MS = 100;

describeWhere(hasPostgres, NO_POSTGRES)("a rolling restart", () => {
  let engine: TestEngine;
  let cluster: Cluster;
  beforeAll(async () => {
    engine = await startPostgres();
    cluster = await startCluster(engine.port);
  }, 180_000);
  afterAll(async () => {
    await cleanUp();
    await cluster?.close();
    await engine?.remove();
  });

  test("answers every call, and every question after a job, with 2xx, or 503 and Retry-After", async () => {
    const instances: Instance[] = [await cluster.start(), await cluster.start(), await cluster.start()];
    await haveMet(instances);
    const ready = new Set(instances);
    let isOver = false;
    const balancer = async () => {
      for (; !isOver; await sleep(LOOK_MS)) {
        await Promise.all(
          instances.map(async (one) => {
            const answer = await one.ask("/readyz").catch(() => undefined);
            if (answer?.status === 200) ready.add(one);
            else ready.delete(one);
          }),
        );
      }
    };
    interface Seen {
      readonly status: number;
      readonly retryAfter: string | null;
    }
    const calls: Seen[] = [];
    const questions: Seen[] = [];
    const body = JSON.stringify({ operation: "v/ops/file/stat", input: { root: "tmp", path: "" } });
    const load = async () => {
      for (; !isOver; await sleep(EVERY_MS)) {
        const [one, other = one] = [...ready].sort(() => Math.random() - 0.5);
        if (one === undefined) throw new Error("No instance is ready");
        const made = await one.ask("/api/v1/invoke", { method: "POST", body });
        calls.push({ status: made.status, retryAfter: made.headers.get("retry-after") });
        const { id } = (await made.json()) as { id: string };
        const found = await (other ?? one).ask(`/api/v1/jobs/${id}`);
        await found.arrayBuffer();
        questions.push({ status: found.status, retryAfter: found.headers.get("retry-after") });
      }
    };
    const running = [balancer(), load(), load()];
    for (const old of [...instances]) {
      const next = await cluster.start();
      instances.push(next);
      await until(async () => ready.has(next));
      old.child.kill("SIGTERM");
      expect((await old.ended).status).toBe(0);
      instances.splice(instances.indexOf(old), 1);
    }
    isOver = true;
    await Promise.all(running);
    const isLater = ({ status, retryAfter }: Seen) => status === 503 && retryAfter !== null;
    for (const seen of [calls, questions]) {
      const failed = seen.filter(({ status }) => status >= 300);
      expect(seen.length).toBeGreaterThan(50);
      expect(failed.filter((one) => !isLater(one))).toEqual([]);
      // Of a few hundred, none.
      expect(failed.length).toBeLessThanOrEqual(seen.length / 1000);
    }
  }, 180_000);
});
