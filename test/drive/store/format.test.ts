import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { encode } from "../../../src/drive/cad3/encoding/cell.js";
import { toMultiCell } from "../../../src/drive/cad3/encoding/multi-cell.js";
import { dir, file } from "../../../src/drive/dlfs/node.js";
import type { CellStore } from "../../../src/drive/store/cell-store.js";
import { openEmbeddedStore } from "../../../src/drive/store/embedded/embedded.js";
import { openTables, packRow, uintBytes } from "../../../src/drive/store/tables.js";
import { ownToken } from "../../../src/process/identity.js";
import { ALICE, openEngine, type TestEngine } from "../engine/engines.js";
import { compile } from "./compiled.js";
import { layOutEarlier } from "./earlier-store.js";

const SHARED = "a name of which only the first 3";
const FORMAT = Buffer.from("format");

let path: string;
let store: CellStore;
let engine: TestEngine;

async function open(): Promise<void> {
  store = await openEmbeddedStore({ path, flush: false });
  engine = openEngine({ store });
}

beforeEach(async () => {
  path = mkdtempSync(join(tmpdir(), "vf-store-"));
  layOutEarlier(path);
  await open();
});
afterEach(async () => {
  await store.close();
  rmSync(path, { recursive: true });
});

const alice = () => engine.owner(ALICE);
const put = (name: string, drive = "notes") =>
  alice().change(drive, (change) => change.writeFile(["long", name], Buffer.from("two")));
async function namesIn(folder: string[], drive = "notes"): Promise<string[]> {
  const reader = await alice().read(drive);
  const entries = await reader.entries(folder);
  reader.release();
  return entries.map(({ name }) => name);
}

/** The number that versions compare with the newest one they know. */
async function writtenFormat(): Promise<string | undefined> {
  const tables = openTables(path, false);
  const format = tables.meta.get(FORMAT)?.toString();
  await tables.env.close();
  return format;
}

const OLD_NAMES = [`${SHARED}2 bytes counted`, "x".repeat(255), `~0123abcd~${SHARED}`];

/** Names in one directory that share 32 bytes. */
const longTree = dir(
  ["1", "2"].map((end) => [`${SHARED}${end}`, file(Buffer.from(end), 5)]),
  5,
);
async function* pieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
const importTree = () => alice().importDrive([pieces(toMultiCell(longTree))], { drive: "new" });
const tooOld = { code: "NOT_SUPPORTED", message: expect.stringContaining("venue-files drive upgrade --config FILE") };

