import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { type Log, silentLog } from "../../../src/core/ports/log.js";
import type { AssetsOptions, VenueAssets } from "../../../src/venue/assets/assets.js";
import { type AssetBucketOptions, openAssetBucket } from "../../../src/venue/assets/bucket.js";
import { parseMetadata } from "../../../src/venue/assets/metadata.js";
import type { AssetStore } from "../../../src/venue/assets/store.js";
import { BUCKET, CREDENTIALS, type FakeS3, type Fault, REGION, startFakeS3 } from "../../drive/store/s3/fake-s3.js";
import { IMPATIENT } from "../../drive/store/s3/stores.js";
import { TestClock } from "../jobs/job-store.js";
import { ALICE, assetsOf, BOB, body, broken, DID, PAGE, sha256, wanting, whole } from "./fixture.js";
import { describeAssetStore } from "./store-suite.js";

const folder = mkdtempSync(join(tmpdir(), "asset-bucket-"));
const stores: AssetStore[] = [];
let fake: FakeS3;
beforeAll(async () => {
  fake = await startFakeS3();
});
beforeEach(() => {
  fake.objects.clear();
  fake.requests.length = 0;
});
afterEach(async () => {
  fake.fault = undefined;
  Object.assign(fake, { isReadOnly: false, isConditional: true });
  await Promise.all(stores.splice(0).map((store) => store.close()));
});
afterAll(async () => {
  await fake.close();
  rmSync(folder, { recursive: true });
});

/** One more instance, as far as the bucket can tell. */
async function open(more: Partial<AssetBucketOptions> = {}): Promise<AssetStore> {
  const store = await openAssetBucket({
    ...{ endpoint: fake.endpoint, bucket: BUCKET, region: REGION, credentials: CREDENTIALS, patience: IMPATIENT },
    ...{ did: DID, folder, log: silentLog },
    ...more,
  });
  stores.push(store);
  return store;
}

const instance = async (options: Partial<AssetsOptions> = {}, more?: Partial<AssetBucketOptions>) =>
  assetsOf({ maxContentSize: 50_000_000, maxTotalBytes: 100_000_000, ...options, store: await open(more) });

/** Fails the puts below a folder. */
function failPuts(below: string, ...faults: readonly Fault[]): void {
  const left = [...faults];
  fake.fault = ({ method, key }) => (method === "PUT" && key.startsWith(below) ? left.shift() : undefined);
}

const keysOf = (below: string): string[] => [...fake.objects.keys()].filter((key) => key.startsWith(below)).sort();

async function read(assets: VenueAssets, id: string): Promise<string> {
  return (await whole((await assets.content(id)).open())).toString();
}

describeAssetStore("a bucket", () => open());

