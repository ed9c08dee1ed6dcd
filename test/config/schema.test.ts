import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import JSON5 from "json5";
import { parseGrant } from "../../src/authz/grant.js";
import type { JsonSchema } from "../../src/config/checks/check-schema.js";
import { locate, positionsOf } from "../../src/config/lines.js";
import { loadConfigFile, parseConfig, parseConfigs, readConfigSchema } from "../../src/config/load.js";
import type { VenueConfig } from "../../src/config/types.js";
import { DEFAULT_LIMITS } from "../../src/core/call/limits.js";
import { configErrorOf, problemsOf, venueProblems } from "./problems.js";

const schema = readConfigSchema();
const EXAMPLE = new URL("../../config.example.json5", import.meta.url);

/** Every key path of the schema; the members of a map stand under `*`. */
function keyPaths(given: JsonSchema, prefix: readonly string[] = []): string[][] {
  const { $ref, anyOf = [], properties = {}, additionalProperties, items } = given;
  const referred = $ref === undefined ? undefined : schema.$defs?.[$ref.replace("#/$defs/", "")];
  const inner = [referred, ...anyOf, items].filter((part) => part !== undefined);
  const entries = typeof additionalProperties === "object" ? [["*", additionalProperties] as const] : [];
  return [
    ...inner.flatMap((part) => keyPaths(part, prefix)),
    ...[...Object.entries(properties), ...entries].flatMap(([key, property]) => {
      const path = [...prefix, key];
      return [path, ...keyPaths(property, path)];
    }),
  ];
}

/** Every key path of a value, in the same form. */
function usedPaths(value: unknown, prefix: readonly string[] = []): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => usedPaths(item, prefix));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => {
    const path = [
      ...prefix,
      ["file.roots", "profiles", "auth.issuers.map.when"].includes(prefix.join(".")) ? "*" : key,
    ];
    return [path.join("."), ...usedPaths(member, path)];
  });
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  return JSON5.parse(text);
}

const documented = [...new Set(keyPaths({ $ref: "#/$defs/venue" }).map((path) => path.join(".")))].sort();

