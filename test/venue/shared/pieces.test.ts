import { setTimeout as pause } from "node:timers/promises";
import { beforeAll, expect, test } from "@jest/globals";
import { systemClock } from "../../../src/core/clock.js";
import { notFound } from "../../../src/core/errors/texts.js";
import type { SurfaceContext } from "../../../src/core/ports/adapter.js";
import type { Backend, Written } from "../../../src/core/ports/backend.js";
import { silentLog } from "../../../src/core/ports/log.js";
import type { Shared, SharedQuery } from "../../../src/core/ports/shared.js";
import { Repeats } from "../../../src/dispatch/repeated-calls.js";
import { keyOf } from "../../../src/venue/identity/access.js";
import { openIdentity } from "../../../src/venue/identity/identity.js";
import { createTickets } from "../../../src/venue/identity/tickets.js";
import { unavailable } from "../../../src/venue/shared/connection.js";
import { createSharedRepeats } from "../../../src/venue/shared/repeats.js";
import { createSharedTickets } from "../../../src/venue/shared/tickets.js";
import { deferred, dispatchOn } from "../../dispatch/fake.js";
import { describeWhere } from "../../needs.js";
import { failureOf } from "../../ops/ground.js";
import { hasPostgres, NO_POSTGRES } from "../../postgres.js";
import { PATIENCE_MS, until } from "../../until.js";
import { configOf, useInstances } from "./ground.js";

const WRITTEN: Written = { bytes: 1, created: true };