describe("two instances", () => {
  test("see at once what one of them has stored", async () => {
    const [one, two] = [await instance(), await instance()];
    const id = await one.register(wanting("hello"), ALICE);
    await two.refresh(id);
    expect(two.metadata(id)).toEqual(wanting("hello"));
    await expect(two.content(id)).rejects.toMatchObject({ fault: "no_content" });
    await one.putContent(id, body("hello"), ALICE);
    expect(await read(two, id)).toBe("hello");

    const made = await two.store(body("made"), { fileName: "m", contentType: "text/plain" }, BOB);
    expect(await one.resolve(made)).toMatchObject({ sha256: sha256("made"), stored: { size: 4 } });
    expect(await one.resolve(`sha256:${sha256("made")}`)).toMatchObject({ stored: { size: 4 } });
    expect(one.listOwn(PAGE, BOB).items).toMatchObject([{ id: made }]);
    expect([one.list(PAGE).items, one.totalBytes, one.size]).toEqual([[made, id], two.totalBytes, 2]);
  });

  test("list the same in the same order, whatever their clocks say, and so does one that starts later", async () => {
    const late = Object.assign(new TestClock(), { nowMs: () => 5 });
    const [one, two] = [await instance(), await instance({ clock: late })];
    const all = Array.from({ length: 12 }, (_, index) => ({ name: `asset ${index}` }));
    await Promise.all([
      ...all.map((metadata) => one.register(metadata, ALICE)),
      ...all.slice(4).map((metadata) => two.register(metadata, BOB)),
      ...all.slice(8).map((metadata) => two.register(metadata, ALICE)),
    ]);
    const three = await instance();
    for (const each of [one, two]) {
      await each.refresh();
      expect(each.list(PAGE)).toEqual(three.list(PAGE));
      for (const caller of [ALICE, BOB]) expect(each.listOwn(PAGE, caller)).toEqual(three.listOwn(PAGE, caller));
      expect(each.totalBytes).toBe(three.totalBytes);
    }
    expect([ALICE, BOB].map((caller) => three.listOwn(PAGE, caller).total)).toEqual([12, 8]);
    expect(keysOf("assets/log/").length).toBe(20);
  });

  test("keep all owners of an asset that both register at once, and its metadata once", async () => {
    const [one, two] = [await instance(), await instance()];
    const metadata = { text: "x".repeat(5000) };
    const [id = ""] = await Promise.all([one.register(metadata, ALICE), two.register(metadata, BOB)]);
    const three = await instance();
    await three.register(metadata, { ...BOB, did: "did:key:zCarol" });
    await Promise.all([one, two].map((each) => each.refresh()));
    for (const each of [one, two, three]) {
      expect(each.list(PAGE)).toMatchObject({ items: [id], total: 1 });
      for (const caller of [ALICE, BOB]) expect(each.listOwn(PAGE, caller).total).toBe(1);
    }
    const third = fake.objects.get("assets/log/3")?.bytes.toString() ?? "";
    expect(JSON.parse(third)).toEqual({ id, owners: [{ did: "did:key:zCarol", at: expect.any(Number) }] });
  });

  test("log an owner once, whom both register at once", async () => {
    const late = Object.assign(new TestClock(), { nowMs: () => 5 });
    const [one, two] = [await instance(), await instance({ clock: late })];
    for (let round = 1; round <= 5; round += 1) {
      const metadata = { name: `asset ${round}` };
      const ids = await Promise.all([one, two].map((each) => each.register(metadata, ALICE)));
      expect(new Set(ids).size).toBe(1);
      expect(keysOf("assets/log/")).toHaveLength(round);
    }
    for (const each of [one, two]) expect(each.listOwn(PAGE, ALICE).total).toBe(5);
  });

  test("share the room that there is", async () => {
    const [one, two] = [await instance({ maxTotalBytes: 5000 }), await instance({ maxTotalBytes: 5000 })];
    const [big, more] = ["b".repeat(2500), "m".repeat(1000)];
    const [a, b] = [await one.register(wanting(big), ALICE), await two.register(wanting(more), ALICE)];
    await one.putContent(a, body(big), ALICE);
    await expect(two.putContent(b, body(more), ALICE)).rejects.toMatchObject({ fault: "full" });
    await expect(two.register({ text: "x".repeat(1000) }, ALICE)).rejects.toMatchObject({ fault: "full" });
    expect(await two.putContent(a, body(big), BOB)).toBe(sha256(big));
    expect(two.totalBytes).toBe(one.totalBytes);
  });

  test("that store the same content at once have it once", async () => {
    const [one, two] = [await instance(), await instance()];
    const id = await one.register(wanting("same"), ALICE);
    await Promise.all([one, two].map((each) => each.putContent(id, body("sa", "me"), ALICE)));
    const three = await instance();
    for (const each of [one, two, three]) {
      expect(await read(each, id)).toBe("same");
      expect(each.totalBytes).toBe(three.totalBytes);
    }
  });

  test("ask the bucket once for what several callers do not find, and not at all for what is known", async () => {
    const [one, two] = [await instance(), await instance()];
    const id = await one.register({ name: "x" }, ALICE);
    fake.requests.length = 0;
    await Promise.all(Array.from({ length: 50 }, () => two.refresh(id)));
    expect(fake.requests.length).toBeLessThan(5);
    fake.requests.length = 0;
    for (const reference of [id, "nonsense", `did:key:zOther/a/${id}`]) await two.refresh(reference);
    expect(fake.requests).toEqual([]);
  });
});

