import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { parseConfig } from "../../../src/config/load.js";
import type { ChangeRecord } from "../../../src/core/ports/changes/change.js";
import type { VenueEvent } from "../../../src/core/ports/changes/events.js";
import type { JobRecord } from "../../../src/core/ports/job.js";
import { silentLog } from "../../../src/core/ports/log.js";
import { EventLog } from "../../../src/feed/event-log.js";
import type { FileEvent } from "../../../src/feed/file-event.js";
import { initShared } from "../../../src/venue/shared/admin.js";
import { JobRows } from "../../../src/venue/shared/job-rows.js";
import { openShared } from "../../../src/venue/shared/open.js";
import { SharedEvents } from "../../../src/venue/shared/pieces/events.js";
import type { PostgresShared } from "../../../src/venue/shared/postgres.js";
import { describeWhere } from "../../needs.js";
import { hasPostgres, NO_POSTGRES, startPostgres, type TestEngine } from "../../postgres.js";
import { until } from "../../until.js";

const OWNER = "did:key:z6MkOwner";
const DRIVE = `drive ${OWNER} my-notes`;
const change = (root: string, ...path: string[]): ChangeRecord => ({
  ...{ root, scheme: "file", driveOwner: OWNER, op: "write", actor: OWNER, via: "x", surface: "http", time: 1 },
  ...{ action: "modified", kind: "file", path, before: null, after: null },
});

describeWhere(hasPostgres, NO_POSTGRES)("events of two instances", () => {
  let engine: TestEngine;
  const closed: (() => Promise<void>)[] = [];
  const env = () => ({ DB: engine.url });
  const baseDir = mkdtempSync(join(tmpdir(), "events-"));
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
    for (const close of closed.splice(0)) await close();
  });

  async function instance() {
    const shared: PostgresShared = await openShared(config, config.shared, { env: env(), log: silentLog });
    shared.revocations.over({ size: 0, entries: new Set(), has: () => false, add: async () => {} });
    const payloads: string[] = [];
    shared.hear("events", (payload) => void payloads.push(payload));
    await shared.start();
    const log = new EventLog();
    // "folder" is a directory in the drive, "host" is no drive.
    const roots = { mine: { drive: "my-notes" }, folder: { drive: "my-notes", subpath: ["top"] } };
    const rootOf = (name: string) => (name === "mine" || name === "folder" ? roots[name] : undefined);
    const events = new SharedEvents({ shared, log, rootOf });
    closed.unshift(
      () => events.close(),
      () => shared.close(),
    );
    const files = () => [...log.topic<FileEvent>(DRIVE).after(0)].map(({ event }) => event.path.join("/"));
    const tokens = () => [...log.topic<VenueEvent>("auth").after(0)].map(({ event }) => event);
    const jobs = () => [...log.topic<VenueEvent>("job").after(0)].map(({ event }) => event);
    files();
    tokens();
    jobs();
    return { shared, log, events, files, tokens, jobs, payloads };
  }

  test("are told once, in one notification that the engine cannot read; changes on the host are not", async () => {
    const [one, two] = [await instance(), await instance()];
    one.events.changes(change("mine", "private", "plan.txt"));
    one.events.changes(change("folder", "a.txt"));
    one.events.changes(change("host", "b.txt"));
    one.events.sink.publish("auth", { data: { id: "t1" }, audience: [OWNER] });
    await until(() => two.tokens().length > 0);
    expect(two.files()).toEqual(["private/plan.txt", "top/a.txt"]);
    // As it is told here: to those who may see it.
    expect(two.tokens()).toEqual([{ data: { id: "t1" }, audience: [OWNER] }]);
    expect(one.tokens()).toHaveLength(1);
    expect(one.files()).toEqual([]);
    expect(two.payloads).toHaveLength(1);
    const seen = two.payloads.map((payload) => payload + Buffer.from(payload, "base64").toString("latin1")).join();
    // Words that are too long to be there by chance.
    expect(seen).not.toMatch(/private|plan\.txt|my-notes|z6MkOwner/);
  });

  test("that are too many make those who follow the drive look again, and nobody else", async () => {
    const [one, two] = [await instance(), await instance()];
    const { position } = two.log;
    for (let index = 0; index < 2000; index++) one.events.changes(change("mine", `file-${index}`));
    await until(() => two.log.topic(DRIVE).hasLost(position));
    expect(two.log.topic("auth").hasLost(position)).toBe(false);
    expect(two.payloads).toHaveLength(1);
    expect(two.files()).toEqual([]);
  });

  test("of a job that went with its instance are told once, by whichever of the others writes that", async () => {
    const [one, two, three] = [await instance(), await instance(), await instance()];
    const rowsOf = ({ shared, events }: typeof one) => {
      const rows = new JobRows({ shared, log: silentLog, ttlMs: 60_000, told: events, onLost: () => {} });
      closed.unshift(() => rows.close());
      return rows;
    };
    const kept = rowsOf(one);
    rowsOf(two);
    rowsOf(three);
    const started = { status: "STARTED", created: 1, updated: 1, operation: "x", caller: OWNER, input: { path: "a" } };
    for (const [id, isPrivate] of [
      ["01", false],
      ["02", true],
      ["03", false],
    ] as const) {
      const record = { ...started, id: `0x${id}` } as unknown as JobRecord;
      await kept.begin({ id, isPrivate, owners: [OWNER], record: () => record });
    }
    const ended = { ...started, id: "0x03", status: "COMPLETE", output: {} } as unknown as JobRecord;
    await kept.end({ id: "03", isPrivate: false, owners: [OWNER], record: () => ended }, ended);
    await until(() => two.jobs().length === 3 && three.jobs().length === 3);
    // As after its death; its notices are sent.
    await one.shared.close();
    const told = ({ data, audience }: VenueEvent) => [data["id"], data["status"], data["errorCode"], audience];
    for (const other of [two, three]) {
      await until(() => other.jobs().length > 3);
      await pause(500);
      expect(other.jobs().map(told)).toEqual([
        ["0x01", "STARTED", undefined, [OWNER]],
        ["0x03", "STARTED", undefined, [OWNER]],
        ["0x03", "COMPLETE", undefined, [OWNER]],
        ["0x01", "FAILED", "INSTANCE_LOST", [OWNER]],
      ]);
      expect(JSON.stringify(other.jobs())).not.toContain("path");
    }
  });

  test("that nobody of the venue sealed are not told; those that were lost are looked for", async () => {
    const [one, two] = [await instance(), await instance()];
    const { position } = two.log;
    const forged = Buffer.from(JSON.stringify({ told: [{ topic: "auth", event: { data: {}, audience: [] } }] }));
    await one.shared.notify("events", forged.toString("base64"));
    await one.shared.notify("events", one.shared.sealed("events").seal("65535", forged).toString("base64"));
    await until(() => two.payloads.length === 2);
    expect(two.tokens()).toEqual([]);
    await engine.stop();
    one.events.changes(change("mine", "missed"));
    await pause(300);
    await engine.start();
    await until(() => two.log.topic(DRIVE).hasLost(position) && two.log.topic("auth").hasLost(position));
  });
});
