import { describe, expect, test } from "@jest/globals";
import type { Caller } from "../../../src/core/call/caller.js";
import type { AssetErrorData, AssetFault } from "../../../src/core/ports/asset.js";
import type { VenueAssets } from "../../../src/venue/assets/assets.js";
import { assetIdOf } from "../../../src/venue/assets/id.js";
import { createAssetMemory } from "../../../src/venue/assets/memory.js";
import type { AssetStore } from "../../../src/venue/assets/store.js";
import { gate } from "../catalogue/fake-adapter.js";
import { ALICE, assetsOf, BOB, body, broken, DID, OPERATOR, PAGE, sha256, wanting, whole } from "./fixture.js";

const UNKNOWN = "0".repeat(64);

const refused = (call: Promise<unknown>, fault: AssetFault, data: AssetErrorData = {}): Promise<void> =>
  expect(call).rejects.toMatchObject({ name: "AssetError", fault, data });

const register = (assets: VenueAssets, ...names: string[]): Promise<string[]> =>
  Promise.all(names.map((name) => assets.register({ name }, ALICE)));

/** Registers metadata that wants content, and stores it. */
async function stored(assets: VenueAssets, content: string, more: object = {}): Promise<string> {
  const id = await assets.register(wanting(content, more), ALICE);
  await assets.putContent(id, body(content), ALICE);
  return id;
}

/** The stream an operation is given. */
async function streamOf(
  assets: VenueAssets,
  reference: string,
  signal?: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  const content = (await assets.resolve(reference, signal))?.content;
  if (content === undefined || content === null || content instanceof Uint8Array) throw new Error("no stream");
  return content;
}

/** A store whose calls fail with an error of the system. */
function failing(code: string): AssetStore {
  const fail = () => Promise.reject(Object.assign(new Error(`${code}: /srv/x`), { code, syscall: "write" }));
  return { ...createAssetMemory(), totalBytes: 0, size: () => undefined, load: async () => [], put: fail, save: fail };
}

describe("registering", () => {
  test("gives an id made of the metadata, by which it is found again", async () => {
    const assets = await assetsOf();
    const metadata = { b: 1, a: { name: "x" } };
    const id = await assets.register(metadata, ALICE);
    expect(id).toBe(assetIdOf('{"b":1,"a":{"name":"x"}}'));
    for (const reference of [id, `0x${id}`, `/a/${id}`, `${DID}/a/${id.toUpperCase()}`]) {
      expect(JSON.stringify(assets.metadata(reference))).toBe('{"b":1,"a":{"name":"x"}}');
    }
  });

  test("keeps the text, of which the id is made, byte for byte", async () => {
    const assets = await assetsOf();
    const texts = [
      '{"n":9007199254740992}',
      '{"n":9007199254740993}',
      '{"n": 9007199254740993}\n',
      '{"n":1e2,"m":1.0,"n":100}',
      '{"t":"\\u00e9\\/"}',
    ];
    const ids = await Promise.all(texts.map((text) => assets.register(JSON.parse(text), ALICE, text)));
    expect(ids).toEqual(texts.map((text) => assetIdOf(text)));
    expect(ids.map((id) => Buffer.from(assets.metadataJson(id)).toString())).toEqual(texts);
  });

  test("the same metadata again, by anyone, gives the same asset", async () => {
    const assets = await assetsOf();
    const ids = await Promise.all([
      assets.register({ a: 1, b: 2 }, ALICE),
      assets.register({ a: 1, b: 2 }, BOB),
      assets.register({ a: 1, b: 2 }, ALICE),
    ]);
    expect(new Set(ids).size).toBe(1);
    expect([assets.size, assets.list(PAGE).total]).toEqual([1, 1]);
    for (const caller of [ALICE, BOB]) expect(assets.listOwn(PAGE, caller).total).toBe(1);
    expect(assets.listOwn(PAGE, OPERATOR)).toEqual({ items: [], total: 0, ...PAGE });
  });

  test("what has no canonical JSON is refused", async () => {
    const assets = await assetsOf();
    await refused(assets.register({ a: "\ud800" }, ALICE), "invalid_metadata", { reason: "not valid Unicode" });
    expect([assets.size, assets.totalBytes]).toEqual([0, 0]);
  });
});

