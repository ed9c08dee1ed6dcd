import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { parseConfig } from "../../../src/config/load.js";
import type { VenueConfigInput } from "../../../src/config/types.js";
import type { SurfaceContext } from "../../../src/core/ports/adapter.js";
import { silentLog } from "../../../src/core/ports/log.js";
import { type OpenVenue, openVenue } from "../../../src/venue/start/open-venue.js";
import { BUCKET, CREDENTIALS, type FakeS3, REGION, startFakeS3 } from "../../drive/store/s3/fake-s3.js";

jest.setTimeout(60_000);

const ALICE: SurfaceContext = { callerDID: "did:key:z6MkAlice", authentication: "identity" };
const SEED = "11".repeat(32);
const ENV = {
  AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
  AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
  AWS_REGION: REGION,
};

let home = "";
let fake: FakeS3;
let open: OpenVenue[] = [];

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), "venue-files-s3-"));
  fake = await startFakeS3();
});

afterEach(async () => {
  await Promise.all(open.map((venue) => venue.close()));
  open = [];
  await fake.close();
  rmSync(home, { recursive: true, force: true });
});

const configOf = (name: string, given: VenueConfigInput = {}) =>
  parseConfig(
    {
      ...{ port: 0, seed: SEED, stateDir: join(home, name) },
      drives: { store: { s3: { bucket: BUCKET, endpoint: fake.endpoint, prefix: "venues/" } } },
      ...given,
    },
    { baseDir: home },
  );

async function venueOf(name: string, env: Readonly<Record<string, string>> = ENV): Promise<OpenVenue> {
  const venue = await openVenue(configOf(name), { listens: true, env, log: silentLog });
  open.push(venue);
  return venue;
}

const call = (venue: OpenVenue, operation: string, input: object) =>
  venue.host.run({ operation, input, caller: ALICE.callerDID ?? "", context: ALICE }).result;

describe("drives of venues that share a bucket", () => {
  test("are the same in all of them, below the prefix", async () => {
    const [one, other] = [await venueOf("one"), await venueOf("other")];
    await call(one, "dlfs:write", { drive: "notes", path: "a.txt", content: "from one" });
    expect(await call(other, "dlfs:read", { drive: "notes", path: "a.txt" })).toMatchObject({ content: "from one" });
    await call(other, "dlfs:append", { drive: "notes", path: "a.txt", content: ", and other" });
    expect(await call(one, "dlfs:read", { drive: "notes", path: "a.txt" })).toMatchObject({
      content: "from one, and other",
    });
    expect([...fake.objects.keys()].filter((key) => !key.startsWith("venues/"))).toEqual([]);
  });

  test("need credentials, of which the start says where they belong", async () => {
    await expect(venueOf("one", {})).rejects.toMatchObject({
      name: "ConfigError",
      message: expect.stringContaining("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
    });
  });

  test("need a key of the venue that lasts, and one place", () => {
    const s3 = { bucket: BUCKET };
    expect(() => parseConfig({ drives: { store: { s3 } } }, { baseDir: home })).toThrow(
      /outlasts the key of the venue/,
    );
    const both = { seed: SEED, drives: { store: { s3, path: "drives" } } };
    expect(() => parseConfig(both, { baseDir: home })).toThrow(/only one of path and s3/);
    const neither = { seed: SEED, drives: { store: {} } };
    expect(() => parseConfig(neither, { baseDir: home })).toThrow(/either path or s3/);
  });

  test("that travel unencrypted off this machine are warned of", () => {
    const at = (endpoint: string) => ({ drives: { store: { s3: { bucket: BUCKET, endpoint } } } });
    expect(configOf("one", at("http://s3.example.com")).warnings.join()).toContain("Drives travel unencrypted");
    expect(configOf("one", at("https://s3.example.com")).warnings).toEqual([]);
    expect(configOf("one").warnings).toEqual([]);
  });
});
