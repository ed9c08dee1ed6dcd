import { describe, expect, test } from "@jest/globals";
import { parseConfig } from "../../../src/config/load.js";
import type { VenueConfigInput } from "../../../src/config/types.js";
import { configErrorOf, venueProblems } from "../problems.js";

const BUCKET = { s3: { bucket: "venue" } };
const SHARED: VenueConfigInput = {
  seed: "ab".repeat(32),
  shared: { postgres: { url: { env: "DB" } } },
  drives: { store: BUCKET },
  storage: { content: "s3", ...BUCKET },
  file: { roots: { mine: { dlfs: "notes" } } },
};

describe("with shared", () => {
  test.each<[string, VenueConfigInput]>([
    ["drives and assets in a bucket", {}],
    [
      "a host root of one machine, a temp root of each",
      { file: { roots: { docs: { path: "/docs", shared: true }, tmp: { temp: true, perInstance: true } } } },
    ],
    [
      "an address off loopback that others know",
      {
        hostname: "0.0.0.0",
        auth: { public: { enabled: false } },
        shared: { postgres: { url: { env: "DB" } }, advertise: "http://10.0.0.5:8080" },
      },
    ],
  ])("is taken: %s", (_, more) => {
    expect(venueProblems({ ...SHARED, ...more }, {})).toEqual([]);
  });

  const elsewhere = `'storage.content' must be "s3" with 'shared', and s3 beside it: other instances see no assets elsewhere`;
  test.each<[string, VenueConfigInput, string]>([
    [
      "drives in memory",
      { drives: { store: "memory" } },
      "'drives.store' must have s3 with 'shared': other instances see no drives elsewhere",
    ],
    [
      "drives in a folder",
      { drives: { store: { path: "/d" } } },
      "'drives.store' must have s3 with 'shared': other instances see no drives elsewhere",
    ],
    ["assets in memory", { storage: { content: "memory" } }, elsewhere],
    ["assets in memory by default", { storage: {} }, elsewhere],
    ["assets in a folder", { storage: { content: "file", path: "/a" } }, elsewhere],
    [
      "a temp root",
      { file: { roots: { tmp: { temp: true } } } },
      "'file.roots.tmp' needs perInstance: true, since each instance has a temp directory of its own; or use a drive (dlfs)",
    ],
    [
      "a host root",
      { file: { roots: { docs: "/docs" } } },
      "'file.roots.docs' needs shared: true where all instances run on this machine and see it; across machines use a drive (dlfs)",
    ],
    [
      "no address off loopback",
      { hostname: "0.0.0.0", auth: { public: { enabled: false } } },
      "'shared.advertise' is missing: set it to the URL by which other instances reach this one, which listens off loopback",
    ],
    [
      "no address on a socket",
      { listen: { socket: "/run/venue.sock" } },
      "'shared.advertise' is missing: set it to the URL by which other instances reach this one, which listens on a socket",
    ],
    [
      "no roots, for which it would make a temp root",
      { file: { roots: {} } },
      "'file.roots' must be set with 'shared': each instance has a temp directory of its own. Use a drive (dlfs), or say perInstance: true",
    ],
  ])("is refused: %s", (_, more, problem) => {
    expect(venueProblems({ ...SHARED, ...more }, {})).toEqual([problem]);
    expect(configErrorOf(() => parseConfig({ ...SHARED, ...more }, { baseDir: "/base" }))?.exitStatus).toBe(78);
  });

  test("is refused with roots of the command line", () => {
    const extraRoots = { docs: { path: "/docs" } };
    expect(venueProblems(SHARED, { extraRoots })).toEqual([expect.stringMatching(/^--root needs .* without 'shared'/)]);
  });

  test("is refused without 'storage', where the default is memory, and without a key", () => {
    const { storage: _, seed: __, ...without } = SHARED;
    const key = "'seed' is missing: with 'shared' all instances have one key. Set it or 'seedFile'";
    expect(venueProblems(without, {})).toEqual(expect.arrayContaining([elsewhere, key]));
  });
});
