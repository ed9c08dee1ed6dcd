import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { open as openHandle } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { transformFileSync } from "@swc/core";
import { openAuditFile } from "../../src/audit/audit-file.js";
import type { AuditRecord } from "../../src/audit/record.js";
import { openRotatingFile, type RotationOptions } from "../../src/audit/rotating-file.js";
import { auditSigner } from "../../src/venue/start/audit-signer.js";
import { needs } from "../needs.js";
import { recordsOf } from "./records.js";

let dir = "";
let file = "";
const errors: unknown[] = [];
/** A sink of plain lines. */
async function open(path = file, options: RotationOptions = {}) {
  const rotating = await openRotatingFile(path, (error) => void errors.push(error), options);
  const sink = {
    lost: 0,
    write: (one: AuditRecord) => rotating.append(`${JSON.stringify(one)}\n`),
    look: () => rotating.look(),
    close: async () => {
      sink.lost = await rotating.close();
    },
  };
  return sink;
}
/** The audit sink itself. */
const openAudit = (options: RotationOptions = {}) =>
  openAuditFile(file, (error) => void errors.push(error), { ...options, signer: auditSigner(undefined) });
const record = (changes: Partial<AuditRecord> = {}): AuditRecord => ({
  time: 1,
  caller: "operator",
  operation: "file:read",
  resource: "file://r/a",
  outcome: "OK",
  bytes: 0,
  ms: 0.5,
  ...changes,
});
const lines = (path = file): unknown[] =>
  readFileSync(path, "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));

/** Looks again and again until it is so. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise(setImmediate);
}

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "venue-files-audit-"));
  file = join(dir, "audit.jsonl");
});
afterEach(() => {
  rmSync(dir, { recursive: true });
  errors.length = 0;
});

describe("an audit file", () => {
  test("has one line of JSON for each record, in their order, when it is closed", async () => {
    const sink = await open();
    const records = Array.from({ length: 500 }, (_, index) => record({ bytes: index, job: String(index) }));
    for (const one of records) sink.write(one);
    await sink.close();
    expect(lines()).toEqual(records);
    expect(readFileSync(file, "utf8").endsWith("\n")).toBe(true);
  });

  test("keeps a record on one line, whatever is in it", async () => {
    const sink = await open();
    const odd = record({ resource: 'file://r/a\nb\u2028"c\ud800' });
    sink.write(odd);
    await sink.close();
    expect(lines()).toEqual([odd]);
    expect(readFileSync(file, "utf8").split("\n")).toHaveLength(2);
  });

  test("is made for its owner alone", async () => {
    await (await open()).close();
    expect((statSync(file).mode & 0o777).toString(8)).toBe("600");
    expect(readFileSync(file, "utf8")).toBe("");
  });

  test("is continued, with the rights that it has", async () => {
    writeFileSync(file, '{"old":1}\n', { mode: 0o640 });
    const sink = await open();
    sink.write(record());
    await sink.close();
    expect(lines()).toEqual([{ old: 1 }, record()]);
    expect((statSync(file).mode & 0o777).toString(8)).toBe("640");
  });

  test("is shared by two that write to it, line by line", async () => {
    const sinks = [await open(), await open()];
    for (let index = 0; index < 50; index++) for (const sink of sinks) sink.write(record({ bytes: index }));
    await Promise.all(sinks.map((sink) => sink.close()));
    expect(lines()).toHaveLength(100);
  });

  test.each([
    ["in a directory that is not there", () => join(dir, "none/audit.jsonl"), "ENOENT"],
    ["that is a directory", () => dir, "EISDIR"],
  ])("cannot be opened %s, which is seen at once", async (_, path, code) => {
    await expect(open(path())).rejects.toMatchObject({ code });
    expect(errors).toEqual([]);
  });

  test("after a process that died within a line goes on with a line of its own", async () => {
    writeFileSync(file, '{"time":1,"call');
    const sink = await open();
    sink.write(record());
    await sink.close();
    expect(readFileSync(file, "utf8").split("\n")).toEqual(['{"time":1,"call', JSON.stringify(record()), ""]);
  });

  test("is written on by a record that comes just when nothing was left to write", async () => {
    const probe = await openHandle(join(dir, "probe"), "a");
    const prototype = Object.getPrototypeOf(probe);
    const { write } = prototype;
    try {
      for (let turns = 0; turns < 20; turns++) {
        const sink = await open(join(dir, String(turns)));
        // So many turns after the system has written the first record, somewhere in the end of the work on it.
        prototype.write = async function (this: unknown, ...args: unknown[]) {
          prototype.write = write;
          const written = await write.apply(this, args);
          let turn = Promise.resolve();
          for (let left = turns; left > 0; left--) turn = turn.then(() => {});
          void turn.then(() => sink.write(record({ bytes: 2 })));
          return written;
        };
        sink.write(record({ bytes: 1 }));
        await until(() => lines(join(dir, String(turns))).length === 2);
        await sink.close();
      }
    } finally {
      prototype.write = write;
      await probe.close();
    }
  });

  const full = "/dev/full";
  needs(existsSync(full), "there is no /dev/full here")(
    "on a full disk loses records, says so once, and does not throw",
    async () => {
      const sink = await open(full, { retryMs: 1 });
      sink.write(record());
      await until(() => errors.length > 0);
      expect(() => sink.write(record())).not.toThrow();
      await sink.close();
      expect(errors).toMatchObject([{ code: "ENOSPC" }]);
      expect(sink.lost).toBe(2);
    },
  );

  test("may be closed twice, and counts what comes after that as lost", async () => {
    const sink = await openAudit();
    sink.write(record());
    await Promise.all([sink.close(), sink.close()]);
    sink.write(record());
    await sink.close();
    expect(recordsOf(readFileSync(file, "utf8"))).toEqual([record()]);
    expect(sink.lost).toBe(1);
  });
});

describe("an audit file that is full", () => {
  const width = `${JSON.stringify(record({ bytes: 1000 }))}\n`.length;
  const writeSome = async (count: number, options: RotationOptions): Promise<void> => {
    const sink = await open(file, options);
    for (let index = 0; index < count; index++) {
      sink.write(record({ bytes: 1000 + index }));
      if (index % 7 === 0) await new Promise(setImmediate);
    }
    await sink.close();
    expect(sink.lost).toBe(0);
  };
  const numbers = (path: string): unknown[] => lines(path).map((line) => Object(line).bytes);
  const range = (from: number, count: number) => Array.from({ length: count }, (_, index) => from + index);
  /** Files end at a batch, so how many there are depends on when the disk was ready. */
  const oldestFirst = (path: string): string[] => {
    const files = [path];
    while (existsSync(`${path}.${files.length}`)) files.unshift(`${path}.${files.length}`);
    return files;
  };
  const names = () => readdirSync(dir).sort();

  test("becomes .1, and that .2, with no record lost, split or out of order", async () => {
    await writeSome(95, { maxBytes: width * 10, keep: 50 });
    const files = oldestFirst(file);
    expect(files.length).toBeGreaterThanOrEqual(10);
    expect(files.flatMap(numbers)).toEqual(range(1000, 95));
    for (const path of files) {
      expect(statSync(path).size).toBeLessThanOrEqual(width * 10);
      expect((statSync(path).mode & 0o777).toString(8)).toBe("600");
    }
  });

  test("is kept so many times and no more", async () => {
    await writeSome(50, { maxBytes: width * 10, keep: 2 });
    expect(names()).toEqual(["audit.jsonl", "audit.jsonl.1", "audit.jsonl.2"]);
    const kept = [`${file}.2`, `${file}.1`, file].flatMap(numbers);
    expect(kept).toEqual(range(1050 - kept.length, kept.length));
  });

  test("begins anew where no old one is to be kept", async () => {
    await writeSome(25, { maxBytes: width * 10, keep: 0 });
    expect(names()).toEqual(["audit.jsonl"]);
    const kept = numbers(file);
    expect(kept.length).toBeLessThanOrEqual(10);
    expect(kept).toEqual(range(1025 - kept.length, kept.length));
  });

  test("already when it is opened, is renamed before the first record", async () => {
    writeFileSync(file, `${JSON.stringify(record())}\n`.repeat(20));
    await writeSome(1, { maxBytes: width * 10 });
    expect(lines(`${file}.1`)).toHaveLength(20);
    expect(numbers(file)).toEqual([1000]);
  });

  test("is left alone until there is something to write", async () => {
    writeFileSync(file, `${JSON.stringify(record())}\n`.repeat(20));
    await writeSome(0, { maxBytes: width * 10 });
    expect(names()).toEqual(["audit.jsonl"]);
  });

  test("takes a record that is longer than a file may be, alone", async () => {
    const long = record({ resource: `file://r/${"x".repeat(5000)}` });
    const sink = await open(file, { maxBytes: 1000 });
    for (const one of [record(), long, record()]) sink.write(one);
    await sink.close();
    expect([`${file}.2`, `${file}.1`, file].map((path) => lines(path))).toEqual([[record()], [long], [record()]]);
  });

  test("and cannot be renamed, is written on, and that is told", async () => {
    for (const age of [1, 2]) mkdirSync(join(dir, `audit.jsonl.${age}`, "in the way"), { recursive: true });
    await writeSome(50, { maxBytes: width * 5, keep: 2 });
    expect(numbers(file)).toEqual(range(1000, 50));
    // Each time it has grown by so much again.
    expect(errors.length).toBeGreaterThan(2);
    expect(errors.length).toBeLessThanOrEqual(10);
  });

  test("behind a link is renamed where it lies", async () => {
    mkdirSync(join(dir, "data"));
    writeFileSync(join(dir, "data/real"), "");
    symlinkSync("data/real", file);
    await writeSome(15, { maxBytes: width * 10 });
    const files = oldestFirst(join(dir, "data/real"));
    expect(files.length).toBeGreaterThan(1);
    expect(files.flatMap(numbers)).toEqual(range(1000, 15));
    expect(names()).toEqual(["audit.jsonl", "data"]);
    expect(readFileSync(file)).toEqual(readFileSync(join(dir, "data/real")));
  });

  test("that somebody else has renamed is not renamed again", async () => {
    const sink = await open(file, { maxBytes: width * 10 });
    for (let index = 0; index < 8; index++) sink.write(record({ bytes: 1000 + index }));
    await until(() => lines().length === 8);
    renameSync(file, `${file}.moved`);
    writeFileSync(file, `${JSON.stringify(record({ bytes: 7 }))}\n`);
    for (let index = 8; index < 12; index++) sink.write(record({ bytes: 1000 + index }));
    await sink.close();
    expect(names()).toEqual(["audit.jsonl", "audit.jsonl.moved"]);
    expect(numbers(`${file}.moved`).concat(numbers(file).filter((number) => number !== 7))).toEqual(range(1000, 12));
  });

  test("is not rotated while another process does so, and is afterwards; a lock that was left lapses", async () => {
    const sink = await open(file, { maxBytes: width * 10 });
    mkdirSync(`${file}.rotating`);
    for (let index = 0; index < 15; index++) sink.write(record({ bytes: 1000 + index }));
    await until(() => lines().length === 15);
    expect(names()).toEqual(["audit.jsonl", "audit.jsonl.rotating"]);
    utimesSync(`${file}.rotating`, 0, 0);
    sink.write(record({ bytes: 1015 }));
    await sink.close();
    expect(names()).toEqual(["audit.jsonl", "audit.jsonl.1"]);
    expect([...numbers(`${file}.1`), ...numbers(file)]).toEqual(range(1000, 16));
  });

  test("of two writers loses nothing of either", async () => {
    const sinks = await Promise.all([
      open(file, { maxBytes: width * 20, keep: 50 }),
      open(file, { maxBytes: width * 20, keep: 50 }),
    ]);
    for (let index = 0; index < 100; index++) {
      for (const sink of sinks) sink.write(record({ bytes: 1000 + index }));
      await new Promise(setImmediate);
    }
    await Promise.all(sinks.map((sink) => sink.close()));
    const all = names().flatMap((name) => numbers(join(dir, name)));
    expect(all.sort()).toEqual(range(1000, 100).flatMap((number) => [number, number]));
    expect(errors).toEqual([]);
  });
});