describe("an asset that is asked for", () => {
  test.each<[string, AssetFault]>([
    [UNKNOWN, "not_found"],
    [`did:key:zOther/a/${UNKNOWN}`, "not_found"],
    ["nonsense", "invalid_id"],
    ["", "invalid_id"],
  ])("as %j is %s", async (reference, fault) => {
    const assets = await assetsOf();
    expect(() => assets.metadata(reference)).toThrow(expect.objectContaining({ fault }));
    await refused(assets.content(reference), fault);
    await refused(assets.putContent(reference, body("x"), ALICE), fault);
    expect(await assets.resolve(reference)).toBeUndefined();
  });
});

describe("a list", () => {
  test("has the newest first, in pages", async () => {
    const assets = await assetsOf();
    const [a, b, c] = await register(assets, "a", "b", "c");
    expect(assets.list(PAGE)).toEqual({ items: [c, b, a], total: 3, ...PAGE });
    expect(assets.list({ offset: 1, limit: 1 })).toEqual({ items: [b], total: 3, offset: 1, limit: 1 });
    expect(assets.list({ offset: 2, limit: 5 }).items).toEqual([a]);
    for (const page of [
      { offset: 3, limit: 1 },
      { offset: 9, limit: 9 },
      { offset: 0, limit: 0 },
    ]) {
      expect(assets.list(page)).toEqual({ items: [], total: 3, ...page });
    }
  });

  test("of one's own has only what one registered, by when one did", async () => {
    const assets = await assetsOf();
    const [a] = await register(assets, "a", "b");
    await assets.register({ name: "c", type: "t", description: "d" }, BOB);
    await assets.register({ name: "a" }, BOB);
    expect(assets.listOwn(PAGE, BOB).items).toEqual([
      { id: a, name: "a" },
      { id: expect.any(String), name: "c", type: "t", description: "d" },
    ]);
    expect(assets.listOwn({ offset: 0, limit: 1 }, ALICE)).toMatchObject({ items: [{ name: "b" }], total: 2 });
  });
});

describe("operation assets", () => {
  const operation = { name: "Read File", operation: { adapter: "file:read" } };

  test("are found and listed after all others, and count against nothing", async () => {
    const assets = await assetsOf({ maxTotalBytes: 1000, write: "operator" });
    const id = assets.registerOperation(operation);
    expect(assets.registerOperation(operation)).toBe(id);
    const own = await assets.register({ name: "x" }, OPERATOR);
    expect(assets.list(PAGE).items).toEqual([own, id]);
    expect(assets.metadata(id)).toEqual(operation);
    expect(await assets.resolve(id)).toEqual({ content: null });
    await refused(assets.content(id), "no_content");
    await refused(assets.putContent(id, body("x"), OPERATOR), "no_content_object");
    expect(assets.totalBytes).toBeLessThan(1000);
  });

  test("stay the venue's when somebody registers the same metadata, before or after", async () => {
    const before = await assetsOf();
    await register(before, "x");
    await before.register(operation, ALICE);
    const bytes = before.totalBytes;
    const id = before.registerOperation(operation);
    expect(before.totalBytes).toBeLessThan(bytes);
    const taken = before.totalBytes;
    expect(await before.register(operation, BOB)).toBe(id);
    expect(before.totalBytes).toBe(taken);
    expect(before.list(PAGE)).toMatchObject({ total: 2, items: [expect.any(String), id] });
    for (const caller of [ALICE, BOB]) expect(JSON.stringify(before.listOwn(PAGE, caller))).not.toContain(id);
    expect(before.listOwn(PAGE, ALICE).total).toBe(1);
  });
});

