import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import type { DriveChange } from "../../../../src/drive/engine/drives.js";
import { parseRootObject } from "../../../../src/drive/store/s3/roots/root-object.js";
import { ALICE } from "../../engine/engines.js";
import { append, type Bucket, isRootPut, logOf, openBucket, type Venue } from "./bucket.js";
import type { FakeRequest } from "./fake-s3.js";

jest.setTimeout(120_000);

const MEBI = 1 << 20;
let bucket: Bucket;

beforeEach(async () => {
  bucket = await openBucket();
});

afterEach(() => bucket.dispose());

const contentOf = (bytes: number): Uint8Array => new Uint8Array(bytes).map((_, at) => (at * 31 + (at >> 8)) % 251);

async function* streamOf(content: Uint8Array): AsyncGenerator<Uint8Array> {
  yield content;
}

/** Lets another venue change something each time before a root of this venue is put, so many times. */
function overtake(venue: Venue, times: number): { readonly done: number } {
  const seen = { done: 0 };
  let isOther = false;
  bucket.fake.fault = (request) => {
    if (!isRootPut(request) || isOther || seen.done === times) return undefined;
    isOther = true;
    seen.done += 1;
    const after = append(venue, ".").finally(() => {
      isOther = false;
    });
    return { after };
  };
  return seen;
}

const change = ({ engine }: Venue, work: (draft: DriveChange) => Promise<unknown>): Promise<unknown> =>
  engine.owner(ALICE).change("notes", work);

const kindOf = ({ method, key }: FakeRequest): string => `${method} ${key.split("/")[0]}`;

/** The requests of some work, by kind, those of the venue that overtakes it included. */
async function requestsOf(work: () => Promise<unknown>): Promise<Map<string, number>> {
  const from = bucket.fake.requests.length;
  await work();
  const counts = new Map<string, number>();
  for (const kind of bucket.fake.requests.slice(from).map(kindOf)) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}

describe("a change that is overtaken again and again", () => {
  const OVERTAKEN = 5;

  test.each([
    ["content that fits in one pack", 300_000],
    ["content of several packs", 17 * MEBI],
  ])("uploads %s once, and then only the root", async (_, bytes) => {
    const [one, other] = [await bucket.venue(), await bucket.venue()];
    await append(one, "1");
    const alone = await requestsOf(() =>
      change(one, (draft) => draft.writeFile(["first"], contentOf(bytes).reverse())),
    );
    await append(other, ".");
    const seen = overtake(other, OVERTAKEN);
    const content = contentOf(bytes);
    const contended = await requestsOf(() => change(one, (draft) => draft.writeFile(["large"], content)));
    bucket.fake.fault = undefined;
    expect(seen.done).toBe(OVERTAKEN);
    for (const kind of ["PUT packs", "PUT manifests"]) expect(contended.get(kind)).toBe(alone.get(kind));
    // Each try puts the root once, and so does each change that came before it.
    expect(contended.get("PUT roots")).toBe(2 * OVERTAKEN + 1);
    expect(await logOf(one)).toBe(`1${".".repeat(OVERTAKEN + 1)}`);
    const snapshot = await (await bucket.venue()).engine.owner(ALICE).read("notes");
    expect(Buffer.compare((await snapshot.readFile(["large"], 0, bytes)).bytes, content)).toBe(0);
    snapshot.release();
  });

  test("uploads nothing but the root where all of it fits there", async () => {
    const [one, other] = [await bucket.venue(), await bucket.venue()];
    await append(one, "1");
    overtake(other, OVERTAKEN);
    const requests = await requestsOf(() => append(one, "2"));
    bucket.fake.fault = undefined;
    expect(requests.get("PUT packs")).toBeUndefined();
    expect(requests.get("PUT manifests")).toBeUndefined();
    expect(requests.get("PUT roots")).toBe(2 * OVERTAKEN + 1);
    expect(await logOf(other)).toBe(`1${".".repeat(OVERTAKEN)}2`);
  });

  test("leaves no cells of the tries that lost in the root", async () => {
    const [one, other] = [await bucket.venue(), await bucket.venue()];
    await append(one, "1");
    const carried = (): number => {
      const [head] = bucket.keysOf("roots/");
      return parseRootObject(bucket.fake.objects.get(head ?? "")?.bytes ?? Buffer.alloc(0)).carried.size;
    };
    // Branches of this one change; twice, since the first one makes the file.
    await change(one, (draft) => draft.writeFile(["sized"], contentOf(20_000)));
    const before = carried();
    await change(one, (draft) => draft.writeFile(["sized"], contentOf(20_001)));
    const ofOne = carried() - before;
    expect(ofOne).toBeGreaterThan(0);
    const dots = carried();
    for (let at = 0; at < 4; at += 1) await append(other, ".");
    const ofFour = carried() - dots;
    overtake(other, 4);
    const start = carried();
    await change(one, (draft) => draft.writeFile(["sized"], contentOf(20_002)));
    bucket.fake.fault = undefined;
    expect(carried() - start).toBeLessThanOrEqual(ofOne + ofFour + 1);
  });

  test("uploads what came as a stream once", async () => {
    const [one, other] = [await bucket.venue(), await bucket.venue()];
    await append(one, "1");
    const content = contentOf(300_000);
    const staged = await one.engine.owner(ALICE).stage(streamOf(content));
    overtake(other, OVERTAKEN);
    const requests = await requestsOf(() => change(one, (draft) => draft.writeFile(["large"], staged)));
    bucket.fake.fault = undefined;
    expect(requests.get("PUT packs")).toBeUndefined();
    expect(requests.get("PUT roots")).toBe(2 * OVERTAKEN + 1);
    const snapshot = await other.engine.owner(ALICE).read("notes");
    expect(Buffer.compare((await snapshot.readFile(["large"], 0, content.length)).bytes, content)).toBe(0);
    expect((await snapshot.readFile(["log"], 0, 100)).bytes.toString()).toBe(`1${".".repeat(OVERTAKEN)}`);
    snapshot.release();
  });
});
