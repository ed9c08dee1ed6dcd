import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { transformFileSync } from "@swc/core";
import type { AuditRecord } from "../../../src/audit/record.js";
import type { LogLevel } from "../../../src/config/types.js";
import { type OpenLog, openLog } from "../../../src/venue/telemetry/log.js";
import { VenueMetrics } from "../../../src/venue/telemetry/metrics.js";
import type { MetricsSources } from "../../../src/venue/telemetry/metrics-sources.js";
import { needs } from "../../needs.js";
import { gate } from "../catalogue/fake-adapter.js";

describe("the log", () => {
  let dir = "";
  let file = "";
  let printed: string[] = [];
  const opened: OpenLog[] = [];
  const clock = { nowMs: () => 1_700_000_000_000, monotonicMs: () => 0 };

  function open(level: LogLevel = "info", path?: string): OpenLog {
    const stderr = { write: (line: string) => printed.push(line) };
    const log = openLog(path === undefined ? { level } : { level, file: path }, { stderr, clock });
    opened.push(log);
    return log;
  }

  /** A program that does something with the log, in a process of its own. @returns its path */
  function logProgram(run: string): string {
    for (const path of ["venue/telemetry/log", "core/clock", "core/errors/describe-error", "core/package-files"]) {
      const { code } = transformFileSync(fileURLToPath(new URL(`../../../src/${path}.ts`, import.meta.url)), {
        jsc: { target: "es2023", parser: { syntax: "typescript" } },
        module: { type: "es6" },
      });
      mkdirSync(join(dir, "src", dirname(path)), { recursive: true });
      writeFileSync(join(dir, "src", `${path}.js`), code);
    }
    writeFileSync(join(dir, "package.json"), '{"type":"module"}');
    symlinkSync(fileURLToPath(new URL("../../../node_modules", import.meta.url)), join(dir, "node_modules"));
    const imports = `
    import { execFileSync } from "node:child_process";
    import { statSync } from "node:fs";
    import { createRequire } from "node:module";
    import { openLog } from "./src/venue/telemetry/log.js";`;
    writeFileSync(join(dir, "program.js"), imports + run);
    return join(dir, "program.js");
  }

  const parse = (lines: readonly string[]): unknown[] => lines.map((line) => JSON.parse(line));
  const written = (path = file): unknown[] => parse(readFileSync(path, "utf8").split("\n").slice(0, -1));

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), "venue-files-log-"));
    file = join(dir, "venue.log");
    printed = [];
  });
  afterEach(() => {
    for (const log of opened.splice(0)) log.close();
    rmSync(dir, { recursive: true });
  });

  describe("the log", () => {
    test("is a line of JSON for each event, with its level, time, fields and text", () => {
      open().warn({ port: 8080, caller: "did:key:z6Mk" }, "Something\nodd %s");
      expect(printed).toHaveLength(1);
      expect(printed[0]).toMatch(/^\{.*\}\n$/);
      expect(parse(printed)).toEqual([
        { level: "warn", time: 1_700_000_000_000, port: 8080, caller: "did:key:z6Mk", msg: "Something\nodd %s" },
      ]);
    });

    test.each<[LogLevel, string[]]>([
      ["debug", ["debug", "info", "warn", "error"]],
      ["info", ["info", "warn", "error"]],
      ["warn", ["warn", "error"]],
      ["error", ["error"]],
      ["silent", []],
    ])("at level %s has lines of %j", (level, expected) => {
      const log = open(level);
      for (const one of ["debug", "info", "warn", "error"] as const) log[one]({}, "x");
      expect(parse(printed)).toEqual(expected.map((shown) => expect.objectContaining({ level: shown })));
    });

    test("loads its library only when there is something to write", () => {
      const program = logProgram(`
      const loaded = () => Object.keys(createRequire(import.meta.url).cache).some((path) => path.endsWith("pino.js"));
      const log = openLog({ level: "info" }, { stderr: { write() {} } });
      log.debug({}, "x");
      const before = loaded();
      log.info({}, "x");
      process.stdout.write(JSON.stringify([before, loaded()]));`);
      expect(spawnSync(process.execPath, [program], { encoding: "utf8" }).stdout).toBe("[false,true]");
    });

    const limited = needs(spawnSync("prlimit", ["--version"]).status === 0, "there is no prlimit here");
    limited.each([
      ["and its library was loaded before, has whole lines", "log.prepare();", { port: 1 }],
      ["has short lines, and ends no process", "", {}],
    ])("where no descriptor is left %s", (_, before, fields) => {
      const program = logProgram(`
      import { openSync } from "node:fs";
      const log = openLog({ level: "info" }, { stderr: process.stderr });
      ${before}
      process.stderr.write("");
      const take = () => { for (;;) openSync("/dev/null"); };
      try { take(); } catch (error) { log.error({ err: error, port: 1, token: "SECRET" }, "full"); }`);
      const { stderr, status } = spawnSync("prlimit", ["--nofile=64", process.execPath, program], { encoding: "utf8" });
      expect(status).toBe(0);
      expect(parse(stderr.trim().split("\n"))).toMatchObject([
        { level: "error", time: expect.any(Number), err: { code: "EMFILE" }, msg: "full", ...fields },
      ]);
      expect(stderr).not.toContain("SECRET");
    });

    test("never throws, even where nothing can be written", () => {
      const stderr = {
        write: () => {
          throw new Error("EIO");
        },
      };
      expect(() => openLog({ level: "info" }, { stderr, clock }).info({}, "x")).not.toThrow();
    });

    test("describes failures without paths and contents", () => {
      const error = Object.assign(new Error("EIO: i/o error, open '/srv/private'"), {
        code: "EIO",
        path: "/srv/private",
      });
      open().error({ err: error, requestId: "r1" }, "Internal error");
      expect(parse(printed)).toEqual([
        expect.objectContaining({
          requestId: "r1",
          err: expect.objectContaining({ code: "EIO", message: "EIO: i/o error, open '<path>'" }),
        }),
      ]);
      expect(printed.join()).not.toContain("/srv");
    });

    test.each([
      [{ token: "SECRET" }],
      [{ headers: { authorization: "SECRET" } }],
      [{ request: { body: { ucans: ["SECRET"] } } }],
      [{ config: { seed: "SECRET" } }],
      [{ input: { caps: [{ with: "SECRET" }], content: "SECRET" } }],
      [{ error: new Error("Bearer SECRET") }],
    ])("hides what nobody should have logged: %j", (fields) => {
      open().info(fields, "x");
      expect(printed).toHaveLength(1);
      expect(printed.join()).not.toContain("SECRET");
    });

    test("changes nothing in what it was given", () => {
      const fields = { config: { seed: "s" }, err: new Error("x") };
      open().info(fields, "x");
      expect(fields).toEqual({ config: { seed: "s" }, err: new Error("x") });
    });

    test("survives fields that are no JSON, and shortens long ones", () => {
      const loop: { self?: unknown } = {};
      loop.self = loop;
      open().info({ loop, big: 1n, nothing: undefined, long: "x".repeat(100_000) }, "x");
      expect(printed.join().length).toBeLessThan(3000);
      expect(parse(printed)).toHaveLength(1);
    });
  });

  describe("a log file", () => {
    test("is made for its owner alone, appended to, and nothing goes to standard error", () => {
      writeFileSync(file, '{"old":1}\n', { mode: 0o600 });
      const other = join(dir, "new.log");
      open("info", file).info({}, "one");
      open("info", other).info({}, "two");
      expect(written()).toEqual([{ old: 1 }, expect.objectContaining({ msg: "one" })]);
      expect(written(other)).toEqual([expect.objectContaining({ msg: "two" })]);
      expect((statSync(other).mode & 0o777).toString(8)).toBe("600");
      expect(printed).toEqual([]);
    });

    test.each([
      ["in a directory that is not there", () => join(dir, "none/x.log"), "ENOENT"],
      ["that is a directory", () => dir, "EISDIR"],
    ])("cannot be opened %s, which is seen at once", (_, path, code) => {
      expect(() => open("silent", path())).toThrow(expect.objectContaining({ code }));
    });

    test("is opened anew by its name when it has been renamed", () => {
      const log = open("info", file);
      log.info({}, "before");
      renameSync(file, `${file}.1`);
      log.info({}, "meanwhile");
      log.reopen();
      log.info({}, "after");
      expect(written(`${file}.1`)).toMatchObject([{ msg: "before" }, { msg: "meanwhile" }]);
      expect(written()).toMatchObject([{ msg: "after" }]);
    });

    test("is written on when its name cannot be opened any more, and says so without it", () => {
      const log = open("info", file);
      renameSync(file, `${file}.1`);
      mkdirSync(file);
      log.reopen();
      log.info({}, "after");
      expect(written(`${file}.1`)).toMatchObject([
        { level: "error", msg: "Cannot reopen the log file", err: { code: "EISDIR" } },
        { msg: "after" },
      ]);
      expect(readFileSync(`${file}.1`, "utf8")).not.toContain(dir);
    });

    needs(existsSync("/dev/full"), "there is no /dev/full here")(
      "that takes nothing more leaves its lines to standard error",
      () => {
        const log = open("info", "/dev/full");
        log.info({}, "one");
        log.error({}, "two");
        expect(parse(printed)).toMatchObject([{ msg: "one" }, { msg: "two" }]);
      },
    );

    const limits = needs(spawnSync("prlimit", ["--version"]).status === 0, "there is no prlimit here");
    limits("that took half a line goes on with a line of its own", () => {
      // The size a process may give a file stands in for the space on the disk.
      const program = logProgram(`
      const limit = (bytes) => execFileSync("prlimit", ["--pid", String(process.pid), "--fsize=" + bytes + ":unlimited"]);
      // Otherwise the system would end the process.
      process.on("SIGXFSZ", () => {});
      const [, , file] = process.argv;
      const log = openLog({ level: "info", file }, { stderr: process.stderr });
      log.info({}, "one");
      limit(statSync(file).size + 10);
      log.info({}, "two");
      limit("unlimited");
      log.info({}, "three");`);
      const { stderr } = spawnSync(process.execPath, [program, file], { encoding: "utf8" });
      const [first, torn, third] = readFileSync(file, "utf8").split("\n");
      expect(parse([first ?? "", third ?? "", stderr])).toMatchObject([
        { msg: "one" },
        { msg: "three" },
        { msg: "two" },
      ]);
      expect(torn).toHaveLength(10);
    });

    needs(existsSync("/proc/self/fd"), "there is no /proc here")("that is opened anew is let go of", () => {
      const log = open("info", file);
      const before = readdirSync("/proc/self/fd").length;
      for (let time = 0; time < 20; time++) log.reopen();
      log.close();
      expect(readdirSync("/proc/self/fd").length).toBeLessThan(before + 5);
    });

    test("that is closed leaves later lines to standard error", () => {
      const log = open("info", file);
      log.close();
      log.close();
      log.reopen();
      log.info({}, "late");
      expect(parse(printed)).toMatchObject([{ msg: "late" }]);
      expect(written()).toEqual([]);
    });
  });
});