describe("uploading", () => {
  test("makes content readable, with what the metadata says of it", async () => {
    const assets = await assetsOf();
    const id = await assets.register(wanting("hello", { contentType: "text/plain", fileName: "h.txt" }), ALICE);
    await refused(assets.content(id), "no_content");
    expect(await assets.resolve(id)).toEqual({ content: null });
    expect(await assets.putContent(id, body("he", "llo"), ALICE)).toBe(sha256("hello"));
    const content = await assets.content(`0x${id}`);
    expect(content).toMatchObject({ size: 5, sha256: sha256("hello"), contentType: "text/plain", fileName: "h.txt" });
    expect((await whole(content.open())).toString()).toBe("hello");
    expect((await whole(content.open({ start: 1, end: 3 }))).toString()).toBe("el");
  });

  test("is allowed to others than who registered it: the metadata decides on the content", async () => {
    const assets = await assetsOf();
    const id = await assets.register(wanting("hello"), ALICE);
    await refused(assets.putContent(id, body("other"), BOB), "hash_mismatch", { expected: sha256("hello") });
    expect(await assets.putContent(id, body("hello"), BOB)).toBe(sha256("hello"));
  });

  test("other bytes than the metadata asks for leaves nothing", async () => {
    const assets = await assetsOf();
    const id = await assets.register(wanting("hello"), ALICE);
    const bytes = assets.totalBytes;
    await refused(assets.putContent(id, body("hellO"), ALICE), "hash_mismatch", { expected: sha256("hello") });
    await refused(assets.content(id), "no_content");
    expect(assets.totalBytes).toBe(bytes);
  });

  test("again needs the right bytes again, and takes no room", async () => {
    const assets = await assetsOf();
    const id = await stored(assets, "hello");
    const bytes = assets.totalBytes;
    await refused(assets.putContent(id, body("hellO"), ALICE), "hash_mismatch", { expected: sha256("hello") });
    expect(await assets.putContent(id, body("hello"), ALICE)).toBe(sha256("hello"));
    expect(assets.totalBytes).toBe(bytes);
    expect((await whole((await assets.content(id)).open())).toString()).toBe("hello");
  });

  test("the same content for two assets stores it once", async () => {
    const assets = await assetsOf();
    await stored(assets, "hello");
    const other = await assets.register(wanting("hello", { fileName: "other" }), ALICE);
    expect((await assets.content(other)).size).toBe(5);
  });

  test("the same content twice at once is counted once", async () => {
    const assets = await assetsOf();
    const id = await assets.register(wanting("hello"), ALICE);
    const bytes = assets.totalBytes;
    await Promise.all([assets.putContent(id, body("hello"), ALICE), assets.putContent(id, body("hello"), BOB)]);
    expect(assets.totalBytes).toBe(bytes + 5);
  });

  test("that the sender breaks off leaves nothing and frees its share", async () => {
    const assets = await assetsOf();
    const id = await assets.register(wanting("hello"), ALICE);
    const bytes = assets.totalBytes;
    const gone = Object.assign(new Error("aborted"), { code: "ECONNRESET" });
    await expect(assets.putContent(id, broken(gone, "hel"), ALICE)).rejects.toBe(gone);
    await refused(assets.content(id), "no_content");
    expect(assets.totalBytes).toBe(bytes);
  });

  test("more than the largest content is refused where it passes the limit", async () => {
    const assets = await assetsOf({ maxContentSize: 5 });
    const [fits, over] = [
      await assets.register(wanting("12345"), ALICE),
      await assets.register(wanting("123456"), ALICE),
    ];
    expect(await assets.putContent(fits, body("12345"), ALICE)).toBe(sha256("12345"));
    await refused(assets.putContent(over, body("12345", "6", "never asked for"), ALICE), "too_large", { limit: 5 });
    await refused(assets.putContent(fits, body("123456"), ALICE), "too_large", { limit: 5 });
  });

  test.each([{ name: "x" }, { content: {} }, { content: { sha256: "x" } }])(
    "to metadata that asks for no content is refused: %j",
    async (metadata) => {
      const assets = await assetsOf();
      const id = await assets.register(metadata, ALICE);
      await refused(assets.putContent(id, body("x"), ALICE), "no_content_object");
    },
  );

  test("does not touch the body before everything else is right", async () => {
    const assets = await assetsOf({ write: "operator" });
    const id = await assets.register({ name: "x" }, OPERATOR);
    const calls: [string, Caller, AssetFault][] = [
      [id, ALICE, "forbidden"],
      [id, OPERATOR, "no_content_object"],
      [UNKNOWN, OPERATOR, "not_found"],
      ["x", OPERATOR, "invalid_id"],
    ];
    for (const [reference, caller, fault] of calls) {
      await refused(assets.putContent(reference, broken(new Error("read")), caller), fault);
    }
  });
});

