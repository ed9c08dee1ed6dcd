import { spawn } from "node:child_process";
import { createHash, randomInt } from "node:crypto";
import { once } from "node:events";
import {
  cpSync,
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

const LIBRARY = new URL("../../dist/index.js", import.meta.url).href;
/** Chosen at random, of many: test/database/check-pages.test.ts damages every kind of page. */
const FLIPS = 12;
const CHANGES = 300;

let home = "";
let journal = "";
let middleId = "";
const at = (...names: string[]): string => join(home, ...names);
const journalOf = (root: string): string => at("state", "journal", createHash("sha256").update(at(root)).digest("hex"));

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

interface Told {
  readonly count: number;
  readonly complete: boolean;
  readonly reason?: string;
  readonly newest: string;
  readonly content: string;
  readonly broken: number;
}

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
}, 60_000);
afterAll(() => rmSync(home, { recursive: true, force: true }));

describe("a damaged journal", () => {
  test("never ends the process that opens it: flipped bytes", async () => {
    const names = Array.from({ length: FLIPS }, (_, index) => `flip-${index}`);
    const places: Record<string, number[]> = {};
    for (const name of names) {
      const path = makeRoot(name);
      const bytes = readFileSync(path);
      // One byte, or a whole run of them.
      const start = randomInt(bytes.length - 64);
      places[name] = [start];
      const length = Math.random() < 0.5 ? 1 : 64;
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
  }, 120_000);

  test("goes on when it is cut short", async () => {
    for (const [index, part] of [0, 0.01, 0.3, 0.9].entries()) {
      const path = makeRoot(`cut-${index}`);
      truncateSync(path, Math.floor((readFileSync(path).length * part) / 512) * 512);
    }
    const told = await work(["cut-0", "cut-1", "cut-2", "cut-3"]);
    for (const one of Object.values(told)) expect(one).toMatchObject({ newest: "undo", content: "a" });
  }, 120_000);

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
