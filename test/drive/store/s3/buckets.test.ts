import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import type { Log } from "../../../../src/core/ports/log.js";
import { Room } from "../../../../src/database/room.js";
import { sha3 } from "../../../../src/drive/cad3/ref.js";
import { openLocalCache } from "../../../../src/drive/store/s3/packs/local-cache.js";
import { SHARED_NAME } from "../../../../src/drive/store/s3/roots/root-object.js";
import { steadyMs } from "../../../until.js";
import { ALICE } from "../../engine/engines.js";
import { filesOf, missingOf, OWNER, publish, treeOf } from "../cells.js";
import { storeSuite } from "../suite.js";
import { append, type Bucket, logOf, namesIn, openBucket, type Venue } from "./bucket.js";
import { CREDENTIALS, type FakeS3, startFakeS3 } from "./fake-s3.js";
import { type Stores, storesOn } from "./stores.js";

storeSuite("object", async (now) => {
  const fake = await startFakeS3(7);
  fake.now = now;
  const stores = storesOn(fake.endpoint, { now });
  return {
    store: await stores.open(),
    passes: 2,
    reopen: () => stores.open(),
    async dispose() {
      await stores.dispose();
      await fake.close();
    },
  };
});

describe("the local cache", () => {
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
    for (const bytes of [
      [],
      Buffer.alloc(whole.length),
      randomBytes(whole.length),
      whole.subarray(0, 6_000),
      flipped,
    ]) {
      writeFileSync(file, Buffer.from(bytes));
      expect(await use()).toBe(undefined);
      expect(Buffer.from((await use()) ?? [])).toEqual(CELL);
    }
  });

  test("forgets what it has no room for, and nobody fails", async () => {
    const cache = openLocalCache(path, 1_000_000);
    const full = jest.spyOn(Room.prototype, "make").mockImplementation(() => {
      throw Object.assign(new Error("no room"), { code: "ENOSPC" });
    });
    const keep = async (): Promise<Buffer> => {
      cache.keepCell(sha3(CELL), CELL);
      // It is written in the next turn.
      await nextTurn();
      await nextTurn();
      return Buffer.from(cache.cell(sha3(CELL)) ?? []);
    };
    try {
      expect(await keep()).toEqual(Buffer.alloc(0));
      cache.forget("cell", [sha3(CELL)]);
    } finally {
      full.mockRestore();
    }
    expect(await keep()).toEqual(CELL);
    await cache.close();
  });
});

