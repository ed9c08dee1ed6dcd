import { describe, expect, test } from "@jest/globals";
import type { Caller } from "../../../src/core/call/caller.js";
import type { AssetErrorData, AssetFault } from "../../../src/core/ports/asset.js";
import type { VenueAssets } from "../../../src/venue/assets/assets.js";
import { assetIdOf, canonicalJson, isAssetReference, parseAssetReference } from "../../../src/venue/assets/id.js";
import { AssetMemory } from "../../../src/venue/assets/memory.js";
import { contentOf, parseMetadata, readMetadata, summaryOf } from "../../../src/venue/assets/metadata.js";
import type { AssetStore } from "../../../src/venue/assets/store.js";
import { gate } from "../catalogue/fake-adapter.js";
import { ALICE, assetsOf, BOB, body, broken, DID, OPERATOR, PAGE, sha256, wanting, whole } from "./fixture.js";
import { describeAssetStore } from "./store-suite.js";

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
  const memory: AssetStore = new AssetMemory();
  return { ...memory, totalBytes: 0, size: () => undefined, load: async () => [], put: fail, save: fail };
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
    const store = new AssetMemory();
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
    const store = new AssetMemory();
    const id = await stored(await assetsOf({ store }), "hello");
    const lines: unknown[] = [];
    const log = { debug() {}, info() {}, error() {}, warn: (_fields: unknown, text: string) => lines.push(text) };
    const again = await assetsOf({ store, log, maxTotalBytes: 100 });
    expect(lines).toEqual(["The asset storage is over its limit"]);
    expect((await again.content(id)).size).toBe(5);
    await refused(again.register({ name: "more" }, ALICE), "full");
  });
});

describe("an id", () => {
  test.each([
    [
      "keys sorted by UTF-16 units",
      { "\u{1f600}": 1, "\ufb33": 2, b: 1, a: 2, 10: 1, 9: 2 },
      '{"10":1,"9":2,"a":2,"b":1,"😀":1,"\ufb33":2}',
    ],
    ["keys sorted at every level", { z: [{ y: 1, x: { w: 1, v: 2 } }] }, '{"z":[{"x":{"v":2,"w":1},"y":1}]}'],
    ["numbers in their shortest form", { n: [1e21, 1.0, -0, 0.000001, 1e-7] }, '{"n":[1e+21,1,0,0.000001,1e-7]}'],
    ["text as it is, with only the necessary escapes", { t: 'é"\\\n\u0001\u2028' }, '{"t":"é\\"\\\\\\n\\u0001\u2028"}'],
    ["own keys of any name", JSON.parse('{"__proto__":{"a":1},"toJSON":"x"}'), '{"__proto__":{"a":1},"toJSON":"x"}'],
    ["nothing", {}, "{}"],
  ])("of an operation is that of canonical JSON: %s", (_name, metadata, canonical) => {
    expect(canonicalJson(metadata)).toBe(canonical);
    expect(assetIdOf(canonicalJson(metadata))).toBe(sha256(canonical));
  });

  test("is the SHA-256 of the text as it is", () => {
    for (const json of ['{"a":1,"b":2}', '{"b":2,"a":1}', '{ "a":1, "b":2 }\n', '{"n":9007199254740993}']) {
      expect(assetIdOf(json)).toBe(sha256(json));
      expect(assetIdOf(Buffer.from(json))).toBe(sha256(json));
    }
  });
});

describe("a reference", () => {
  const HEX = "0123456789abcdef".repeat(4);

  test.each([
    HEX,
    `0x${HEX}`,
    `0X${HEX}`,
    HEX.toUpperCase(),
    `a/${HEX}`,
    `/a/${HEX}`,
    `${DID}/a/${HEX}`,
    `/${DID}/a/${HEX}`,
  ])("may be %s", (reference) => {
    expect(parseAssetReference(reference, DID)).toBe(HEX);
    expect(isAssetReference(reference)).toBe(true);
  });

  test.each([
    `did:key:zOther/a/${HEX}`,
    `/did:web:example.com/a/${HEX}`,
    `${DID}x/a/${HEX}`,
    `did:key:z6Mktestvenue/a/${HEX}`,
  ])("to another venue has the form but leads nowhere: %s", (reference) => {
    expect(parseAssetReference(reference, DID)).toBeUndefined();
    expect(isAssetReference(reference)).toBe(true);
  });

  test.each([
    "",
    "a/",
    HEX.slice(1),
    `${HEX}0`,
    `${HEX.slice(1)}g`,
    `/${HEX}`,
    `//a/${HEX}`,
    `A/${HEX}`,
    `b/${HEX}`,
    `a/${HEX}/`,
    `a/0x${HEX}`,
    ` ${HEX}`,
    `${HEX}\n`,
    `${DID}/${HEX}`,
    `${DID}/o/${HEX}`,
    `key:zOther/a/${HEX}`,
    `did:key:x y/a/${HEX}`,
    `did:key:x/y/a/${HEX}`,
    "v/ops/file/read",
  ])("may not be %j", (reference) => {
    expect(parseAssetReference(reference, DID)).toBeUndefined();
    expect(isAssetReference(reference)).toBe(false);
  });
});

