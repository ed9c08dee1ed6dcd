import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { parseConfig } from "../../../src/config/load.js";
import { approvalRequired } from "../../../src/core/errors/approval-texts.js";
import type { SurfaceContext } from "../../../src/core/ports/adapter.js";
import type { ApprovalRequest } from "../../../src/core/ports/approval.js";
import type { VenueEvent } from "../../../src/core/ports/changes/events.js";
import { silentLog } from "../../../src/core/ports/log.js";
import { newSeed, signingKeyFromSeed } from "../../../src/ucan/mint/signing-key.js";
import { createQuestionSeal } from "../../../src/venue/approvals/question-seal.js";
import { initShared } from "../../../src/venue/shared/admin.js";
import { openShared } from "../../../src/venue/shared/open.js";
import { openSharedApprovals, type SharedApprovals } from "../../../src/venue/shared/pieces/approvals.js";
import type { PostgresShared } from "../../../src/venue/shared/postgres.js";
import { deferred } from "../../dispatch/fake.js";
import { describeWhere } from "../../needs.js";
import { failureOf } from "../../ops/ground.js";
import { hasPostgres, NO_POSTGRES, startPostgres, type TestEngine } from "../../postgres.js";
import { until } from "../../until.js";

const { privateKey } = signingKeyFromSeed(newSeed());
const AGENT: SurfaceContext = { callerDID: "did:key:z6MkAgent" };
const OTHER: SurfaceContext = { callerDID: "did:key:z6MkOther" };
const part = { root: "docs", before: "one", after: "two" };
const request = (digest: string): ApprovalRequest => ({
  ...{ operation: "file:write", digest, context: AGENT, parts: [part], minutes: 10 },
  effects: [{ root: "docs", path: "secret-plan.txt", action: "overwrite" }],
});

interface Instance {
  readonly shared: PostgresShared;
  readonly approvals: SharedApprovals;
  readonly told: unknown[];
  /** A call that a person has to allow. @returns the approval that it asks for */
  ask(digest: string): Promise<string>;
  /** A call that brings an approval. @returns why it is refused */
  use(id: string, digest: string, context?: SurfaceContext): Promise<unknown>;
}