describe("config.example.json5", () => {
  const text = readFileSync(EXAMPLE, "utf8");
  const all: string = text
    .replace(/^(\s*)\/\/ ("?\$?\w+"?: .+,|\{ (?:name|did|issuer): .+,)$/gm, "$1$2")
    .replace(/<64 hex digits>/g, "ab".repeat(32))
    .replace(/<the rest of [^>]+>/g, "x");
  const everything = parseObject(all.replace('content: "memory"', 'content: "file"'));
  const isGrant = (value: unknown) => parseGrant(value) !== undefined;

  test("loads, and changes nothing", () => {
    expect(loadConfigFile(EXAMPLE.pathname)).toEqual([parseConfig({}, { baseDir: "/base" })]);
  });

  test.each([
    ["one way", ["listen", "seedFile"]],
    ["the other way", ["hostname", "port", "seed"]],
  ])("still loads when all that is commented out is put in, %s", (_, left) => {
    // Instances need what one process has not.
    const without = [...left, "shared"];
    const value = Object.fromEntries(Object.entries(everything).filter(([key]) => !without.includes(key)));
    expect(Object.keys(value).length).toBe(Object.keys(everything).length - without.length);
    expect(venueProblems(value, { isGrant })).toEqual([]);
  });

  test("shows what several instances share", () => {
    const { shared, storage } = everything;
    const drives = { store: { s3: { bucket: "drives" } } };
    const file = { roots: { docs: { path: "/docs", shared: true }, tmp: { temp: true, perInstance: true } } };
    expect(venueProblems({ shared, storage, drives, file, seed: "ab".repeat(32) }, {})).toEqual([]);
  });

  test("has no key or token in it that someone could leave in place", () => {
    expect(text).not.toMatch(/[0-9a-f]{64}/i);
  });

  test("shows several venues in a form that loads", () => {
    const several = /^\/\/ \{$.*^\/\/ \}$/ms.exec(text)?.[0].replace(/^\/\/ /gm, "") ?? "";
    expect(parseConfigs(JSON5.parse(several), { baseDir: "/base" })).toMatchObject([
      { name: "docs", port: 8081, file: { roots: { docs: { path: "/base/docs" } } } },
      { name: "scratch", listen: { socket: "/base/scratch.sock" } },
    ]);
  });

  test("shows every supported key", () => {
    // Of keys that stand there twice the last counts.
    const other = parseObject(all.replace(/^ *(?:store: \{ path|storage: \{ content|shared: \{.* env): .*\n/gm, ""));
    expect([...new Set([...usedPaths(everything), ...usedPaths(other)])].sort()).toEqual(documented);
  });
});

describe("schemas/config.json", () => {
  const validate = new Ajv2020({ strict: true, strictRequired: false }).compile(schema);
  const right = (value: unknown) => problemsOf(() => parseConfigs(value, { baseDir: "/base" })).length === 0;

  test("states the same limits as the core", () => {
    const config = parseConfig({}, { baseDir: "/base" });
    expect({ ...config.file.limits, maxContentSize: config.maxContentSize }).toEqual(DEFAULT_LIMITS);
  });

  test("describes every key", () => {
    const described = (given: JsonSchema): boolean =>
      given.description !== undefined ||
      (given.$ref !== undefined && described(schema.$defs?.[given.$ref.slice(8)] ?? {}));
    const bare: string[] = [];
    const visit = (value: unknown): void => {
      if (typeof value !== "object" || value === null) return;
      for (const [key, property] of Object.entries((value as JsonSchema).properties ?? {})) {
        if (!described(property)) bare.push(key);
      }
      // What is below `if` and `else` are conditions, not keys of their own.
      for (const [key, part] of Object.entries(value)) if (key !== "if" && key !== "else") visit(part);
    };
    visit(schema);
    expect(bare).toEqual([]);
  });

  test("says the default of every key that may be left out", () => {
    const silent: string[] = [];
    const visit = (value: unknown, path: string): void => {
      if (typeof value !== "object" || value === null) return;
      const { properties = {}, required = [], oneOf = [] } = value as JsonSchema;
      const needed = [...required, ...oneOf.flatMap((one) => one.required)];
      for (const [key, property] of Object.entries(properties)) {
        const isSaid = property.default !== undefined || property.description?.includes("Default") === true;
        if (!isSaid && !needed.includes(key)) silent.push(`${path}.${key}`);
      }
      for (const [key, part] of Object.entries(value))
        if (!["if", "then", "else"].includes(key)) visit(part, `${path}.${key}`);
    };
    visit(schema, "");
    expect(silent).toEqual([]);
  });

  test.each([{}, { venues: [{}] }, { venues: [{ $schema: "x" }] }])(
    "lets %j name a schema, and ignores it",
    (value) => {
      const named = { ...value, $schema: "./node_modules/venue-files/schemas/config.json" };
      expect(validate(named)).toBe(true);
      const options = { baseDir: "/base" };
      expect(parseConfigs(named, options)).toEqual([parseConfig({}, options)]);
      expect(validate({ ...value, $schema: 5 })).toBe(false);
      expect(problemsOf(() => parseConfigs({ ...value, $schema: 5 }, options))).toEqual([
        "'$schema' must be a string, not a number",
      ]);
    },
  );

  test("has an id, by which editors and registries know it", () => {
    expect(JSON.parse(readFileSync(new URL("../../schemas/config.json", import.meta.url), "utf8"))).toMatchObject({
      $id: expect.stringMatching(/^https:\/\/[^#]+\/schemas\/config\.json$/),
      $schema: "https://json-schema.org/draft/2020-12/schema",
    });
  });

  test("has the keys of the specification", () => {
    const under = (group: string, ...keys: string[]) => [group, ...keys.map((key) => `${group}.${key}`)];
    expect(documented).toEqual(
      [
        "$schema",
        ...[
          "name",
          "hostname",
          "port",
          "baseUrl",
          "hosts",
          "trustProxy",
          "seed",
          "seedFile",
          "did",
          "operator",
          "stateDir",
        ],
        ...["corsOrigins", "maxRequestBytes", "maxInFlightBytes", "maxContentSize", "metrics", "file"],
        ...under("workspace", "drafts"),
        ...under("drives", "store", "store.path", "staleMs", "futureSkewMs", "verifyReads", "allowKeyExport"),
        ...under("drives.journalQuota", "bytes", "entries", "days"),
        ...under("drives.store.s3", "bucket", "prefix", "endpoint", "region"),
        ...under("drives.limits", "maxPathDepth", "maxFileBytes", "maxDriveBytes", "maxEntries"),
        ...["Bytes", "Cells", "LogicalBytes", "Entries"].map((what) => `drives.limits.maxImport${what}`),
        ...under("listen", "socket"),
        ...under("auth", "localToken", "clockSkew", "maxIdentityLifetime", "acceptUnboundIdentity"),
        ...under("auth.public", "enabled", "caps", "caps.with", "caps.can"),
        ...under("auth.grants", "did", "with", "can"),
        ...under("auth.issuers", "issuer", "audience", "jwks", "algorithms", "requiredClaims", "map"),
        ...["map.when", "map.when.*", "map.caps", "map.caps.with", "map.caps.can"].map((key) => `auth.issuers.${key}`),
        ...under("auth.ucan", "maxLifetime", "allowNoExpiry", "acceptUnversionedCovia", "revocations"),
        ...under("auth.tokens", "name", "did", "caps", "caps.with", "caps.can"),
        ...under("auth.tokens.token", "env", "file", "sha256"),
        ...["profiles", ...under("profiles.*", "profile", "root", "prefix", "alias", "variant", "onStale", "snapshot")],
        ...under("profiles.*.shell", "driver", "network", "uid", "gid", "scratchBytes", "unsafe"),
        ...under("profiles.*.shell.extraMounts", "path", "at"),
        ...under("profiles.*.shell.limits", "nproc", "fsize", "data", "nofile", "core"),
        ...under("rateLimit", "perSecond", "burst"),
        ...under("webdav", "enabled", "anonymous", "lockSeconds", "maxLocks"),
        ...under("storage", "content", "path"),
        ...under("storage.s3", "bucket", "prefix", "endpoint", "region"),
        ...under("assets", "maxTotalBytes", "write"),
        ...under("jobs", "inlineWaitMs", "maxWaitMs", "max", "maxBytes", "ttlMs"),
        ...under("mcp", "defaultReadBytes", "defaultReadLines", "maxReadBytes", "includeAdapters"),
        ...["mcp.includePathPrefixes", "mcp.tools"],
        ...under("mcp.serverInfo", "name", "title", "version"),
        ...under("audit", "file", "maxBytes", "keep"),
        ...under("log", "level", "file"),
        "file.discloseHostPaths",
        ...under("file.limits", "maxReadBytes", "maxWriteBytes", "maxUploadBytes", "timeoutMs", "maxConcurrent"),
        ...under("file.roots", "*"),
        ...["path", "temp", "prefix", "readOnly", "description", "durability", "crossDevice", "hardLinks", "io"].map(
          (option) => `file.roots.*.${option}`,
        ),
        ...["file.roots.*.maxReadBytes", "file.roots.*.owner", "file.roots.*.dlfs", "file.roots.*.encoding"],
        "file.roots.*.subpath",
        ...["file.roots.*.deny", "file.roots.*.protect", "file.roots.*.grep"],
        ...["", ".for", ".over", ".over.bytes", ".over.entries", ".minutes", ".elicit"].map(
          (key) => `file.roots.*.approve${key}`,
        ),
        ...under("file.roots.*.quota", "bytes", "files"),
        ...under("file.roots.*.journalQuota", "bytes", "entries", "days"),
        ...["file.roots.*.journal", "file.roots.*.trash", "file.roots.*.shared", "file.roots.*.perInstance"],
        ...under("shared", "postgres", "postgres.url", "postgres.url.env", "postgres.url.file", "postgres.schema"),
        ...["shared.advertise", "shared.drainMs"],
      ].sort(),
    );
  });

  // Our own check reads the schema, since ajv costs much of the start-up time; it has to read it as ajv does.
  test("means to our own check what it means to ajv", () => {
    const junk = fc.constantFrom<unknown>(
      null,
      true,
      false,
      0,
      1,
      1.5,
      -1,
      5000,
      70_000,
      "",
      "a",
      "flush",
      "a b",
      [],
      {},
    );
    const some = (members: Record<string, fc.Arbitrary<unknown>>) =>
      fc.oneof(
        { weight: 30, arbitrary: fc.record(members, { requiredKeys: [] }) },
        { weight: 1, arbitrary: junk },
        { weight: 1, arbitrary: fc.record({ ...members, unknown: junk }) },
      );
    const orJunk = (arbitrary: fc.Arbitrary<unknown>) => fc.oneof({ weight: 30, arbitrary }, junk);
    const whole = (members: Record<string, fc.Arbitrary<unknown>>) =>
      fc.oneof({ weight: 20, arbitrary: fc.record(members) }, some(members));
    const mostly = (...right: unknown[]) => fc.oneof({ weight: 80, arbitrary: fc.constantFrom(...right) }, junk);
    const root = some({
      path: mostly("a"),
      temp: mostly(true),
      prefix: mostly("p-"),
      readOnly: mostly(true),
      durability: mostly("flush", "none"),
      io: mostly("auto", "sync", "pool"),
      maxReadBytes: mostly(1),
      owner: mostly("did:key:z6Mko"),
    });
    const caps = fc.array(whole({ with: mostly("file://"), can: mostly("*") }), { maxLength: 2 });
    const grant = whole({ did: mostly("did:key:z6Mkg", "did:web:g"), with: mostly("file://"), can: mostly("*") });
    const token = whole({
      name: mostly("ci"),
      token: fc.oneof(
        { weight: 20, arbitrary: fc.constantFrom({ env: "CI_TOKEN" }, { file: "a" }, { sha256: "0a".repeat(32) }) },
        some({ env: mostly("CI_TOKEN"), file: mostly("a"), sha256: mostly("0A".repeat(32)) }),
      ),
      did: mostly("did:web:a"),
      caps,
    });
    const issuer = whole({
      issuer: mostly("https://i.example/a", "http://[::1]:80"),
      audience: orJunk(fc.array(mostly("a"), { maxLength: 2 })),
      jwks: mostly("https://i.example/jwks"),
      algorithms: orJunk(fc.array(mostly("ES256", "PS256"), { maxLength: 2 })),
      map: orJunk(fc.array(whole({ when: mostly({}, { a: "b" }), caps }), { maxLength: 2 })),
    });
    const venue = some({
      name: mostly("a"),
      hostname: mostly("::1"),
      port: mostly(0, 65535),
      listen: fc.oneof({ weight: 20, arbitrary: fc.constant(undefined) }, whole({ socket: mostly("a") })),
      baseUrl: mostly("https://a.example/b", "http://[::1]:80"),
      hosts: orJunk(fc.array(mostly("nas.local", "[::1]", "fd00::7"), { maxLength: 2 })),
      trustProxy: mostly(true),
      seed: mostly("0A".repeat(32), undefined),
      seedFile: mostly("a", undefined, undefined),
      did: mostly("did:web:a.example%3A8443:b"),
      operator: mostly("did:key:z6Mkx", "did:web:b"),
      stateDir: mostly("a", false),
      auth: some({
        public: some({ enabled: mostly(true), caps }),
        localToken: mostly(true),
        tokens: orJunk(fc.array(token, { maxLength: 1 })),
        grants: orJunk(fc.array(grant, { maxLength: 2 })),
        issuers: orJunk(fc.array(issuer, { maxLength: 1 })),
        ucan: some({
          maxLifetime: mostly(1, 3_155_760_000),
          allowNoExpiry: mostly(true),
          acceptUnversionedCovia: mostly(true),
          revocations: mostly("a"),
        }),
        clockSkew: mostly(0, 60),
        maxIdentityLifetime: mostly(1),
        acceptUnboundIdentity: mostly(false),
      }),
      corsOrigins: orJunk(fc.array(mostly("https://a.example:8443", "http://[::1]:3000"), { maxLength: 2 })),
      maxContentSize: mostly(1),
      rateLimit: fc.oneof(fc.constant(false), some({ perSecond: mostly(1), burst: mostly(1) })),
      storage: fc.oneof(
        whole({ content: mostly("file"), path: mostly("a") }),
        whole({ content: mostly("s3"), s3: some({ bucket: mostly("abc"), region: mostly("x") }) }),
        some({
          content: mostly("file", "memory", "s3"),
          path: mostly("a", undefined),
          s3: mostly({ bucket: "abc" }, undefined),
        }),
      ),
      assets: some({ maxTotalBytes: mostly(0), write: mostly("public", "operator") }),
      log: some({ level: mostly("debug", "info", "warn", "error", "silent"), file: mostly("a") }),
      metrics: mostly("operator", "public", false),
      workspace: fc.oneof(mostly(true, false), some({ drafts: mostly(true, false) })),
      jobs: some({ inlineWaitMs: mostly(4999), ttlMs: mostly(5000) }),
      mcp: fc.oneof(
        fc.constant(false),
        some({
          defaultReadLines: mostly(7),
          serverInfo: some({ name: mostly("a"), title: mostly("a"), version: mostly("1") }),
          includeAdapters: fc.array(mostly("file"), { maxLength: 2 }),
          includePathPrefixes: fc.array(mostly("v/ops/"), { maxLength: 2 }),
        }),
      ),
      audit: some({ file: mostly("a"), maxBytes: mostly(1), keep: mostly(1) }),
      file: some({
        roots: orJunk(
          fc.dictionary(fc.constantFrom(..."abcdefghijkl", "a b", "__proto__"), fc.oneof(mostly("dir"), root), {
            maxKeys: 2,
          }),
        ),
        discloseHostPaths: mostly(true),
        limits: some({ timeoutMs: mostly(1) }),
      }),
    });
    const venues = orJunk(fc.array(venue, { minLength: 1, maxLength: 1 }));
    const file = fc.oneof({ weight: 4, arbitrary: venue }, whole({ venues }));
    const seen = { right: 0, wrong: 0 };
    fc.assert(
      fc.property(file, (value) => {
        const verdict = right(value);
        seen[verdict ? "right" : "wrong"]++;
        expect({ value, right: verdict }).toEqual({ value, right: validate(value) });
      }),
      { numRuns: 600 },
    );
    // Neither verdict came about by chance alone.
    expect(Math.min(seen.right, seen.wrong)).toBeGreaterThan(40);
  });
});

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

describe("files of configuration", () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "venue-config-"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  function only(configs: readonly VenueConfig[]): VenueConfig {
    const [config, ...others] = configs;
    if (config === undefined || others.length > 0) throw new Error(`${configs.length} venues`);
    return config;
  }

  function file(content: string | Uint8Array, name = "venue.json5"): string {
    const path = join(folder, name);
    writeFileSync(path, content);
    return path;
  }

  describe("a config file", () => {
    test("is JSON5", () => {
      const path = file(`\ufeff{ /* mine */ name: 'my venue', port: 0x1F90, }`);
      expect(loadConfigFile(path)).toMatchObject([{ name: "my venue", port: 8080 }]);
    });

    test("has its paths relative to its own folder", () => {
      const path = file(
        `{ audit: { file: "log/audit.jsonl" }, file: { roots: { a: "a", b: { path: "../b" }, c: "/c" } } }`,
      );
      const config = only(loadConfigFile(relative(process.cwd(), path)));
      expect(config.audit.file).toBe(join(folder, "log/audit.jsonl"));
      expect(Object.values(config.file.roots)).toMatchObject([
        { path: join(folder, "a") },
        { path: join(folder, "..", "b") },
        { path: "/c" },
      ]);
    });

    test("can be joined by roots of the command line", () => {
      const path = file(`{ file: { roots: { a: "a" } } }`);
      const config = only(loadConfigFile(path, { extraRoots: { b: { path: "/b", readOnly: true } } }));
      expect(Object.entries(config.file.roots)).toMatchObject([
        ["a", { path: join(folder, "a") }],
        ["b", { kind: "host", path: "/b", readOnly: true }],
      ]);
    });

    test("has its capabilities checked by the given parser", () => {
      const path = file(`{ auth: { public: { caps: [{ with: "docs", can: "crud" }] } } }`);
      expect(problemsOf(() => loadConfigFile(path, { isGrant: () => false }))).toHaveLength(1);
      expect(problemsOf(() => loadConfigFile(path))).toEqual([]);
    });

    test("takes __proto__ as a name", () => {
      expect(problemsOf(() => loadConfigFile(file(`{ __proto__: { port: 1 } }`)))).toEqual([
        expect.stringMatching(/venue\.json5:1:3: Unknown config key '__proto__'$/),
      ]);
      expect(problemsOf(() => loadConfigFile(file(`{ file: { roots: { __proto__: "a" } } }`)))).toEqual([
        expect.stringMatching(/venue\.json5:1:20: 'file\.roots\.__proto__' has an invalid name: expected /),
      ]);
    });
  });

  describe("a config file of several venues", () => {
    test("gives them in their order, with paths relative to its folder", () => {
      const path = file(`{ venues: [{ name: "a", stateDir: "a" }, { name: "b", port: 1, stateDir: "../b" }] }`);
      expect(loadConfigFile(path)).toMatchObject([
        { name: "a", stateDir: join(folder, "a") },
        { name: "b", stateDir: join(folder, "..", "b") },
      ]);
    });

    test("ends with status 78 when any of them is wrong", () => {
      const error = configErrorOf(() => loadConfigFile(file(`{ venues: [{}, { port: 1, prot: 1 }] }`)));
      expect(error).toMatchObject({ exitStatus: 78, problems: [expect.stringContaining("'venues[1].prot'")] });
    });
  });

  describe("a file that cannot be read ends with status 66", () => {
    test.each([
      ["missing.json5", 'Cannot read "missing.json5": no such file'],
      ["plain/missing.json5", 'Cannot read "missing.json5": no such file'],
      ["folder", 'Cannot read "folder": it is a directory'],
      ["x".repeat(300), `Cannot read "${"x".repeat(300)}": ENAMETOOLONG`],
    ])("%s", (name, message) => {
      file("{}", "plain");
      mkdirSync(join(folder, "folder"));
      expect(configErrorOf(() => loadConfigFile(join(folder, name)))).toMatchObject({
        name: "ConfigError",
        exitStatus: 66,
        problems: [message],
        message,
      });
    });
  });

  describe("an invalid file ends with status 78", () => {
    test.each([
      ["{\n  name: 'a',\n  port: }", "FILE:3:9: not valid JSON5: invalid character '}'"],
      ["", "FILE:1:1: not valid JSON5: invalid end of input"],
      [Uint8Array.of(0x27, 0xff, 0x27), 'Cannot read "venue.json5": not valid UTF-8'],
      ["[]", "FILE:1:1: Config must be an object, not an array"],
      ["null", "FILE:1:1: Config must be an object, not null"],
      ["'name'", "FILE:1:1: Config must be an object, not a string"],
      ["7", "FILE:1:1: Config must be an object, not 7"],
    ])("%j", (content, text) => {
      const path = file(content);
      const message = text.replace("FILE", path);
      const error = configErrorOf(() => loadConfigFile(path));
      expect(error).toMatchObject({ exitStatus: 78, problems: [message], message });
    });

    test("with one line for each problem", () => {
      const path = file(`{ port: "8080", nmae: "a" }`);
      const error = configErrorOf(() => loadConfigFile(path));
      expect(error?.exitStatus).toBe(78);
      expect(error?.message.split("\n")).toEqual([
        `${path}:1:3: 'port' must be an integer from 0 to 65535, not a string`,
        `${path}:1:17: Unknown config key 'nmae' - did you mean 'name'?`,
      ]);
    });
  });

  describe("a key that an object has twice", () => {
    const problemsIn = (text: string) => problemsOf(() => loadConfigFile(file(text)));

    test("is refused with both places", () => {
      expect(
        problemsIn(`{ port: 1,\n  "p\\u006frt": 2, file: { roots: {\n docs: "a",\n d\\u006fcs: "b", 'docs': "c" } } }`),
      ).toEqual([
        expect.stringMatching(/venue\.json5:2:3: 'port' is set at .*venue\.json5:1:3 already\. Remove one of them$/),
        expect.stringMatching(/:4:2: 'file\.roots\.docs' is set at .*:3:2 already/),
        expect.stringMatching(/:4:18: 'file\.roots\.docs' is set at .*:3:2 already/),
      ]);
    });

    test("is not one of another object, nor one with a point in its name", () => {
      expect(problemsIn(`{ auth: { tokens: [] }, audit: {}, log: {}, file: { roots: { a: "a", log: "b" } } }`)).toEqual(
        [],
      );
      expect(problemsIn(`{ log: { level: "info" }, "log.level": 1 }`).join()).toMatch(/Unknown config key/);
    });
  });
});

const positionsIn = (text: string) => positionsOf(text, JSON5.parse);
const linesIn = (text: string) => new Map([...positionsIn(text)].map(([key, { line }]) => [key, line]));

const TEXT = `// a comment with { and 'quotes'
{
  name: "x", /* over
  two lines: { */ port: 80,
  'log': { "level": 'in\\
fo' },
  auth: {
    tokens: [
      { name: "a", caps: [] },
      { name: "b",
        caps: [{ with: "file://", can: "crud" }] },
    ],
  },
  file: { roots: { docs: "/a // b", "a b": { temp: true } } },
  mcp: false
}
`;

describe("the lines of a configuration", () => {
  test("are those where its keys and items stand", () => {
    expect(Object.fromEntries(linesIn(TEXT))).toEqual({
      name: 3,
      port: 4,
      log: 5,
      "log.level": 5,
      auth: 7,
      "auth.tokens": 8,
      "auth.tokens[0]": 9,
      "auth.tokens[0].name": 9,
      "auth.tokens[0].caps": 9,
      "auth.tokens[1]": 10,
      "auth.tokens[1].name": 10,
      "auth.tokens[1].caps": 11,
      "auth.tokens[1].caps[0]": 11,
      "auth.tokens[1].caps[0].with": 11,
      "auth.tokens[1].caps[0].can": 11,
      file: 14,
      "file.roots": 14,
      "file.roots.docs": 14,
      "file.roots.a b": 14,
      "file.roots.a b.temp": 14,
      mcp: 15,
    });
  });

  test("are found for whatever JSON holds, one key a line", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ minLength: 1 }), fc.jsonValue({ maxDepth: 2 })), (value) => {
        const text = JSON.stringify(value, null, 1);
        const lines = text.split("\n");
        const keys = Object.keys(value);
        const found = [...linesIn(text)].filter(([, line]) => /^ "/.test(lines[line - 1] ?? ""));
        expect(found.length).toBeGreaterThanOrEqual(new Set(keys).size === keys.length ? 0 : 1);
        for (const [, line] of linesIn(text)) expect(line).toBeLessThanOrEqual(lines.length);
        expect(linesIn(text).size > 0).toBe(keys.length > 0);
      }),
    );
  });

  test("come to an end for any text at all", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(..."{}[]:,'\"/*\\ \na1"), { maxLength: 40 }), (characters) => {
        positionsOf(characters.join(""), () => "key");
      }),
    );
  });
});

