import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { sha3 } from "../../../../src/drive/cad3/ref.js";
import { openLocalCache } from "../../../../src/drive/store/s3/packs/local-cache.js";

const CELL = Buffer.from("the encoding of a cell");

let path = "";
beforeEach(() => {
  path = mkdtempSync(join(tmpdir(), "vf-cache-"));
});
afterEach(() => rmSync(path, { recursive: true }));

/** What it has of a cell; the cell is kept anew. */
async function use(): Promise<Uint8Array | undefined> {
  const cache = openLocalCache(path, 1_000_000);
  const found = cache.cell(sha3(CELL));
  cache.keepCell(sha3(CELL), CELL);
  await cache.close();
  return found;
}

test("a cache of a store is kept, and made anew whatever happened to its file", async () => {
  expect(await use()).toBe(undefined);
  expect(Buffer.from((await use()) ?? [])).toEqual(CELL);
  const [boot = ""] = readdirSync(path);
  const file = join(path, boot, "data.mdb");
  const whole = readFileSync(file);
  const flipped = Buffer.from(whole);
  flipped.writeUInt8(flipped.readUInt8(24) ^ 1, 24);
  for (const bytes of [[], Buffer.alloc(whole.length), randomBytes(whole.length), whole.subarray(0, 6_000), flipped]) {
    writeFileSync(file, Buffer.from(bytes));
    expect(await use()).toBe(undefined);
    expect(Buffer.from((await use()) ?? [])).toEqual(CELL);
  }
});
