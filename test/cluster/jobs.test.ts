// Jobs of one venue with several instances, as processes, with a real engine.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import postgres from "postgres";
import { cleanUp } from "../cli/process.js";
import { describeWhere } from "../needs.js";
import { hasPostgres, NO_POSTGRES, startPostgres, type TestEngine } from "../postgres.js";
import { type Cluster, haveMet, type Instance, startCluster, until } from "./instances.js";

/** Times that an instance is killed in mid-job. */
const KILLS = Number(process.env["VENUE_FILES_KILLS"] ?? 1);
/** Where the bar is asked for; machines that are busy with other suites take longer. */
const MOST_MS = process.env["VENUE_FILES_KILLS"] === undefined ? 60_000 : 15_000;
const LOST = { status: "FAILED", errorCode: "INSTANCE_LOST", errorData: { mayHaveHappened: true } };

describeWhere(hasPostgres, NO_POSTGRES)("jobs of several instances", () => {
  let engine: TestEngine;
  let cluster: Cluster;
  let one: Instance;
  let two: Instance;

  beforeAll(async () => {
    engine = await startPostgres();
    cluster = await startCluster(engine.port);
    [one, two] = [await cluster.start(), await cluster.start()];
    await haveMet([one, two]);
  }, 180_000);
  afterAll(async () => {
    await cleanUp();
    await cluster?.close();
    await engine?.remove();
  });

  beforeEach(() => haveMet([one, two]));
  afterEach(() => {
    for (const { toEngine, toPeers } of [one, two]) {
      toEngine.set();
      toPeers.set();
    }
  });

  async function rows(statement: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const sql = postgres(engine.url, { max: 1, connection: { search_path: "venue_files" }, onnotice: () => {} });
    try {
      return [...(await sql.unsafe(statement))];
    } finally {
      await sql.end({ timeout: 1 });
    }
  }

  /** What all instances say of a job, once it holds for one. */
  const answers = (all: readonly Instance[], id: string) => Promise.all(all.map((one) => one.record(id)));

  test("one answer for everybody; the row holds nothing readable and goes with the job", async () => {
    const id = await one.begin();
    for (const { status, record } of await answers([one, two], id)) {
      expect([status, record["status"], record["id"]]).toEqual([200, "STARTED", `0x${id}`]);
    }
    const [row] = await rows(`SELECT * FROM job WHERE id = '${id}'`);
    expect(row).toMatchObject({ id, instance: one.number, state: "open" });
    const readable = JSON.stringify(row) + Buffer.from(row?.["sealed"] as Uint8Array).toString("latin1");
    expect(readable).not.toMatch(/alice|did:|watch|cursor/);
    expect((await two.record(id, "bob")).status).toBe(403);
    const list = (await (await two.ask("/api/v1/jobs")).json()) as { items: readonly string[] };
    expect(list.items).toContain(id);
    await two.ask(`/api/v1/jobs/${id}/cancel`, { method: "PUT", body: '{"reason":"enough"}' });
    await until(async () => (await one.record(id)).record["status"] === "CANCELLED");
    for (const { record } of await answers([one, two], id)) {
      expect(record).toMatchObject({ status: "CANCELLED", error: "enough" });
    }
    expect(await rows(`SELECT state FROM job WHERE id = '${id}'`)).toEqual([{ state: "ended" }]);
    await two.ask(`/api/v1/jobs/${id}/delete`, { method: "PUT" });
    expect((await answers([one, two], id)).map(({ status }) => status)).toEqual([404, 404]);
    expect(await rows(`SELECT state FROM job WHERE id = '${id}'`)).toEqual([]);
  });

  test(
    "killed in mid-job: everybody says the same within 15 s, and what was in its reply is gone",
    async () => {
      const survivors = [one, two] as const;
      for (let kill = 0; kill < KILLS; kill++) {
        const victim = await cluster.start();
        await haveMet([one, two, victim]);
        const id = await victim.begin();
        victim.child.kill("SIGKILL");
        const killed = performance.now();
        await until(async () => (await survivors[0].record(id)).record["status"] === "FAILED", MOST_MS);
        expect(performance.now() - killed).toBeLessThan(MOST_MS);
        const [first, second] = await answers(survivors, id);
        expect(first).toMatchObject({ status: 200, record: LOST });
        expect(second).toEqual(first);
        await until(async () => (await survivors[1].record(victim.known)).status === 404);
        expect((await survivors[1].record(id, "bob")).status).toBe(403);
        const list = (await (await survivors[1].ask("/api/v1/jobs")).json()) as object;
        expect(list).toMatchObject({ items: expect.arrayContaining([id]) });
        expect(list).not.toHaveProperty("incomplete");
        await survivors[1].ask(`/api/v1/jobs/${id}/delete`, { method: "PUT" });
        await until(async () => (await survivors[0].record(id)).status === 404);
      }
    },
    120_000 + KILLS * 30_000,
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
    const call = send(one, { id: 7, method: "tools/call", params: watch({ cursor, waitMs: 30_000 }) });
    await sleep(500);
    const begun = performance.now();
    expect((await send(two, { method: "notifications/cancelled", params: { requestId: 7 } })).status).toBe(202);
    expect(JSON.stringify(await (await call).json())).toMatch(/ABORTED|cancel/i);
    expect(performance.now() - begun).toBeLessThan(20_000);
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