test("columns are those where keys and items begin", () => {
  expect(Object.fromEntries(positionsIn(TEXT))).toMatchObject({
    name: { line: 3, column: 3 },
    port: { line: 4, column: 19 },
    "log.level": { line: 5, column: 12 },
    "auth.tokens[1]": { line: 10, column: 7 },
    "auth.tokens[1].caps[0]": { line: 11, column: 16 },
    mcp: { line: 15, column: 3 },
  });
});

test("every key stands at its position, whatever stands around it", () => {
  const blank = fc.constantFrom("", " ", "\n", "\r\n", "/* \n */", "// x\n", "\t");
  fc.assert(
    fc.property(fc.array(fc.tuple(blank, blank), { minLength: 1, maxLength: 8 }), (blanks) => {
      const text = `{${blanks.map(([before, after], index) => `${before}k${index}${after}: "a\\\nb"`).join(",")}}`;
      const lines = text.split("\n");
      for (const [key, { line, column }] of positionsIn(text)) {
        expect(lines[line - 1]?.slice(column - 1)).toMatch(new RegExp(`^${key}(?![0-9])`));
      }
    }),
  );
});

describe("a problem", () => {
  const file = "etc/venue.json5";
  const positions = positionsIn(TEXT);
  test.each([
    ["'port' must be an integer", "4:19"],
    ["Unknown config key 'log.level' - did you mean 'port'?", "5:12"],
    ["'auth.tokens[1].token' is missing: expected an object", "10:7"],
    ["'auth.tokens[1].caps[0].nb[3].x' grants nothing", "11:16"],
    ["'auth.public.caps' is missing", "7:3"],
    ["Root 'docs' does not exist or cannot be reached: /docs", "14:20"],
    ["Root 'a b' is not a directory: /a", "14:37"],
    ["Root 'port' does not exist or cannot be reached: /port", "14:11"],
    ["Config must be an object, not an array", "1:1"],
  ])("%s is told with its file, line and column", (text, at) => {
    expect(locate([{ text }], { file, positions })).toEqual([`etc/venue.json5:${at}: ${text}`]);
  });

  test.each([
    "Root 'docs' is given twice: in the config and by --root",
    "'seed' is missing",
    "Refusing to start: '0.0.0.0' is not a loopback address",
  ])("%s is told as it is", (text) => {
    expect(locate([{ text }], { file, positions })).toEqual([text]);
  });

  test("with a listener is told where it is set", () => {
    const settings = positionsIn("{ trustProxy: true,\n hostname: '0.0.0.0' }");
    const place = (text: string) => locate([{ text }], { file: "v", positions: settings })[0];
    expect(place("Refusing to start: '0.0.0.0' is not a loopback address.")).toMatch(/^v:2:2: Refusing/);
    expect(place("Refusing to start: this venue is reachable from outside.")).toMatch(/^v:1:3: Refusing/);
  });

  test("of one of several venues is found there", () => {
    const several = positionsIn("{ venues: [\n{ port: 1 },\n{ audit: {\nfile: 'a' } } ] }");
    const problems = [
      { text: "'audit.file' cannot be opened", above: "venues[1]." },
      { text: "'venues[0]' and 'venues[1]' both" },
    ];
    expect(locate(problems, { file: "v", positions: several })).toEqual([
      "v:2:1: 'venues[0]' and 'venues[1]' both",
      "v:4:1: 'audit.file' cannot be opened",
    ]);
  });

  test("is told once, in the order of the file", () => {
    const texts = ["'mcp' b", "no key", "'port' a", "'log' c", "'port' a", "no key"];
    const told = locate(
      texts.map((text) => ({ text })),
      { file: "v", positions },
    );
    expect(told).toEqual(["v:4:19: 'port' a", "v:5:3: 'log' c", "v:15:3: 'mcp' b", "no key"]);
  });

  test("names a file with control characters escaped", () => {
    expect(locate([{ text: "'port' x" }], { file: "a\nb", positions })[0]).not.toContain("\n");
  });
});
