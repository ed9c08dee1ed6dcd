// What callers see when the engine of several instances fails: restarted, silent, slow, read-only.
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import postgres from "postgres";
import { cleanUp } from "../cli/process.js";
import { describeWhere } from "../needs.js";
import { hasPostgres, NO_POSTGRES, startPostgres, type TestEngine } from "../postgres.js";
import { type Cluster, haveMet, type Instance, startCluster, until } from "./instances.js";

/** Far more than the two seconds in which a request to the engine ends, and far less than for ever. */
const SOON_MS = 20_000;

describeWhere(hasPostgres, NO_POSTGRES)("an engine", () => {
  let engine: TestEngine;
  let cluster: Cluster;
  let one: Instance;
  let two: Instance;
  beforeAll(async () => {
    engine = await startPostgres();
    cluster = await startCluster(engine.port);
    [one, two] = [await cluster.start(), await cluster.start()];
  }, 180_000);
  beforeEach(() => haveMet([one, two]));
  afterEach(() => {
    for (const { toEngine } of [one, two]) toEngine.set();
  });
  afterAll(async () => {
    await cleanUp();
    await cluster?.close();
    await engine?.remove();
  });

  async function sql(...statements: readonly string[]): Promise<number> {
    const client = postgres(engine.url, { max: 1, connection: { search_path: "venue_files" }, onnotice: () => {} });
    try {
      let rows = 0;
      for (const statement of statements) rows = (await client.unsafe(statement)).length;
      return rows;
    } finally {
      await client.end({ timeout: 1 });
    }
  }

  const isKept = async (id: string) => (await sql(`SELECT 1 FROM job WHERE id = '${id}'`)) === 1;
  const ready = () =>
    until(async () => (await one.ask("/readyz")).status === 200 && (await two.ask("/readyz")).status === 200);

  /** Neither calls by static tokens nor jobs need the engine, and both end soon. */
  async function goesOn(): Promise<string> {
    const begun = performance.now();
    const id = await one.begin();
    expect((await two.record(id)).record["status"]).toBe("STARTED");
    expect((await two.ask("/healthz")).status).toBe(200);
    expect(performance.now() - begun).toBeLessThan(SOON_MS);
    return id;
  }

  /** An instance that nobody knows, so that only the engine could tell of its job. */
  const asksEngine = () => two.ask(`/api/v1/jobs/${"0".repeat(12)}fffe${"0".repeat(16)}`);

  test("that is restarted: jobs are told meanwhile, and kept afterwards", async () => {
    await engine.stop();
    const id = await goesOn();
    const answer = await asksEngine();
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(await answer.json()).toMatchObject({ errorCode: "SHARED_STATE_UNAVAILABLE" });
    await engine.start();
    await until(() => isKept(id));
    await ready();
    expect((await asksEngine()).status).toBe(404);
  });

  test("that is silent: whatever needs it gives up after two seconds, and goes on with it", async () => {
    for (const { toEngine } of [one, two]) toEngine.set("silent");
    const id = await goesOn();
    const begun = performance.now();
    expect((await asksEngine()).status).toBe(503);
    expect(performance.now() - begun).toBeLessThan(SOON_MS);
    await until(async () => (await one.ask("/readyz")).status === 503);
    for (const { toEngine } of [one, two]) toEngine.set();
    await until(() => isKept(id));
    await ready();
  });

  test("that is slow: everything is there", async () => {
    for (const { toEngine } of [one, two]) toEngine.set({ delayMs: 200 });
    const id = await goesOn();
    expect(await isKept(id)).toBe(true);
    expect((await asksEngine()).status).toBe(404);
    await ready();
  });

  test("that is read-only: jobs are told, and kept once it takes writes again", async () => {
    const set = (value: string) =>
      sql(`ALTER SYSTEM SET default_transaction_read_only = ${value}`, "SELECT pg_reload_conf()");
    await set("on");
    const id = await goesOn();
    await until(async () => (await one.ask("/readyz")).status === 503);
    expect(await isKept(id)).toBe(false);
    await set("off");
    await until(() => isKept(id));
    await ready();
  });

  test("that one instance alone has lost: the other answers for both", async () => {
    one.toEngine.set("cut");
    const id = await goesOn();
    await until(async () => (await one.ask("/readyz")).status === 503);
    expect((await two.ask("/readyz")).status).toBe(200);
    expect(await (await one.ask("/readyz")).json()).toEqual({ status: "stale" });
    one.toEngine.set();
    await until(() => isKept(id));
    await ready();
  });
});
