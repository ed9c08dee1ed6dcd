import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { ABORT } from "lmdb";
import { copyDatabase } from "../../src/database/copy-database.js";
import { openShared, openTable, type SharedDatabase, type Table } from "../../src/database/shared-database.js";
import { type Compiled, compile } from "../drive/store/compiled.js";
import { needs } from "../needs.js";

let compiled: Compiled;
let folder: string;
let path: string;
let env: SharedDatabase;
let table: Table;

beforeAll(() => {
  compiled = compile();
});
afterAll(() => compiled.remove());

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "venue-files-database-"));
  path = join(folder, "index");
  env = openShared(path, { maxTables: 8, flush: false });
  table = openTable(env, "rows");
});

afterEach(async () => {
  await env.close();
  rmSync(folder, { recursive: true });
});

async function start(times: number, signal: string): Promise<ChildProcess> {
  const file = compiled.file("test/database/child.ts");
  const child = spawn(process.execPath, [file, path, String(times), signal], { stdio: ["ignore", "pipe", "inherit"] });
  if (child.stdout !== null) await once(child.stdout, "data");
  return child;
}

const key = (number: number): Buffer => Buffer.from(String(number));
const ROW = Buffer.alloc(100);

describe("a database of several processes", () => {
  // A process that opens it between begin and end of a commit would set back the number of the last transaction.
  needs(process.platform === "linux", "it looks into /proc")("is opened by nobody while one changes it", async () => {
    const signal = join(folder, "go");
    const child = await start(1, signal);
    const ended = once(child, "close");
    const opened = env.transactionSync(() => {
      table.putSync(key(1), ROW);
      writeFileSync(signal, "");
      untilItWaits(child.pid ?? 0);
      return filesOf(child.pid ?? 0);
    });
    expect(opened).toContain("gate.mdb-lock");
    expect(opened).not.toContain("lock.mdb");
    expect(await ended).toEqual([0, null]);
    expect(table.get(key(1))).toEqual(ROW);
    expect([...openTable(env, "openings").getKeys()]).toHaveLength(1);
  });

  test("loses no change of one while others open and close it", async () => {
    const openings = 25;
    const signal = join(folder, "go");
    const children = await Promise.all([start(openings, signal), start(openings, signal), start(openings, signal)]);
    const ended = Promise.all(children.map((child) => once(child, "close")));
    writeFileSync(signal, "");
    let isEnded = false;
    void ended.then(() => {
      isEnded = true;
    });
    let rows = 0;
    while (!isEnded) {
      for (let more = 0; more < 20; more += 1) table.putSync(key(rows++), ROW);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await ended).toEqual(children.map(() => [0, null]));
    expect(rows).toBeGreaterThan(20);
    const lost = Array.from({ length: rows }, (_, number) => number).filter((number) => !table.doesExist(key(number)));
    expect(lost).toEqual([]);
    expect([...openTable(env, "openings").getKeys()]).toHaveLength(openings * children.length);
  }, 60_000);
});

describe("changes", () => {
  test("stay inside a transaction of a transaction, and go with a failed one", () => {
    env.transactionSync(() => {
      table.putSync(key(1), ROW);
      env.transactionSync(() => table.putSync(key(2), ROW));
      env.transactionSync(() => {
        table.putSync(key(3), ROW);
        return ABORT;
      });
    });
    expect(() =>
      env.transactionSync(() => {
        table.putSync(key(4), ROW);
        throw new RangeError("no");
      }),
    ).toThrow("no");
    expect([...table.getKeys()]).toEqual([key(1), key(2)]);
  });

  test("of an aborted transaction are gone, and the next one works", () => {
    env.transactionSync(() => {
      table.putSync(key(1), ROW);
      return ABORT;
    });
    table.putSync(key(2), ROW);
    expect([...table.getKeys()]).toEqual([key(2)]);
  });
});

test("a copy has all rows, and is a database of its own", async () => {
  table.putSync(key(1), ROW);
  await env.close();
  const target = mkdtempSync(join(folder, "copy-"));
  await copyDatabase(path, target);
  const copy = openShared(target, { maxTables: 8, flush: false });
  openTable(copy, "rows").putSync(key(2), ROW);
  expect([...openTable(copy, "rows").getKeys()]).toEqual([key(1), key(2)]);
  await copy.close();
  env = openShared(path, { maxTables: 8, flush: false });
  expect([...openTable(env, "rows").getKeys()]).toEqual([key(1)]);
});

test("closing twice is closing once", async () => {
  await env.close();
  await env.close();
  expect(() => table.putSync(key(1), ROW)).toThrow(/closed/);
});

/** Returns when a process has slept at every one of some looks. */
function untilItWaits(pid: number): void {
  const clock = new Int32Array(new SharedArrayBuffer(4));
  for (let looks = 0; looks < 10; ) {
    Atomics.wait(clock, 0, 0, 5);
    // The name of the program, in brackets, may hold spaces.
    const state = readFileSync(`/proc/${pid}/stat`, "latin1").replace(/^.*\) /s, "")[0];
    looks = state === "S" ? looks + 1 : 0;
  }
}

function filesOf(pid: number): readonly string[] {
  const links = readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`));
  return links.filter((link) => link.startsWith(path)).map((link) => link.slice(path.length + 1));
}