describe("a store of the version before", () => {
  test("is read and written, with the names that its merges have made", async () => {
    expect(store.format).toBe(1);
    expect(await alice().list()).toEqual(["a:b", "notes"]);
    expect(await namesIn(["long"])).toEqual(OLD_NAMES);
    await put("short");
    expect(await alice().verify("notes")).toMatchObject({ files: 4, damagedCount: 0, history: { damaged: false } });
    expect(await writtenFormat()).toBe("1");
  });

  test("has deleted drives as they were marked then, until the next change", async () => {
    expect(await alice().verify("gone")).toMatchObject({ files: 0, damagedCount: 0 });
    expect(await namesIn([], "gone")).toEqual([]);
    expect(await alice().delete("gone")).toBe(false);
    expect(await alice().create("gone")).toBe(true);
    const pieces: Uint8Array[] = [];
    for await (const { bytes } of alice().exportDrive({ top: "drive", drive: "gone" })) pieces.push(bytes);
    // The mark is gone, and all that was deleted with the drive.
    expect(Buffer.concat(pieces).equals(encode(dir([], 2002)))).toBe(true);
  });

  test("keeps drives with names that no new one may have", async () => {
    await alice().change("a:b", (change) => change.writeFile(["f"], Buffer.from("f")));
    expect(await namesIn([], "a:b")).toEqual(["f"]);
    const refusal = { code: "INVALID_PATH", message: expect.stringContaining("a new one has no ':'") };
    await expect(alice().create("a:c")).rejects.toMatchObject(refusal);
    const writing = alice().change(" c", (change) => change.writeFile(["f"], Buffer.from("f")));
    await expect(writing).rejects.toMatchObject(refusal);
    const incoming = [pieces(toMultiCell(dir([], 5)))];
    await expect(alice().importDrive(incoming, { drive: "c " })).rejects.toMatchObject(refusal);
  });

  test("takes no names that share 32 bytes, and says how it comes to", async () => {
    const near = `${SHARED}2 bytes, too`;
    await expect(put(near)).rejects.toMatchObject(tooOld);
    await expect(
      alice().change("notes", (change) => change.move(["long", OLD_NAMES[0] ?? ""], ["long", near])),
    ).rejects.toMatchObject(tooOld);
    await expect(importTree()).rejects.toMatchObject(tooOld);
    expect(await namesIn(["long"])).toEqual(OLD_NAMES);
    expect(await alice().list()).toEqual(["a:b", "notes"]);
    await alice().change("notes", (change) => change.writeFile([near], Buffer.from("elsewhere")));
  });

  test("takes them once it is raised, which rewrites its number only, and which versions before then refuse", async () => {
    expect(await store.upgrade?.()).toEqual({ from: 1, to: 2 });
    expect(await store.upgrade?.()).toEqual({ from: 2, to: 2 });
    await store.close();
    await open();
    const near = `${SHARED}2 bytes, too`;
    await put(near);
    await importTree();
    expect(await namesIn(["long"])).toEqual([near, ...OLD_NAMES].sort());
    await store.close();
    await open();
    expect([store.format, await writtenFormat()]).toEqual([2, "2"]);
    expect(await namesIn([], "new")).toEqual([`${SHARED}1`, `${SHARED}2`]);
    expect(await alice().verify("notes")).toMatchObject({ damagedCount: 0 });
  });

  test("is not raised while another process has it open, though it only reads", async () => {
    const compiled = compile();
    const child = spawn(process.execPath, [compiled.file("test/drive/store/reader-child.ts"), path]);
    try {
      await once(child.stdout, "data");
      const busy = { code: "BUSY", message: expect.stringContaining("Stop all venues") };
      await expect(store.upgrade?.()).rejects.toMatchObject(busy);
      expect([store.format, await writtenFormat()]).toEqual([1, "1"]);
      child.stdin.end("end\n");
      await once(child, "exit");
      expect(await store.upgrade?.()).toEqual({ from: 1, to: 2 });
    } finally {
      child.kill();
      compiled.remove();
    }
  });
});

test("nothing is raised while a process of another container writes, and what a dead one left does not count", async () => {
  const tables = openTables(path, false);
  const writtenBy = (writer: string) =>
    tables.packs.putSync(uintBytes(9).subarray(2), packRow({ isSealed: false, length: 0, writer }));
  writtenBy(ownToken().replace(/^(\S+) \S+/, "$1 other"));
  await expect(store.upgrade?.()).rejects.toMatchObject({ code: "BUSY" });
  writtenBy(ownToken().replace(/ \d+ (\d*)$/, " 999999999 $1"));
  expect(await store.upgrade?.()).toEqual({ from: 1, to: 2 });
  await tables.env.close();
});

test("a new store is of the newest format, and one of a newer format is refused, unchanged", async () => {
  await store.close();
  rmSync(path, { recursive: true });
  await open();
  expect([store.format, await writtenFormat()]).toEqual([2, "2"]);
  await importTree();
  const tables = openTables(path, false);
  tables.meta.putSync(FORMAT, Buffer.from("3"));
  await tables.env.close();
  await store.close();
  const refusal = { code: "STORE_UNAVAILABLE", message: expect.stringContaining("its format 3 is newer than 2") };
  await expect(openEmbeddedStore({ path, flush: false })).rejects.toMatchObject(refusal);
});
