import { describe, expect, test } from "@jest/globals";
import { parseConfig } from "../../src/config/load.js";
import type { VenueConfigInput } from "../../src/config/types.js";
import { at, venueProblems } from "./problems.js";

const parse = (value: VenueConfigInput) => parseConfig(value, { baseDir: "/base" });

describe("an empty config", () => {
  test("has every default", () => {
    expect(parse({})).toEqual({
      name: "venue-files",
      hostname: "localhost",
      port: 8080,
      auth: { public: {} },
      maxRequestBytes: 16_777_216,
      jobs: { inlineWaitMs: 1000, maxWaitMs: 120_000, max: 10_000, maxBytes: 67_108_864, ttlMs: 3_600_000 },
      mcp: { defaultReadBytes: 65_536, defaultReadLines: 2000, maxReadBytes: 1_048_576 },
      audit: {},
      file: {
        roots: {
          tmp: {
            kind: "temp",
            prefix: "covia-tmp-",
            readOnly: false,
            durability: "none",
            crossDevice: false,
            hardLinks: false,
            io: "auto",
          },
        },
        limits: { maxReadBytes: 8_388_608, maxWriteBytes: 8_388_608, timeoutMs: 30_000, maxConcurrent: 64 },
      },
      warnings: [],
    });
  });

  test("is the same as one whose keys are undefined", () => {
    expect(parseConfig({ port: undefined, file: undefined, mcp: undefined }, { baseDir: "/base" })).toEqual(parse({}));
  });
});

describe("a full config", () => {
  const given = {
    name: "mine",
    hostname: "0.0.0.0",
    port: 0,
    auth: { public: { enabled: false, caps: [{ with: "file://docs/", can: "crud/read" }] } },
    maxRequestBytes: 1,
    jobs: { inlineWaitMs: 0, maxWaitMs: 1, max: 2, maxBytes: 3, ttlMs: 4 },
    mcp: { defaultReadBytes: 10, defaultReadLines: 20, maxReadBytes: 30 },
    audit: { file: "/log/audit.jsonl" },
    file: {
      roots: {},
      discloseHostPaths: true,
      limits: { maxReadBytes: 40, maxWriteBytes: 50, timeoutMs: 60, maxConcurrent: 70 },
    },
  } satisfies VenueConfigInput;

  test("keeps every value", () => {
    expect(parse(given)).toMatchObject({ ...given, file: { discloseHostPaths: true, limits: given.file.limits } });
  });

  test("is frozen all through, and leaves what was given alone", () => {
    const config = parse({ ...given, file: { roots: { docs: { path: "docs" } } } });
    const thawed = [
      config,
      config.auth,
      config.auth.public,
      config.auth.public.caps,
      config.auth.public.caps?.[0],
      config.jobs,
      config.mcp,
      config.audit,
      config.file,
      config.file.roots,
      ...Object.values(config.file.roots),
      config.file.limits,
      config.warnings,
    ].filter((part) => !Object.isFrozen(part));
    expect(thawed).toEqual([]);
    expect(Object.isFrozen(given.auth.public.caps)).toBe(false);
  });

  test("fills in the other keys of a group of which one is given", () => {
    expect(parse({ jobs: { max: 5 } }).jobs).toMatchObject({ max: 5, ttlMs: 3_600_000 });
  });

  test("resolves the audit file against the base folder", () => {
    expect(parse({ audit: { file: "audit.jsonl" } }).audit.file).toBe("/base/audit.jsonl");
  });
});

