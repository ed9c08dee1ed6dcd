import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { ABORT } from "lmdb";
import { checkPages } from "../../src/database/check-pages.js";
import { copyDatabase } from "../../src/database/copy-database.js";
import { openShared, type SharedDatabase, type Table } from "../../src/database/shared-database.js";
import { type Compiled, compile } from "../drive/store/compiled.js";
import { mounted, mountsPossible } from "../jail/start-child.js";
import { needs } from "../needs.js";
import { openTable } from "./open-table.js";

const PAGE = 4096;

describe("damaged pages", () => {
  const NAMES = ["one", "two"];
  const [BRANCH, LEAF, OVERFLOW] = [1, 2, 4];
  /** Of a page; its nodes begin at what is written behind the head, counted from there. */
  const [FLAGS, HEAD] = [18, 24];
  /** Head of the newest transaction: the free pages, the tables. */
  const [FREE_ROOT, MAIN_ROOT, TRANSACTION] = [HEAD + 24 + 40, HEAD + 24 + 48 + 40, HEAD + 128];

  let folder = "";
  let file = "";
  let env: SharedDatabase;
  let [one, two]: Table[] = [];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "venue-files-check-pages-"));
    file = join(folder, "data.mdb");
    env = openShared(folder, { maxTables: 4, flush: false });
    [one, two] = NAMES.map((name) => openTable(env, name));
  });
  afterEach(async () => {
    await env.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const key = (number: number): Buffer => Buffer.from(`key ${String(number).padStart(6, "0")}`);
  const sound = (): void => checkPages(file, NAMES);

  /** Small and large values, of which every third is removed again. */
  function fill(count = 900): void {
    for (const table of [one, two]) {
      env.transactionSync(() => {
        for (let number = 0; number < count; number++)
          table?.putSync(key(number), Buffer.alloc(number % 50 ? 60 : 9_000));
      });
      env.transactionSync(() => {
        for (let number = 0; number < count; number += 3) table?.removeSync(key(number));
      });
    }
  }

  describe("what LMDB has written is sound", () => {
    test("without anything in it, and while it grows and shrinks", () => {
      sound();
      for (const count of [1, 3, 90, 1_200]) {
        fill(count);
        sound();
      }
      env.transactionSync(() => {
        for (let number = 0; number < 1_200; number++) for (const table of [one, two]) table?.removeSync(key(number));
      });
      sound();
    });

    test("with a list of free pages that is larger than a page", () => {
      env.transactionSync(() => {
        for (let number = 0; number < 3_000; number++) one?.putSync(key(number), Buffer.alloc(3_000));
      });
      env.transactionSync(() => {
        for (let number = 0; number < 3_000; number += 2) one?.removeSync(key(number));
      });
      sound();
    });

    test("when the file is empty", () => {
      writeFileSync(file, "");
      sound();
    });
  });

  describe("is told", () => {
    let bytes = Buffer.alloc(0);
    const changed = (change: () => void): string => {
      change();
      writeFileSync(file, bytes);
      try {
        sound();
        return "sound";
      } catch (error) {
        return String(error);
      }
    };
    const head = (): number =>
      bytes.readBigUInt64LE(PAGE + TRANSACTION) > bytes.readBigUInt64LE(TRANSACTION) ? PAGE : 0;
    const rootOf = (offset: number): number => Number(bytes.readBigUInt64LE(head() + offset)) * PAGE;
    /** A page of some kind that the newest transaction uses. */
    const pageOf = (kind: number): number => {
      const main = rootOf(MAIN_ROOT);
      // The record of a table ends with its root.
      const [start = 0, end = 0] = nodeOf(main, 0);
      let page = Number(bytes.readBigUInt64LE(main + end - 8)) * PAGE;
      expect(start).toBeGreaterThan(0);
      while (bytes.readUInt16LE(page + FLAGS) === BRANCH && kind !== BRANCH) {
        const [child] = nodeOf(page, 1);
        page = bytes.readUInt32LE(page + (child ?? 0)) * PAGE;
      }
      return page;
    };
    /** Where a node of a page begins and, of a small value, ends. */
    const nodeOf = (page: number, index: number): [start: number, end: number] => {
      const start = HEAD + bytes.readUInt16LE(page + HEAD + 2 * index);
      return [start, start + 8 + bytes.readUInt16LE(page + start + 6) + bytes.readUInt16LE(page + start)];
    };
    const flip = (at: number, count = 1): void => {
      for (let offset = at; offset < at + count; offset++) bytes.writeUInt8(bytes.readUInt8(offset) ^ 0xff, offset);
    };

    beforeEach(async () => {
      fill();
      await env.close();
      bytes = readFileSync(file);
      expect([BRANCH, LEAF].map((kind) => bytes.readUInt16LE(pageOf(kind) + FLAGS))).toEqual([BRANCH, LEAF]);
    });

    test("nothing, of what was not changed", () => expect(changed(() => {})).toBe("sound"));

    test.each<[string, string, () => void]>([
      ["where the nodes of the page of tables are", "a node", () => flip(rootOf(MAIN_ROOT) + HEAD, 4)],
      ["the name of a table", "a table", () => flip(rootOf(MAIN_ROOT) + nodeOf(rootOf(MAIN_ROOT), 0)[0] + 8)],
      ["the root of a table", "a page twice", () => flip(rootOf(MAIN_ROOT) + nodeOf(rootOf(MAIN_ROOT), 0)[1] - 3, 3)],
      [
        "how many entries a table has",
        "the size of a table",
        () => flip(rootOf(MAIN_ROOT) + nodeOf(rootOf(MAIN_ROOT), 1)[1] - 16),
      ],
      ["the length of a value", "a node", () => flip(pageOf(LEAF) + nodeOf(pageOf(LEAF), 1)[0] + 2)],
      ["the length of a key", "a node", () => flip(pageOf(LEAF) + nodeOf(pageOf(LEAF), 1)[0] + 7)],
      ["a key", "the order of keys", () => flip(pageOf(LEAF) + nodeOf(pageOf(LEAF), 1)[0] + 8)],
      ["the number of a page", "head of a page", () => flip(pageOf(LEAF))],
      ["the kind of a page", "head of a page", () => flip(pageOf(BRANCH) + FLAGS)],
      ["a page that is newer than the last transaction", "head of a page", () => flip(pageOf(LEAF) + 14)],
      ["how many nodes a page has", "a page", () => flip(pageOf(LEAF) + 21)],
      ["the mark of the file", "mark of the file", () => flip(HEAD)],
      ["the last page", "head of the last transaction", () => flip(head() + HEAD + 123)],
      ["the size of pages", "size of pages", () => flip(HEAD + 24)],
    ])("%s", (_what, told, change) => expect(changed(change)).toBe(`Error: The database is damaged: ${told}`));

    test("a page that is used and listed as free, which the next change would overwrite", () => {
      const told = changed(() => {
        const free = rootOf(FREE_ROOT);
        const [start] = nodeOf(free, 0);
        // The key and the number of pages, then pages.
        const list = free + start + 8 + bytes.readUInt16LE(free + start + 6);
        const at = Array.from(
          { length: Number(bytes.readBigUInt64LE(list)) },
          (_, index) => list + 8 * (index + 1),
        ).find((place) => bytes.readBigInt64LE(place) > 0n);
        bytes.writeBigInt64LE(BigInt(pageOf(LEAF) / PAGE), at ?? 0);
      });
      expect(told).toBe("Error: The database is damaged: a page twice");
    });

    test("a file that is cut short, and a large value whose first page is not its own", () => {
      const large = Array.from({ length: bytes.length / PAGE }, (_, page) => page * PAGE).filter(
        (page) => bytes.readUInt16LE(page + FLAGS) === OVERFLOW,
      );
      expect(large.length).toBeGreaterThan(5);
      expect(changed(() => large.forEach((page) => void flip(page + 20)))).toMatch(/a large value|head of a page/);
      bytes = bytes.subarray(0, 5 * PAGE);
      expect(changed(() => {})).toMatch(/cut short|head of the last transaction/);
    });
  });
});

describe("a shared database", () => {
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
    const child = spawn(process.execPath, [file, path, String(times), signal], {
      stdio: ["ignore", "pipe", "inherit"],
    });
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
      const lost = Array.from({ length: rows }, (_, number) => number).filter(
        (number) => !table.doesExist(key(number)),
      );
      expect(lost).toEqual([]);
      expect([...openTable(env, "openings").getKeys()]).toHaveLength(openings * children.length);
    });
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
});

// Files of a database that are missing, damaged, or have no room: LMDB would end the process.
describe("whole files", () => {
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
      const sizes = [1, 12, 40, 200, 800];
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
      const free = [0, 4, 12, 24, 48, 160, 500];
      const each = free.map(
        (kilobytes) =>
          `rm -rf "$2"/*; head -c ${(1_024 - kilobytes) * 1_024} /dev/zero > "$2/fill" || true; node "$1" "$2/db"`,
      );
      const found = lines(each.join("\n"), mounted(mount(folder)));
      for (const { code } of found) expect(code).toBe("ENOSPC");
      expect(Number(found.at(-1)?.["made"])).toBeGreaterThan(0);
    });
  });
});
