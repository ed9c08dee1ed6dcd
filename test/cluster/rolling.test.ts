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
/** Calls are still taken so long by what has been told to end. */
const DRAIN_MS = 2000;
/** A request to the engine or to a peer that takes longer is given up, as happens on a machine that is busy elsewhere. */
const GIVEN_UP_MS = 2000;

describeWhere(hasPostgres, NO_POSTGRES)("a rolling restart", () => {
  let engine: TestEngine;
  let cluster: Cluster;
  beforeAll(async () => {
    engine = await startPostgres();
    cluster = await startCluster(engine.port);
  });
  afterAll(async () => {
    await cleanUp();
    await cluster?.close();
    await engine?.remove();
  });

  test("answers every call, and every question after a job, with 2xx, or 503 and Retry-After", async () => {
    const instances: Instance[] = [await cluster.start(), await cluster.start(), await cluster.start()];
    await haveMet(instances);
    const ready = new Set(instances);
    const stale = new Set<Instance>();
    let isOver = false;
    let lookedAt = performance.now();
    const balancer = async () => {
      for (; !isOver; await sleep(LOOK_MS)) {
        const now = performance.now();
        await Promise.all(
          instances.map(async (one) => {
            const answer = await one.ask("/readyz").catch(() => undefined);
            const text = await answer?.text();
            for (const [set, is] of [
              [ready, answer?.status === 200],
              [stale, text?.includes("stale")],
            ] as const)
              if (is) set.add(one);
              else set.delete(one);
          }),
        );
        lookedAt = now;
      }
    };
    interface Seen {
      readonly status: number;
      readonly retryAfter: string | null;
      readonly ms: number;
    }
    /** @returns `undefined`: the balancer has not looked for so long that it may be gone, since this process stood still */
    const ask = async (one: Instance, path: string, seen: Seen[], init?: RequestInit) => {
      const [looked, begun] = [lookedAt, performance.now()];
      try {
        const answer = await one.ask(path, init);
        const text = await answer.text();
        const ms = performance.now() - begun;
        seen.push({ status: answer.status, retryAfter: answer.headers.get("retry-after"), ms });
        return text;
      } catch (error) {
        if (performance.now() - looked < DRAIN_MS) throw error;
        return undefined;
      }
    };
    const calls: Seen[] = [];
    const questions: Seen[] = [];
    const body = JSON.stringify({ operation: "v/ops/file/stat", input: { root: "tmp", path: "" } });
    const load = async () => {
      for (; !isOver; await sleep(EVERY_MS)) {
        const [one, other = one] = [...ready].sort(() => Math.random() - 0.5);
        if (one === undefined && stale.size > 0) continue;
        if (one === undefined) throw new Error("No instance is ready");
        const made = await ask(one, "/api/v1/invoke", calls, { method: "POST", body });
        const { id } = JSON.parse(made ?? "{}") as { id?: string };
        if (id !== undefined) await ask(other ?? one, `/api/v1/jobs/${id}`, questions);
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
      for (const set of [ready, stale]) set.delete(old);
    }
    isOver = true;
    await Promise.all(running);
    const isLater = ({ status, retryAfter }: Seen) => status === 503 && retryAfter !== null;
    const isQuick = ({ ms }: Seen) => ms < GIVEN_UP_MS;
    for (const seen of [calls, questions]) {
      const failed = seen.filter(({ status }) => status >= 300);
      expect(seen.length).toBeGreaterThan(50);
      expect(failed.filter((one) => !isLater(one))).toEqual([]);
      // Of a few hundred, none.
      expect(failed.filter(isQuick).length).toBeLessThanOrEqual(seen.length / 1000);
    }
  });
});
