import { createPrivateKey, createSecretKey } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import { verify } from "../../../src/drive/cad3/signed.js";
import { createOwnerKeys, type OwnerKeys } from "../../../src/drive/keys/owner-keys.js";
import type { KeyRecords } from "../../../src/drive/store/cell-store.js";
import { createMemoryStore } from "../../../src/drive/store/memory.js";
import { ALICE, BOB, clockAt, rejection } from "../engine/engines.js";

const VENUE_KEY = new Uint8Array(32).fill(1);
const OTHER_KEY = new Uint8Array(32).fill(2);
const SEED = new Uint8Array(32).map((_, place) => place);

function keysOn(
  records: KeyRecords,
  venueKey: Parameters<typeof createOwnerKeys>[0]["venueKey"] = VENUE_KEY,
  now = 1000,
): OwnerKeys {
  return createOwnerKeys({ records, venueKey, clock: clockAt(now) });
}

const newRecords = (): KeyRecords => createMemoryStore().keys;

describe("the key of an owner", () => {
  test("is made once, when it is needed, and signs", async () => {
    const records = newRecords();
    const keys = keysOn(records);
    expect(await keys.active(ALICE)).toBeUndefined();
    expect(await keys.accounts(ALICE)).toEqual([]);
    const made = await keys.create(ALICE);
    expect((await keys.create(ALICE)).publicKey).toBe(made.publicKey);
    expect((await keysOn(records).active(ALICE))?.publicKey).toBe(made.publicKey);
    const signed = made.sign("drives");
    expect(verify(signed)).toBe(true);
    expect(Buffer.from(signed.publicKey).toString("hex")).toBe(made.publicKey);
    expect((await keys.create(BOB)).publicKey).not.toBe(made.publicKey);
  });

  test("is kept sealed, never in the same way twice", async () => {
    const [one, two] = [newRecords(), newRecords()];
    for (const records of [one, two]) await keysOn(records).import(ALICE, SEED);
    const bytes = [...(await one.list(ALICE)), ...(await two.list(ALICE))].map((record) => Buffer.from(record.bytes));
    const [first, second] = bytes.map((record) => JSON.parse(record.toString()));
    expect(first).toEqual({
      v: 1,
      did: ALICE,
      publicKey: expect.stringMatching(/^[0-9a-f]{64}$/),
      createdAt: 1000,
      nonce: expect.any(String),
      sealed: expect.any(String),
    });
    expect(first.sealed).not.toBe(second.sealed);
    for (const record of bytes) {
      for (const form of ["hex", "base64", "latin1"] as const) {
        expect(record.toString("latin1")).not.toContain(Buffer.from(SEED).toString(form).replace(/=+$/, ""));
      }
    }
  });

  test("is exported and imported elsewhere", async () => {
    const [here, there] = [keysOn(newRecords()), keysOn(newRecords(), OTHER_KEY)];
    const { publicKey } = await here.create(ALICE);
    const seed = await here.export(ALICE);
    expect(seed).toHaveLength(32);
    expect(await there.import(BOB, seed)).toBe(publicKey);
    expect(await there.import(BOB, seed)).toBe(publicKey);
    expect(await there.accounts(BOB)).toEqual([publicKey]);
    expect((await there.export(BOB)).equals(seed)).toBe(true);
    expect(await rejection(there.export(ALICE))).toBe("NOT_FOUND");
    expect(await rejection(there.import(ALICE, SEED.subarray(1)))).toBeInstanceOf(RangeError);
  });

  test("is the oldest of several, the same for every process", async () => {
    const records = newRecords();
    const younger = await keysOn(records, VENUE_KEY, 2000).import(ALICE, SEED);
    const older = await keysOn(records, VENUE_KEY, 1000).import(
      ALICE,
      SEED.map((byte) => byte + 1),
    );
    const sameAge = await keysOn(records, VENUE_KEY, 1000).import(
      ALICE,
      SEED.map((byte) => byte + 2),
    );
    const expected = [...[older, sameAge].sort(), younger];
    expect(await keysOn(records).accounts(ALICE)).toEqual(expected);
    expect((await keysOn(records).active(ALICE))?.publicKey).toBe(expected[0]);
  });

  test.each(["another key of the venue", "another user's record", "a changed seal", "another public key"])(
    "cannot be used with %s, and none is made in its place",
    async (kind) => {
      const records = newRecords();
      const { publicKey } = await keysOn(records).create(ALICE);
      const [record] = await records.list(ALICE);
      const fields = JSON.parse(Buffer.from(record?.bytes ?? []).toString());
      const put = (did: string, more: object) =>
        records.put(did, { publicKey, bytes: Buffer.from(JSON.stringify({ ...fields, ...more })) });
      let [keys, did] = [keysOn(records), ALICE];
      if (kind === "another key of the venue") keys = keysOn(records, OTHER_KEY);
      if (kind === "a changed seal") await put(ALICE, { sealed: Buffer.alloc(48).toString("base64") });
      if (kind === "another user's record") {
        did = BOB;
        await put(BOB, { did: BOB });
      }
      if (kind === "another public key") {
        await put(ALICE, { publicKey: "00".repeat(32) });
        expect(await rejection(keys.active(ALICE))).toBe("STORE_DAMAGED");
        return;
      }
      for (const use of [keys.active(did), keys.create(did), keys.export(did)]) {
        expect(await rejection(use)).toBe("READ_ONLY_ROOT");
      }
      expect(await records.list(did)).toHaveLength(1);
    },
  );

  test("is sealed with a key that comes in any of three forms", async () => {
    const records = newRecords();
    const der = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), VENUE_KEY]);
    const forms = [VENUE_KEY, createSecretKey(VENUE_KEY), createPrivateKey({ key: der, format: "der", type: "pkcs8" })];
    const { publicKey } = await keysOn(records).create(ALICE);
    for (const form of forms) expect((await keysOn(records, form).active(ALICE))?.publicKey).toBe(publicKey);
  });
});

describe("sealing again", () => {
  test("makes all records those of the new key of the venue, and can be started over", async () => {
    const records = newRecords();
    const keys = keysOn(records);
    const expected = [(await keys.create(ALICE)).publicKey, (await keys.create(BOB)).publicKey];
    await keysOn(records, new Uint8Array(32).fill(3)).import("did:key:lost", SEED);
    let puts = 0;
    const failing: KeyRecords = {
      ...records,
      put: async (did, record) => {
        puts += 1;
        if (puts > 1) throw Object.assign(new Error(), { code: "STORE_UNAVAILABLE" });
        await records.put(did, record);
      },
    };
    expect(await rejection(keysOn(failing).reseal(OTHER_KEY))).toBe("STORE_UNAVAILABLE");
    expect(await keys.reseal(OTHER_KEY)).toEqual({ resealed: 1, done: 1, failed: 1 });
    expect(await keys.reseal(OTHER_KEY)).toEqual({ resealed: 0, done: 2, failed: 1 });
    const after = keysOn(records, OTHER_KEY);
    expect([(await after.active(ALICE))?.publicKey, (await after.active(BOB))?.publicKey]).toEqual(expected);
    expect(await rejection(keys.active(ALICE))).toBe("READ_ONLY_ROOT");
  });
});