/** An object with arrays in it, so many levels deep. */
function deep(levels: number): Record<string, unknown> {
  let value: unknown = [];
  for (let i = 2; i < levels; i += 1) value = [value];
  return { value };
}

describe("metadata", () => {
  test.each([{}, { a: [1, null, true, "é\u2028"] }, JSON.parse('{"__proto__":{"x":1}}'), deep(256)])(
    "is kept as it was written",
    (metadata) => {
      const { json } = parseMetadata(metadata);
      expect(json.toString()).toBe(JSON.stringify(metadata));
      expect(readMetadata(json)).toEqual(metadata);
    },
  );

  test("keeps the digits of a BigInt", () => {
    expect(parseMetadata({ a: 9007199254740993n }).json.toString()).toBe('{"a":9007199254740993}');
  });

  const unwritable: [string, Record<string, unknown>, string][] = [
    ["half a surrogate pair", { a: ["\ud800"] }, "not valid Unicode"],
    ["a key that is half a pair", { a: { "\udc00": 1 } }, "not valid Unicode"],
    ["NaN", { a: Number.NaN }, "not a JSON number"],
    ["Infinity", { a: [Number.NEGATIVE_INFINITY] }, "not a JSON number"],
    ["too many levels", deep(257), "nested deeper than 256 levels"],
    ["levels without end", deep(200_000), "nested deeper than 256 levels"],
    ["a function", { a: () => 1 }, "not a JSON value"],
    ["nothing at all", { a: undefined }, "not a JSON value"],
  ];
  test.each(unwritable)("with %s is refused", (_name, metadata, reason) => {
    expect(() => parseMetadata(metadata)).toThrow(
      expect.objectContaining({ fault: "invalid_metadata", data: { reason } }),
    );
  });

  test("may have one MiB as compact JSON in UTF-8, and not a byte more", () => {
    const frame = JSON.stringify({ text: "" }).length;
    const fits = { text: "é".repeat((1_048_576 - frame - 1) / 2) };
    expect(parseMetadata(fits).json.length).toBe(1_048_575);
    expect(parseMetadata({ text: `${fits.text}x` }).json.length).toBe(1_048_576);
    expect(() => parseMetadata({ text: `${fits.text}é` })).toThrow(
      expect.objectContaining({ fault: "too_large", data: { size: 1_048_577, limit: 1_048_576 } }),
    );
  });
});

describe("the content metadata asks for", () => {
  const HEX = sha256("x");

  test.each([HEX, HEX.toUpperCase(), `0x${HEX}`, `0X${HEX.toUpperCase()}`])("has the hash %s", (hash) => {
    expect(contentOf({ content: { sha256: hash } })).toEqual({ sha256: HEX });
  });

  test("has a type and a name where they are texts", () => {
    const content = { sha256: HEX, contentType: "text/csv", fileName: "a.csv", length: 3 };
    expect(contentOf({ content })).toEqual({ sha256: HEX, contentType: "text/csv", fileName: "a.csv" });
    expect(contentOf({ content: { sha256: HEX, contentType: 1, fileName: null } })).toEqual({ sha256: HEX });
  });

  test.each([
    {},
    { content: null },
    { content: "text" },
    { content: [] },
    { content: {} },
    { content: { sha256: null } },
    { content: { sha256: HEX.slice(1) } },
    { content: { sha256: `${HEX}0` } },
    { content: { sha256: `a/${HEX}` } },
    { sha256: HEX },
    JSON.parse(`{"__proto__":{"content":{"sha256":"${HEX}"}}}`),
    JSON.parse(`{"content":{"__proto__":{"sha256":"${HEX}"}}}`),
  ])("is none in %j", (metadata) => {
    expect(contentOf(metadata)).toBeUndefined();
  });
});

describe("a summary", () => {
  test("has name, type and description where they are texts", () => {
    expect(summaryOf("i", { name: "n", type: "t", description: "d", other: 1 })).toEqual({
      id: "i",
      name: "n",
      type: "t",
      description: "d",
    });
    expect(summaryOf("i", { name: 1, type: ["t"] })).toEqual({ id: "i" });
  });

  test("cuts long texts between characters", () => {
    expect(summaryOf("i", { name: "n".repeat(1000) }).name).toBe("n".repeat(1000));
    expect(summaryOf("i", { name: "n".repeat(1001) }).name).toBe(`${"n".repeat(1000)}…`);
    expect(summaryOf("i", { name: `${"n".repeat(999)}😀` }).name).toBe(`${"n".repeat(999)}…`);
  });
});

describeAssetStore("memory", async () => new AssetMemory());