describe("failures of a bucket", () => {
  let fake: FakeS3;
  let stores: Stores;
  let lines: string[] = [];
  const keep = (fields: object, text: string): void => void lines.push(`${text} ${JSON.stringify(fields)}`);
  const log: Log = { debug: keep, info: keep, warn: keep, error: keep };

  beforeEach(async () => {
    fake = await startFakeS3();
    stores = storesOn(fake.endpoint, { log });
    lines = [];
  });

  afterEach(async () => {
    fake.fault = undefined;
    await stores.dispose();
    await fake.close();
  });

  const refusal = (open: Promise<unknown>): Promise<unknown> =>
    open.then(
      () => undefined,
      (error: unknown) => error,
    );

  describe("a bucket that cannot be used", () => {
    test.each([
      ["another access key", { credentials: { ...CREDENTIALS, accessKeyId: "OTHER" } }, "refuses the access key"],
      ["a wrong secret", { credentials: { ...CREDENTIALS, secretAccessKey: "wrong" } }, "refuses the access key"],
      ["no such bucket", { bucket: "absent" }, "has no such bucket: create it"],
      ["another region", { region: "us-west-9" }, "another region"],
    ])("is refused at the start: %s", async (_, options, text) => {
      const error = await refusal(stores.open(options));
      expect(error).toMatchObject({ code: "STORE_UNAVAILABLE", message: expect.stringContaining(text) });
      expect(lines.join()).toContain(text);
      expect(lines.join()).not.toContain(CREDENTIALS.secretAccessKey);
    });

    test("is refused at the start when nobody is there", async () => {
      const gone = await startFakeS3();
      await gone.close();
      const error = await refusal(stores.open({ endpoint: gone.endpoint }));
      const message = expect.stringContaining("does not answer (ECONNREFUSED): check the endpoint");
      expect(error).toMatchObject({ code: "STORE_UNAVAILABLE", message });
    });

    /** Something else than object storage. @returns its address, once `answer` is what it does */
    async function other(answer: RequestListener): Promise<{ endpoint: string; close(): void }> {
      const server = createServer(answer);
      await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
      const close = (): void => {
        server.close();
        server.closeAllConnections();
      };
      return { endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
    }

    const PAGE = `<!DOCTYPE html><html><body>${"Sign in ".repeat(100)}</body></html>`;
    test.each<[string, RequestListener]>([
      ["pages", (_, to) => void to.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(PAGE)],
      ["a page that forbids", (_, to) => void to.writeHead(403, { "content-type": "text/html" }).end(PAGE)],
      ["a page that asks for a name", (_, to) => void to.writeHead(401, { "content-type": "Text/HTML" }).end(PAGE)],
      ["a page that there is nothing", (_, to) => void to.writeHead(404, { "content-type": "text/html" }).end(PAGE)],
      ["JSON", (_, to) => void to.writeHead(200, { "content-type": "application/json" }).end("{}")],
      ["nothing", (_, to) => void to.writeHead(200).end()],
    ])("is refused at the start when it answers %s", async (_, answer) => {
      const { endpoint, close } = await other(answer);
      const error = await refusal(stores.open({ endpoint }));
      close();
      const message = expect.stringContaining("does not answer as S3 does: check the endpoint and the bucket");
      expect(error).toMatchObject({ code: "STORE_UNAVAILABLE", message });
    });

    test("is refused within 10 seconds when it never answers", async () => {
      const { endpoint, close } = await other(() => {});
      let error: unknown;
      const ms = await steadyMs(async () => {
        error = await refusal(stores.open({ endpoint, patience: { tries: 5, waitMs: 200, timeoutMs: 15_000 } }));
      });
      close();
      // Its own bound is 8 s.
      expect(ms).toBeLessThan(14_000);
      const message = expect.stringContaining("does not answer (timed out): check the endpoint and the network");
      expect(error).toMatchObject({ code: "STORE_UNAVAILABLE", message });
    });

    test("answers pages for a while: nothing is told to be damaged", async () => {
      const store = await stores.open();
      await publish(store, filesOf(2, 1));
      const reader = await stores.open();
      fake.fault = () => ({ page: PAGE });
      await expect(reader.root(OWNER)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
      await expect(publish(store, filesOf(2, 2))).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
      fake.fault = undefined;
      expect(await reader.root(OWNER)).toBeDefined();
      expect(await missingOf(reader, treeOf(filesOf(2, 1)).cells)).toBe(0);
    });

    test("is refused at the start when it is read-only, and else when something is to be written", async () => {
      const store = await stores.open();
      await publish(store, filesOf(2, 1));
      fake.isReadOnly = true;
      const readOnly = {
        code: "STORE_UNAVAILABLE",
        message: expect.stringContaining("does not let this access key write"),
      };
      await expect(publish(store, filesOf(2, 2))).rejects.toMatchObject(readOnly);
      await expect(stores.open()).rejects.toMatchObject(readOnly);
      expect(await missingOf(store, treeOf(filesOf(2, 1)).cells)).toBe(0);
      fake.isReadOnly = false;
      await publish(store, filesOf(2, 2));
    });

    test("is tried again, and nothing is acknowledged while it does not answer", async () => {
      const store = await stores.open();
      let tries = 0;
      fake.fault = () => {
        tries += 1;
        return tries <= 2 ? "lost" : undefined;
      };
      await publish(store, filesOf(1, 1));
      fake.fault = () => "lost";
      await expect(publish(store, filesOf(1, 2))).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
      fake.fault = undefined;
      expect(Buffer.from((await store.root(OWNER))?.bytes ?? [])).toEqual(Buffer.from(treeOf(filesOf(1, 1)).root));
    });
  });

  describe("what is damaged in the bucket", () => {
    test("is told as such, and never as content", async () => {
      await publish(await stores.open(), filesOf(20, 1));
      for (const [key, object] of fake.objects) {
        if (!key.startsWith("packs/")) continue;
        const bytes = Buffer.from(object.bytes);
        bytes[100] = (bytes[100] ?? 0) ^ 1;
        fake.objects.set(key, { ...object, bytes });
      }
      const other = await stores.open();
      await other.root(OWNER);
      const found = await refusal(missingOf(other, treeOf(filesOf(20, 1)).cells));
      expect(found).toMatchObject({ code: "STORE_DAMAGED" });
    });

    test("a root that is cut off is told as such", async () => {
      await publish(await stores.open(), filesOf(1, 1));
      for (const [key, object] of fake.objects) {
        if (key.startsWith("roots/")) fake.objects.set(key, { ...object, bytes: object.bytes.subarray(0, 60) });
      }
      await expect((await stores.open()).root(OWNER)).rejects.toMatchObject({ code: "STORE_DAMAGED" });
    });
  });
});

describe("buckets of earlier versions", () => {
  const HOUR = 3_600_000;
  let bucket: Bucket;

  beforeEach(async () => {
    bucket = await openBucket();
  });

  afterEach(() => bucket.dispose());

  /** Fills the bucket with what the version of which venues could also have a root each has left. */
  function fill(name: string): string[] {
    const text = readFileSync(new URL(`earlier/${name}.json`, import.meta.url), "utf8");
    const objects = JSON.parse(text) as Record<string, { readonly at: number; readonly base64: string }>;
    for (const [key, { at, base64 }] of Object.entries(objects))
      bucket.fake.objects.set(key, { at, bytes: Buffer.from(base64, "base64") });
    bucket.clock.now += 3 * HOUR;
    return bucket.keysOf("");
  }

  async function historyOf({ engine }: Venue): Promise<readonly string[]> {
    const { entries } = await engine.owner(ALICE).log.page({ limit: 100 });
    return entries.map(({ entry }) => entry.path.join("/")).sort();
  }

  async function isWhole({ engine }: Venue): Promise<boolean> {
    const { damagedCount, history } = await engine.owner(ALICE).verify("notes");
    return damagedCount === 0 && !history.damaged;
  }

  describe("a bucket of an earlier version", () => {
    test("in mode 'conditional' is read with its history, and written", async () => {
      fill("conditional");
      const one = await bucket.venue();
      expect(await logOf(one)).toBe("1234");
      expect(await namesIn(one, [])).toEqual(["a.bin", "b.txt", "log"]);
      expect(await historyOf(one)).toEqual(["a.bin", "a.bin", "b.txt"]);
      await append(one, "5");
      await one.store.collect({ graceMs: HOUR });
      const other = await bucket.venue();
      expect(await logOf(other)).toBe("12345");
      expect(await isWhole(other)).toBe(true);
    });

    test("takes no names that share 32 bytes until it is raised, and is refused by versions before then", async () => {
      fill("conditional");
      const [one, far] = [await bucket.venue(), await bucket.venue()];
      const [near, nearer] = ["1", "2"].map((end) => `${"a name of which only the first 3"}${end}`);
      const put = ({ engine }: Venue, name = "") =>
        engine.owner(ALICE).change("notes", (drive) => drive.writeFile([name], Buffer.from("x")));
      await put(one, near);
      await expect(put(far, nearer)).rejects.toMatchObject({ code: "NOT_SUPPORTED" });
      const modeIn = () => bucket.fake.objects.get("mode")?.bytes.toString();
      expect([one.store.format, modeIn()]).toEqual([1, "conditional\n"]);
      expect(await one.store.upgrade?.()).toEqual({ from: 1, to: 2 });
      expect(await far.store.upgrade?.()).toEqual({ from: 2, to: 2 });
      // Versions before take any other text for that of a newer one.
      expect(modeIn()).toBe("conditional 2\n");
      const other = await bucket.venue();
      await put(other, nearer);
      expect(await namesIn(other, [])).toEqual([near, nearer, "a.bin", "b.txt", "log"]);
      expect(await isWhole(other)).toBe(true);
    });

    test("that had a root for each venue is read where one root includes them all, and they go with a collection", async () => {
      fill("merged");
      expect(bucket.rootNames()).toHaveLength(3);
      const one = await bucket.venue();
      expect(await namesIn(one, [])).toEqual(["a.txt", "b.txt", "c.txt", "log"]);
      expect(await historyOf(one)).toEqual(["a.txt", "b.txt", "c.txt"]);
      await append(one, "2");
      for (let pass = 0; pass < 2; pass += 1) {
        expect(await one.store.collect({ graceMs: HOUR })).toMatchObject({ missing: 0 });
        bucket.clock.now += 2 * HOUR;
      }
      expect(bucket.rootNames()).toEqual([SHARED_NAME]);
      const other = await bucket.venue();
      expect(await logOf(other)).toBe("12");
      expect(await historyOf(other)).toEqual(["a.txt", "b.txt", "c.txt"]);
      expect(await isWhole(other)).toBe(true);
    });

    const message = expect.stringMatching(/which this version does not read\. .*'venue-files drive export'/);
    const refusal = { code: "STORE_UNAVAILABLE", message };

    test.each([
      ["in mode 'merge'", "merge", true],
      ["of before modes", "merge", false],
      ["with a root that the shared one does not include", "late", true],
    ])("%s is refused, and nothing in it changes", async (_, name, hasMode) => {
      fill(name);
      if (!hasMode) bucket.fake.objects.delete("mode");
      const keys = bucket.keysOf("");
      await expect(bucket.open()).rejects.toMatchObject(refusal);
      expect(bucket.keysOf("")).toEqual(keys);
    });

    test("in mode 'merge' is refused while it is empty, too", async () => {
      bucket.fake.objects.set("mode", { bytes: Buffer.from("merge\n"), at: bucket.clock.now });
      await expect(bucket.open()).rejects.toMatchObject(refusal);
    });

    test("that is still running is noticed: what it puts for an owner is not taken for nothing", async () => {
      const { store } = await bucket.venue();
      fill("merge");
      const [, owner = ""] = bucket.keysOf("roots/")[0]?.split("/") ?? [];
      await expect(store.root(owner)).rejects.toMatchObject(refusal);
      await expect(store.batch().commit(owner, null, treeOf(filesOf(1, 1)).root)).rejects.toMatchObject(refusal);
    });
  });

  describe("collection while others write", () => {
    test("never meets a pack or a list of packs that a newer head needs: both are new, whatever they hold", async () => {
      const [one, other] = [await bucket.open(), await bucket.open()];
      await publish(one, filesOf(20, 1));
      const first = [...bucket.keysOf("packs/"), ...bucket.keysOf("manifests/")];
      await publish(one, filesOf(20, 2));
      bucket.clock.now += 2 * HOUR;
      await one.collect({ graceMs: HOUR });
      bucket.clock.now += 2 * HOUR;
      // The collection finds the old ones to be garbage, and removes them while the same content comes back.
      const published: Promise<unknown>[] = [];
      bucket.fake.fault = ({ method, key }) => {
        if (method !== "DELETE" || !first.includes(key)) return undefined;
        if (published.length === 0) published.push(publish(other, filesOf(20, 1)));
        return { after: Promise.all(published) };
      };
      expect(await one.collect({ graceMs: HOUR })).toMatchObject({ missing: 0 });
      bucket.fake.fault = undefined;
      expect(published).toHaveLength(1);
      await Promise.all(published);
      for (const key of first) expect(bucket.fake.objects.has(key)).toBe(false);
      const reader = await bucket.open();
      await reader.root(OWNER);
      expect(await missingOf(reader, treeOf(filesOf(20, 1)).cells)).toBe(0);
    });
  });
});
