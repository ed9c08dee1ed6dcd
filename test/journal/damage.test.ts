import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createFileAdapter } from "../../src/index.js";
import { chance } from "../chance.js";

const LIBRARY = new URL("../../dist/index.js", import.meta.url).href;

/** Of many: test/database/check-pages.test.ts damages every kind of page. */
const FLIPS = 4;
const CHANGES = 300;
let journal = "";
let middleId = "";

interface Told {
  readonly count: number;
  readonly complete: boolean;
  readonly reason?: string;
  readonly newest: string;
  readonly content: string;
  readonly broken: number;
}

describe("a damaged journal", () => {
  let home = "";
  const at = (...names: string[]): string => join(home, ...names);
  const journalOf = (root: string): string =>
    at("state", "journal", createHash("sha256").update(at(root)).digest("hex"));

  /** Opens every root in one process, which a damaged page would end, and makes a change in each. */
  const WORK = `
  const { createFileAdapter } = await import(process.argv[1]);
  const names = JSON.parse(process.argv[4]);
  const roots = Object.fromEntries(names.map((name) => [name, { path: process.argv[3] + "/" + name, durability: "none" }]));
  const files = await createFileAdapter({ stateDir: process.argv[2], roots });
  const told = {};
  for (const root of names) {
    await files.invoke("file:write", { root, path: "after", content: "a" });
    await files.invoke("file:edit", { root, path: "after", oldText: "a", newText: "b" });
    await files.invoke("file:undo", { root, last: 1 });
    const { entries, complete, reason } = await files.invoke("file:history", { root, limit: 500 });
    let broken = 0;
    for (const { id, path, undoable, op, before } of entries) {
      if (!undoable || before === null || op === "delete") continue;
      await files.invoke("file:read", { root, path, version: id + ":before" }).catch(() => broken++);
    }
    const { content } = await files.invoke("file:read", { root, path: "after" });
    told[root] = { count: entries.length, complete, reason, newest: entries[0].op, content, broken };
  }
  await files.close();
  console.log(JSON.stringify(told));`;

  async function work(names: readonly string[]): Promise<Record<string, Told>> {
    const child = spawn(process.execPath, [
      ...["--input-type=module", "-e", WORK, LIBRARY, at("state"), home, JSON.stringify(names)],
    ]);
    let [text, errors] = ["", ""];
    child.stdout.on("data", (chunk) => {
      text += chunk;
    });
    child.stderr.on("data", (chunk) => {
      errors += chunk;
    });
    const ended = await once(child, "close");
    expect({ ended, errors }).toEqual({ ended: [0, null], errors: "" });
    return JSON.parse(text);
  }

  /** A root with a copy of the journal. */
  function makeRoot(root: string): string {
    mkdirSync(at(root));
    cpSync(journal, journalOf(root), { recursive: true, preserveTimestamps: true });
    return join(journalOf(root), "index", "data.mdb");
  }

  const asideOf = (root: string): string[] =>
    readdirSync(journalOf(root)).filter((name) => name.startsWith("index.damaged-"));

  beforeAll(async () => {
    home = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-journal-damage-")));
    mkdirSync(at("first"));
    const files = await createFileAdapter({
      ...{ stateDir: at("state"), roots: { first: { path: at("first"), durability: "none" } } },
    });
    for (let index = 0; index < CHANGES; index++) {
      const content = `${index} `.repeat(200 + index);
      await files.invoke("file:write", { root: "first", path: `file-${index % 20}`, content });
    }
    const { entries } = await files.invoke("file:history", { root: "first", limit: CHANGES });
    middleId = entries[CHANGES / 2]?.id ?? "";
    await files.close();
    journal = journalOf("first");
  });
  afterAll(() => rmSync(home, { recursive: true, force: true }));

  test("never ends the process that opens it: flipped bytes", async () => {
    const names = Array.from({ length: FLIPS }, (_, index) => `flip-${index}`);
    const places: Record<string, number[]> = {};
    const random = chance();
    for (const name of names) {
      const path = makeRoot(name);
      const bytes = readFileSync(path);
      // One byte, or a whole run of them.
      const start = random(bytes.length - 64);
      places[name] = [start];
      const length = random(2) === 0 ? 1 : 64;
      for (let offset = 0; offset < length; offset++)
        bytes.writeUInt8(bytes.readUInt8(start + offset) ^ 0xff, start + offset);
      writeFileSync(path, bytes);
    }
    const told = await work(names);
    for (const name of names) {
      const { newest, content, complete, reason, count } = told[name] ?? never(name);
      // The new changes are recorded, and taken back, whatever became of the old ones.
      expect({ name, at: places[name], newest, content }).toEqual({
        name,
        at: places[name],
        newest: "undo",
        content: "a",
      });
      if (asideOf(name).length > 0) expect({ complete, reason }).toEqual({ complete: false, reason: "damaged" });
      else expect(count).toBeGreaterThan(CHANGES / 2);
    }
  }, 300_000);

  test("is salvaged from both of its ends", async () => {
    const path = makeRoot("middle");
    const bytes = readFileSync(path);
    for (const page of pagesWith(bytes, middleId)) bytes.fill(0xff, page * 4096, page * 4096 + 64);
    writeFileSync(path, bytes);
    const { middle } = await work(["middle"]);
    expect(middle).toMatchObject({ complete: false, reason: "damaged", newest: "undo", content: "a", broken: 0 });
    // Fewer than a third are lost: the damaged pages, and a batch before them from either end.
    expect(middle?.count).toBeGreaterThan((CHANGES * 2) / 3);
    expect(asideOf("middle")).toHaveLength(1);
  });

  test("goes on when it is cut short", async () => {
    for (const [index, part] of [0, 0.01, 0.3, 0.9].entries()) {
      const path = makeRoot(`cut-${index}`);
      truncateSync(path, Math.floor((readFileSync(path).length * part) / 512) * 512);
    }
    const told = await work(["cut-0", "cut-1", "cut-2", "cut-3"]);
    for (const one of Object.values(told)) expect(one).toMatchObject({ newest: "undo", content: "a" });
  });

  test.each(["empty", "gone"])("is not taken for a new one when its file is %s, and keeps its trash", async (what) => {
    const root = `lost-${what}`;
    mkdirSync(at(root));
    const open = () =>
      createFileAdapter({ stateDir: at("state"), roots: { [root]: { path: at(root), durability: "none" } } });
    const before = await open();
    await before.invoke("file:write", { root, path: "a", content: "precious" });
    await before.invoke("file:delete", { root, path: "a" });
    await before.close();
    const path = join(journalOf(root), "index", "data.mdb");
    if (what === "empty") truncateSync(path, 0);
    else rmSync(path);
    const after = await open();
    try {
      const history = await after.invoke("file:history", { root });
      expect(history).toMatchObject({ complete: false, reason: "damaged", hint: expect.stringMatching(/missing/) });
      const { entries } = await after.invoke("file:trash", { root });
      expect(entries).toMatchObject([{ kind: "file", size: 8, by: "unknown" }]);
      expect(asideOf(root)).toHaveLength(1);
    } finally {
      await after.close();
    }
  });

  test("makes its own key of the trash where the one beside it is cut off", async () => {
    const path = makeRoot("key");
    const key = join(journalOf("key"), "trash-key");
    const text = readFileSync(key, "utf8");
    writeFileSync(key, "");
    await work(["key"]);
    expect(readFileSync(key, "utf8")).toBe(text);
    truncateSync(path, 0);
    writeFileSync(key, "");
    await work(["key"]);
    expect(readFileSync(key, "utf8")).toMatch(/^[0-9a-f]{32}$/);
  });

  test("is not what a sound one is taken for", async () => {
    const path = makeRoot("sound");
    const { sound } = await work(["sound"]);
    expect(sound).toMatchObject({ complete: true, content: "a" });
    expect(asideOf("sound")).toEqual([]);
    // By this it is opened the next time without another process that reads it first.
    const { ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
    expect(readFileSync(join(journalOf("sound"), "closed"), "utf8")).toBe(`${ino}:${size}:${mtimeNs}:${ctimeNs}`);
  });
});

function never(name: string): never {
  throw new Error(`nothing is told of ${name}`);
}

/** Where a page of LMDB has its flags, and that of a page that leads to others. */
const FLAGS_OFFSET = 18;
const BRANCH = 1;

/** Pages of entries that hold a text. A page that leads to them may hold it too: without that, both ends are lost. */
function pagesWith(bytes: Buffer, text: string): number[] {
  const found: number[] = [];
  for (let start = 0; start < bytes.length; start += 4096) {
    const page = bytes.subarray(start, start + 4096);
    const isBranch = (page.readUInt16LE(FLAGS_OFFSET) & BRANCH) !== 0;
    if (!isBranch && page.includes(text)) found.push(start / 4096);
  }
  return found;
}

describe("killed processes and flipped bytes", () => {
  let home = "";
  const KILLS = 2;
  const FILES = 150;

  const at = (...names: string[]): string => join(home, ...names);
  const argv = (script: string, name: string): string[] => [
    ...["--input-type=module", "-e", script, LIBRARY, at(name, "state"), at(name, "r")],
  ];

  beforeAll(() => {
    home = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-journal-faults-")));
  });
  afterAll(() => rmSync(home, { recursive: true, force: true }));

  const OPEN = `
  const { createFileAdapter } = await import(process.argv[1]);
  const roots = { r: { path: process.argv[3], durability: "none" } };
  const files = await createFileAdapter({ stateDir: process.argv[2], roots });
  const run = (op, input) => files.invoke("file:" + op, { root: "r", ...input });`;

  /** Deletes and replaces until it is killed. It tells of each deletion. */
  const WORK = `${OPEN}
  process.stdout.write("ready\\n");
  for (let i = 0; i < ${FILES}; i++) {
    await run("delete", { path: "d" + i });
    process.stdout.write(".");
    await run("write", { path: "big", content: String(i).padStart(5, "0") + "x".repeat(70_000) });
  }
  process.stdout.write("done\\n");`;

  /**
   * What the journal tells after a restart. What the killed process left half done is settled in the background; a root
   * that closes waits for that.
   */
  const TELL = `{ ${OPEN}
    await files.roots[0].journal.open();
    await files.close();
  } ${OPEN}
  const journal = await files.roots[0].journal.open();
  const trash = await journal.trash();
  const page = await journal.query({ limit: 500, sees: () => true });
  const deleted = page.entries.filter(({ op }) => op === "delete").map(({ path, undoable }) => [path[0], undoable]);
  const states = [];
  for (const entry of page.entries.filter(({ op, action }) => op === "write" && action === "modified")) {
    const image = await journal.image(entry, "before");
    states.push(typeof image === "string" ? image : "kept");
  }
  console.log(JSON.stringify({ trash: trash.length, deleted, states: [...new Set(states)], complete: page.complete }));
  await run("write", { path: "after", content: "a change still works" });
  await files.close();`;

  describe("a process that is killed", () => {
    test("loses no content: what it deleted is in the trash, what it replaced is whole", async () => {
      for (let kill = 0; kill < KILLS; kill++) {
        const name = `kill${kill}`;
        mkdirSync(at(name, "r"), { recursive: true });
        for (let i = 0; i < FILES; i++) writeFileSync(at(name, "r", `d${i}`), `content ${i}`);
        writeFileSync(at(name, "r", "big"), "y".repeat(70_000));
        const child = spawn(process.execPath, argv(WORK, name), { stdio: ["ignore", "pipe", "ignore"] });
        const ended = once(child, "exit");
        let deletions = 0;
        for await (const told of child.stdout) {
          deletions += String(told).split(".").length - 1;
          if (deletions > kill * 20) break;
        }
        child.kill("SIGKILL");
        await ended;
        const left = readdirSync(at(name, "r")).filter((one) => /^d\d+$/.test(one));
        const told = spawnSync(process.execPath, argv(TELL, name), { encoding: "utf8" });
        expect(told.status).toBe(0);
        const { trash, deleted, states, complete } = JSON.parse(told.stdout);
        expect(complete).toBe(true);
        expect(left.length + trash).toBe(FILES);
        for (const [file, undoable] of deleted)
          expect([file, undoable, left.includes(file)]).toEqual([file, true, false]);
        expect(states.filter((state: string) => state !== "kept")).toEqual([]);
        const big = readFileSync(at(name, "r", "big"), "utf8");
        expect([70_000, 70_005]).toContain(big.length);
      }
    });
  });

  describe("a journal with flipped bytes", () => {
    test("stops no change, and ends no process", () => {
      const name = "flipped";
      mkdirSync(at(name, "r"), { recursive: true });
      const fill = `${OPEN}
      for (let i = 0; i < 200; i++) await run("write", { path: "f" + (i % 20), content: "content " + i });
      await files.close();`;
      expect(spawnSync(process.execPath, argv(fill, name)).status).toBe(0);
      const [key = ""] = readdirSync(at(name, "state", "journal"));
      const file = at(name, "state", "journal", key, "index", "data.mdb");
      const whole = readFileSync(file);
      for (let round = 0; round < 2; round++) {
        const bytes = Buffer.from(whole);
        // Values of entries: JSON that is no longer what was written.
        for (let from = 0, hits = 0; hits < 5; hits++) {
          from = bytes.indexOf('"op":"write"', from + 1 + round * 1_400);
          if (from < 0) break;
          bytes.write("XX", from + 6);
        }
        writeFileSync(file, bytes);
        const told = spawnSync(process.execPath, argv(TELL, name), { encoding: "utf8" });
        expect([round, told.status, told.signal]).toEqual([round, 0, null]);
        expect(JSON.parse(told.stdout).complete).toBe(false);
        expect(existsSync(at(name, "r", "after"))).toBe(true);
      }
    });
  });
});
