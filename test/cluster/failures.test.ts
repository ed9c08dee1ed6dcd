// What callers see when the engine of several instances fails, one row of the specification's table after the other.
import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { cleanUp } from "../cli/process.js";
import { describeWhere } from "../needs.js";
import { hasPostgres, NO_POSTGRES, startPostgres, type TestEngine } from "../postgres.js";
import { type Cluster, haveMet, type Instance, patiently, startCluster, until } from "./instances.js";
import { CONFIG, expectDone, expectRefused, READING, ROWS, WRITING } from "./needing.js";

/** Far more than the two seconds in which a request to the engine ends, and far less than for ever, on a machine that stands still too. */
const SOON_MS = 60_000;
const ALL = [...WRITING, ...READING];

describeWhere(hasPostgres, NO_POSTGRES)("an engine", () => {
  let engine: TestEngine;
  let cluster: Cluster;
  let one: Instance;
  let two: Instance;
  beforeAll(async () => {
    engine = await startPostgres();
    cluster = await startCluster(engine.port, CONFIG);
    [one, two] = [await cluster.start(), await cluster.start()];
  });
  beforeEach(() => haveMet([one, two]));
  afterEach(() => {
    for (const { toEngine } of [one, two]) toEngine.set();
  });
  afterAll(async () => {
    await cleanUp();
    await cluster?.close();
    await engine?.remove();
  });

  const sql: TestEngine["sql"] = (...statements) => engine.sql(...statements);
  const isKept = async (id: string) => (await sql(`SELECT 1 FROM job WHERE id = '${id}'`)).length === 1;
  /** Heard of within ten seconds. */
  const isLive = async ({ number }: Instance) =>
    (await sql(`SELECT is_live(instance) AS live FROM instance WHERE number = ${number}`))[0]?.["live"] === true;
  const isReady = async ({ ask }: Instance) => (await ask("/readyz")).status === 200;
  const ready = () => until(async () => (await isReady(one)) && (await isReady(two)));
  const isStale = async ({ ask }: Instance) => (await ask("/readyz")).status === 503;

  /** Neither calls by static tokens nor jobs need the engine, and both end soon. @returns the id of a job, and what the other says of it */
  async function goesOn(): Promise<{ readonly id: string; readonly status: unknown }> {
    const begun = performance.now();
    const id = await one.begin();
    const { record } = await two.record(id);
    expect((await two.ask("/healthz")).status).toBe(200);
    expect(performance.now() - begun).toBeLessThan(SOON_MS);
    return { id, status: record["status"] };
  }

  /**
   * While the engine fails, what needs it is refused, and soon; afterwards nothing of that has happened, and the other can do it.
   * @param mayArrive what was sent to the engine may reach it later, where it has no effect
   */
  async function refuses(name: string, [fail, mend]: readonly (() => unknown)[], mayArrive = false): Promise<void> {
    const [before] = await sql(`SELECT ${ROWS} AS rows`);
    await fail?.();
    const begun = performance.now();
    await expectRefused(ALL, one, name);
    expect(performance.now() - begun).toBeLessThan(SOON_MS);
    const { id, status } = await goesOn();
    expect(status).toBe("STARTED");
    await mend?.();
    await until(() => isKept(id));
    await ready();
    if (!mayArrive) expect(await sql(`SELECT ${ROWS} AS rows`)).toEqual([before]);
    expect((await one.ask(`/api/v1/files/tmp/${name}`)).status).toBe(404);
    await expectDone(ALL, two, name);
  }

  const start = () => engine.start();

  test("that is gone for a moment", () => refuses("gone", [() => engine.stop(), start]));

  test("that is silent", async () => {
    const toEngines = (fault?: "silent") => [one, two].map(({ toEngine }) => toEngine.set(fault));
    await refuses("silent", [() => toEngines("silent"), () => toEngines()], true);
  });

  test("that is stopped for ten seconds", async () => {
    const goOn = async () => {
      await until(() => isStale(one));
      await sleep(5000);
      engine.signal("SIGCONT");
    };
    await refuses("stopped", [() => engine.signal("SIGSTOP"), goOn], true);
  });

  test("that is slow: everything is there", async () => {
    for (const { toEngine } of [one, two]) toEngine.set({ delayMs: 200 });
    const { id, status } = await goesOn();
    expect(status).toBe("STARTED");
    await until(() => isKept(id));
    await expectDone(ALL, one, "slow");
    await ready();
  });

  test("that is read-only", async () => {
    const set = (value: string) =>
      sql(`ALTER SYSTEM SET default_transaction_read_only = ${value}`, "SELECT pg_reload_conf()");
    const turn = async () => {
      await set("on");
      await until(() => isStale(one));
    };
    await refuses("read-only", [turn, () => set("off")]);
  });

  test("that is a standby, until it is promoted", async () => {
    const follow = async () => {
      await engine.stop();
      writeFileSync(join(engine.folder, "standby.signal"), "");
      await engine.start();
    };
    await refuses("standby", [follow, () => sql("SELECT pg_promote()")]);
  });

  test("that one instance alone has lost: the other answers for both", async () => {
    // On a machine that was busy elsewhere it may be held for gone.
    const cut = async (name: string): Promise<string> => {
      one.toEngine.set("cut");
      await expectRefused(ALL, one, name);
      const { id, status } = await goesOn();
      if (status === "STARTED") return id;
      expect(await isLive(one)).toBe(false);
      one.toEngine.set();
      await ready();
      return cut(`${name}-again`);
    };
    const id = await cut("cut");
    await until(() => isStale(one));
    await until(() => isReady(two));
    await expectDone(ALL, two, "cut");
    expect(await (await one.ask("/readyz")).json()).toEqual({ status: "stale" });
    one.toEngine.set();
    await until(() => isKept(id));
    await ready();
  });

  const run = async (to: Instance, operation: string, input: object, token?: string) => {
    const body = JSON.stringify({ operation, input });
    const who = token === undefined ? "operator" : { token };
    const answer = await patiently(() => to.ask("/api/v1/run", { method: "POST", body }, who));
    return { status: answer.status, body: (await answer.json()) as Readonly<Record<string, unknown>> };
  };
  const issue = async (input: object = {}) => (await run(one, "auth:issue", { label: "x", ...input })).body;
  const whoami = { method: "POST", body: JSON.stringify({ operation: "auth:whoami", input: {} }) };
  /** Of one request. */
  const statusNow = async (to: Instance, { token }: Readonly<Record<string, unknown>>) =>
    (await to.ask("/api/v1/run", whoami, { token: String(token) })).status;
  const statusBy = async (to: Instance, { token }: Readonly<Record<string, unknown>>) =>
    (await run(to, "auth:whoami", {}, String(token))).status;

  test("in whose place comes a standby that had not got the last writes", async () => {
    const [ended, kept] = [await issue(), await issue()];
    const link = await issue({ link: true });
    const copy = `${engine.folder}-copy`;
    await engine.stop();
    execFileSync("cp", ["-a", engine.folder, copy]);
    await engine.start();
    await ready();
    const late = await issue();
    const id = Buffer.alloc(32, "late").toString("base64url");
    expect((await run(one, "ucan:revoke", { id })).status).toBe(200);
    expect((await run(one, "auth:revoke", { id: ended["id"] })).status).toBe(200);
    await until(async () => (await statusBy(two, ended)) === 401);
    await engine.stop();
    rmSync(engine.folder, { recursive: true });
    execFileSync("cp", ["-a", copy, engine.folder]);
    rmSync(copy, { recursive: true });
    await engine.start();
    const seen: number[] = [];
    await until(async () => {
      seen.push(await statusNow(one, ended), await statusNow(two, ended));
      return (await isReady(one)) && (await isReady(two)) && (await statusNow(two, late)) === 401;
    });
    // 503 while nobody knows.
    expect(seen.filter((status) => status !== 401 && status !== 503)).toEqual([]);
    await until(async () => (await sql(`SELECT 1 FROM revocation WHERE entry = '${id}'`)).length === 1);
    await until(async () => (await sql(`SELECT 1 FROM ended WHERE id = '${ended["id"]}'`)).length === 1);
    expect([await statusBy(one, kept), await statusBy(two, kept)]).toEqual([200, 200]);
    const code = String(link["url"]).split("#login=")[1];
    const init = { method: "POST", body: JSON.stringify({ code }) };
    const login = await patiently(() => two.ask("/api/v1/login", init));
    expect(login.status).toBe(401);
  });

  test("from which an instance was away, stopped: it reads again before it judges", async () => {
    const token = await issue();
    expect(await statusBy(two, token)).toBe(200);
    two.child.kill("SIGSTOP");
    const { body } = await run(one, "auth:revoke", { id: token["id"], wait: true });
    expect(body["revoked"]).toBe(true);
    if (await isLive(two)) expect(body["missing"]).toEqual([two.number]);
    const answer = statusBy(two, token);
    await sleep(200);
    two.child.kill("SIGCONT");
    expect(await answer).toBe(401);
    await ready();
  });
});