describeWhere(hasPostgres, NO_POSTGRES)("approvals, on two instances", () => {
  let engine: TestEngine;
  const opened: PostgresShared[] = [];
  const env = () => ({ DB: engine.url });
  const baseDir = mkdtempSync(join(tmpdir(), "approvals-"));
  const config = parseConfig(
    {
      ...{ seed: "cd".repeat(32), stateDir: join(baseDir, "state"), drives: { store: { s3: { bucket: "drives" } } } },
      file: { roots: { tmp: { temp: true, perInstance: true } } },
      storage: { content: "s3", s3: { bucket: "drives" } },
      shared: { postgres: { url: { env: "DB" } } },
    },
    { baseDir },
  );
  beforeAll(async () => {
    engine = await startPostgres();
    await initShared(config, env());
  });
  afterAll(() => engine?.remove());
  afterEach(async () => {
    for (const one of opened.splice(0)) await one.close();
  });

  async function instance(): Promise<Instance> {
    const shared = await openShared(config, config.shared, { env: env(), log: silentLog });
    opened.push(shared);
    shared.revocations.over({ size: 0, entries: new Set(), has: () => false, add: async () => {} });
    await shared.start();
    const told: unknown[] = [];
    const approvals = openSharedApprovals(shared, {
      clock: { nowMs: Date.now, monotonicMs: () => performance.now() },
      callerOf: ({ callerDID = "none" }) => callerDID,
      driveOwnerOf: () => "did:key:z6MkAgent",
      credentialsOf: () => ["agent"],
      maySee: () => true,
      seal: createQuestionSeal(privateKey),
      events: { wants: () => true, publish: (_, { data }: VenueEvent) => void told.push([data["id"], data["state"]]) },
    });
    const { around } = approvals;
    return {
      ...{ shared, approvals, told },
      async ask(digest) {
        const error = await failureOf(
          around(undefined, AGENT, () => {
            throw approvalRequired({ effects: [], pending: approvals.ask(request(digest)) ?? { id: "", expires: 0 } });
          }),
        );
        return String(error.data?.["approvalId"]);
      },
      use: (id, digest, context = AGENT) =>
        around(id, context, () => approvals.use(id, { digest, context, part }, false)),
    };
  }

  const decide = async ({ approvals }: Instance, id: string, allows: boolean): Promise<boolean> => {
    await approvals.refresh();
    return approvals.decide(id, { allows, by: "person" });
  };
  const ids = ({ approvals }: Instance) => approvals.list().map(({ id }) => id);
  test("are seen and decided by the other, once, and used once by either", async () => {
    const [one, two] = [await instance(), await instance()];
    const id = await one.ask("a");
    await two.approvals.refresh();
    expect(ids(two)).toEqual([id]);
    expect(two.approvals.find(id)).toMatchObject({
      caller: AGENT.callerDID,
      state: "pending",
      code: expect.any(String),
    });
    const waiting = one.approvals.wait(id, 60_000, undefined);
    const decision = { allows: true, by: "did:key:z6MkPerson", note: "quite fine" };
    const done = await Promise.all([one.approvals.decide(id, decision), two.approvals.decide(id, decision)]);
    expect(done.filter((is) => is)).toHaveLength(1);
    await waiting;
    expect(await two.use(id, "b")).toBe("other_input");
    expect(await two.use(id, "a", OTHER)).toBe("other_input");
    const used = await Promise.all([one.use(id, "a"), two.use(id, "a"), one.use(id, "a")]);
    expect(used.filter((fault) => fault === undefined)).toHaveLength(1);
    expect(await two.use(id, "a")).toBe("used");
    await until(() => [one, two].every(({ told }) => told.some((event) => String(event) === `${id},used`)));
    expect(one.approvals.decidedBy(id)).toBe("did:key:z6MkPerson");
    const rows = await one.shared.query("SELECT * FROM approval");
    expect(rows).toHaveLength(1);
    // Neither callers nor places nor deciders can be read in the engine.
    expect(
      JSON.stringify(rows, (_, value) =>
        value?.type === "Buffer" ? Buffer.from(value.data).toString("latin1") : value,
      ),
    ).not.toMatch(/secret-plan|z6Mk(?:Agent|Person)|quite fine/);
  });

  test("that were denied, or allowed in the engine by hand, allow nothing", async () => {
    const [one, two] = [await instance(), await instance()];
    const denied = await one.ask("c");
    expect(await decide(two, denied, false)).toBe(true);
    expect(await one.use(denied, "c")).toBe("denied");
    const forged = await one.ask("d");
    await one.shared.query("UPDATE approval SET state = 'once', v = v + 1 WHERE id = $1 OR id = $2", [denied, forged]);
    expect(await two.use(forged, "d")).toBe("pending");
    expect(await two.use(denied, "c")).toBe("denied");
    await one.shared.query(
      "UPDATE approval SET v = v + 1, sealed = (SELECT sealed FROM approval WHERE id = $1) WHERE id = $2",
      [denied, forged],
    );
    const three = await instance();
    expect(await three.use(forged, "d")).toBe("expired");
  });

  test("that are claimed are nobody else's: given back by a call that did not use them, used where its instance died", async () => {
    const [one, two] = [await instance(), await instance()];
    const [kept, lost] = [await one.ask("e"), await one.ask("f")];
    for (const id of [kept, lost]) await decide(two, id, true);
    const [begun, end] = [deferred(), deferred()];
    const call = one.approvals.around(kept, AGENT, () => {
      begun.resolve();
      return end.promise;
    });
    await begun.promise;
    // Others cannot hold one up.
    expect(await two.use(kept, "e", OTHER)).toBe("other_input");
    expect(await two.use(kept, "e")).toBe("used");
    end.resolve();
    await call;
    expect(await two.use(kept, "e")).toBeUndefined();
    await new Promise<void>((isHeld) => {
      void one.approvals.around(lost, AGENT, () => {
        isHeld();
        return deferred().promise;
      });
    });
    await one.shared.close();
    expect(await two.use(lost, "f")).toBe("used");
  });

  test("by the user of a client hold once, whichever instance is answered", async () => {
    const [one, two] = [await instance(), await instance()];
    const id = await one.ask("g");
    const [first = "", second = ""] = [one.approvals.question(id), one.approvals.question(id)];
    expect(await two.approvals.answer(first, "allowed", OTHER)).toBeUndefined();
    expect(await two.approvals.answer(first, "dismissed", AGENT)).toBeUndefined();
    expect(await one.approvals.answer(first, "allowed", AGENT)).toBeUndefined();
    const answers = await Promise.all([one, two].map(({ approvals }) => approvals.answer(second, "allowed", AGENT)));
    expect(answers.filter((answer) => answer === id)).toHaveLength(1);
    expect(await one.use(id, "g")).toBeUndefined();
  });

  test("need the engine: without it nothing is asked, decided or used", async () => {
    const [one, two] = [await instance(), await instance()];
    const id = await one.ask("h");
    await decide(two, id, true);
    await engine.stop();
    const gone = { code: "SHARED_STATE_UNAVAILABLE" };
    expect(await failureOf(two.use(id, "h"))).toMatchObject(gone);
    expect(
      await failureOf(
        one.approvals.around(undefined, AGENT, () => {
          throw approvalRequired({ effects: [], pending: one.approvals.ask(request("i")) ?? { id: "", expires: 0 } });
        }),
      ),
    ).toMatchObject(gone);
    await engine.start();
    let fault: unknown = "gone";
    await until(async () => {
      fault = await two.use(id, "h").catch(() => "gone");
      return fault !== "gone";
    });
    expect(fault).toBeUndefined();
  });
});