describe("an audit file that somebody else renames or removes", () => {
  const [one, two, three] = [1, 2, 3].map((bytes) => record({ bytes })) as [AuditRecord, AuditRecord, AuditRecord];

  test("is followed to its name, also where nobody has made a new one", async () => {
    const sink = await open(file, { lookMs: 0 });
    sink.write(one);
    await until(() => lines().length === 1);
    renameSync(file, `${file}-1`);
    writeFileSync(file, "", { mode: 0o640 });
    sink.write(two);
    await until(() => lines().length === 1);
    renameSync(file, `${file}-2`);
    sink.write(three);
    await sink.close();
    expect([`${file}-1`, `${file}-2`, file].map((path) => lines(path))).toEqual([[one], [two], [three]]);
    expect([sink.lost, errors]).toEqual([0, []]);
  });

  test("is looked for when it is asked to, and at the end, and else once in a while", async () => {
    const sink = await open(file, { lookMs: Number.POSITIVE_INFINITY });
    sink.write(one);
    await until(() => lines().length === 1);
    renameSync(file, `${file}-1`);
    sink.write(two);
    await until(() => lines(`${file}-1`).length === 2);
    sink.look();
    sink.write(three);
    await until(() => existsSync(file) && lines().length === 1);
    renameSync(file, `${file}-2`);
    sink.write(one);
    await sink.close();
    expect(lines()).toEqual([one]);
  });

  test("with its folder is told of, and its lines wait for it; they are lost if that does not come back", async () => {
    const folder = join(dir, "log");
    mkdirSync(folder);
    const path = join(folder, "audit.jsonl");
    const sink = await open(path, { lookMs: 0, retryMs: 1 });
    rmSync(folder, { recursive: true });
    sink.write(one);
    await until(() => errors.length > 0);
    mkdirSync(folder);
    await until(() => existsSync(path) && lines(path).length === 1);
    rmSync(folder, { recursive: true });
    sink.write(two);
    sink.write(three);
    await sink.close();
    expect(sink.lost).toBe(2);
    expect(errors).toMatchObject([{ code: "ENOENT" }, { code: "ENOENT" }]);
  });

  test("and that is removed is told of, and made anew", async () => {
    const sink = await open(file, { lookMs: 0 });
    sink.write(one);
    await until(() => lines().length === 1);
    rmSync(file);
    sink.write(two);
    await sink.close();
    expect(errors).toMatchObject([{ message: expect.stringContaining("The audit file was removed") }]);
    expect(lines()).toEqual([two]);
  });

  test("while a line is written has it whole in the new file", async () => {
    const probe = await openHandle(join(dir, "probe"), "a");
    const prototype = Object.getPrototypeOf(probe);
    const { write } = prototype;
    const sink = await open(file, { lookMs: 0, retryMs: 1 });
    const width = `${JSON.stringify(one)}\n`.length;
    try {
      // The disk is full after one line and a half, until the file is renamed.
      let room = width + 10;
      prototype.write = async function (this: unknown, bytes: Buffer, offset: number) {
        if (!existsSync(`${file}-1`) && room === 0) throw Object.assign(new Error("full"), { code: "ENOSPC" });
        const length = Math.min(room, bytes.length - offset);
        room = room === 0 ? 0 : room - length;
        return write.call(this, bytes, offset, existsSync(`${file}-1`) ? bytes.length - offset : length);
      };
      for (const each of [one, two, three]) sink.write(each);
      await until(() => errors.length > 0);
      renameSync(file, `${file}-1`);
      await sink.close();
    } finally {
      prototype.write = write;
      await probe.close();
    }
    expect(lines(`${file}-1`)).toEqual([one]);
    expect(readFileSync(`${file}-1`)).toHaveLength(width + 10);
    expect([lines(), sink.lost]).toEqual([[two, three], 0]);
  });
});

