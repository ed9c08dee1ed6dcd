// Files of a database that are missing, damaged, or have no room: LMDB would end the process.
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { checkPages } from "../../src/database/check-pages.js";
import { copyDatabase } from "../../src/database/copy-database.js";
import { openShared, openTable } from "../../src/database/shared-database.js";
import { type Compiled, compile } from "../drive/store/compiled.js";
import { mounted, mountsPossible } from "../jail/start-child.js";
import { needs } from "../needs.js";

const PAGE = 4096;
const OPTIONS = { maxTables: 4, flush: false };

let folder = "";
const at = (name: string): string => join(folder, name);

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "venue-files-whole-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Adds a row. @returns how many there are */
async function use(path = folder): Promise<number> {
  const env = openShared(path, OPTIONS);
  const table = openTable(env, "rows");
  table.putSync(randomBytes(8), Buffer.from("here"));
  const { length } = [...table.getKeys()];
  await env.close();
  return length;
}

const flipped = (bytes: Buffer, at: number): Buffer => {
  const copy = Buffer.from(bytes);
  copy.writeUInt8(copy.readUInt8(at) ^ 0x10, at);
  return copy;
};
const DAMAGES: readonly (readonly [string, (bytes: Buffer) => Buffer])[] = [
  ["is empty", () => Buffer.alloc(0)],
  ["is all zeros", (bytes) => Buffer.alloc(bytes.length)],
  ["is random", (bytes) => randomBytes(bytes.length)],
  ["is random and long", () => randomBytes(300_000)],
  ["is cut in half", (bytes) => bytes.subarray(0, bytes.length >> 1)],
  ["is cut behind its first page", (bytes) => bytes.subarray(0, PAGE)],
  // Its mark, the size of pages, the root of a table, the last page, the number of the last change.
  ...[24, 48, 96, 140, 144, 152, PAGE + 144].map(
    (place) => [`has a bit flipped at ${place}`, (bytes: Buffer) => flipped(bytes, place % bytes.length)] as const,
  ),
];

describe("what holds nothing is made anew", () => {
  test.each(
    ["gate.mdb", "gate.mdb-lock", "lock.mdb"].flatMap((name) =>
      DAMAGES.map(([how, damage]) => [name, how, damage] as const),
    ),
  )("%s, which %s", async (name, _how, damage) => {
    await use();
    writeFileSync(at(name), damage(readFileSync(at(name))));
    expect(await use()).toBe(2);
    // It is as others expect it, too.
    expect(await use()).toBe(3);
    const target = at("copy");
    mkdirSync(target);
    writeFileSync(at(name), damage(readFileSync(at(name))));
    await copyDatabase(folder, target);
    expect(await use(target)).toBe(4);
  });

  test("a database that is empty", async () => {
    await use();
    writeFileSync(at("data.mdb"), "");
    expect(await use()).toBe(1);
  });
});

describe("what is damaged is refused by an error", () => {
  test.each(DAMAGES.filter(([how]) => !/is empty|at (?:96|144|152|4240)/.test(how)))(
    "data.mdb, which %s",
    async (_how, damage) => {
      await use();
      writeFileSync(at("data.mdb"), damage(readFileSync(at("data.mdb")).subarray(0, 6 * PAGE)));
      expect(() => openShared(folder, { ...OPTIONS, check: ["rows"] })).toThrow("The database is damaged");
    },
  );

  test("a copy of one that is empty, or whose head is damaged", async () => {
    await use();
    const whole = readFileSync(at("data.mdb"));
    mkdirSync(at("copy"));
    for (const bytes of [
      Buffer.alloc(0),
      Buffer.alloc(PAGE * 4),
      flipped(whole, 24),
      whole.subarray(0, PAGE),
      whole.subarray(0, 3 * PAGE),
    ]) {
      writeFileSync(at("data.mdb"), bytes);
      await expect(copyDatabase(folder, at("copy"))).rejects.toThrow("The database is damaged");
    }
    expect(readdirSync(at("copy"))).toEqual([]);
  });

  test("a folder in the place of a file", async () => {
    for (const name of ["gate.mdb", "gate.mdb-lock", "lock.mdb", "data.mdb"]) {
      mkdirSync(at(`${name} is one/${name}`), { recursive: true });
      expect(() => openShared(at(`${name} is one`), OPTIONS)).toThrow();
    }
  });
});

