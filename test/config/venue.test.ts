import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { parseConfig, parseConfigs } from "../../src/config/load.js";
import type { VenueConfigInput } from "../../src/config/types.js";
import { at, configErrorOf, configProblems, venueProblems } from "./problems.js";

describe("a venue", () => {
  const parse = (value: VenueConfigInput) => parseConfig(value, { baseDir: "/base" });

  describe("an empty config", () => {
    test("has every default", () => {
      expect(parse({})).toEqual({
        name: "venue-files",
        hostname: "localhost",
        port: 8080,
        hosts: [],
        trustProxy: false,
        auth: {
          public: {},
          tokens: [],
          grants: [],
          issuers: [],
          ucan: { maxLifetime: 31_622_400, allowNoExpiry: false, acceptUnversionedCovia: false },
          clockSkew: 30,
          maxIdentityLifetime: 3600,
        },
        corsOrigins: [],
        maxRequestBytes: 16_777_216,
        maxContentSize: 104_857_600,
        storage: { content: "memory" },
        assets: { maxTotalBytes: 1_073_741_824 },
        jobs: { inlineWaitMs: 1000, maxWaitMs: 120_000, max: 10_000, maxBytes: 67_108_864, ttlMs: 3_600_000 },
        mcp: {
          defaultReadBytes: 65_536,
          defaultReadLines: 2000,
          maxReadBytes: 1_048_576,
          includePathPrefixes: ["v/ops/"],
          tools: "default",
        },
        audit: { maxBytes: 67_108_864, keep: 5 },
        log: { level: "info" },
        metrics: "operator",
        profiles: {},
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
              journalQuota: { bytes: 268_435_456, entries: 100_000, days: 30 },
              trash: "auto",
              deny: [],
              protect: [],
              encoding: "utf-8",
              quota: { bytes: 1_073_741_824 },
            },
          },
          limits: {
            maxReadBytes: 8_388_608,
            maxWriteBytes: 8_388_608,
            maxUploadBytes: 1_073_741_824,
            timeoutMs: 30_000,
            maxConcurrent: 64,
          },
        },
        drives: {
          staleMs: 0,
          futureSkewMs: 30_000,
          verifyReads: false,
          allowKeyExport: false,
          journalQuota: { bytes: 268_435_456, entries: 100_000, days: 30 },
          limits: {
            maxPathDepth: 256,
            maxFileBytes: 268_435_456,
            maxDriveBytes: 10_737_418_240,
            maxEntries: 1_000_000,
            maxImportBytes: 536_870_912,
            maxImportCells: 2_000_000,
            maxImportLogicalBytes: 2_147_483_648,
            maxImportEntries: 1_000_000,
          },
        },
        warnings: [],
      });
    });

    test("is the same as one whose keys are undefined", () => {
      expect(parseConfig({ port: undefined, file: undefined, mcp: undefined }, { baseDir: "/base" })).toEqual(
        parse({}),
      );
    });
  });

  describe("a full config", () => {
    const given = {
      name: "mine",
      hostname: "0.0.0.0",
      port: 0,
      baseUrl: "https://files.example.com/base",
      hosts: ["nas.local", "::1"],
      trustProxy: true,
      seed: "0a".repeat(32),
      did: "did:web:files.example.com",
      operator: "did:key:z6MkOperator",
      stateDir: "/state",
      auth: {
        public: { enabled: false, caps: [{ with: "file://docs/", can: "crud/read" }] },
        localToken: true,
        tokens: [
          { name: "ci", token: { env: "CI_TOKEN" }, caps: [{ with: "file://tmp/", can: "crud" }] },
          { name: "b.2", token: { file: "/token" }, did: "did:web:b.example", caps: [] },
          { name: "c", token: { sha256: "0b".repeat(32) }, caps: [] },
        ],
        grants: [
          { did: `did:key:z6Mk${"g".repeat(44)}`, with: "file://", can: "crud/read" },
          { did: "did:web:b.example", with: "file://tmp/in/", can: "crud/write" },
        ],
        issuers: [
          {
            issuer: "https://sso.example.com/",
            audience: ["api://files"],
            jwks: "http://127.0.0.1:1/keys",
            algorithms: ["ES256"],
            requiredClaims: ["client_id"],
            map: [
              { when: {}, caps: [] },
              { when: { email: "a@b.example" }, caps: [{ with: "file://tmp/", can: "crud/read" }] },
            ],
          },
        ],
        ucan: { maxLifetime: 1, allowNoExpiry: true, acceptUnversionedCovia: true, revocations: "/revoked" },
        clockSkew: 0,
        maxIdentityLifetime: 1,
        acceptUnboundIdentity: false,
      },
      corsOrigins: ["https://app.example.com", "http://localhost:3000"],
      maxContentSize: 2,
      rateLimit: { perSecond: 3, burst: 2 },
      storage: { content: "file", path: "/assets" },
      assets: { maxTotalBytes: 0, write: "operator" },
      log: { level: "debug", file: "/log/venue.log" },
      metrics: false,
      profiles: {
        jettson: {
          ...{ profile: "jettson", root: "tmp", prefix: "a/b" },
          shell: {
            ...{ driver: "bwrap", network: true, uid: 5, gid: 6, scratchBytes: 7, unsafe: false },
            extraMounts: [{ path: "/opt/node" }, { path: "/tools", at: "/opt/tools" }],
            limits: { nproc: 1, fsize: 2, data: 3, nofile: 4, core: 5 },
          },
        },
        sessions: { profile: "everruns", root: "tmp", alias: null, variant: "strict", onStale: "reject" },
      },
      maxRequestBytes: 1,
      maxInFlightBytes: 2,
      jobs: { inlineWaitMs: 0, maxWaitMs: 1, max: 2, maxBytes: 3, ttlMs: 4 },
      mcp: {
        defaultReadBytes: 10,
        defaultReadLines: 20,
        maxReadBytes: 30,
        serverInfo: { name: "a", title: "b", version: "c" },
        includeAdapters: ["file", "mine"],
        includePathPrefixes: ["v/ops/file/", "v/ops/mine/"],
        tools: "full",
      },
      audit: { file: "/log/audit.jsonl", maxBytes: 1, keep: 1 },
      file: {
        roots: {},
        discloseHostPaths: true,
        limits: { maxReadBytes: 40, maxWriteBytes: 50, maxUploadBytes: 55, timeoutMs: 60, maxConcurrent: 70 },
      },
      drives: {
        store: { path: "/drives" },
        staleMs: 10,
        futureSkewMs: 5,
        verifyReads: true,
        allowKeyExport: true,
        journalQuota: { bytes: 1, entries: 2, days: 3 },
        limits: {
          maxPathDepth: 1,
          maxFileBytes: 2,
          maxDriveBytes: 3,
          maxEntries: 4,
          maxImportBytes: 5,
          maxImportCells: 6,
          maxImportLogicalBytes: 7,
          maxImportEntries: 8,
        },
      },
    } satisfies VenueConfigInput;

    test("keeps every value", () => {
      const { file, warnings, ...others } = parse(given);
      const { file: givenFile, ...givenOthers } = given;
      expect(others).toEqual(givenOthers);
      expect(file).toMatchObject({ discloseHostPaths: true, limits: givenFile.limits });
      expect(warnings).toEqual([]);
    });

    test.each<VenueConfigInput>([
      { seedFile: "/seed" },
      { listen: { socket: "/run/venue.sock" } },
      { corsOrigins: "*", auth: { public: { enabled: false } } },
      { rateLimit: false },
      { mcp: false },
      { metrics: "public" },
    ])("keeps what excludes some of those: %j", (value) => {
      expect(parse(value)).toMatchObject(value);
    });

    test("is frozen all through, and leaves what was given alone", () => {
      const { hostname, port, ...others } = given;
      const config = parse({ ...others, listen: { socket: "s" }, file: { roots: { tmp: { path: "docs" } } } });
      const thawed = [
        config,
        config.auth,
        config.auth.public,
        config.auth.public.caps,
        config.auth.public.caps?.[0],
        config.auth.tokens,
        ...config.auth.tokens.flatMap((token) => [token, token.token, token.caps, ...token.caps]),
        config.auth.grants,
        ...config.auth.grants,
        config.auth.ucan,
        config.listen,
        config.corsOrigins,
        config.rateLimit,
        config.storage,
        config.assets,
        config.log,
        config.jobs,
        config.mcp,
        config.mcp !== false && [config.mcp.serverInfo, config.mcp.includeAdapters, config.mcp.includePathPrefixes],
        config.audit,
        config.file,
        config.file.roots,
        ...Object.values(config.file.roots),
        config.file.limits,
        config.drives,
        config.drives.store,
        config.drives.limits,
        config.warnings,
      ]
        .flat()
        .filter((part) => !Object.isFrozen(part));
      expect(thawed).toEqual([]);
      expect(Object.isFrozen(given.auth.public.caps)).toBe(false);
    });

    test("fills in the other keys of a group of which one is given", () => {
      expect(parse({ jobs: { max: 5 } }).jobs).toMatchObject({ max: 5, ttlMs: 3_600_000 });
      expect(parse({ rateLimit: { perSecond: 5 } }).rateLimit).toEqual({ perSecond: 5, burst: 200 });
      expect(parse({ auth: { ucan: { allowNoExpiry: true } } }).auth.ucan).toEqual({
        maxLifetime: 31_622_400,
        allowNoExpiry: true,
        acceptUnversionedCovia: false,
      });
      expect(parse({ audit: { file: "/a" } }).audit).toEqual({ file: "/a", maxBytes: 67_108_864, keep: 5 });
    });

    test("has its paths made absolute against the base folder", () => {
      const config = parse({
        listen: { socket: "run/venue.sock" },
        seedFile: "../seed",
        stateDir: "./state/",
        auth: { tokens: [{ name: "a", token: { file: "token" }, caps: [] }], ucan: { revocations: "revoked" } },
        storage: { content: "file", path: "assets" },
        audit: { file: "audit.jsonl" },
        log: { file: "/log" },
      });
      expect(config).toMatchObject({
        listen: { socket: "/base/run/venue.sock" },
        seedFile: "/seed",
        stateDir: "/base/state",
        auth: { tokens: [{ token: { file: "/base/token" } }], ucan: { revocations: "/base/revoked" } },
        storage: { path: "/base/assets" },
        audit: { file: "/base/audit.jsonl" },
        log: { file: "/log" },
      });
    });
  });

  describe("a text that can be written in several ways", () => {
    test.each([
      ["https://files.example.com/", "https://files.example.com"],
      ["https://Files.Example.com:443/a/b//", "https://files.example.com/a/b"],
      ["http://[::1]:8080", "http://[::1]:8080"],
      ["http://localhost:80", "http://localhost"],
      ["https://b\u00fccher.example", "https://xn--bcher-kva.example"],
      ["https://a.example/x@y", "https://a.example/x@y"],
    ])("has one form: baseUrl %s", (baseUrl, expected) => {
      expect(parse({ baseUrl, auth: { public: { enabled: true } } }).baseUrl).toBe(expected);
    });

    test("has one form: origins", () => {
      const corsOrigins = ["https://App.Example.com:443", "http://[::1]:3000", "http://a.example:80"];
      expect(parse({ corsOrigins }).corsOrigins).toEqual([
        "https://app.example.com",
        "http://[::1]:3000",
        "http://a.example",
      ]);
    });

    test("has one form: hex digits", () => {
      const tokens = [{ name: "a", token: { sha256: "AB".repeat(32) }, caps: [] }];
      const config = parse({ seed: "0A".repeat(32), auth: { tokens } });
      expect(config).toMatchObject({
        seed: "0a".repeat(32),
        auth: { tokens: [{ token: { sha256: "ab".repeat(32) } }] },
      });
    });
  });

  describe("a wrong value is named with its key and what was expected", () => {
    const atLeast = (from: number) => `an integer of at least ${from}`;
    const fromTo = (from: number, to: number) => `an integer from ${from} to ${to}`;
    const did = "a DID such as did:key:z6Mk… or did:web:example.com";
    const venueDid = "a DID such as did:web:files.example.com, or the did:key of the seed";
    const webUrl = "an http or https URL without credentials, query or fragment";
    test.each([
      ["name", 5, "a string that is not empty, not a number"],
      ["name", "", "a string that is not empty"],
      ["hostname", "my host", "a host name or an IP address"],
      ["hostname", "http://localhost", "a host name or an IP address"],
      ["hostname", null, "a host name or an IP address, not null"],
      ["port", "8080", `${fromTo(0, 65535)}, not a string`],
      ["port", -1, `${fromTo(0, 65535)}, not -1`],
      ["port", 65536, `${fromTo(0, 65535)}, not 65536`],
      ["port", 80.5, `${fromTo(0, 65535)}, not 80.5`],
      ["port", Number.NaN, `${fromTo(0, 65535)}, not NaN`],
      ["listen", "a.sock", "an object, not a string"],
      ["listen.socket", "", "a path that is not empty"],
      ["baseUrl", "ftp://a.example", webUrl],
      ["baseUrl", "files.example.com", webUrl],
      ["baseUrl", "https://user@a.example", webUrl],
      ["baseUrl", "https://user:secret@a.example/b", webUrl],
      ["baseUrl", "https://a.example/b?c", webUrl],
      ["baseUrl", "https://a.example/#c", webUrl],
      ["baseUrl", "https:///a.example", webUrl],
      ["baseUrl", "https://a.example\\@b.example", webUrl],
      ["baseUrl", " https://a.example", webUrl],
      ["baseUrl", 5, `${webUrl}, not a number`],
      ["trustProxy", "true", "true or false, not a string"],
      ["trustProxy", 1, "true or false, not 1"],
      ["seed", "00", "64 hex digits"],
      ["seed", `${"0a".repeat(31)}0g`, "64 hex digits"],
      ["seed", "0a".repeat(33), "64 hex digits"],
      ["seed", 0xdeadbeef, "64 hex digits, not a number"],
      ["seed", null, "64 hex digits, not null"],
      ["seedFile", "", "a path that is not empty"],
      ["did", "did:key", venueDid],
      ["did", "did:web:", venueDid],
      ["did", "did:web:a.example/b", venueDid],
      ["did", "did:web:a.example:", venueDid],
      ["did", "did:key:6Mk", venueDid],
      ["did", "did:plc:abc", venueDid],
      ["did", "did:web:a.example#key", venueDid],
      ["operator", "me", did],
      ["operator", "did:KEY:z6Mk", did],
      ["operator", "did:key:", did],
      ["operator", "did:web:a#b", did],
      ["operator", true, `${did}, not true`],
      ["stateDir", ["a"], "a path that is not empty or false, not an array"],
      ["stateDir", true, "a path that is not empty or false, not true"],
      ["auth.localToken", "false", "true or false, not a string"],
      ["auth.tokens", {}, "an array, not an object"],
      ["auth.grants", { did: "did:web:a" }, "an array, not an object"],
      ["auth.grants", null, "an array, not null"],
      ["auth.issuers", {}, "an array, not an object"],
      ["auth.ucan", true, "an object, not true"],
      ["auth.ucan.maxLifetime", 0, `${fromTo(1, 3_155_760_000)}, not 0`],
      ["auth.ucan.maxLifetime", -1, `${fromTo(1, 3_155_760_000)}, not -1`],
      ["auth.ucan.maxLifetime", 1.5, `${fromTo(1, 3_155_760_000)}, not 1.5`],
      ["auth.ucan.maxLifetime", "1h", `${fromTo(1, 3_155_760_000)}, not a string`],
      ["auth.ucan.maxLifetime", 3_155_760_001, `${fromTo(1, 3_155_760_000)}, not 3155760001`],
      ["auth.ucan.allowNoExpiry", "true", "true or false, not a string"],
      ["auth.ucan.acceptUnversionedCovia", 1, "true or false, not 1"],
      ["auth.ucan.revocations", "", "a path that is not empty"],
      ["auth.ucan.revocations", ["a"], "a path that is not empty, not an array"],
      ["auth.clockSkew", -1, `${fromTo(0, 60)}, not -1`],
      ["auth.clockSkew", 61, `${fromTo(0, 60)}, not 61`],
      ["auth.clockSkew", "30", `${fromTo(0, 60)}, not a string`],
      ["auth.maxIdentityLifetime", 0, `${atLeast(1)}, not 0`],
      ["auth.acceptUnboundIdentity", null, "true or false, not null"],
      ["corsOrigins", "https://a.example", `"*" or an array, not a string`],
      ["corsOrigins", false, `"*" or an array, not false`],
      ["maxContentSize", 0, `${atLeast(1)}, not 0`],
      ["rateLimit", true, "false or an object, not true"],
      ["rateLimit", 100, "false or an object, not 100"],
      ["rateLimit.perSecond", 0, `${atLeast(1)}, not 0`],
      ["rateLimit.burst", 1.5, `${atLeast(1)}, not 1.5`],
      ["storage", "memory", "an object, not a string"],
      ["storage.content", "disk", `"memory" or "file" or "s3"`],
      ["assets.maxTotalBytes", -1, `${atLeast(0)}, not -1`],
      ["assets.write", "all", `"public" or "operator"`],
      ["assets.write", true, `"public" or "operator", not true`],
      ["auth", [], "an object, not an array"],
      ["auth.public", true, "an object, not true"],
      ["auth.public.enabled", "true", "true or false, not a string"],
      ["auth.public.caps", {}, "an array, not an object"],
      ["auth.public.caps", "*", "an array, not a string"],
      ["maxRequestBytes", 0, `${atLeast(1)}, not 0`],
      ["maxInFlightBytes", 0, `${atLeast(1)}, not 0`],
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
      ["mcp.serverInfo", "a", "an object, not a string"],
      ["mcp.serverInfo.title", "", "a string that is not empty"],
      ["mcp.includeAdapters", "file", "an array, not a string"],
      ["mcp.includePathPrefixes", {}, "an array, not an object"],
      ["audit.maxBytes", 0, `${atLeast(1)}, not 0`],
      ["audit.keep", 0, `${atLeast(1)}, not 0`],
      ["log", "info", "an object, not a string"],
      ["log.level", "trace", `"debug" or "info" or "warn" or "error" or "silent"`],
      ["log.file", 2, "a path that is not empty, not a number"],
      ["metrics", true, `"operator" or "public" or false, not true`],
      ["metrics", "all", `"operator" or "public" or false`],
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
      ["auth.clockSkew", 0],
      ["auth.clockSkew", 60],
      ["auth.ucan.maxLifetime", 1],
      ["auth.ucan.maxLifetime", 3_155_760_000],
      ["assets.maxTotalBytes", 0],
      ["did", "did:web:a.example%3A8443:users:b%20c"],
      ["operator", "did:plc:ewvi7nxzyoun6zhxrhs64oiz"],
      ["mcp.includeAdapters", []],
      ["storage", { content: "memory" }],
    ])("%s: %j", (keyPath, value) => {
      expect(parseConfig(at(keyPath, value), { baseDir: "/base" })).toMatchObject(at(keyPath, value) as object);
    });
  });

  describe("a path may begin with ~, the home:", () => {
    test.each<[string, (path: string) => unknown]>([
      ["seedFile", (path) => path],
      ["stateDir", (path) => path],
      ["auth.ucan.revocations", (path) => path],
      ["audit.file", (path) => path],
      ["log.file", (path) => path],
      ["listen", (socket) => ({ socket })],
      ["storage", (path) => ({ content: "file", path })],
      ["drives.store", (path) => ({ path })],
      ["auth.tokens", (file) => [{ token: { file }, name: "a", caps: [] }]],
    ])("%s", (keyPath, wrap) => {
      const given = { seedFile: "seed", ...(at(keyPath, wrap("~/x")) as object) };
      expect(parseConfig(given, { baseDir: "/base" })).toMatchObject(at(keyPath, wrap(join(homedir(), "x"))) as object);
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
});

describe("venues", () => {
  const parse = (value: VenueConfigInput | { readonly venues: readonly VenueConfigInput[] }) =>
    parseConfigs(value, { baseDir: "/base" });

  describe("a config", () => {
    test("of one venue gives that one", () => {
      expect(parse({ name: "a" })).toEqual([parseConfig({ name: "a" }, { baseDir: "/base" })]);
    });

    test("of several gives each as it would be alone, in their order", () => {
      const venues = [{ name: "b" }, { name: "a", port: 0, file: { roots: { docs: "docs" } } }, { port: 1 }];
      expect(parse({ venues })).toEqual(venues.map((venue) => parseConfig(venue, { baseDir: "/base" })));
    });

    test("in the form of several may hold only one", () => {
      expect(parse({ venues: [{ name: "a" }] })).toEqual(parse({ name: "a" }));
    });
  });

  describe("a list of venues is refused", () => {
    test.each<[unknown, ...string[]]>([
      [{ venues: [] }, "'venues' must be an array that is not empty"],
      [{ venues: {} }, "'venues' must be an array that is not empty, not an object"],
      [{ venues: null }, "'venues' must be an array that is not empty, not null"],
      [{ venues: "a" }, "'venues' must be an array that is not empty, not a string"],
      [
        { venues: [5, "a", null] },
        ...["5", "a string", "null"].map((it, i) => `'venues[${i}]' must be an object, not ${it}`),
      ],
      [{ venues: [{}], name: "a" }, "Unknown config key 'name'"],
      [{ venues: [{}], venue: {} }, "Unknown config key 'venue' - did you mean 'venues'?"],
      [{ venues: [{}], store: {} }, "Unknown config key 'store'"],
      [{ venues: [{ venues: [] }] }, "Unknown config key 'venues[0].venues'"],
      [{ venue: [{}] }, "Unknown config key 'venue' - did you mean 'venues'?"],
      [{ file: { venue: {} } }, "Unknown config key 'file.venue'"],
      [[{}], "Config must be an object, not an array"],
    ])("%j", (value, ...problems) => {
      expect(configProblems(value)).toEqual(problems);
    });
  });

  describe("a problem in one of several venues", () => {
    test.each<[unknown, ...string[]]>([
      [{ file: { rootz: {} } }, "Unknown config key 'venues[1].file.rootz' - did you mean 'roots'?"],
      [
        { did: "did:web:v", auth: { grants: [{ did: "did:web:v:public", with: "file://", can: "crud" }] } },
        "'venues[1].auth.grants[0].did' must not be the DID of callers without credentials",
      ],
      [
        {
          auth: { tokens: [{ name: "a", token: { env: "A" }, did: "did:web:o", caps: [] }] },
          file: { roots: { a: { path: "a", owner: "did:web:o" } } },
        },
        "'venues[1].auth.tokens[0].did' must not be that of 'venues[1].file.roots.a.owner'",
      ],
      [
        { drives: { store: { path: "d" } }, profiles: 1 },
        "'venues[1].profiles' must be an object, not 1",
        `'venues[1].drives.store' outlasts the key of the venue: set 'venues[1].seed' or 'venues[1].seedFile', or make it "memory"`,
      ],
      [{ a2a: true }, "'venues[1].a2a' is not supported by this venue"],
      [{ port: "a" }, "'venues[1].port' must be an integer from 0 to 65535, not a string"],
      [{ file: { roots: { a: {} } } }, "'venues[1].file.roots.a' must have exactly one of 'path', 'temp' and 'dlfs'"],
      [{ seed: "0a".repeat(32), seedFile: "a" }, "'venues[1].seed' and 'venues[1].seedFile' cannot both be set"],
      [
        { did: "did:key:z6Mkx" },
        "'venues[1].did' is a did:key, so its key must be known: set 'venues[1].seed' or 'venues[1].seedFile'",
      ],
      [{ storage: { content: "file" } }, `'venues[1].storage.path' is missing: content "file" needs it`],
      [
        { mcp: { maxReadBytes: 9_000_000 } },
        "'venues[1].mcp.maxReadBytes' must be at most 'venues[1].file.limits.maxReadBytes' (8388608), not 9000000",
      ],
      [
        { corsOrigins: "*" },
        "'venues[1].corsOrigins' must not be \"*\" where callers without credentials are served, unless 'venues[1].auth.public.caps' says what they may do",
      ],
      [
        { auth: { tokens: [1, 2].map(() => ({ name: "a", token: { env: "A" }, caps: [] })) } },
        "'venues[1].auth.tokens[0].name' and 'venues[1].auth.tokens[1].name' are the same",
      ],
    ])("is named with its place: %j", (venue, ...problems) => {
      expect(configProblems({ venues: [{ port: 1 }, venue] })).toEqual(problems);
      expect(venueProblems(venue)).toEqual(problems.map((problem) => problem.replaceAll("venues[1].", "")));
    });

    test("is reported with those of all others, and with what they cannot both have", () => {
      const error = configErrorOf(() =>
        parseConfigs({ venues: [{ prot: 1 }, { name: 5 }, { hostname: "a b" }], nmae: 1 }, { baseDir: "/base" }),
      );
      expect(error?.exitStatus).toBe(78);
      expect(error?.problems).toEqual([
        "Unknown config key 'nmae'",
        "Unknown config key 'venues[0].prot' - did you mean 'port'?",
        "'venues[1].name' must be a string that is not empty, not a number",
        "'venues[2].hostname' must be a host name or an IP address",
        "'venues[0]' and 'venues[1]' both listen on localhost:8080",
      ]);
    });

    test("that is only a warning stays with its venue", () => {
      const configs = parse({ venues: [{ port: 1 }, { store: "a" } as object] });
      expect(configs.map(({ warnings }) => warnings)).toEqual([
        [],
        ["Config key 'venues[1].store' has no function in this venue and is ignored"],
      ]);
    });
  });

  describe("two venues", () => {
    test.each<[unknown[], ...string[]]>([
      [[{}, {}], "'venues[0]' and 'venues[1]' both listen on localhost:8080"],
      [[{ port: 1 }, {}, { port: 1 }], "'venues[0]' and 'venues[2]' both listen on localhost:1"],
      [[{ hostname: "LocalHost" }, { port: 8080 }], "'venues[0]' and 'venues[1]' both listen on localhost:8080"],
      [[{ hostname: "[::1]" }, { hostname: "::1" }], "'venues[0]' and 'venues[1]' both listen on [::1]:8080"],
      [
        [{}, {}, {}],
        "'venues[0]' and 'venues[1]' both listen on localhost:8080",
        "'venues[0]' and 'venues[2]' both listen on localhost:8080",
      ],
      [
        [{ listen: { socket: "a/../s" } }, { listen: { socket: "/base/s" } }],
        "'venues[0].listen.socket' and 'venues[1].listen.socket' are the same path",
      ],
      [
        [
          { port: 1, audit: { file: "a" }, storage: { content: "file", path: "b" } },
          { port: 2, audit: { file: "a" }, storage: { content: "file", path: "b" } },
        ],
        "'venues[0].storage.path' and 'venues[1].storage.path' are the same path",
        "'venues[0].audit.file' and 'venues[1].audit.file' are the same path",
      ],
    ])("cannot have the same: %j", (venues, ...problems) => {
      expect(configProblems({ venues })).toEqual(problems);
    });

    test.each<[unknown[]]>([
      [[{ port: 0 }, { port: 0 }]],
      [[{ port: 1 }, { port: 2 }]],
      [[{ hostname: "127.0.0.1" }, { hostname: "::1" }]],
      [[{}, { listen: { socket: "a" } }, { listen: { socket: "b" } }]],
      [
        [
          { seedFile: "a", stateDir: "b", log: { file: "c" } },
          { port: 1, seedFile: "a", stateDir: "b", log: { file: "c" } },
        ],
      ],
    ])("can have %j", (venues) => {
      expect(configProblems({ venues })).toEqual([]);
    });
  });

  describe("the listener of the command line", () => {
    test("replaces that of the config, a socket too", () => {
      const options = { baseDir: "/base", listener: { hostname: "127.0.0.1", port: 1 } };
      const [config] = parseConfigs({ listen: { socket: "s" }, name: "a" }, options);
      expect(config).toMatchObject({ hostname: "127.0.0.1", port: 1, name: "a" });
      expect(config?.listen).toBeUndefined();
      expect(parseConfigs({ hostname: "::1" }, { ...options, listener: { port: 2 } })).toMatchObject([
        { hostname: "::1", port: 2 },
      ]);
    });

    test("is what else is checked", () => {
      const value = { hostname: "0.0.0.0", corsOrigins: "*" };
      expect(configProblems(value)).toEqual([]);
      expect(configProblems(value, { listener: { hostname: "localhost" } })).toHaveLength(1);
    });

    test("needs a single venue", () => {
      const venues = [{ name: "a" }, { name: "b", port: 1 }];
      expect(configProblems({ venues }, { listener: { port: 2 } })).toContain(
        "--host and --port need a configuration with one venue",
      );
    });
  });

  describe("roots of the command line", () => {
    const extraRoots = { docs: { path: "/docs" } };

    test("belong to the one venue, in either form", () => {
      for (const value of [{}, { venues: [{}] }]) {
        const [config] = parseConfigs(value, { baseDir: "/base", extraRoots });
        expect(config?.file.roots).toMatchObject({ docs: { kind: "host", path: "/docs" } });
      }
    });

    test("are a problem with several venues, and only one", () => {
      const venues = [{ file: { roots: { docs: "a" } } }, { port: 1 }];
      expect(configProblems({ venues }, { extraRoots })).toEqual(["--root needs a configuration with one venue"]);
      expect(configProblems({ venues }, { extraRoots: {} })).toEqual([]);
    });

    test("say nothing of a list that is empty itself", () => {
      expect(configProblems({ venues: [] }, { extraRoots })).toEqual(["'venues' must be an array that is not empty"]);
    });
  });
});
