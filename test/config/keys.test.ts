import { describe, expect, test } from "@jest/globals";
import { parseConfig } from "../../src/config/load.js";
import { venueProblems } from "./problems.js";

describe("an unknown key is named with its full path and the nearest valid key", () => {
  test.each([
    [{ nmae: "a" }, "Unknown config key 'nmae' - did you mean 'name'?"],
    [{ file: { rootz: {} } }, "Unknown config key 'file.rootz' - did you mean 'roots'?"],
    [{ file: { Roots: {} } }, "Unknown config key 'file.Roots' - did you mean 'roots'?"],
    [{ auth: { public: { enable: true } } }, "Unknown config key 'auth.public.enable' - did you mean 'enabled'?"],
    [{ jobs: { ttl: 5 } }, "Unknown config key 'jobs.ttl' - did you mean 'ttlMs'?"],
    [{ mcp: { maxReadByte: 5 } }, "Unknown config key 'mcp.maxReadByte' - did you mean 'maxReadBytes'?"],
    [{ audit: { fiel: "a" } }, "Unknown config key 'audit.fiel' - did you mean 'file'?"],
    [{ file: { limits: { timeout: 5 } } }, "Unknown config key 'file.limits.timeout' - did you mean 'timeoutMs'?"],
    [{ host: "::1" }, "Unknown config key 'host' - did you mean 'hostname'?"],
    [{ colour: "red" }, "Unknown config key 'colour'"],
    [{ seedfile: "a" }, "Unknown config key 'seedfile' - did you mean 'seedFile'?"],
    [{ corsOrigin: [] }, "Unknown config key 'corsOrigin' - did you mean 'corsOrigins'?"],
    [{ venues: [] }, "Unknown config key 'venues'"],
    [{ auth: { token: [] } }, "Unknown config key 'auth.token' - did you mean 'tokens'?"],
    [{ auth: { grant: [] } }, "Unknown config key 'auth.grant' - did you mean 'grants'?"],
    [
      { auth: { ucan: { maxLifeTime: 5 } } },
      "Unknown config key 'auth.ucan.maxLifeTime' - did you mean 'maxLifetime'?",
    ],
    [
      { auth: { grants: [{ did: "did:web:a", with: "file://", can: "crud", nb: {} }] } },
      "Unknown config key 'auth.grants[0].nb'",
    ],
    [
      { file: { roots: { docs: { path: "a", ownr: "did:web:a" } } } },
      "Unknown config key 'file.roots.docs.ownr' - did you mean 'owner'?",
    ],
    [{ rateLimit: { perSec: 1 } }, "Unknown config key 'rateLimit.perSec' - did you mean 'perSecond'?"],
    [{ mcp: { serverInfo: { nmae: "a" } } }, "Unknown config key 'mcp.serverInfo.nmae' - did you mean 'name'?"],
    [{ file: { "a\nb": 1 } }, "Unknown config key 'file.a\\u{a}b'"],
    [{ schema: "./schemas/config.json" }, "Unknown config key 'schema' - did you mean '$schema'?"],
    [{ toString: "a" }, "Unknown config key 'toString'"],
    [
      { auth: { public: { caps: [{ with: "file://", cann: "crud" }] } } },
      "Unknown config key 'auth.public.caps[0].cann' - did you mean 'can'?",
    ],
  ])("%j", (value, message) => {
    expect(venueProblems(value)).toEqual([message]);
  });

  test("unknown and wrong at once are reported together, with everything else", () => {
    const value = {
      prot: 80,
      seed: "00",
      a2a: true,
      hostname: 5,
      jobs: { ttlMs: "1h", nothing: 1 },
      mcp: { maxReadBytes: 9_000_000 },
      auth: { public: { caps: [{ with: "docs", can: "crud" }] } },
      file: { roots: { "a b": { path: "a", durability: "fsync" }, twice: "x" } },
    };
    const options = { isGrant: () => false, extraRoots: { twice: { path: "/y" } } };
    expect([...venueProblems(value, options)].sort()).toEqual(
      [
        "Unknown config key 'prot' - did you mean 'port'?",
        "'seed' must be 64 hex digits",
        "'a2a' is not supported by this venue",
        "'hostname' must be a host name or an IP address, not a number",
        "'jobs.ttlMs' must be an integer from 0 to 2147483647, not a string",
        "Unknown config key 'jobs.nothing'",
        "'mcp.maxReadBytes' must be at most 'file.limits.maxReadBytes' (8388608), not 9000000",
        `'auth.public.caps[0]' grants nothing: expected 'with' to be a resource such as "file://docs/" and 'can' an ability such as "crud/read"`,
        "'file.roots.a b' has an invalid name: expected a letter or digit, then at most 62 letters, digits, '.', '_' or '-'",
        `'file.roots.a b.durability' must be "flush" or "none"`,
        "Root 'twice' is given twice: in the config and by --root",
      ].sort(),
    );
  });
});

describe("a key of the reference without function here", () => {
  const warning = (key: string) => `Config key '${key}' has no function in this venue and is ignored`;

  test("causes one warning each", () => {
    const config = parseConfig(
      {
        a2a: { enabled: false, path: "/a2a" },
        store: "temp",
        acceptQueueSize: 5,
        fixMcpStrings: true,
        secrets: {},
      },
      { baseDir: "/base" },
    );
    const keys = ["store", "acceptQueueSize", "fixMcpStrings", "secrets", "a2a"];
    expect(config.warnings).toEqual(keys.map(warning));
    expect({ ...config, warnings: [] }).toEqual(parseConfig({}, { baseDir: "/base" }));
  });

  test.each([true, {}, { enabled: true }, { enabled: "no" }])(
    "is an error when it is a service and enabled by %j",
    (value) => {
      expect(venueProblems({ a2a: value })).toEqual(["'a2a' is not supported by this venue"]);
    },
  );

  test.each([null, "off"])("is a warning when it is a service and %j", (value) => {
    expect(parseConfig({ a2a: value }, { baseDir: "/base" }).warnings).toEqual([warning("a2a")]);
  });

  test("is unknown anywhere but at the top", () => {
    expect(venueProblems({ file: { secrets: {} } })).toEqual(["Unknown config key 'file.secrets'"]);
  });
});