describeWhere(hasPostgres, NO_POSTGRES)("of two instances", () => {
  const ground = useInstances();
  const config = configOf();
  beforeAll(() => ground.init(config));
  const open = () => ground.start(config);

  /** An instance whose writes end when they are told to. */
  async function instance(by = (shared: Shared) => shared) {
    const shared = await open();
    const writes: ReturnType<typeof deferred<Written>>[] = [];
    const write: Backend["write"] = (_path, _body, _options, { scope }) => {
      const end = deferred<Written>();
      writes.push(end);
      return end.promise.then((written) => {
        scope.commit();
        return written;
      });
    };
    const repeats = createSharedRepeats(by(shared));
    const { call } = dispatchOn({ backend: { write }, repeats: (clock) => new Repeats(clock, { shared: repeats }) });
    const begun = async (count: number) => {
      await until(() => writes.length >= count);
      expect(writes).toHaveLength(count);
    };
    return { shared, call, writes, begun };
  }

  /** Tries again while the engine is not reached. */
  async function insistently<Answer>(make: () => Promise<Answer>): Promise<Answer> {
    for (const end = performance.now() + PATIENCE_MS; ; await pause(250)) {
      try {
        return await make();
      } catch (error) {
        if (Object(error).code !== "SHARED_STATE_UNAVAILABLE" || performance.now() > end) throw error;
      }
    }
  }

  test("a change with an operation id is made once, and the other answers as the first did, while it runs and afterwards", async () => {
    const one = await instance();
    const two = await instance();
    const first = one.call("write", { content: "x", operationId: "a" });
    await one.begun(1);
    const meanwhile = two.call("write", { content: "x", operationId: "a" });
    await pause(400);
    expect(two.writes).toHaveLength(0);
    one.writes[0]?.resolve(WRITTEN);
    const answer = await first;
    expect(answer).toMatchObject({ written: 1, operationId: "a" });
    expect(await meanwhile).toEqual(answer);
    expect(await (await instance()).call("write", { content: "x", operationId: "a" })).toEqual(answer);
    expect(await failureOf(two.call("write", { content: "y", operationId: "a" }))).toMatchObject({ code: "CONFLICT" });
    expect(two.writes).toHaveLength(0);
    const rows = await one.shared.query("SELECT * FROM repeat");
    expect(rows).toHaveLength(1);
    // Neither ids nor callers nor answers can be read in the engine.
    expect(JSON.stringify(rows)).not.toMatch(/written|operationId|alice/);
  });

  test("a change with an operation id is made by the other where it failed before its commit", async () => {
    const one = await instance();
    const two = await instance();
    const first = one.call("write", { content: "x", operationId: "b" });
    await one.begun(1);
    one.writes[0]?.reject(notFound({ root: "tmp", path: "b" }));
    await expect(first).rejects.toMatchObject({ code: "NOT_FOUND" });
    const second = two.call("write", { content: "x", operationId: "b" });
    await two.begun(1);
    two.writes[0]?.resolve(WRITTEN);
    await expect(second).resolves.toMatchObject({ written: 1 });
  });

  test("a change with an operation id whose instance went away is not made again: nobody knows its outcome", async () => {
    const one = await instance();
    const two = await instance();
    void failureOf(one.call("write", { content: "x", operationId: "c" }));
    await one.begun(1);
    await one.shared.close();
    await two.shared.tick.now();
    expect(await failureOf(two.call("write", { content: "x", operationId: "c" }))).toMatchObject({
      code: "OUTCOME_UNKNOWN",
      data: { mayHaveHappened: true },
      message: expect.stringMatching(/Look at the place, then repeat with a new id/),
    });
    expect(two.writes).toHaveLength(0);
  });

  test("a change with an operation id does nothing without the engine; an end that the engine missed is written when it is back", async () => {
    const one = await instance();
    const two = await instance();
    const first = one.call("write", { content: "x", operationId: "d" });
    await one.begun(1);
    await ground.engine.stop();
    expect(await failureOf(two.call("write", { content: "x", operationId: "e" }))).toMatchObject({
      code: "SHARED_STATE_UNAVAILABLE",
    });
    expect(two.writes).toHaveLength(0);
    one.writes[0]?.resolve(WRITTEN);
    const answer = await first;
    await ground.engine.start();
    // It takes connections before it takes statements.
    expect(await insistently(() => two.call("write", { content: "x", operationId: "d" }))).toEqual(answer);
    const again = insistently(() => two.call("write", { content: "x", operationId: "e" }));
    await two.begun(1);
    two.writes[0]?.resolve(WRITTEN);
    await expect(again).resolves.toMatchObject({ written: 1 });
  });

  test("a change with an operation id that a stopped engine heard of too late is the other's to make", async () => {
    const one = await instance();
    const two = await instance();
    // The engine knows the statement, so it comes as a whole.
    const before = one.call("write", { content: "x", operationId: "known" });
    await one.begun(1);
    one.writes[0]?.resolve(WRITTEN);
    await before;
    ground.engine.signal("SIGSTOP");
    const refused = await failureOf(one.call("write", { content: "x", operationId: "f" }));
    ground.engine.signal("SIGCONT");
    expect(refused).toMatchObject({ code: "SHARED_STATE_UNAVAILABLE" });
    const second = insistently(() => two.call("write", { content: "x", operationId: "f" }));
    await two.begun(1);
    two.writes[0]?.resolve(WRITTEN);
    await expect(second).resolves.toMatchObject({ written: 1 });
    expect(one.writes).toHaveLength(1);
  });

  test("a change with an operation id is made once, though the engine hears late that an attempt before it gave up", async () => {
    const late: (() => Promise<unknown>)[] = [];
    // Networks deliver what a connection that was given up had sent.
    const one = await instance((shared) => ({
      ...{ self: shared.self, peers: () => shared.peers(), sealed: (table) => shared.sealed(table) },
      ...{
        secret: (use) => shared.secret(use),
        mac: (use) => shared.mac(use),
        notify: (...told) => shared.notify(...told),
      },
      ...{ hear: (...heard) => shared.hear(...heard), on: (...on) => shared.on(...on) },
      transaction: (work) => shared.transaction(work),
      query: ((text, values) => {
        if (!text.startsWith("DELETE FROM repeat") || late.length > 0) return shared.query(text, values);
        late.push(() => shared.query(text, values));
        return Promise.reject(unavailable("timeout"));
      }) as SharedQuery,
    }));
    const two = await instance();
    const failed = one.call("write", { content: "x", operationId: "g" });
    await one.begun(1);
    one.writes[0]?.reject(notFound({ root: "tmp", path: "b" }));
    await expect(failed).rejects.toMatchObject({ code: "NOT_FOUND" });
    const first = one.call("write", { content: "x", operationId: "g" });
    await one.begun(2);
    await late[0]?.();
    const second = two.call("write", { content: "x", operationId: "g" });
    await pause(600);
    expect(two.writes).toHaveLength(0);
    one.writes[1]?.resolve(WRITTEN);
    expect(await second).toEqual(await first);
  });

  test("a change with an operation id that takes hours is made once", async () => {
    const one = await instance();
    const two = await instance();
    const first = one.call("write", { content: "x", operationId: "h" });
    await one.begun(1);
    await one.shared.query("UPDATE repeat SET until = until - interval '5 hours' WHERE sealed IS NULL");
    const second = two.call("write", { content: "x", operationId: "h" });
    await pause(600);
    expect(two.writes).toHaveLength(0);
    one.writes[0]?.resolve(WRITTEN);
    expect(await second).toEqual(await first);
  });

  test("a ticket of one is taken by the other, for what it was made alone, and judged there", async () => {
    const key = keyOf(openIdentity({ seed: config.seed, log: silentLog }));
    const refused = new Set<string>();
    const asked: string[] = [];
    const office = async () => {
      const rows = createSharedTickets(await open());
      const get = (id: string) => {
        asked.push(id);
        return rows.get(id);
      };
      const shared = { ...rows, get };
      const rejudge = (context: SurfaceContext) => (refused.has(context.callerDID ?? "") ? undefined : context);
      return createTickets({ key, clock: systemClock, shared, url: () => "http://venue.example", rejudge });
    };
    const one = await office();
    const two = await office();
    const use = { direction: "download", root: "tmp", path: "a.txt" } as const;
    const context = { callerDID: "did:key:alice", authentication: "static-token", caps: [], surface: "mcp" } as const;
    const ticket = await one.issue({ ...use, ttlSeconds: 60 }, { ...context, report: () => {} });
    const text = new URL(ticket?.href ?? "").searchParams.get("ticket") ?? "";
    await expect(two.redeem(text, use)).resolves.toEqual(context);
    await expect(two.redeem(text, { ...use, path: "b.txt" })).resolves.toBeUndefined();
    await expect(two.redeem(text, { ...use, direction: "upload" })).resolves.toBeUndefined();
    expect(asked).toHaveLength(1);
    // What is made up is asked for nowhere, whenever it says that it ends.
    for (const first of ["A", "_"]) {
      await expect(two.redeem(`${first.repeat(21)}A${text.slice(22)}`, use)).resolves.toBeUndefined();
      await expect(
        two.redeem(`${text.slice(0, 8)}${first.repeat(13)}A${text.slice(22)}`, use),
      ).resolves.toBeUndefined();
    }
    expect(asked).toHaveLength(1);
    refused.add("did:key:alice");
    await expect(two.redeem(text, use)).resolves.toBe("taken back");
    const [row] = await (await open()).query("SELECT * FROM ticket");
    expect(JSON.stringify(row)).not.toContain(text.slice(0, 22));
    expect(Buffer.from((row as { sealed: Uint8Array }).sealed).toString("latin1")).not.toContain("alice");
  });
});
