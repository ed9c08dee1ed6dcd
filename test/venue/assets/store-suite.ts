import { describe, expect, test } from "@jest/globals";
import { assetIdOf } from "../../../src/venue/assets/id.js";
import { parseMetadata } from "../../../src/venue/assets/metadata.js";
import type { AssetRecord, AssetStore } from "../../../src/venue/assets/store.js";
import { gate } from "../catalogue/fake-adapter.js";
import { body, broken, sha256, whole } from "./fixture.js";

const record = (name: string, registered: number, ...dids: string[]): AssetRecord => ({
  ...parseMetadata({ name }),
  registered,
  owners: dids.map((did, i) => ({ did, at: registered + i })),
});

/** What every store does. */
export function describeAssetStore(name: string, create: () => Promise<AssetStore>): void {
  describe(`content in ${name}`, () => {
    test.each([
      ["nothing", []],
      ["one chunk", ["hello"]],
      ["many small chunks", Array.from({ length: 5000 }, (_, i) => `${i},`)],
      ["chunks of any size", [1, 4095, 4096, 4097, 0, 300_000, 262_144].map((n) => Buffer.alloc(n, n % 251))],
    ])("of %s is given back as it was", async (_name, chunks: (string | Buffer)[]) => {
      const store = await create();
      const bytes = await whole(body(...chunks));
      await store.put(() => sha256(bytes), body(...chunks));
      expect([store.size(sha256(bytes)), store.totalBytes]).toEqual([bytes.length, bytes.length]);
      expect((await whole(store.open(sha256(bytes)))).equals(bytes)).toBe(true);
    });

    const bytes = Buffer.alloc(700_000);
    for (let at = 0; at < bytes.length; at += 1) bytes[at] = (at * 31) % 251;
    test.each([
      [0, 1],
      [0, bytes.length],
      [4095, 4097],
      [262_143, 262_145],
      [1, bytes.length - 1],
      [bytes.length - 1, bytes.length],
      [5, 5],
    ])("can be read from %i to %i", async (start, end) => {
      const store = await create();
      await store.put(() => "aa", body(bytes));
      expect((await whole(store.open("aa", { start, end }))).equals(bytes.subarray(start, end))).toBe(true);
    });

    test("is not seen before it is complete", async () => {
      const store = await create();
      const rest = gate();
      const put = store.put(
        () => "aa",
        (async function* () {
          yield Buffer.from("half");
          await rest.promise;
        })(),
      );
      expect(store.size("aa")).toBeUndefined();
      rest.open(undefined);
      await put;
      expect(store.size("aa")).toBe(4);
    });

    test("whose body fails leaves nothing, and the failure passes through", async () => {
      const store = await create();
      const failure = new Error("gone");
      await expect(store.put(() => "aa", broken(failure, "half"))).rejects.toBe(failure);
      expect([store.size("aa"), store.totalBytes]).toEqual([undefined, 0]);
      await store.put(() => "aa", body("whole"));
      expect([store.size("aa"), store.totalBytes]).toEqual([5, 5]);
    });

    test("stored twice, one after the other or at once, is there once", async () => {
      const store = await create();
      await Promise.all([store.put(() => "aa", body("same")), store.put(() => "aa", body("sa", "me"))]);
      await store.put(() => "aa", body("same"));
      expect(store.totalBytes).toBe(4);
      expect((await whole(store.open("aa"))).toString()).toBe("same");
    });

    test("that is not there cannot be read, and the failure looks like none of the system", async () => {
      const store = await create();
      const failure = await whole(store.open("aa")).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(Error);
      expect(failure).not.toHaveProperty("code");
    });
  });

  describe(`records in ${name}`, () => {
    test("are given back as they were saved, the later one of two", async () => {
      const store = await create();
      const odd = {
        ...parseMetadata({ ["__proto__"]: 1, text: 'ü"\\\n\u2028😀', n: 1e21 }),
        registered: 3,
        owners: [],
      };
      const first = record("a", 1.5, "did:x:1");
      const records = [
        first,
        record("b", 2, "did:x:2"),
        odd,
        { ...first, owners: [...first.owners, { did: "ü", at: 9 }] },
      ];
      const kept: AssetRecord[] = [];
      for (const each of records) kept.push(...(await store.save(each)));
      expect(kept).toEqual(records);
      const byId = (a: AssetRecord, b: AssetRecord) => (a.id < b.id ? -1 : 1);
      expect([...(await store.load())].sort(byId)).toEqual(records.slice(1).sort(byId));
      expect(assetIdOf('{"name":"a"}')).toBe(first.id);
    });

    test("keep their text byte for byte", async () => {
      const store = await create();
      const texts = ['{"n":9007199254740993}', ' {"n" : 1.0,\r\n"n":2}\n', '{"t":"\\u00e9}\\n"}'];
      const records = texts.map((text, registered) => ({
        ...parseMetadata(JSON.parse(text), text),
        registered,
        owners: [{ did: 'did:x:"', at: 1 }],
      }));
      for (const each of records) await store.save(each);
      const loaded = new Map((await store.load()).map((each) => [each.id, each.json.toString()]));
      expect(records.map(({ id }) => loaded.get(id))).toEqual(texts);
    });

    test("are none at first", async () => {
      expect(await (await create()).load()).toEqual([]);
    });
  });
}