describe("new files", () => {
  const NAMES = ["data.mdb", "gate.mdb", "gate.mdb-lock", "lock.mdb"];

  test("are their owner's, have no holes, and leave nothing else", async () => {
    const path = at("new");
    const env = openShared(path, OPTIONS);
    openTable(env, "rows").putSync(Buffer.from("key"), Buffer.alloc(9_000));
    expect(readdirSync(path).sort()).toEqual(NAMES);
    const states = NAMES.map((name) => statSync(join(path, name)));
    expect(states.map(({ mode }) => mode & 0o777)).toEqual([0o600, 0o600, 0o600, 0o600]);
    for (const { blocks, size } of states) expect(blocks * 512).toBeGreaterThanOrEqual(size);
    checkPages(join(path, "data.mdb"), ["rows"]);
    await env.close();
  });

  test("of a gate stay as they are", async () => {
    await use();
    const [before, { ino }] = [readFileSync(at("gate.mdb")), statSync(at("gate.mdb"))];
    await use();
    expect(readFileSync(at("gate.mdb"))).toEqual(before);
    expect(statSync(at("gate.mdb")).ino).toBe(ino);
  });
});

describe("room", () => {
  // What LMDB writes beyond the end of its file may find no room.
  test.each([
    ["small rows", 8, 40, 30],
    ["many rows", 8, 40, 2_000],
    ["long keys", 1_500, 10, 200],
    ["large values", 20, 30_000, 40],
    ["values of half a page", 20, 2_000, 300],
  ])("is there before a transaction ends, for %s", async (_what, keyBytes, valueBytes, rows) => {
    const env = openShared(folder, OPTIONS);
    const tables = ["one", "two"].map((name) => openTable(env, name));
    const endOf = (): number => (Reflect.get(env.getStats(), "lastPageNumber") + 1) * PAGE;
    const keys: Buffer[] = [];
    for (let round = 0; round < 12; round++) {
      const before = endOf();
      env.transactionSync(() => {
        for (let row = 0; row < rows; row++) {
          const key = randomBytes(keyBytes);
          keys.push(key);
          tables[row % 2]?.putSync(key, Buffer.alloc(valueBytes));
          if (row % 3 === 0) tables[0]?.removeSync(keys[Math.floor(keys.length / 2)] ?? key);
        }
      });
      // A tenth is left of what was added to the end: nothing was written behind it.
      const [after, size] = [endOf(), statSync(at("data.mdb")).size];
      expect(size - after).toBeGreaterThan((after - before) / 10);
    }
    await env.close();
  });

  test("is not made for what is given up", async () => {
    const { ABORT } = await import("lmdb");
    const env = openShared(folder, OPTIONS);
    const table = openTable(env, "rows");
    env.transactionSync(() => {
      table.putSync(Buffer.from("large"), Buffer.alloc(5_000_000));
      return ABORT;
    });
    table.putSync(Buffer.from("small"), Buffer.alloc(1));
    expect(statSync(at("data.mdb")).size).toBeLessThan(1_000_000);
    await env.close();
  });
});

describe("a disk without room ends no process, and nothing but our error is told", () => {
  let compiled: Compiled;
  beforeAll(() => {
    compiled = compile();
  });
  afterAll(() => compiled.remove());

  /** Runs a script of the shell, in which `$1` is the program and `$2` a folder. */
  const lines = (script: string, under: readonly string[] = []): Record<string, unknown>[] => {
    const program = compiled.file("test/database/full-child.ts");
    const [shell = "", ...args] = [...under, "sh", "-ec", script, "sh", program, folder];
    const { stdout, stderr, status } = spawnSync(shell, args, { encoding: "utf8" });
    expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
    return stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  };

  test("where files must not get longer", () => {
    const sizes = [1, 2, 8, 12, 16, 20, 40, 64, 80, 120, 200, 400, 800];
    const each = sizes.map((size) => `(ulimit -f ${size}; node "$1" "$2/${size}")`).join("\n");
    const found = lines(each);
    for (const { code } of found) expect(code).toBe("EFBIG");
    expect(found.at(0)).toMatchObject({ made: 0 });
    expect(found.at(-1)).toMatchObject({ made: expect.any(Number) });
    expect(Number(found.at(-1)?.["made"])).toBeGreaterThan(0);
    // What was begun opens where there is room.
    for (const { code } of lines(sizes.map((size) => `node "$1" "$2/${size}"`).join("\n")))
      expect(code).toBe(undefined);
  });

  const mount = (place: string): string => `mount -t tmpfs -o size=1m tmpfs ${place}`;
  const { possible, reason } = mountsPossible(mount(tmpdir()));
  needs(possible, `full disks${reason}`)("where the disk is full", () => {
    const free = [0, 4, 8, 12, 16, 24, 40, 48, 64, 96, 160, 300, 500];
    const each = free.map(
      (kilobytes) =>
        `rm -rf "$2"/*; head -c ${(1_024 - kilobytes) * 1_024} /dev/zero > "$2/fill" || true; node "$1" "$2/db"`,
    );
    const found = lines(each.join("\n"), mounted(mount(folder)));
    for (const { code } of found) expect(code).toBe("ENOSPC");
    expect(Number(found.at(-1)?.["made"])).toBeGreaterThan(0);
  });
});