describe("content whose hash is not known yet", () => {
  const ABOUT = { fileName: "x.zip", contentType: "application/zip" };

  test("becomes an asset of whoever stores it, once", async () => {
    const assets = await assetsOf();
    const id = await assets.store(body("hel", "lo"), ABOUT, ALICE);
    expect(assets.metadata(id)).toEqual({ name: "x.zip", content: { sha256: sha256("hello"), ...ABOUT } });
    expect(assets.listOwn(PAGE, ALICE).items).toMatchObject([{ id }]);
    const bytes = assets.totalBytes;
    expect(await assets.store(body("hello"), ABOUT, ALICE)).toBe(id);
    expect(assets.totalBytes).toBe(bytes);
    const { stored } = (await assets.resolve(id)) ?? {};
    let part = "";
    for await (const chunk of stored?.read({ start: 1, end: 3 }) ?? []) part += Buffer.from(chunk).toString();
    expect([stored?.size, part]).toEqual([5, "el"]);
  });

  test("is refused as other content is, and leaves nothing", async () => {
    const failure = new Error("read");
    const assets = await assetsOf({ maxContentSize: 5, maxTotalBytes: 100_000 });
    const before = assets.totalBytes;
    await refused(assets.store(body("123456"), ABOUT, ALICE), "too_large", { limit: 5 });
    await expect(assets.store(broken(failure, "12"), ABOUT, ALICE)).rejects.toBe(failure);
    expect(assets.totalBytes).toBe(before);
    const closed = await assetsOf({ write: "operator" });
    await refused(closed.store(broken(failure), ABOUT, ALICE), "forbidden");
  });
});

describe("who may write", () => {
  const PUBLIC: Caller = { did: `${DID}:public`, authentication: "public", isOperator: false };

  test("with public: everybody", async () => {
    const assets = await assetsOf({ write: "public" });
    const id = await assets.register(wanting("x"), PUBLIC);
    expect(await assets.putContent(id, body("x"), PUBLIC)).toBe(sha256("x"));
  });

  test("with operator: only the operator; all may read", async () => {
    const assets = await assetsOf({ write: "operator" });
    for (const caller of [ALICE, PUBLIC]) {
      await refused(assets.register({}, caller), "forbidden");
      await refused(assets.putContent(UNKNOWN, body("x"), caller), "forbidden");
    }
    const id = await assets.register(wanting("x"), OPERATOR);
    expect(await assets.putContent(id, body("x"), OPERATOR)).toBe(sha256("x"));
    expect(assets.list(PAGE).items).toEqual([id]);
  });
});

