import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { SHARED_NAME } from "../../../../src/drive/store/s3/roots/root-object.js";
import { ALICE } from "../../engine/engines.js";
import { filesOf, missingOf, OWNER, publish, treeOf } from "../cells.js";
import { append, type Bucket, logOf, namesIn, openBucket, type Venue } from "./bucket.js";

jest.setTimeout(120_000);

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
    await expect(store.swapRoot(owner, null, treeOf(filesOf(1, 1)).root)).rejects.toMatchObject(refusal);
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
