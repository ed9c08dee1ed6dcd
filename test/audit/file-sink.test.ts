import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { openAuditFile } from "../../src/audit/file-sink.js";
import type { AuditRecord } from "../../src/audit/record.js";

let dir = "";
let file = "";
const errors: Error[] = [];
const open = (path = file) => openAuditFile(path, (error) => void errors.push(error));
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

  const full = "/dev/full";
  (existsSync(full) ? test : test.skip)("on a full disk loses records, and says so, but does not throw", async () => {
    const sink = await open(full);
    sink.write(record());
    await new Promise<void>((resolve) => {
      const wait = () => (errors.length > 0 ? resolve() : void setImmediate(wait));
      wait();
    });
    expect(errors).toMatchObject([{ code: "ENOSPC" }]);
    expect(() => sink.write(record())).not.toThrow();
    await sink.close();
  });

  test("may be closed twice", async () => {
    const sink = await open();
    sink.write(record());
    await sink.close();
    await sink.close();
    expect(lines()).toEqual([record()]);
  });
});