describe("an audit file on a disk that does not keep up", () => {
  /** A pipe is a disk whose speed the test decides. */
  const pipe = (): number => {
    execFileSync("mkfifo", [file]);
    return openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  };
  const drain = (reader: number): string => {
    const buffer = Buffer.alloc(1_000_000);
    try {
      return buffer.toString("utf8", 0, readSync(reader, buffer));
    } catch (error) {
      if (Object(error).code === "EAGAIN") return "";
      throw error;
    }
  };

  test("lets records wait up to a limit, loses those beyond, says so once, and writes the others whole", async () => {
    const reader = pipe();
    const sink = await openAudit({ maxWaitingBytes: 300_000 });
    const one = record({ resource: `file://r/${"x".repeat(900)}` });
    for (let index = 0; index < 1000; index++) sink.write(one);
    expect(sink.lost).toBeGreaterThan(600);
    expect(errors).toMatchObject([{ message: expect.stringContaining("being lost") }]);
    let received = "";
    const closed = sink.close();
    for (let done = false; !done; ) {
      void closed.then(() => (done = true));
      received += drain(reader);
      await new Promise(setImmediate);
    }
    received += drain(reader);
    closeSync(reader);
    expect(recordsOf(received)).toEqual(Array(1000 - sink.lost).fill(one));
    expect(errors).toHaveLength(1);
  });

  test("has room again for as much as has been written", async () => {
    const sink = await openAudit({ maxWaitingBytes: 800 });
    for (let index = 0; index < 30; index++) {
      sink.write(record());
      // The last line may be half written.
      await until(() => {
        const text = readFileSync(file, "utf8");
        return recordsOf(text.slice(0, text.lastIndexOf("\n") + 1)).length === index + 1;
      });
    }
    await sink.close();
    expect(sink.lost).toBe(0);
  });

  // The size a process may give a file stands in for the space on the disk: it can be raised from outside.
  const limits = needs(spawnSync("prlimit", ["--version"]).status === 0, "there is no prlimit here");
  limits.each([
    ["as soon as there is room again", 5],
    ["when it is closed, if there is room by then", 1_000_000],
  ])("is written on, where a write ended halfway, %s", async (_, retryMs) => {
    const command = ["--fsize=4096:unlimited", process.execPath, sinkProgram(), file, "60", String(retryMs)];
    const child = spawn("prlimit", command, { stdio: ["pipe", "pipe", "inherit"] });
    const exited = once(child, "exit");
    await once(child.stdout, "data");
    expect(readFileSync(file)).toHaveLength(4096);
    execFileSync("prlimit", ["--pid", String(child.pid), "--fsize=unlimited"]);
    child.stdin.end();
    expect(await exited).toEqual([0, null]);
    expect(lines()).toEqual(Array.from({ length: 60 }, (_, index) => ({ index, text: "x".repeat(100) })));
  });

  /** A program that writes so many records, says when that failed, and closes when its input ends. */
  function sinkProgram(): string {
    const compiled = (name: string): string =>
      transformFileSync(fileURLToPath(new URL(`../../src/audit/${name}.ts`, import.meta.url)), {
        jsc: { target: "es2023", parser: { syntax: "typescript" } },
        module: { type: "es6" },
      }).code;
    const run = `
      const [, , path, count, retryMs] = process.argv;
      const file = await openRotatingFile(path, () => process.stdout.write("failed"), { retryMs: Number(retryMs) });
      for (let index = 0; index < Number(count); index++) file.append(JSON.stringify({ index, text: "x".repeat(100) }) + "\\n");
      process.stdin.resume().on("end", () => file.close());`;
    const program = join(dir, "program.mjs");
    writeFileSync(join(dir, "package.json"), '{"type":"module"}');
    writeFileSync(join(dir, "rotation.js"), compiled("rotation"));
    writeFileSync(program, compiled("rotating-file") + run);
    return program;
  }
});