describe("a wrong value is named with its key and what was expected", () => {
  const atLeast = (from: number) => `an integer of at least ${from}`;
  const fromTo = (from: number, to: number) => `an integer from ${from} to ${to}`;
  test.each([
    ["name", 5, "a string that is not empty, not 5"],
    ["name", "", "a string that is not empty"],
    ["hostname", "my host", "a host name or an IP address"],
    ["hostname", "http://localhost", "a host name or an IP address"],
    ["hostname", null, "a host name or an IP address, not null"],
    ["port", "8080", `${fromTo(0, 65535)}, not a string`],
    ["port", -1, `${fromTo(0, 65535)}, not -1`],
    ["port", 65536, `${fromTo(0, 65535)}, not 65536`],
    ["port", 80.5, `${fromTo(0, 65535)}, not 80.5`],
    ["port", Number.NaN, `${fromTo(0, 65535)}, not NaN`],
    ["auth", [], "an object, not an array"],
    ["auth.public", true, "an object, not true"],
    ["auth.public.enabled", "true", "true or false, not a string"],
    ["auth.public.caps", {}, "an array, not an object"],
    ["auth.public.caps", "*", "an array, not a string"],
    ["maxRequestBytes", 0, `${atLeast(1)}, not 0`],
    ["maxRequestBytes", Number.POSITIVE_INFINITY, `${atLeast(1)}, not Infinity`],
    ["jobs", null, "an object, not null"],
    ["jobs.inlineWaitMs", 5000, `${fromTo(0, 4999)}, not 5000`],
    ["jobs.inlineWaitMs", -1, `${fromTo(0, 4999)}, not -1`],
    ["jobs.maxWaitMs", 2 ** 31, `${fromTo(0, 2 ** 31 - 1)}, not 2147483648`],
    ["jobs.max", 0, `${atLeast(1)}, not 0`],
    ["jobs.maxBytes", "64MB", `${atLeast(1)}, not a string`],
    ["jobs.ttlMs", -1, `${fromTo(0, 2 ** 31 - 1)}, not -1`],
    ["mcp", true, "false or an object, not true"],
    ["mcp", "off", "false or an object, not a string"],
    ["mcp.defaultReadBytes", 0, `${atLeast(1)}, not 0`],
    ["mcp.defaultReadLines", 0, `${atLeast(1)}, not 0`],
    ["mcp.maxReadBytes", 0, `${atLeast(1)}, not 0`],
    ["audit", "audit.jsonl", "an object, not a string"],
    ["audit.file", "", "a path that is not empty"],
    ["audit.file", "a\0b", "a path that is not empty"],
    ["audit.file", false, "a path that is not empty, not false"],
    ["file", [], "an object, not an array"],
    ["file.roots", ["./docs"], "an object, not an array"],
    ["file.discloseHostPaths", 1, "true or false, not 1"],
    ["file.limits", 8, "an object, not 8"],
    ["file.limits.maxReadBytes", 0, `${atLeast(1)}, not 0`],
    ["file.limits.maxWriteBytes", 2 ** 53, `${atLeast(1)}, not 9007199254740992`],
    ["file.limits.timeoutMs", 0, `${fromTo(1, 2 ** 31 - 1)}, not 0`],
    ["file.limits.timeoutMs", 2 ** 31, `${fromTo(1, 2 ** 31 - 1)}, not 2147483648`],
    ["file.limits.maxConcurrent", 1.5, `${atLeast(1)}, not 1.5`],
  ])("%s: %j", (keyPath, value, expected) => {
    expect(venueProblems(at(keyPath, value))).toEqual([`'${keyPath}' must be ${expected}`]);
  });
});

describe("a value at the edge of its range is right", () => {
  test.each([
    ["port", 0],
    ["port", 65535],
    ["jobs.inlineWaitMs", 0],
    ["jobs.inlineWaitMs", 4999],
    ["file.limits.timeoutMs", 1],
    ["file.limits.timeoutMs", 2 ** 31 - 1],
    ["mcp", false],
    ["hostname", "::1"],
    ["auth.public.caps", []],
  ])("%s: %j", (keyPath, value) => {
    expect(parseConfig(at(keyPath, value), { baseDir: "/base" })).toMatchObject(at(keyPath, value) as object);
  });
});

