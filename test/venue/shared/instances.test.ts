import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import postgres from "postgres";
import type { VenueConfigInput } from "../../../src/config/types.js";
import { type Log, silentLog } from "../../../src/core/ports/log.js";
import { sharedInstances } from "../../../src/venue/shared/admin.js";
import { Notifications } from "../../../src/venue/shared/notifications.js";
import { openShared } from "../../../src/venue/shared/open.js";
import { startProxy } from "../../cluster/proxy.js";
import { describeWhere } from "../../needs.js";
import { hasPostgres, NO_POSTGRES } from "../../postgres.js";
import { until } from "../../until.js";
import { configOf, useInstances } from "./ground.js";

describeWhere(hasPostgres, NO_POSTGRES)("instances", () => {
  const ground = useInstances();
  const instance = (more?: VenueConfigInput, log?: Log) => ground.start(configOf(more), log);

  test("are refused without tables, and init makes them, twice", async () => {
    await expect(instance()).rejects.toMatchObject({ exitStatus: 78, message: expect.stringMatching(/cluster init/) });
    const config = configOf();
    await expect(ground.init(config)).resolves.toBe("venue_files");
    await ground.init(config);
    await expect(sharedInstances(config, ground.env)).resolves.toEqual([]);
  });

  test("get numbers, see one another, and see who is gone", async () => {
    const one = await instance();
    const two = await instance({ name: "second" });
    expect(new Set([one.self.number, two.self.number]).size).toBe(2);
    await two.listening(4321);
    await until(() => one.peers().some(({ advertise }) => advertise === "http://localhost:4321"));
    expect(one.peers().filter(({ live }) => live)).toEqual([
      expect.objectContaining({ number: two.self.number, name: "second", live: true, digest: one.self.digest }),
    ]);
    const gone: number[] = [];
    one.on("gone", (peer) => gone.push(peer.number));
    await two.close();
    await until(() => gone.length > 0);
    expect(gone).toEqual([two.self.number]);
    const three = await instance();
    expect([one.self.number, two.self.number]).not.toContain(three.self.number);
  });

  test("take addresses from instances of the venue alone, not from whoever can write to the engine", async () => {
    const [one, two] = [await instance(), await instance()];
    const known = () => one.peers().find(({ number }) => number === two.self.number)?.advertise;
    await two.listening(4321);
    await until(() => known() === "http://localhost:4321");
    const [row] = await one.query("SELECT advertise FROM instance WHERE number = $1", [two.self.number]);
    await two.close();
    for (const advertise of ["http://elsewhere:1", String(row?.["advertise"]).replace("4321", "4322")]) {
      await one.query("UPDATE instance SET advertise = $1 WHERE number = $2", [advertise, two.self.number]);
      await until(() => known() === undefined);
      await one.query("UPDATE instance SET advertise = $1 WHERE number = $2", [row?.["advertise"], two.self.number]);
      await until(() => known() === "http://localhost:4321");
    }
  });

  test("hear what others notify, from whom", async () => {
    const [one, two] = [await instance(), await instance()];
    const heard: unknown[] = [];
    two.hear("word", (payload, from) => heard.push([payload, from]));
    await one.notify("word", "with a\nline and 'quotes'");
    await until(() => heard.length > 0);
    expect(heard).toEqual([["with a\nline and 'quotes'", one.self.number]]);
    await expect(one.notify("word", "x".repeat(8000))).rejects.toThrow(RangeError);
  });

  test("run statements and transactions, which are rolled back where their work throws", async () => {
    const one = await instance();
    const [row] = await one.query("SELECT $1::int + 1 AS n, $2::jsonb AS j, $3::bytea AS b", [
      1,
      ["a"],
      Buffer.from("z"),
    ]);
    expect(row).toEqual({ n: 2, j: ["a"], b: Buffer.from("z") });
    const add = (id: string, fault?: Error) =>
      one.transaction(async (query) => {
        await query("INSERT INTO used (id, at) VALUES ($1, now())", [id]);
        if (fault !== undefined) throw fault;
      });
    await expect(add("a", new Error("no"))).rejects.toThrow("no");
    await add("b");
    expect(await one.query("SELECT id FROM used")).toEqual([{ id: "b" }]);
  });

  test("give up a statement after 2 s, with its connection, and tell neither address nor password", async () => {
    const one = await instance();
    const begun = performance.now();
    const error = await one.query("SELECT pg_sleep(30)").catch((thrown: Error) => thrown);
    expect(error).toMatchObject({ code: "SHARED_STATE_UNAVAILABLE" });
    expect(performance.now() - begun).toBeLessThan(25_000);
    expect(JSON.stringify(error) + String(error)).not.toMatch(/127\.0\.0\.1|secret-of|venue:/);
    await expect(one.query("SELECT 1 AS n")).resolves.toEqual([{ n: 1 }]);
  });

  test("take an answer that came in time, though they stood still themselves", async () => {
    const one = await instance();
    const asked = one.query("SELECT pg_sleep(0.5), 2 AS n");
    await pause(200);
    // Timers come next.
    await nextTurn();
    for (const until = performance.now() + 2500; performance.now() < until; );
    await expect(asked).resolves.toMatchObject([{ n: 2 }]);
  });

  test("go on when the engine comes back, and say so", async () => {
    const lines: string[] = [];
    const write = (_: object, text: string) => void lines.push(text);
    const log: Log = { debug: write, info: write, warn: write, error: write };
    const one = await instance({}, log);
    const gaps: number[] = [];
    one.on("gap", () => gaps.push(1));
    await ground.engine.stop();
    await until(() => lines.includes("the shared state is not reached"));
    await expect(one.query("SELECT 1")).rejects.toMatchObject({ code: "SHARED_STATE_UNAVAILABLE" });
    await ground.engine.start();
    await until(() => lines.includes("the shared state is reached again") && gaps.length > 0);
    await expect(one.query("SELECT 1 AS n")).resolves.toEqual([{ n: 1 }]);
  });

  test("that hear nothing of what they notify are refused: a pooler by transaction is in between", async () => {
    const engine = { postgres, url: ground.env.DB, schema: "venue_files", requests: { durations: [], failures: 0 } };
    const notifications = new Notifications(engine, () => {});
    await notifications.listen();
    const deaf = notifications.hearOneself(async () => {});
    await expect(deaf).rejects.toMatchObject({ exitStatus: 78, message: expect.stringMatching(/pooler/) });
    notifications.close();
  });

  test("whose way to the engine takes 200 ms start and go on", async () => {
    const proxy = await startProxy(() => ground.engine.port);
    // There and back.
    proxy.set({ delayMs: 200 });
    const far = ground.env.DB.replace(`:${ground.engine.port}/`, `:${proxy.port}/`);
    const one = await ground.start(configOf(), silentLog, far);
    // A new connection takes most of the time that it has.
    const works = (work: () => Promise<unknown>) =>
      until(() =>
        work().then(
          () => true,
          () => false,
        ),
      );
    await works(() => one.query("SELECT 1 AS n"));
    await expect(one.query("SELECT 1 AS n")).resolves.toEqual([{ n: 1 }]);
    await works(() => one.revocations.add(["did:web:far.example"]));
    await until(() => !one.tick.isStale);
    await one.close();
    await proxy.close();
  });

  test("wait at their start for an engine that comes within ten seconds", async () => {
    await ground.engine.stop();
    const begun = performance.now();
    const starting = instance().catch((error: unknown) => error as Error);
    await pause(1500);
    await ground.engine.start();
    // On a busy machine the engine may take longer to come.
    const isInTime = performance.now() - begun < 8000;
    const started = await starting;
    if (isInTime || !(started instanceof Error)) {
      if (started instanceof Error) throw started;
      await expect(started.query("SELECT 1 AS n")).resolves.toEqual([{ n: 1 }]);
    }
  });

  test.each([
    [0, /earlier version.*cluster init/],
    [3, /later version/],
  ])("find tables of format %d that they cannot use", async (format, text) => {
    const one = await instance();
    await one.query("UPDATE epoch SET format = $1::int", [format]);
    const refused = instance();
    await expect(refused.finally(() => one.query("UPDATE epoch SET format = 1"))).rejects.toMatchObject({
      exitStatus: 78,
      message: expect.stringMatching(text),
    });
  });

  test("of another venue are refused", async () => {
    await expect(instance({ seed: "cd".repeat(32) })).rejects.toMatchObject({
      exitStatus: 78,
      message: expect.stringMatching(/another venue/),
    });
  });

  test("seal rows for their table and id alone", async () => {
    const one = await instance();
    const two = await instance();
    const sealed = one.sealed("jobs").seal("1", Buffer.from("contents"));
    expect(two.sealed("jobs").open("1", sealed)?.toString()).toBe("contents");
    expect(two.sealed("jobs").open("2", sealed)).toBeUndefined();
    expect(two.sealed("tickets").open("1", sealed)).toBeUndefined();
    expect(two.sealed("jobs").open("1", sealed.fill(0, 20, 21))).toBeUndefined();
    expect(two.secret("forward")).toEqual(one.secret("forward"));
  });
});

test("an engine that is not there ends the start with 69", async () => {
  const config = configOf();
  const env = { DB: "postgres://venue:word@127.0.0.1:1/postgres" };
  const shared = await openShared(config, config.shared, { env, log: silentLog });
  const error = await shared.start().catch((thrown: Error) => thrown);
  await shared.close();
  expect(error).toMatchObject({ exitStatus: 69 });
  expect(String(error)).not.toMatch(/word|127\.0/);
});