describe("content of several parts", () => {
  const bytes = Buffer.alloc(9 << 20);
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = (at * 31 + (at >> 20)) % 251;

  test("is put in parts and read over their ends; nothing stays on this machine", async () => {
    const [one, two] = [await instance(), await instance()];
    const id = await one.register(wanting(bytes), ALICE);
    await one.putContent(id, body(bytes), ALICE);
    expect(keysOf("assets/content/").map((key) => [key, fake.objects.get(key)?.bytes.length])).toEqual(
      [4 << 20, 4 << 20, 1 << 20].map((size, part) => [`assets/content/${sha256(bytes)}/${part}`, size]),
    );
    expect(fake.requests.filter(({ key }) => key.startsWith("assets/content/")).every((put) => put.isConditional)).toBe(
      true,
    );
    const content = await two.content(id);
    expect((await whole(content.open())).equals(bytes)).toBe(true);
    const [start, end] = [(4 << 20) - 3, (8 << 20) + 5];
    expect((await whole(content.open({ start, end }))).equals(bytes.subarray(start, end))).toBe(true);
    expect(readdirSync(folder)).toEqual([]);
  });

  test("of which a part fails is not seen, and its repeat stores it whole", async () => {
    const [one, two] = [await instance(), await instance()];
    const id = await one.register(wanting(bytes), ALICE);
    failPuts(`assets/content/${sha256(bytes)}/2`, ...Array(4).fill({ status: 500, code: "InternalError" }));
    await expect(one.putContent(id, body(bytes), ALICE)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    for (const each of [one, two]) await expect(each.content(id)).rejects.toMatchObject({ fault: "no_content" });
    await two.putContent(id, body(bytes), ALICE);
    expect((await whole((await one.content(id)).open())).equals(bytes)).toBe(true);
    expect(two.totalBytes).toBe(one.totalBytes);
  });

  test("that is the wrong one, or breaks off, never reaches the bucket", async () => {
    const one = await instance();
    const id = await one.register(wanting(bytes), ALICE);
    await expect(one.putContent(id, body(bytes, "x"), ALICE)).rejects.toMatchObject({ fault: "hash_mismatch" });
    await expect(one.putContent(id, broken(new Error("gone"), "x"), ALICE)).rejects.toThrow("gone");
    expect([keysOf("assets/content/"), readdirSync(folder)]).toEqual([[], []]);
  });
});

describe("a bucket that", () => {
  const UNAVAILABLE = { code: "STORE_UNAVAILABLE", message: "Asset storage is not reachable. Try again later" };

  test.each<[string, () => void]>([
    ["is out of order", () => (fake.fault = () => ({ status: 503, code: "SlowDown" }))],
    ["does not answer", () => (fake.fault = () => "lost")],
    ["refuses the key", () => (fake.fault = () => ({ status: 403, code: "AccessDenied" }))],
    ["is gone", () => (fake.fault = () => ({ status: 404, code: "NoSuchBucket" }))],
  ])("%s fails what needs it, and nothing is lost", async (_, breakIt) => {
    const lines: string[] = [];
    const log: Log = { ...silentLog, error: (fields) => void lines.push(JSON.stringify(fields)) };
    const one = await instance({}, { log });
    const [id, empty] = [await one.register(wanting("kept"), ALICE), await one.register(wanting("later"), ALICE)];
    await one.putContent(id, body("kept"), ALICE);
    const before = one.totalBytes;
    breakIt();
    await expect(one.register({ name: "new" }, ALICE)).rejects.toMatchObject(UNAVAILABLE);
    await expect(one.putContent(empty, body("later"), ALICE)).rejects.toMatchObject(UNAVAILABLE);
    await expect(one.content(empty)).rejects.toMatchObject(UNAVAILABLE);
    await expect(one.refresh("0".repeat(64))).rejects.toMatchObject(UNAVAILABLE);
    await expect(read(one, id)).rejects.toMatchObject(UNAVAILABLE);
    expect(one.metadata(id)).toEqual(wanting("kept"));
    expect(one.totalBytes).toBe(before);
    expect(lines.join()).toMatch(/reason":"Store cannot be used: the object storage/);

    fake.fault = undefined;
    expect(await read(one, id)).toBe("kept");
    await one.putContent(empty, body("later"), ALICE);
    const made = await one.register({ name: "new" }, ALICE);
    expect((await instance()).list(PAGE).items).toEqual([made, empty, id]);
  });

  test("is read-only refuses what would be stored, and serves the rest", async () => {
    const one = await instance();
    const id = await one.register(wanting("kept"), ALICE);
    await one.putContent(id, body("kept"), ALICE);
    fake.isReadOnly = true;
    await expect(one.register({ name: "new" }, ALICE)).rejects.toMatchObject(UNAVAILABLE);
    await one.refresh();
    expect([await read(one, id), one.list(PAGE).items]).toEqual(["kept", [id]]);
  });

  test("answers late delays, and is overtaken by nobody", async () => {
    const [one, two] = [await instance(), await instance()];
    let isLate = true;
    const late = new Promise((resolve) => setTimeout(resolve, 200));
    fake.fault = ({ method }) => {
      if (method !== "PUT" || !isLate) return undefined;
      isLate = false;
      return { after: late };
    };
    const [slow, fast] = await Promise.all([
      one.register({ name: "slow" }, ALICE),
      two.register({ name: "fast" }, BOB),
    ]);
    await Promise.all([one, two].map((each) => each.refresh()));
    expect(one.list(PAGE)).toEqual(two.list(PAGE));
    expect([...one.list(PAGE).items].sort()).toEqual([slow, fast].sort());
  });

  test.each(["assets/log/", "assets/content/"])("does a put of %s without being heard has it once", async (below) => {
    const [one, two] = [await instance(), await instance()];
    const id = await one.register(wanting("once"), ALICE);
    failPuts(below, "unheard");
    await one.putContent(id, body("once"), ALICE);
    failPuts(below, "unheard");
    await one.register({ name: "again" }, ALICE);
    expect(await read(two, id)).toBe("once");
    expect(two.totalBytes).toBe(one.totalBytes);
    expect(keysOf("assets/log/").length).toBe(3);
  });

  test("answers a put as if somebody else were at it (409) is asked again", async () => {
    const one = await instance();
    failPuts("assets/", { status: 409, code: "ConditionalRequestConflict" });
    const id = await one.register(wanting("x"), ALICE);
    failPuts("assets/content/", { status: 409, code: "ConditionalRequestConflict" });
    await one.putContent(id, body("x"), ALICE);
    expect(await read(await instance(), id)).toBe("x");
  });

  test("has lost content fails its readers with what looks like no failure of theirs", async () => {
    const one = await instance();
    const id = await one.register(wanting("x"), ALICE);
    await one.putContent(id, body("x"), ALICE);
    fake.objects.delete(`assets/content/${sha256("x")}/0`);
    const failure = await read(one, id).catch((error: unknown) => error);
    expect(failure).toMatchObject({ message: "Cannot read content: a part of it is gone from the bucket" });
    expect(failure).not.toHaveProperty("code");
  });

  test.each([
    "",
    "[]",
    '{"sha256":"ab","size":-1}\n',
    '{"registered":1,"owners":[],"metadata":7}\n',
    '{"id":"ab","owners":[{"did":"x","at":1}]}\n',
  ])("has an entry that is damaged is used without it: %j", async (text) => {
    const first = await instance();
    const id = await first.register({ name: "a" }, ALICE);
    fake.objects.set("assets/log/2", { bytes: Buffer.from(text), at: 0 });
    const lines: unknown[] = [];
    const log = { ...silentLog, warn: (fields: object, line: string) => void lines.push([fields, line]) };
    const again = await instance({}, { log });
    const next = await again.register({ name: "b" }, ALICE);
    await first.refresh();
    for (const each of [first, again]) expect(each.list(PAGE).items).toEqual([next, id]);
    expect(lines).toEqual([[{ entry: 2 }, "Ignored a damaged asset record"]]);
  });

  test("has many records is read whole, by who watches and by who starts", async () => {
    const one = await open();
    const two = await open();
    const { json, id } = parseMetadata({ name: "x" });
    const owners = Array.from({ length: 300 }, (_, at) => ({ did: `did:x:${at}`, at }));
    for (let count = 1; count <= owners.length; count += 1) {
      await one.save({ id, json, registered: 0, owners: owners.slice(0, count) });
    }
    const all = [{ id, json, registered: 0, owners }];
    await two.news?.();
    expect(await two.load()).toEqual(all);
    expect(await (await open()).load()).toEqual(all);
  });
});

describe("opening", () => {
  test("refuses the assets of another venue, and goes on with its own", async () => {
    await (await instance()).register({ name: "x" }, ALICE);
    const advice = "the bucket has assets of another venue, or of a newer version: set another prefix";
    await expect(open({ did: "did:key:zOther" })).rejects.toMatchObject({ message: `Store cannot be used: ${advice}` });
    expect((await instance()).size).toBe(1);
    const below = await instance({}, { did: "did:key:zOther", prefix: "other" });
    expect([below.size, keysOf("other/assets/").length]).toEqual([0, 1]);
  });

  test.each<[RegExp, () => void]>([
    [/does not keep the conditions of puts/, () => (fake.isConditional = false)],
    [/does not let this access key write/, () => (fake.isReadOnly = true)],
    [/has no such bucket/, () => (fake.fault = () => ({ status: 404, code: "NoSuchBucket" }))],
  ])("refuses a bucket that cannot be used: %s", async (message, breakIt) => {
    breakIt();
    await expect(open()).rejects.toMatchObject({ code: "STORE_UNAVAILABLE", message: expect.stringMatching(message) });
  });
});