describe("metrics", () => {
  const opened: VenueMetrics[] = [];
  const named = (name: string, changes: boolean) => ({ metadata: { name, changes } });
  const root = (name: string, usage?: Usage) => (usage === undefined ? { name } : { name, usage });
  type Usage = () => Promise<{ sizeBytes: number; freeBytes: number }>;

  function open(changes: Partial<MetricsSources> = {}): VenueMetrics {
    const metrics = new VenueMetrics();
    metrics.observe({
      operations: () => [named("file:read", false), named("file:write", true)],
      roots: () => [root("docs"), root("tmp")],
      jobs: { running: 2, size: 5, bytes: 1234 },
      assets: { size: 9, totalBytes: 4096 },
      ...changes,
    });
    opened.push(metrics);
    return metrics;
  }

  const record = (changes: Partial<AuditRecord> = {}): AuditRecord => ({
    time: 1,
    caller: "operator",
    operation: "file:read",
    resource: "file://docs/a",
    outcome: "OK",
    bytes: 10,
    ms: 2,
    ...changes,
  });

  /** The samples of the text: `name{labels}` → value. */
  async function samples(metrics: VenueMetrics): Promise<Record<string, number>> {
    const { body } = await metrics.text();
    const lines = body.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
    return Object.fromEntries(
      lines.map((line) => {
        const { sample = "", value } = /^(?<sample>[a-z0-9_]+(?:\{.*\})?) (?<value>\S+)$/.exec(line)?.groups ?? {};
        return [sample, Number(value)];
      }),
    );
  }

  const of = (found: Record<string, number>, name: string): Record<string, number> =>
    Object.fromEntries(
      Object.entries(found)
        .filter(([sample]) => sample === name || sample.startsWith(`${name}{`))
        .map(([sample, value]) => [sample.slice(name.length), value]),
    );

  afterEach(async () => {
    for (const metrics of opened.splice(0)) await metrics.close();
  });

  describe("the metrics", () => {
    test("are text as Prometheus reads it", async () => {
      const { contentType, body } = await open().text();
      expect(contentType).toBe("text/plain; version=0.0.4; charset=utf-8");
      const names = [...body.matchAll(/^# TYPE (\S+) (counter|gauge|histogram)$/gm)].map(([, name]) => name);
      expect(new Set(names).size).toBe(names.length);
      expect([...body.matchAll(/^# HELP (\S+) \S.*$/gm)].map(([, name]) => name)).toEqual(names);
      expect(body.endsWith("\n")).toBe(true);
    });

    test("count calls by operation and outcome, and the bytes they moved", async () => {
      const metrics = open();
      metrics.write(record());
      metrics.write(record({ bytes: 5 }));
      metrics.write(record({ outcome: "NOT_FOUND", bytes: 0 }));
      metrics.write(record({ operation: "file:write", bytes: 7 }));
      const found = await samples(metrics);
      expect(of(found, "venue_files_operations_total")).toEqual({
        '{operation="file:read",outcome="OK"}': 2,
        '{operation="file:read",outcome="NOT_FOUND"}': 1,
        '{operation="file:write",outcome="OK"}': 1,
      });
      expect(of(found, "venue_files_bytes_total")).toEqual({
        '{operation="file:read",direction="out"}': 15,
        '{operation="file:write",direction="in"}': 7,
      });
    });

    test("show how long calls took", async () => {
      const metrics = open();
      for (const ms of [0.4, 3, 3, 60_000]) metrics.write(record({ ms }));
      const found = await samples(metrics);
      const name = "venue_files_operation_duration_seconds";
      const read = 'operation="file:read"';
      expect(found).toMatchObject({
        [`${name}_bucket{le="0.0005",${read}}`]: 1,
        [`${name}_bucket{le="0.005",${read}}`]: 3,
        [`${name}_bucket{le="30",${read}}`]: 3,
        [`${name}_bucket{le="+Inf",${read}}`]: 4,
        [`${name}_count{${read}}`]: 4,
      });
      expect(found[`${name}_sum{${read}}`]).toBeCloseTo(60.0064);
    });

    test("tell of the journals that are open", async () => {
      const facts = { entries: 7, bytes: 4096, unkept: 2, lost: 1 };
      const journal = (now: typeof facts | undefined) => ({
        mode: "on" as const,
        open: () => undefined,
        facts: () => now,
      });
      const metrics = open({
        roots: () => [
          { name: "docs", journal: journal(facts) },
          { name: "tmp", journal: journal(undefined) },
        ],
      });
      expect(await samples(metrics)).toMatchObject({
        'venue_files_journal_entries{root="docs"}': 7,
        'venue_files_journal_bytes{root="docs"}': 4096,
        'venue_files_journal_unkept_total{root="docs"}': 2,
        'venue_files_journal_lost_total{root="docs"}': 1,
      });
    });

    test("say the same at every look, and go on from there", async () => {
      const metrics = open();
      const calls = '{operation="file:read",outcome="OK"}';
      for (let look = 1; look <= 3; look++) {
        metrics.write(record());
        const found = await samples(metrics);
        expect(of(found, "venue_files_operations_total")).toEqual({ [calls]: look });
        expect(found['venue_files_operation_duration_seconds_count{operation="file:read"}']).toBe(look);
      }
    });

    test("miss no call when nobody looks for long", async () => {
      const metrics = open();
      for (let call = 0; call < 2500; call++) metrics.write(record());
      const found = await samples(metrics);
      expect(found['venue_files_operation_duration_seconds_count{operation="file:read"}']).toBe(2500);
      expect(found['venue_files_operations_total{operation="file:read",outcome="OK"}']).toBe(2500);
    });

    test("have no labels but those of the configuration, whatever callers make up", async () => {
      const metrics = open();
      for (let call = 0; call < 100; call++) {
        metrics.write(record({ operation: `file:x${call}`, outcome: `X${call}`, resource: `file://r${call}/a` }));
        metrics.write(
          record({ outcome: "constructor", resource: ["", "file://", "file://docs", "other"][call % 4] ?? "" }),
        );
      }
      const found = await samples(metrics);
      expect(of(found, "venue_files_operations_total")).toEqual({
        '{operation="unknown",outcome="other"}': 100,
        '{operation="file:read",outcome="other"}': 100,
      });
      expect(of(found, "venue_files_root_operations_total")).toEqual({
        '{root=""}': 175,
        '{root="docs"}': 25,
        '{root="tmp"}': 0,
      });
    });

    test("know an operation that was registered later", async () => {
      const operations = [named("file:read", false)];
      const metrics = open({ operations: () => operations });
      metrics.write(record());
      operations.push(named("mail:send", true));
      metrics.write(record({ operation: "mail:send", resource: "" }));
      expect(of(await samples(metrics), "venue_files_operations_total")).toEqual({
        '{operation="file:read",outcome="OK"}': 1,
        '{operation="mail:send",outcome="OK"}': 1,
      });
    });

    test("count by root", async () => {
      const metrics = open();
      for (const root of ["docs", "docs", "tmp"]) metrics.write(record({ resource: `file://${root}/a/b` }));
      const found = await samples(metrics);
      expect(of(found, "venue_files_root_operations_total")).toEqual({
        '{root=""}': 0,
        '{root="docs"}': 2,
        '{root="tmp"}': 1,
      });
      expect(of(found, "venue_files_root_bytes_total")).toEqual({
        '{root=""}': 0,
        '{root="docs"}': 20,
        '{root="tmp"}': 10,
      });
    });

    test("show jobs, assets and lost audit records as they are at the moment", async () => {
      let lost = 3;
      const metrics = open({ auditLost: () => lost });
      expect(await samples(metrics)).toMatchObject({
        venue_files_jobs_running: 2,
        venue_files_jobs_kept: 5,
        venue_files_jobs_bytes: 1234,
        venue_files_assets: 9,
        venue_files_assets_bytes: 4096,
        venue_files_audit_lost_total: 3,
      });
      lost = 8;
      expect(await samples(metrics)).toMatchObject({ venue_files_audit_lost_total: 8 });
      expect(await samples(open())).not.toHaveProperty("venue_files_audit_lost_total");
    });

    test("show the process", async () => {
      const found = await samples(open());
      for (const name of ["process_resident_memory_bytes", "process_start_time_seconds", "process_cpu_seconds_total"]) {
        expect(found[name]).toBeGreaterThan(0);
      }
      for (const which of ["p50", "p99", "max"])
        expect(found[`nodejs_eventloop_lag_${which}_seconds`]).toBeGreaterThanOrEqual(0);
    });

    test("are text before it is known what they are about, too", async () => {
      const metrics = new VenueMetrics();
      opened.push(metrics);
      metrics.write(record());
      expect(of(await samples(metrics), "venue_files_operations_total")).toEqual({
        '{operation="unknown",outcome="OK"}': 1,
      });
      metrics.observe({
        jobs: { running: 0, size: 0 },
        roots: () => [root("docs")],
        operations: () => [named("file:read", false)],
      });
      metrics.write(record());
      const found = await samples(metrics);
      expect(found['venue_files_operations_total{operation="file:read",outcome="OK"}']).toBe(1);
      expect(found['venue_files_root_operations_total{root="docs"}']).toBe(1);
      expect(found).not.toHaveProperty("venue_files_assets");
    });

    test("of two venues are apart", async () => {
      const [one, other] = [open(), open()];
      one.write(record());
      expect(of(await samples(other), "venue_files_operations_total")).toEqual({});
    });

    test("can be read after they were closed", async () => {
      const metrics = open();
      metrics.write(record());
      await metrics.close();
      expect(of(await samples(metrics), "venue_files_operations_total")).toEqual({
        '{operation="file:read",outcome="OK"}': 1,
      });
    });
  });

  describe("the room in a root", () => {
    test("is shown where it can be said", async () => {
      const metrics = open({
        roots: () => [
          root("docs", async () => ({ sizeBytes: 1000, freeBytes: 400 })),
          root("memory"),
          root("gone", () => Promise.reject(new Error("EIO"))),
          root("closed", () => {
            throw new Error("closed");
          }),
        ],
      });
      const found = await samples(metrics);
      expect(of(found, "venue_files_root_size_bytes")).toEqual({ '{root="docs"}': 1000 });
      expect(of(found, "venue_files_root_free_bytes")).toEqual({ '{root="docs"}': 400 });
    });

    test("is asked for at every look, of the roots there are then", async () => {
      let freeBytes = 5;
      let roots = [root("docs", async () => ({ sizeBytes: 10, freeBytes }))];
      const metrics = open({ roots: () => roots });
      await metrics.text();
      freeBytes = 4;
      expect(of(await samples(metrics), "venue_files_root_free_bytes")).toEqual({ '{root="docs"}': 4 });
      roots = [root("new", async () => ({ sizeBytes: 10, freeBytes: 7 }))];
      metrics.write(record({ resource: "file://new/a" }));
      const found = await samples(metrics);
      expect(of(found, "venue_files_root_free_bytes")).toEqual({ '{root="new"}': 7 });
      expect(of(found, "venue_files_root_operations_total")).toMatchObject({ '{root="new"}': 1 });
    });

    test("is not waited for for ever, and not asked for again meanwhile", async () => {
      const hangs = gate<{ sizeBytes: number; freeBytes: number }>();
      let asked = 0;
      const far = root("far", () => {
        asked++;
        return hangs.promise;
      });
      const near = root("docs", async () => ({ sizeBytes: 10, freeBytes: 1 }));
      const metrics = open({ usagePatienceMs: 20, roots: () => [far, near] });
      const both = await Promise.all([samples(metrics), samples(metrics)]);
      for (const found of both) expect(of(found, "venue_files_root_free_bytes")).toEqual({ '{root="docs"}': 1 });
      await samples(metrics);
      expect(asked).toBe(1);
      hangs.open({ sizeBytes: 3, freeBytes: 2 });
      await new Promise(setImmediate);
      expect(of(await samples(metrics), "venue_files_root_free_bytes")).toEqual({
        '{root="docs"}': 1,
        '{root="far"}': 2,
      });
      expect(asked).toBe(2);
    });
  });
});