describe("the read sizes of MCP", () => {
  const limits = (maxReadBytes: number) => ({ limits: { maxReadBytes } });
  test.each([
    [
      { mcp: { maxReadBytes: 8_388_609 } },
      "'mcp.maxReadBytes' must be at most 'file.limits.maxReadBytes' (8388608), not 8388609",
    ],
    [
      { mcp: { maxReadBytes: 1001 }, file: limits(1000) },
      "'mcp.maxReadBytes' must be at most 'file.limits.maxReadBytes' (1000), not 1001",
    ],
    [
      { mcp: { defaultReadBytes: 31, maxReadBytes: 30 } },
      "'mcp.defaultReadBytes' must be at most 'mcp.maxReadBytes' (30), not 31",
    ],
    [
      { mcp: { defaultReadBytes: 1001 }, file: limits(1000) },
      "'mcp.defaultReadBytes' must be at most 'mcp.maxReadBytes' (1000), not 1001",
    ],
  ])("are refused over what they depend on: %j", (value, message) => {
    expect(venueProblems(value)).toEqual([message]);
  });

  test.each<[VenueConfigInput, object]>([
    [{ file: limits(1000) }, { maxReadBytes: 1000, defaultReadBytes: 1000 }],
    [{ mcp: { maxReadBytes: 30 } }, { maxReadBytes: 30, defaultReadBytes: 30 }],
    [
      { mcp: { maxReadBytes: 30, defaultReadBytes: 30 }, file: limits(30) },
      { maxReadBytes: 30, defaultReadBytes: 30 },
    ],
    [{ mcp: { maxReadBytes: 8_388_608 } }, { maxReadBytes: 8_388_608, defaultReadBytes: 65_536 }],
  ])("give way by default: %j", (value, mcp) => {
    expect(parse(value).mcp).toMatchObject(mcp);
  });

  test("are not compared with a limit that is wrong itself", () => {
    expect(venueProblems({ mcp: { maxReadBytes: 9_000_000 }, file: { limits: { maxReadBytes: "9MB" } } })).toEqual([
      "'file.limits.maxReadBytes' must be an integer of at least 1, not a string",
    ]);
  });
});

describe("a public capability", () => {
  const caps = (...entries: unknown[]) => ({ auth: { public: { caps: entries } } });

  test.each([
    [5, "'auth.public.caps[0]' must be an object, not 5"],
    [{ with: "file://" }, "'auth.public.caps[0].can' is missing: expected a string"],
    [{ with: null, can: "crud" }, "'auth.public.caps[0].with' must be a string, not null"],
    [{ with: "file://", can: "crud", nb: {} }, "Unknown config key 'auth.public.caps[0].nb'"],
  ])("has to be {with, can}: %j", (entry, message) => {
    expect(venueProblems(caps(entry))).toEqual([message]);
    // What is said about its form is enough.
    expect(venueProblems(caps(entry), { isGrant: (value) => typeof value === "object" && value !== null })).toEqual([
      message,
    ]);
  });

  test("with several faults has all of them reported", () => {
    expect(venueProblems(caps({ nb: {}, colour: "red" }))).toEqual([
      "Unknown config key 'auth.public.caps[0].nb'",
      "Unknown config key 'auth.public.caps[0].colour'",
      "'auth.public.caps[0].with' is missing: expected a string",
      "'auth.public.caps[0].can' is missing: expected a string",
    ]);
  });

  test("with a misspelt key has only the other one reported as missing", () => {
    expect(venueProblems(caps({ cann: "crud" }))).toEqual([
      "Unknown config key 'auth.public.caps[0].cann' - did you mean 'can'?",
      "'auth.public.caps[0].with' is missing: expected a string",
    ]);
  });

  test("has to grant something, as the given parser sees it", () => {
    const isGrant = (value: unknown) => (value as { with: string }).with.startsWith("file://");
    const value = caps({ with: "file://docs", can: "crud" }, { with: "docs", can: "crud" });
    expect(venueProblems(value, { isGrant })).toEqual([
      expect.stringMatching(/^'auth\.public\.caps\[1\]' grants nothing: /),
    ]);
    expect(venueProblems(value)).toEqual([]);
  });
});
