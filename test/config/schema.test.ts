import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import JSON5 from "json5";
import { parseGrant } from "../../src/authz/grant.js";
import type { JsonSchema } from "../../src/config/checks/check-schema.js";
import { loadConfigFile, parseConfig, parseConfigs, readConfigSchema } from "../../src/config/load.js";
import { parseVenues } from "../../src/config/parse-venues.js";
import { DEFAULT_LIMITS } from "../../src/core/call/limits.js";
import { problemsOf, venueProblems } from "./problems.js";

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
    const value = Object.fromEntries(Object.entries(everything).filter(([key]) => !left.includes(key)));
    expect(Object.keys(value).length).toBe(Object.keys(everything).length - left.length);
    expect(venueProblems(value, { isGrant })).toEqual([]);
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
    const other = parseObject(all.replace(/^ *store: \{ path: .*\n/m, ""));
    expect([...new Set([...usedPaths(everything), ...usedPaths(other)])].sort()).toEqual(documented);
  });
});

describe("schemas/config.json", () => {
  const validate = new Ajv2020({ strict: true, strictRequired: false }).compile(schema);
  const right = (value: unknown) => problemsOf(() => parseVenues(schema, value, { baseDir: "/base" })).length === 0;

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
        ...["file.roots.*.journal", "file.roots.*.trash"],
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
        some({ content: mostly("file", "memory"), path: mostly("a", undefined) }),
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
