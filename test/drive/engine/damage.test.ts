import { describe, expect, test } from "@jest/globals";
import { encode, hashOf } from "../../../src/drive/cad3/encoding/cell.js";
import { map } from "../../../src/drive/cad3/maps/hash-map.js";
import { sign } from "../../../src/drive/cad3/signed.js";
import { createOwnerKeys } from "../../../src/drive/keys/owner-keys.js";
import type { CellStore } from "../../../src/drive/store/cell-store.js";
import { createMemory, createMemoryStore } from "../../../src/drive/store/memory.js";
import { ALICE, BOB, clockAt, openEngine, rejection, tapped, VENUE_KEY } from "./engines.js";

const content = (fill: number): Uint8Array => new Uint8Array(4000).fill(fill);
const chunkHash = (fill: number): string => hashOf(content(fill));

/** A drive with files in directories, in an engine that has nothing of it in memory. */
async function stored() {
  const { store, tap } = tapped(createMemoryStore());
  const first = openEngine({ store }).owner(ALICE);
  await first.change("d", async (drive) => {
    for (const dir of ["one", "two"]) {
      await drive.makeDirectory([dir]);
      for (let file = 0; file < 20; file += 1) {
        await drive.writeFile([dir, `${dir}-${file}`], content(dir.length * 30 + (dir === "one" ? 0 : 100) + file));
      }
    }
  });
  return { store, tap, open: () => openEngine({ store }).owner(ALICE) };
}

describe("a store that has lost a cell", () => {
  test("says which file is affected, and serves the rest", async () => {
    const { tap, open } = await stored();
    tap.lost.add(chunkHash(90 + 7));
    const alice = open();
    const snapshot = await alice.read("d");
    await expect(snapshot.readFile(["one", "one-7"], 0, 10)).rejects.toMatchObject({
      code: "STORE_DAMAGED",
      message: "Drive store is damaged: d:one/one-7",
    });
    expect(await rejection(snapshot.stat(["one", "one-7"]))).toBe("STORE_DAMAGED");
    expect((await snapshot.readFile(["one", "one-8"], 0, 10)).bytes).toHaveLength(10);
    const listed = await snapshot.entries(["one"]);
    expect(listed).toHaveLength(20);
    expect(listed.filter(({ damaged }) => damaged)).toMatchObject([{ name: "one-7", type: "file", size: 0 }]);
  });

  test("says which directory is affected, serves and changes the rest", async () => {
    const { tap, open } = await stored();
    const index = tap.puts.filter(({ bytes }) => bytes[0] === 0x84 && Buffer.from(bytes).includes("two-1"));
    expect(index.length).toBeGreaterThan(0);
    for (const { hash } of index) tap.lost.add(hash);
    const alice = open();
    const snapshot = await alice.read("d");
    await expect(snapshot.entries(["two"])).rejects.toMatchObject({ message: "Drive store is damaged: d:two" });
    expect(await snapshot.entries(["one"])).toHaveLength(20);
    expect(await rejection(alice.change("d", (drive) => drive.writeFile(["two", "two-1"], content(1))))).toBe(
      "STORE_DAMAGED",
    );
    expect(await alice.create("other")).toBe(true);
  });

  test("is told of cells that are not what they were stored as, when every read is verified", async () => {
    const { store, tap } = await stored();
    const forged: CellStore = {
      ...store,
      get: async (hash) => (tap.lost.has(Buffer.from(hash).toString("hex")) ? undefined : flip(await store.get(hash))),
      getMany: async (hashes) => (await store.getMany(hashes)).map(flip),
    };
    const snapshotOf = async (verifyReads: boolean) =>
      openEngine({ store: forged, verifyReads }).owner(ALICE).read("d");
    const read = async () => (await snapshotOf(true)).readFile(["one", "one-8"], 0, 10);
    expect(await rejection(read())).toBe("STORE_DAMAGED");
  });

  test("is told of chunks of a large file that are not what they were stored as, when every read is verified", async () => {
    const { store, open } = await stored();
    await open().change("d", (drive) => drive.writeFile(["large"], Buffer.alloc(20_000, "text")));
    const isChunk = (bytes: Uint8Array | undefined): boolean => (bytes?.length ?? 0) > 4096;
    const forged: CellStore = {
      ...store,
      getMany: async (hashes) => (await store.getMany(hashes)).map((bytes) => (isChunk(bytes) ? flip(bytes) : bytes)),
    };
    const read = async (verifyReads: boolean) =>
      (await openEngine({ store: forged, verifyReads }).owner(ALICE).read("d")).readFile(["large"], 0, 20_000);
    expect(await rejection(read(true))).toBe("STORE_DAMAGED");
    // Without, what the store gives is believed: it has checked that itself.
    expect((await read(false)).size).toBe(20_000);
  });
});

/** Another last byte, where that is content. */
function flip(bytes: Uint8Array | undefined): Uint8Array | undefined {
  return bytes?.[0] === 0x31 ? bytes.with(bytes.length - 1, (bytes.at(-1) ?? 0) ^ 1) : bytes;
}

