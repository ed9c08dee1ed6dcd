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
import type { LogLevel } from "../../../src/config/types.js";
import { type OpenLog, openLog } from "../../../src/venue/telemetry/log.js";
import { needs } from "../../needs.js";

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
    expect(parse([first ?? "", third ?? "", stderr])).toMatchObject([{ msg: "one" }, { msg: "three" }, { msg: "two" }]);
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