describe("room", () => {
  test("is taken by metadata, at least 512 bytes each", async () => {
    const assets = await assetsOf({ maxTotalBytes: 10_000 });
    let registered = 0;
    const fill = async () => {
      for (; registered < 1000; registered += 1) await assets.register({ i: registered }, ALICE);
    };
    await refused(fill(), "full");
    expect(registered).toBeGreaterThan(5);
    expect(registered).toBeLessThan(10_000 / 512);
    expect(await assets.register({ i: 0 }, ALICE)).toBe(assetIdOf('{"i":0}'));
    await refused(assets.register({ i: 0 }, { ...BOB, did: `did:key:${"z".repeat(1000)}` }), "full");
  });

  test("is shared by metadata and content, and by uploads at the same time", async () => {
    const assets = await assetsOf({ maxTotalBytes: 3000 });
    const contents = ["a".repeat(1000), "b".repeat(1000)];
    const [a = "", b = ""] = await Promise.all(contents.map((content) => assets.register(wanting(content), ALICE)));
    const before = assets.totalBytes;
    const [half, going] = [gate(), gate()];
    const slow = assets.putContent(
      a,
      (async function* () {
        yield Buffer.alloc(1000, "a");
        half.open(undefined);
        await going.promise;
      })(),
      ALICE,
    );
    await half.promise;
    // Each would fit alone.
    await refused(assets.putContent(b, body(contents[1] ?? ""), ALICE), "full");
    expect(assets.totalBytes).toBe(before + 1000);
    going.fail(new Error("gone"));
    await expect(slow).rejects.toThrow("gone");
    expect(await assets.putContent(b, body(contents[1] ?? ""), ALICE)).toBe(sha256(contents[1] ?? ""));
  });

  test.each(["ENOSPC", "EDQUOT"])(
    "that the disk does not have (%s) is refused like that of the limit",
    async (code) => {
      const assets = await assetsOf({ store: failing(code) });
      await refused(assets.register({}, ALICE), "full");
      expect([assets.size, assets.totalBytes]).toEqual([0, 0]);
      const id = assets.registerOperation(wanting("x"));
      await refused(assets.putContent(id, body("x"), ALICE), "full");
      expect(assets.totalBytes).toBe(0);
    },
  );

  test("is given back when the store fails otherwise, and the failure passes through", async () => {
    const assets = await assetsOf({ store: failing("EIO") });
    await expect(assets.register({}, ALICE)).rejects.toMatchObject({ code: "EIO" });
    const id = assets.registerOperation(wanting("x"));
    await expect(assets.putContent(id, body("x"), ALICE)).rejects.toMatchObject({ code: "EIO" });
    expect([assets.size, assets.totalBytes]).toEqual([1, 0]);
  });
});

describe("the content for an operation", () => {
  test("comes as a stream with its hash", async () => {
    const assets = await assetsOf();
    const id = await stored(assets, "hello");
    for (const reference of [id, `0x${id}`, `a/${id}`, `/${DID}/a/${id}`]) {
      expect(await assets.resolve(reference)).toMatchObject({ sha256: sha256("hello") });
      expect((await whole(await streamOf(assets, reference))).toString()).toBe("hello");
    }
  });

  test("stops when the call is cancelled", async () => {
    const assets = await assetsOf();
    const id = await stored(assets, "x".repeat(600_000));
    const cancel = new AbortController();
    const content = await streamOf(assets, id, cancel.signal);
    let chunks = 0;
    const reading = (async () => {
      for await (const _ of content) {
        chunks += 1;
        cancel.abort(new Error("cancelled"));
      }
    })();
    await expect(reading).rejects.toThrow("cancelled");
    expect(chunks).toBe(1);
  });
});

describe("assets opened again", () => {
  test("are those that were kept, in their order, with their owners and their room", async () => {
    const store = createAssetMemory();
    const first = await assetsOf({ store });
    const [a, b] = await register(first, "a", "b");
    await first.register({ name: "b" }, BOB);
    await first.register({ name: "a" }, BOB);
    const c = await stored(first, "hello");
    const again = await assetsOf({ store });
    expect(again.list(PAGE).items).toEqual([c, b, a]);
    expect(again.listOwn(PAGE, BOB).items.map(({ id }) => id)).toEqual([a, b]);
    expect(again.totalBytes).toBe(first.totalBytes);
    const d = await again.register({ name: "d" }, ALICE);
    expect(again.list(PAGE).items[0]).toBe(d);
    expect((await assetsOf({ store })).list(PAGE).items).toEqual([d, c, b, a]);
  });

  test("over a limit that was lowered stay, and nothing is added", async () => {
    const store = createAssetMemory();
    const id = await stored(await assetsOf({ store }), "hello");
    const lines: unknown[] = [];
    const log = { debug() {}, info() {}, error() {}, warn: (_fields: unknown, text: string) => lines.push(text) };
    const again = await assetsOf({ store, log, maxTotalBytes: 100 });
    expect(lines).toEqual(["The asset storage is over its limit"]);
    expect((await again.content(id)).size).toBe(5);
    await refused(again.register({ name: "more" }, ALICE), "full");
  });
});