describe("a root that is damaged", () => {
  const forgeries: readonly [string, (good: Uint8Array) => Uint8Array][] = [
    ["is no cell", () => Buffer.from("not a cell")],
    ["is not signed", () => encode(map([]))],
    ["has been changed", (good) => good.with(50, (good[50] ?? 0) ^ 1)],
    ["is signed by somebody else", () => encode(sign(map([]), new Uint8Array(32).fill(9)))],
  ];

  test.each(forgeries)("is reported and never replaced: %s", async (_, forge) => {
    const memory = createMemory();
    const store = createMemoryStore({ memory });
    const engine = openEngine({ store });
    await engine.owner(BOB).create("bobs");
    await engine.owner(ALICE).create("d");
    const [{ publicKey: account } = { publicKey: "" }] = await store.keys.list(ALICE);
    const good = await store.root(account);
    const bad = forge(good?.bytes ?? new Uint8Array());
    await store.swapRoot(account, good ?? null, bad);
    const later = openEngine({ store });
    expect(await later.check()).toEqual({ owners: 2, damaged: 1 });
    expect(await rejection(later.owner(ALICE).list())).toBe("STORE_DAMAGED");
    expect(await rejection(later.owner(ALICE).create("e"))).toBe("STORE_DAMAGED");
    expect((await store.root(account))?.bytes).toEqual(new Uint8Array(bad));
    expect(await later.owner(BOB).list()).toEqual(["bobs"]);
  });
});

describe("a store that cannot be reached", () => {
  test("fails what needs it, without saying where it is, and works again when it is back", async () => {
    const { store, tap } = tapped(createMemoryStore());
    const alice = openEngine({ store }).owner(ALICE);
    await alice.create("d");
    tap.isDown = true;
    await expect(alice.read("d")).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
      message: "Drive store is not reachable: d",
    });
    expect(await rejection(alice.change("d", (drive) => drive.makeDirectory(["a"])))).toBe("STORE_UNAVAILABLE");
    tap.isDown = false;
    expect(await alice.change("d", (drive) => drive.makeDirectory(["a"]))).toBe(true);
  });

  test("in the middle of a change keeps nothing of it", async () => {
    const { store, tap } = tapped(createMemoryStore());
    const alice = openEngine({ store }).owner(ALICE);
    await alice.create("d");
    tap.beforeCommit = async () => {
      throw new Error("ECONNRESET");
    };
    expect(await rejection(alice.change("d", (drive) => drive.makeDirectory(["a"])))).toBe("STORE_UNAVAILABLE");
    expect(await (await alice.read("d")).entries([])).toEqual([]);
  });
});

describe("a key that cannot be opened", () => {
  test("makes the drives read-only", async () => {
    const store = createMemoryStore();
    const clock = clockAt(1000);
    await openEngine({ store, clock })
      .owner(ALICE)
      .change("d", (drive) => drive.writeFile(["f"], content(1)));
    const keys = createOwnerKeys({ records: store.keys, venueKey: VENUE_KEY.map((byte) => byte + 1), clock });
    const alice = openEngine({ store, clock, keys }).owner(ALICE);
    expect((await (await alice.read("d")).readFile(["f"], 0, 10)).size).toBe(4000);
    let asked = false;
    const write = alice.change("d", async () => {
      asked = true;
    });
    expect(await rejection(write)).toBe("READ_ONLY_ROOT");
    expect([asked, await rejection(alice.create("e")), await rejection(alice.delete("d"))]).toEqual([
      false,
      "READ_ONLY_ROOT",
      "READ_ONLY_ROOT",
    ]);
    expect(await store.keys.list(ALICE)).toHaveLength(1);
  });
});

describe("drives under several keys of one user", () => {
  test("are seen together, and go under the active key with the next change", async () => {
    const store = createMemoryStore();
    const clock = clockAt(1000);
    const keys = createOwnerKeys({ records: store.keys, venueKey: VENUE_KEY, clock });
    const alice = openEngine({ store, clock, keys }).owner(ALICE);
    await alice.change("d", (drive) => drive.writeFile(["old"], content(1)));
    const [old = ""] = await keys.accounts(ALICE);
    // A key from elsewhere, as if it had been made earlier.
    clock.now = 500;
    const key = await keys.import(ALICE, new Uint8Array(32).fill(5));
    clock.now = 2000;
    expect(await keys.accounts(ALICE)).toEqual([key, old]);
    const other = openEngine({ store, clock, keys }).owner(ALICE);
    expect(await other.list()).toEqual(["d"]);
    await other.change("d", (drive) => drive.writeFile(["new"], content(2)));
    expect(await store.root(key)).toBeDefined();
    const snapshot = await openEngine({ store, clock, keys }).owner(ALICE).read("d");
    expect((await snapshot.entries([])).map(({ name }) => name)).toEqual(["new", "old"]);
  });
});
