import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import {
  formatOf,
  openTables,
  packRow,
  type Tables,
  type Upgrade,
  uintBytes,
  upgradeTables,
} from "../../../src/drive/store/tables.js";
import { ownToken } from "../../../src/process/identity.js";

const NOTE = Buffer.from("note");
const notes: Upgrade = ({ meta }) => void meta.putSync(NOTE, Buffer.from("second"));
const appends: Upgrade = ({ meta }) => void meta.putSync(NOTE, Buffer.from(`${meta.get(NOTE)}, third`));

let path: string;
let tables: Tables;
beforeEach(() => {
  path = mkdtempSync(join(tmpdir(), "vf-store-"));
  tables = openTables(path, false);
});
afterEach(async () => {
  await tables.env.close();
  rmSync(path, { recursive: true });
});

const noted = () => tables.meta.get(NOTE)?.toString();

test("a store of the newest format stays as it is", () => {
  expect(upgradeTables(tables)).toEqual({ from: 1, to: 1 });
  expect(formatOf(tables.meta)).toBe(1);
});

test("an older one goes through every format up to the newest", () => {
  expect(upgradeTables(tables, [notes, appends])).toEqual({ from: 1, to: 3 });
  expect([formatOf(tables.meta), noted()]).toEqual([3, "second, third"]);
  expect(upgradeTables(tables, [notes, appends])).toEqual({ from: 3, to: 3 });
  expect(noted()).toBe("second, third");
});

test("what fails half way leaves the old format, whole", () => {
  const failing: Upgrade = () => {
    throw new Error("killed");
  };
  expect(() => upgradeTables(tables, [notes, failing])).toThrow("killed");
  expect([formatOf(tables.meta), noted()]).toEqual([1, undefined]);
});

test("nothing is raised while another process writes, and what a dead one left does not count", () => {
  const writtenBy = (writer: string) =>
    tables.packs.putSync(uintBytes(1).subarray(2), packRow({ isSealed: false, length: 0, writer }));
  // In another container, where nothing here can look.
  writtenBy(ownToken().replace(/^(\S+) \S+/, "$1 other"));
  expect(() => upgradeTables(tables, [notes])).toThrow(
    expect.objectContaining({ code: "STORE_UNAVAILABLE", message: expect.stringContaining("Stop all venues") }),
  );
  expect([formatOf(tables.meta), noted()]).toEqual([1, undefined]);
  writtenBy(ownToken().replace(/ \d+ (\d*)$/, " 999999999 $1"));
  expect(upgradeTables(tables, [notes])).toEqual({ from: 1, to: 2 });
});
