import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { createOwnerKeys } from "../../../../src/drive/keys/owner-keys.js";
import { HEAD_ID } from "../../../../src/drive/store/s3/roots/writer-id.js";
import { ALICE, VENUE_KEY } from "../../engine/engines.js";
import { filesOf, missingOf, OWNER, publish, treeOf } from "../cells.js";
import { append, type Bucket, logOf, namesIn, openBucket, type Venue } from "./bucket.js";

jest.setTimeout(120_000);

const HOUR = 3_600_000;
let bucket: Bucket;

beforeEach(async () => {
  bucket = await openBucket();
});

afterEach(() => bucket.dispose());

describe("a bucket that had a root for each venue", () => {
  /** Two venues of before, which go on if nobody stops them. */
  async function earlier(): Promise<[Venue, Venue]> {
    bucket.fake.isConditional = false;
    const venues: [Venue, Venue] = [await bucket.venue(), await bucket.venue()];
    const make = ({ engine }: Venue, name: string) =>
      engine.owner(ALICE).change("notes", async (draft) => {
        await draft.makeDirectory(["d"]).catch(() => undefined);
        await draft.writeFile(["d", name], Buffer.from(name));
      });
    await Promise.all([make(venues[0], "a"), make(venues[1], "b")]);
    expect(bucket.rootNames()).toHaveLength(2);
    bucket.fake.isConditional = true;
    bucket.fake.objects.delete("mode");
    return venues;
  }

  test("gets one head with all of them, once, and the others go with their venues", async () => {
    await earlier();
    bucket.clock.now += 1000;
    const one = await bucket.venue();
    expect(await namesIn(one, ["d"])).toEqual(["a", "b"]);
    await append(one, "1");
    expect(bucket.rootNames()).toHaveLength(3);
    bucket.clock.now += 1000;
    await one.engine.owner(ALICE).change("notes", async (draft) => {
      await draft.remove(["d"], { recursive: true });
      await draft.makeDirectory(["d"]);
    });
    // Merged once more, those that are still there would bring everything back.
    for (const each of [one, await bucket.venue()]) expect(await namesIn(each, ["d"])).toEqual([]);
    bucket.clock.now += 2 * HOUR;
    await (await bucket.venue()).store.collect({ graceMs: HOUR });
    expect(bucket.rootNames()).toEqual([HEAD_ID]);
    expect(await namesIn(await bucket.venue(), ["d"])).toEqual([]);
  });

  test("gets it without a change, too, where a root has everything", async () => {
    const [one, other] = await earlier();
    bucket.fake.isConditional = false;
    await append(one, "1");
    await other.engine.tidy();
    bucket.fake.isConditional = true;
    const next = await bucket.venue();
    await next.engine.tidy();
    expect(bucket.rootNames()).toContain(HEAD_ID);
    expect(await logOf(next)).toBe("1");
  });

  test("says when a venue of before has written later, and loses none of it", async () => {
    const [older] = await earlier();
    const one = await bucket.venue();
    await append(one, "1");
    const [account = ""] = await createOwnerKeys({
      records: one.store.keys,
      venueKey: VENUE_KEY,
      clock: bucket.clock,
    }).accounts(ALICE);
    expect(await one.store.lateRoots?.(account)).toEqual([]);
    bucket.clock.now += HOUR;
    await older.engine.owner(ALICE).change("notes", (draft) => draft.writeFile(["late"], Buffer.from("late")));
    const times = (await one.store.lateRoots?.(account)) ?? [];
    expect(times.map((time) => Math.floor(time / 1000))).toEqual([Math.floor(bucket.clock.now / 1000)]);
    expect(await one.store.collect({ graceMs: HOUR })).toMatchObject({ missing: 0 });
    bucket.clock.now += 1000;
    await append(one, "2");
    expect(await one.store.lateRoots?.(account)).toEqual([bucket.clock.now]);
    expect(await namesIn(await bucket.venue(), [])).toEqual(["d", "late", "log"]);
  });
});

describe("collection beside one head", () => {
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
    await reader.roots(OWNER);
    expect(await missingOf(reader, treeOf(filesOf(20, 1)).cells)).toBe(0);
  });
});
