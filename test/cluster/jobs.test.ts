// Jobs of one venue with several instances, as processes, with a real engine.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { cleanUp } from "../cli/process.js";
import { describeWhere } from "../needs.js";
import { hasPostgres, NO_POSTGRES, startPostgres, type TestEngine } from "../postgres.js";
import { type Cluster, haveMet, type Instance, patiently, startCluster, until, type Who } from "./instances.js";

/** Times that an instance is killed in mid-job, and how many are at the same time. */
const KILLS = Number(process.env["VENUE_FILES_KILLS"] ?? 2);
const AT_ONCE = 5;
/** Where the bar is asked for; machines that are busy with other suites take longer. */
const MOST_MS = process.env["VENUE_FILES_KILLS"] === undefined ? 120_000 : 15_000;
/** What each request to the bucket takes at most, and at least half of it; and what a change takes then. */
const REQUEST_MS = 300;
const CHANGE_MS = 1500;
const LOST = { status: "FAILED", errorCode: "INSTANCE_LOST", errorData: { mayHaveHappened: true } };

describeWhere(hasPostgres, NO_POSTGRES)("jobs of several instances", () => {
  let engine: TestEngine;
  let cluster: Cluster;
  let one: Instance;
  let two: Instance;

  beforeAll(async () => {
    engine = await startPostgres();
    const tmp = { temp: true, perInstance: true } as const;
    cluster = await startCluster(engine.port, { file: { roots: { tmp, mine: { dlfs: "lines" } } } });
    // The first one is asked while it ends.
    const shared = { postgres: { url: { env: "ENGINE" } }, drainMs: 10_000 };
    [one, two] = [await cluster.start({ shared }), await cluster.start()];
    await haveMet([one, two]);
  });
  afterAll(async () => {
    await cleanUp();
    await cluster?.close();
    await engine?.remove();
  });

  beforeEach(() => haveMet([one, two]));
  afterEach(() => {
    cluster.s3.fault = undefined;
    for (const { toEngine, toPeers } of [one, two]) {
      toEngine.set();
      toPeers.set();
    }
  });

  const rows = (statement: string) => engine.sql(statement);

  /** At once, or, as the log says then, later: on a busy machine the engine may take too long. */
  async function isKept(by: Instance, id: string, ...states: readonly string[]): Promise<void> {
    const found = async () => {
      const [row] = await rows(`SELECT state FROM job WHERE id = '${id}'`);
      return row !== undefined && (states.length === 0 || states.includes(String(row["state"])));
    };
    if (await found()) return;
    expect(by.stderr()).toContain("a job is not kept for other instances yet");
    await until(found);
  }

  /** What all instances say of a job, once it holds for one. */
  const answers = (all: readonly Instance[], id: string) => Promise.all(all.map((one) => one.record(id)));

  test("one answer for everybody; the row holds nothing readable and goes with the job", async () => {
    const id = await one.begin();
    for (const { status, record } of await answers([one, two], id)) {
      expect([status, record["status"], record["id"]]).toEqual([200, "STARTED", `0x${id}`]);
    }
    await isKept(one, id);
    const [row] = await rows(`SELECT * FROM job WHERE id = '${id}'`);
    expect(row).toMatchObject({ id, instance: one.number, state: "open" });
    const readable = JSON.stringify(row) + Buffer.from(row?.["sealed"] as Uint8Array).toString("latin1");
    expect(readable).not.toMatch(/alice|did:(?:key|web)|watch|cursor/);
    expect((await two.record(id, "bob")).status).toBe(403);
    const listed = async () => (await (await two.ask("/api/v1/jobs")).json()) as { items: readonly string[] };
    await until(async () => (await listed()).items.includes(id));
    await patiently(() => two.ask(`/api/v1/jobs/${id}/cancel`, { method: "PUT", body: '{"reason":"enough"}' }));
    await until(async () => (await one.record(id)).record["status"] === "CANCELLED");
    for (const { record } of await answers([one, two], id)) {
      expect(record).toMatchObject({ status: "CANCELLED", error: "enough" });
    }
    await isKept(one, id, "ended");
    await patiently(() => two.ask(`/api/v1/jobs/${id}/delete`, { method: "PUT" }));
    expect((await answers([one, two], id)).map(({ status }) => status)).toEqual([404, 404]);
    await until(async () => (await rows(`SELECT state FROM job WHERE id = '${id}'`)).length === 0);
  });

  /** A change that can be repeated. */
  const append = async (to: Instance, operationId: string, path: "run" | "invoke") => {
    const input = { root: "mine", path: "lines.txt", content: `${operationId}\n`, operationId };
    const body = JSON.stringify({ operation: "v/ops/file/append", input });
    const answer = await patiently(() => to.ask(`/api/v1/${path}`, { method: "POST", body }, "operator"));
    return { code: answer.status, body: (await answer.json()) as Readonly<Record<string, unknown>> };
  };

  interface Killed {
    /** Job that is lost. */
    readonly waiting: string;
    readonly name: string;
    /** Whether somebody was told that the change was made. */
    readonly isDone: boolean;
  }

  /** Kills an instance while one of its calls waits and one changes something, which its client then repeats elsewhere. */
  async function kill(victim: Instance, name: string): Promise<Killed> {
    const [first, waiting] = [await append(victim, name, "invoke"), await victim.begin()];
    expect(first.body).toMatchObject({ status: "STARTED" });
    const changing = String(first.body["id"]).slice(2);
    for (const id of [changing, waiting]) await isKept(victim, id);
    await sleep(Math.random() * CHANGE_MS);
    victim.child.kill("SIGKILL");
    const killed = performance.now();
    const repeated = append(two, name, "run");
    const end = async (id: string, who: Who) => {
      await until(async () => {
        const { status, record } = await one.record(id, who);
        return status === 200 && record["status"] !== "STARTED";
      });
      expect(performance.now() - killed).toBeLessThan(MOST_MS);
      const [found, same] = [await one.record(id, who), await two.record(id, who)];
      expect(same).toEqual(found);
      return found.record;
    };
    expect(await end(waiting, "alice")).toMatchObject(LOST);
    const record = await end(changing, "operator");
    const { code, body } = await repeated;
    if (record["status"] !== "COMPLETE") expect(record).toMatchObject(LOST);
    if (code !== 200) expect([code, body["errorCode"]]).toEqual([409, "OUTCOME_UNKNOWN"]);
    return { waiting, name, isDone: record["status"] === "COMPLETE" || code === 200 };
  }

  test(
    "killed in mid-job: everybody says the same within 15 s, nothing is done twice, and what was in its reply is gone",
    async () => {
      for (let killed = 0; killed < KILLS; killed += AT_ONCE) {
        const victims: Instance[] = [];
        while (victims.length < Math.min(AT_ONCE, KILLS - killed)) victims.push(await cluster.start());
        await haveMet([one, two, ...victims]);
        cluster.s3.fault = () => ({ after: sleep(((1 + Math.random()) * REQUEST_MS) / 2) });
        const changes = await Promise.all(victims.map((victim) => kill(victim, `change-${victim.number}`)));
        cluster.s3.fault = undefined;
        await sleep(REQUEST_MS);
        const text = await (await two.ask("/api/v1/files/mine/lines.txt", {}, "operator")).text();
        for (const { name, isDone } of changes) {
          const times = text.split("\n").filter((line) => line === name).length;
          expect(times).toBeLessThanOrEqual(1);
          expect(times).toBeGreaterThanOrEqual(isDone ? 1 : 0);
        }
        let list = {};
        // Who is gone is seen by the next tick.
        await until(async () => {
          list = (await (await two.ask("/api/v1/jobs")).json()) as object;
          return !("incomplete" in list);
        });
        expect(list).toMatchObject({ items: expect.arrayContaining(changes.map(({ waiting }) => waiting)) });
        for (const { waiting } of changes) {
          expect((await two.record(waiting, "bob")).status).toBe(403);
          await patiently(() => two.ask(`/api/v1/jobs/${waiting}/delete`, { method: "PUT" }));
          await until(async () => (await one.record(waiting)).status === 404);
        }
        for (const { known } of victims) await until(async () => (await two.record(known)).status === 404);
      }
    },
    240_000 + KILLS * 30_000,
  );

  test("one that is there but not reached is said to be so, in lists too", async () => {
    const id = await one.begin();
    for (const fault of ["cut", "silent"] as const) {
      one.toPeers.set(fault);
      const answer = await two.ask(`/api/v1/jobs/${id}`);
      expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "1"]);
      expect(await (await two.ask("/api/v1/jobs")).json()).toMatchObject({
        incomplete: expect.arrayContaining([one.number]),
      });
    }
    one.toPeers.set({ delayMs: 200 });
    expect((await two.record(id)).record["status"]).toBe("STARTED");
    one.toPeers.set();
    expect((await two.record(id)).record["status"]).toBe("STARTED");
  });

  test("stopped for long: what others have said of its jobs stands", async () => {
    const id = await one.begin(30_000);
    one.child.kill("SIGSTOP");
    await until(async () => (await two.record(id)).record["status"] === "FAILED");
    one.child.kill("SIGCONT");
    await until(async () => (await one.record(id)).record["status"] === "FAILED");
    const [first, second] = await answers([one, two], id);
    expect(first).toMatchObject({ record: LOST });
    expect(second).toEqual(first);
  });

  test("without the engine a job is told all the same, and kept once it is back", async () => {
    for (const { toEngine } of [one, two]) toEngine.set("cut");
    const id = await one.begin();
    expect(await rows(`SELECT 1 FROM job WHERE id = '${id}'`)).toEqual([]);
    expect((await two.record(id)).record["status"]).toBe("STARTED");
    await until(async () => (await one.ask("/readyz")).status === 503);
    expect(await (await one.ask("/readyz")).json()).toEqual({ status: "stale" });
    expect(await (await one.ask("/healthz")).json()).toEqual({ status: "degraded" });
    for (const { toEngine } of [one, two]) toEngine.set();
    await until(async () => (await rows(`SELECT 1 FROM job WHERE id = '${id}'`)).length === 1);
    await until(async () => (await one.ask("/readyz")).status === 200);
    expect(await (await one.ask("/healthz")).json()).toEqual({ status: "ok" });
  });

  test("an MCP cancellation finds its call wherever it runs", async () => {
    const send = (to: Instance, message: object) =>
      to.ask("/mcp", {
        method: "POST",
        headers: { accept: "application/json, text/event-stream" },
        body: JSON.stringify({ jsonrpc: "2.0", ...message }),
      });
    const watch = (more: object) => ({ name: "file_watch", arguments: { root: "tmp", path: "", ...more } });
    const look = await (await send(one, { id: 1, method: "tools/call", params: watch({}) })).json();
    const cursor = /cursor (\S+?)[."]/.exec(JSON.stringify(look))?.[1];
    let isOver = false;
    const call = send(one, { id: 7, method: "tools/call", params: watch({ cursor, waitMs: 30_000 }) }).finally(() => {
      isOver = true;
    });
    // Nobody tells when it has begun; one that is not there yet is not cancelled.
    for (; !isOver; await sleep(500)) {
      expect((await send(two, { method: "notifications/cancelled", params: { requestId: 7 } })).status).toBe(202);
    }
    expect(JSON.stringify(await (await call).json())).toMatch(/ABORTED|cancel/i);
  });

  test("SIGTERM: balancers hear of it, calls are taken meanwhile, and ends outlast the process", async () => {
    expect(await (await one.ask("/readyz")).json()).toEqual({ status: "ready" });
    const id = await one.begin(3000);
    one.child.kill("SIGTERM");
    await until(async () => (await one.ask("/readyz")).status === 503);
    expect(await (await one.ask("/readyz")).json()).toEqual({ status: "draining" });
    expect((await one.record(one.known)).status).toBe(200);
    await one.ended;
    // They were configured alike.
    expect(one.stderr() + two.stderr()).not.toContain("other static tokens");
    expect(await two.record(id)).toMatchObject({ status: 200, record: { status: "COMPLETE" } });
  });
});
