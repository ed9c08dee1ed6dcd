import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { parseGrant } from "../../src/authz/grant.js";
import { parseConfig, parseFileConfig } from "../../src/config/load.js";
import { checkListener, isLoopbackHost, isLoopbackListener } from "../../src/config/loopback.js";
import type { FileConfigInput, RootConfigInput, VenueConfigInput } from "../../src/config/types.js";
import { DEFAULT_SHELL } from "../../src/core/ports/sandbox.js";
import { at, configProblems, fileProblems, venueProblems } from "./problems.js";

const parse = (value: FileConfigInput) => parseFileConfig(value, { baseDir: "/base" });
const rootOf = (root: string | RootConfigInput) => Object.values(parse({ roots: { docs: root } }).roots)[0];
const rootProblems = (root: unknown) => fileProblems({ roots: { docs: root } });

const common = {
  readOnly: false,
  crossDevice: false,
  hardLinks: false,
  io: "auto",
  journalQuota: { bytes: 268_435_456, entries: 100_000, days: 30 },
  trash: "auto",
  deny: [],
  protect: [],
  encoding: "utf-8",
};
const quota = { bytes: 1_073_741_824 };

describe("a root", () => {
  test("by path is a host directory below the base folder", () => {
    expect(rootOf({ path: "manuals" })).toEqual({
      kind: "host",
      path: "/base/manuals",
      durability: "flush",
      ...common,
    });
  });

  test("by the name of a drive is a drive, with few options", () => {
    expect(rootOf({ dlfs: "my notes" })).toEqual({
      kind: "dlfs",
      drive: "my notes",
      readOnly: false,
      encoding: "utf-8",
      deny: [],
      protect: [],
    });
    const options = {
      ...{ readOnly: true, description: "Notes", maxReadBytes: 5, encoding: "latin1" },
      ...{ deny: ["*.key"], protect: ["@git"] },
    };
    expect(rootOf({ dlfs: "é".repeat(32), ...options })).toEqual({ kind: "dlfs", drive: "é".repeat(32), ...options });
  });

  test("as a string is the same as one by path", () => {
    expect(rootOf("manuals")).toEqual(rootOf({ path: "manuals" }));
  });

  test.each([
    ["/abs/dir", "/abs/dir"],
    ["../up", "/up"],
    ["./", "/base"],
    ["a/../b/", "/base/b"],
  ])("by path %s is made absolute", (path, expected) => {
    expect(rootOf(path)).toMatchObject({ path: expected });
  });

  test.each([
    ["~", homedir()],
    ["~/a/../b", join(homedir(), "b")],
    ["~other", "/base/~other"],
    ["./~", "/base/~"],
    ["a/~/b", "/base/a/~/b"],
  ])("by path %s has ~ for the home only at its start", (path, expected) => {
    expect(rootOf({ path })).toMatchObject({ path: expected });
    expect(rootOf(path)).toMatchObject({ path: expected });
  });

  test("by temp is a temp directory with a prefix of its name", () => {
    expect(rootOf({ temp: true })).toEqual({
      ...{ kind: "temp", prefix: "covia-docs-", durability: "none", quota },
      ...common,
    });
    expect(rootOf({ temp: true, prefix: "mine_1.-" })).toMatchObject({ prefix: "mine_1.-" });
  });

  test("keeps every option", () => {
    const options = {
      readOnly: true,
      description: "Manuals",
      durability: "none",
      crossDevice: true,
      hardLinks: true,
      io: "pool",
      maxReadBytes: 7,
      deny: ["@secrets", "a/**"],
      protect: ["@git", "b"],
      encoding: "Shift_JIS",
      quota: { bytes: 5, files: 6 },
      journal: "metadata",
      journalQuota: { bytes: 7, entries: 8, days: 9 },
      trash: "off",
      owner: "did:web:files.example.com:me",
    } as const;
    expect(rootOf({ path: "/x", ...options })).toEqual({ kind: "host", path: "/x", ...options });
    expect(rootOf({ temp: true, ...options, durability: "flush" })).toMatchObject({ ...options, durability: "flush" });
  });
});

describe("a wrong root is refused", () => {
  const oneOf = "'roots.docs' must have exactly one of 'path', 'temp' and 'dlfs'";
  const driveName =
    "'roots.docs.dlfs' must be the name of a drive: at most 128 bytes, without '/', '\\' and control characters, not '.' or '..'";
  const VALID: Readonly<Record<string, unknown>> = {
    ...{ owner: "did:web:a", durability: "flush", crossDevice: true, hardLinks: true, io: "sync", quota: {} },
    ...{ journal: "on", trash: "off" },
  };
  const did = "a DID such as did:key:z6Mk… or did:web:example.com";
  const plainName = "'roots.docs.prefix' must be a plain name: at most 64 letters, digits, '.', '_' or '-'";
  test.each<[unknown, ...string[]]>([
    [5, "'roots.docs' must be a path that is not empty or an object, not 5"],
    [null, "'roots.docs' must be a path that is not empty or an object, not null"],
    ["", "'roots.docs' must be a path that is not empty"],
    [{}, oneOf],
    [{ readOnly: true }, oneOf],
    [{ path: "a", temp: true }, oneOf],
    [{ path: "" }, "'roots.docs.path' must be a path that is not empty"],
    [{ path: 5 }, "'roots.docs.path' must be a path that is not empty, not a number"],
    [{ temp: true, grep: "rg" }, '\'roots.docs.grep\' must be "auto" or "re2js"'],
    [{ temp: true, encoding: "" }, "'roots.docs.encoding' must be a string that is not empty"],
    [
      { temp: true, encoding: "utf-9" },
      "'roots.docs.encoding' must be the name of a text encoding, such as utf-8 or latin1",
    ],
    [
      { temp: true, encoding: "base64" },
      "'roots.docs.encoding' must be the name of a text encoding, such as utf-8 or latin1",
    ],
    [{ temp: false }, "'roots.docs.temp' must be true, not false"],
    [{ temp: "true" }, "'roots.docs.temp' must be true, not a string"],
    [{ path: "a", prefix: "b" }, "'roots.docs.prefix' is only allowed together with 'temp'"],
    [{ temp: true, prefix: "a/b" }, plainName],
    [{ temp: true, prefix: "" }, plainName],
    [{ temp: true, prefix: "x".repeat(129) }, plainName],
    [{ temp: true, prefix: 5 }, `${plainName}, not a number`],
    [{ path: "a", readOnly: "true" }, "'roots.docs.readOnly' must be true or false, not a string"],
    [{ path: "a", description: 5 }, "'roots.docs.description' must be a string, not a number"],
    [{ path: "a", durability: "fsync" }, `'roots.docs.durability' must be "flush" or "none"`],
    [{ path: "a", durability: true }, `'roots.docs.durability' must be "flush" or "none", not true`],
    [{ path: "a", crossDevice: 1 }, "'roots.docs.crossDevice' must be true or false, not 1"],
    [{ path: "a", hardLinks: 1 }, "'roots.docs.hardLinks' must be true or false, not 1"],
    [{ path: "a", quota: 5 }, "'roots.docs.quota' must be an object, not 5"],
    [{ path: "a", quota: { bytes: -1 } }, "'roots.docs.quota.bytes' must be an integer of at least 0, not -1"],
    [{ path: "a", quota: { byte: 1 } }, "Unknown config key 'roots.docs.quota.byte' - did you mean 'bytes'?"],
    [{ path: "a", protect: "x" }, "'roots.docs.protect' must be an array, not a string"],
    [
      { path: "a", protect: ["@git", "@gti"] },
      "'roots.docs.protect[1]' must be a glob: there is no set '@gti', only @secrets, @git, @clients and @instructions; a name with @ is written [@]",
    ],
    [
      { dlfs: "a", protect: ["[b"] },
      "'roots.docs.protect[0]' must be a glob: a bracket, brace or range in it does not fit",
    ],
    [{ path: "a", deny: "x" }, "'roots.docs.deny' must be an array, not a string"],
    [{ path: "a", deny: [""] }, "'roots.docs.deny[0]' must be a string that is not empty"],
    [
      { path: "a", deny: ["a", "[b"] },
      "'roots.docs.deny[1]' must be a glob: a bracket, brace or range in it does not fit",
    ],
    [{ dlfs: "a", deny: ["../b"] }, "'roots.docs.deny[0]' must be a glob: it cannot hold '//', '.' or '..' as a part"],
    [{ path: "a", maxReadBytes: 0 }, "'roots.docs.maxReadBytes' must be an integer of at least 1, not 0"],
    [{ path: "a", maxReadBytes: "8MB" }, "'roots.docs.maxReadBytes' must be an integer of at least 1, not a string"],
    [{ path: "a", owner: "me" }, `'roots.docs.owner' must be ${did}`],
    [{ path: "a", owner: null }, `'roots.docs.owner' must be ${did}, not null`],
    [{ path: "a", owner: "did:web:a#key" }, `'roots.docs.owner' must be ${did}`],
    [{ path: "a", io: "async" }, `'roots.docs.io' must be "auto" or "sync" or "pool"`],
    [{ pth: "a" }, "Unknown config key 'roots.docs.pth' - did you mean 'path'?"],
    [{ path: "a", pth: "b" }, "Unknown config key 'roots.docs.pth' - did you mean 'path'?"],
    [{ colour: "red" }, "Unknown config key 'roots.docs.colour'", oneOf],
    [{ dlfs: "notes", path: "a" }, oneOf],
    [{ dlfs: "notes", path: "a", temp: true }, oneOf],
    [{ dlfs: 5 }, `${driveName}, not a number`],
    ...["", ".", "..", "a/b", "a\\b", "a\n", "x".repeat(129)].map((dlfs): [object, string] => [{ dlfs }, driveName]),
    [{ dlfs: "é".repeat(65) }, "'roots.docs.dlfs' must be the name of a drive: at most 128 bytes"],
    [{ dlfs: "notes", prefix: "a" }, "'roots.docs.prefix' is only allowed together with 'temp'"],
    ...["..", "a/..", "a/../b", "/a", "/", "", ".", "a\n"].map((subpath): [object, string] => [
      { dlfs: "notes", subpath },
      "'roots.docs.subpath' must be a relative path of a directory, without '..'",
    ]),
    [{ dlfs: "notes", subpath: 5 }, "'roots.docs.subpath' must be a string, not a number"],
    [{ path: "a", subpath: "b" }, "'roots.docs.subpath' is only allowed together with 'dlfs'"],
    [{ temp: true, subpath: "b" }, "'roots.docs.subpath' is only allowed together with 'dlfs'"],
    ...["owner", "durability", "crossDevice", "hardLinks", "io", "quota", "journal", "trash"].map(
      (option): [object, string] => [
        { dlfs: "notes", [option]: VALID[option] },
        `'roots.docs.dlfs' and 'roots.docs.${option}' cannot both be set`,
      ],
    ),
  ])("%j", (root, ...messages) => {
    expect(rootProblems(root)).toEqual(messages);
    const fromTop = messages.map((message) => message.replaceAll("'roots.docs", "'file.roots.docs"));
    expect(venueProblems({ file: { roots: { docs: root } } })).toEqual(fromTop);
  });
});

describe("the name of a root", () => {
  test.each(["a", "0", "A.b_c-d", "x".repeat(63), "constructor", "toString", "hasOwnProperty"])("can be %s", (name) => {
    const { roots } = parse({ roots: { [name]: "/x", other: "/y" } });
    expect(Object.keys(roots).sort()).toEqual([name, "other"].sort());
    expect(roots[name]).toMatchObject({ path: "/x" });
  });

  test.each(["", ".a", "-a", "_a", "a b", "a/b", "ä", "x".repeat(64), "a\n", "__proto__"])("cannot be %j", (name) => {
    expect(fileProblems({ roots: { [name]: "/x" } })).toEqual([
      expect.stringMatching(/^'roots\..*' has an invalid name: expected a letter or digit, then /),
    ]);
  });

  test("is not looked up in a prototype", () => {
    const { roots } = parse({ roots: { docs: "/x" } });
    expect(["docs", "constructor", "toString", "__proto__"].filter((name) => name in roots)).toEqual(["docs"]);
  });

  test("does not change the order of the roots", () => {
    const names = ["zeta", "alpha", "Beta", "a.b"];
    const roots = Object.fromEntries(names.map((name) => [name, `/${name}`]));
    expect(Object.keys(parse({ roots }).roots)).toEqual(names);
  });
});

describe("without any root", () => {
  test.each<[FileConfigInput]>([[{}], [{ roots: {} }]])("%j, there is one temp root tmp", (value) => {
    expect(parse(value).roots).toEqual({
      tmp: { kind: "temp", prefix: "covia-tmp-", durability: "none", quota, ...common },
    });
  });
});

describe("roots of the command line", () => {
  const withExtra = (value: FileConfigInput, ...names: string[]) =>
    parseFileConfig(value, {
      baseDir: "/base",
      extraRoots: Object.fromEntries(names.map((name) => [name, { path: `/cli/${name}` }])),
    });

  test("come after those of the config", () => {
    const { roots } = withExtra({ roots: { b: "b" } }, "c", "a");
    const host = { kind: "host", durability: "flush", ...common };
    expect(Object.entries(roots)).toEqual([
      ["b", { path: "/base/b", ...host }],
      ["c", { path: "/cli/c", ...host }],
      ["a", { path: "/cli/a", ...host }],
    ]);
  });

  test("stand alone when the config has none: no tmp is added", () => {
    expect(Object.keys(withExtra({}, "docs").roots)).toEqual(["docs"]);
  });

  test("that are none leave tmp in place", () => {
    expect(Object.keys(withExtra({}).roots)).toEqual(["tmp"]);
  });

  test("can be named tmp, since no other root of that name is added", () => {
    expect(withExtra({}, "tmp").roots).toMatchObject({ tmp: { kind: "host" } });
  });

  test("cannot repeat one of the config, even one that is wrong itself", () => {
    const extraRoots = { docs: { path: "/a" }, bad: { path: "/b" }, other: { path: "/c" } };
    expect(fileProblems({ roots: { docs: "docs", bad: {} } }, { extraRoots })).toEqual([
      "'roots.bad' must have exactly one of 'path', 'temp' and 'dlfs'",
      "Root 'docs' is given twice: in the config and by --root",
      "Root 'bad' is given twice: in the config and by --root",
    ]);
  });

  test("are checked like all others", () => {
    expect(venueProblems({}, { extraRoots: { "a b": { path: "/a" } } })).toEqual([
      expect.stringMatching(/^'file\.roots\.a b' has an invalid name: /),
    ]);
  });
});

describe("the file adapter's part alone", () => {
  test("reads the same as in a venue", () => {
    const file = { roots: { docs: "docs" }, discloseHostPaths: false, limits: { maxConcurrent: 3 } };
    expect(parse(file)).toEqual(parseConfig({ file }, { baseDir: "/base" }).file);
  });

  test("is frozen all through", () => {
    const config = parse({ roots: { docs: "docs" } });
    const parts = [config, config.roots, ...Object.values(config.roots), config.limits];
    expect(parts.filter((part) => !Object.isFrozen(part))).toEqual([]);
  });

  test.each([
    [null, "Config must be an object, not null"],
    [{ rootz: {} }, "Unknown config key 'rootz' - did you mean 'roots'?"],
    [{ roots: 5 }, "'roots' must be an object, not 5"],
    [{ roots: { r: { temp: true, trash: 5 } } }, '\'roots.r.trash\' must be "auto" or "required" or "off", not 5'],
    [{ store: 5 }, "Unknown config key 'store'"],
    [{ port: 5 }, "Unknown config key 'port'"],
  ])("has key paths that start there: %j", (value, message) => {
    expect(fileProblems(value)).toEqual([message]);
  });
});

/** Where a list of capabilities can stand: a config with one there, and its key path. */
const PLACES: readonly [string, (...entries: unknown[]) => object][] = [
  ["auth.public.caps", (...caps) => ({ auth: { public: { caps } } })],
  ["auth.grants", (...caps) => ({ auth: { grants: caps.map(withDid) } })],
  [
    "auth.issuers[0].map[0].caps",
    (...caps) => ({ auth: { issuers: [{ issuer: "https://i.example", map: [{ when: {}, caps }] }] } }),
  ],
  ["auth.tokens[0].caps", (...caps) => ({ auth: { tokens: [{ name: "ci", token: { env: "CI" }, caps }] } })],
];

function withDid(entry: unknown): unknown {
  return typeof entry === "object" ? { did: "did:key:z6Mkx", ...entry } : entry;
}

describe.each(PLACES)("a capability in %s", (keyPath, configWith) => {
  test.each([
    [5, `'${keyPath}[0]' must be an object, not 5`],
    [{ with: "file://" }, `'${keyPath}[0].can' is missing: expected a string`],
    [{ with: null, can: "crud" }, `'${keyPath}[0].with' must be a string, not null`],
    [{ with: "file://", can: "crud", nb: {} }, `Unknown config key '${keyPath}[0].nb'`],
  ])("has to be {with, can}: %j", (entry, message) => {
    expect(venueProblems(configWith(entry))).toEqual([message]);
    // What is said about its form is enough.
    const isGrant = (value: unknown) => typeof value === "object" && value !== null;
    expect(venueProblems(configWith(entry), { isGrant })).toEqual([message]);
  });

  test("with several faults has all of them reported", () => {
    expect(venueProblems(configWith({ nb: {}, colour: "red" }))).toEqual([
      `Unknown config key '${keyPath}[0].nb'`,
      `Unknown config key '${keyPath}[0].colour'`,
      expect.stringMatching(/\.with' is missing: expected a string\. '[^']+' means: A (?:resource|capability)/),
      `'${keyPath}[0].can' is missing: expected a string`,
    ]);
  });

  test("with a misspelt key has only the other one reported as missing", () => {
    expect(venueProblems(configWith({ cann: "crud" }))).toEqual([
      `Unknown config key '${keyPath}[0].cann' - did you mean 'can'?`,
      `'${keyPath}[0].with' is missing: expected a string`,
    ]);
  });

  test("has to grant something, as the given parser sees it", () => {
    const value = configWith({ with: "file://docs", can: "crud" }, { with: "docs", can: "crud" });
    const isGrant = (capability: unknown) => parseGrant(capability) !== undefined;
    const message = (place: string) =>
      `'${place}' grants nothing: expected 'with' to be a resource such as "file://docs/" and 'can' an ability such as "crud/read"`;
    expect(venueProblems(value, { isGrant })).toEqual([message(`${keyPath}[1]`)]);
    expect(configProblems({ venues: [value] }, { isGrant })).toEqual([message(`venues[0].${keyPath}[1]`)]);
    expect(venueProblems(value)).toEqual([]);
  });
});

const LOOPBACK = ["localhost", "LOCALHOST", "127.0.0.1", "127.0.0.0", "127.255.255.255", "127.9.87.6", "::1", "[::1]"];
const OTHER = [
  ...["0.0.0.0", "::", "[::]", "192.168.0.1", "128.0.0.1", "27.0.0.1", "example.com", "localhost.example.com"],
  ...["127.0.0.1.example.com", "127.0.0.256", "127.0.0", "127.1", "127.0.0.01", "127.0.0.1 ", "", "::11", "[::1"],
];

describe("a loopback address", () => {
  test.each(LOOPBACK)("is %s", (hostname) => expect(isLoopbackHost(hostname)).toBe(true));
  test.each(OTHER)("is not %j", (hostname) => expect(isLoopbackHost(hostname)).toBe(false));
});

describe("a loopback listener", () => {
  const isLoopback = (value: VenueConfigInput) => isLoopbackListener(parseConfig(value, { baseDir: "/base" }));
  const socket = { listen: { socket: "s" } };
  const bases = ["http://localhost", "https://LOCALHOST:8443/base", "http://127.1.2.3:8080", "http://[::1]/"];

  test.each<VenueConfigInput>([
    {},
    socket,
    { hostname: "127.0.0.2" },
    ...bases.flatMap((baseUrl) => [{ baseUrl }, { ...socket, baseUrl }]),
  ])("is %j", (value) => expect(isLoopback(value)).toBe(true));

  test("is one on a socket, whatever the host name", () => {
    expect(isLoopbackListener({ hostname: "0.0.0.0", listen: { socket: "/s" }, trustProxy: false })).toBe(true);
  });

  const outside = ["http://files.example.com", "https://localhost.example.com", "http://192.168.0.1", "http://[::2]"];
  test.each<VenueConfigInput>([
    { hostname: "0.0.0.0" },
    { hostname: "::" },
    { trustProxy: true },
    { ...socket, trustProxy: true },
    { hostname: "0.0.0.0", baseUrl: "http://localhost" },
    { trustProxy: true, baseUrl: "http://localhost" },
    ...outside.flatMap((baseUrl) => [{ baseUrl }, { ...socket, baseUrl }]),
  ])("is not %j", (value) => expect(isLoopback(value)).toBe(false));
});

describe("a venue that listens", () => {
  const check = (value: VenueConfigInput) => checkListener(parseConfig(value, { baseDir: "/base" }));

  test.each(["localhost", "127.0.0.2", "::1"])("on %s needs no word on public access", (hostname) => {
    expect(check({ hostname })).toBeUndefined();
  });

  test.each(["0.0.0.0", "example.com"])("on %s is refused without one", (hostname) => {
    expect(check({ hostname, auth: { public: { caps: [] } } })).toBe(
      `Refusing to start: '${hostname}' is not a loopback address. Set auth.public.enabled to true or false explicitly.`,
    );
  });

  test.each<VenueConfigInput>([
    { trustProxy: true },
    { baseUrl: "https://files.example.com" },
    { baseUrl: "https://localhost.example.com" },
    { listen: { socket: "s" }, trustProxy: true },
    { listen: { socket: "s" }, baseUrl: "https://files.example.com" },
    { hostname: "0.0.0.0", trustProxy: true },
  ])("on %j is refused without one, since it is behind a proxy", (value) => {
    expect(check(value)).toBe(
      "Refusing to start: this venue is reachable from outside. Set auth.public.enabled to true or false explicitly.",
    );
  });

  test("is refused in one line that shows what cannot be seen", () => {
    expect(check({ hostname: "a\u001b[2J" })).toMatch(
      /^Refusing to start: 'a\\u\{1b\}\[2J' is not a loopback address\. /,
    );
  });

  const issuers = [{ issuer: "https://sso.example.com", map: [{ when: {}, caps: [] }] }];
  const auth = { public: { enabled: false }, issuers };
  test.each<VenueConfigInput>([{ hostname: "0.0.0.0" }, { baseUrl: "http://files.example.com" }])(
    "on %j is refused with issuers: a token would be for an address that anybody on the way can take",
    (value) => {
      expect(check({ ...value, auth })).toBe(
        "Refusing to start: auth.issuers needs a baseUrl by https:// (or a loopback one), since tokens are for that address.",
      );
      expect(check({ ...value, auth: { public: { enabled: false } } })).toBeUndefined();
    },
  );
  test.each<VenueConfigInput>([
    {},
    { listen: { socket: "s" } },
    { baseUrl: "http://[::1]:80/a" },
    { hostname: "0.0.0.0", baseUrl: "https://files.example.com" },
  ])("on %j may have issuers", (value) => expect(check({ ...value, auth })).toBeUndefined());

  test.each([true, false])("anywhere is fine with auth.public.enabled: %s", (enabled) => {
    const auth = { public: { enabled } };
    expect(check({ hostname: "0.0.0.0", auth })).toBeUndefined();
    expect(check({ trustProxy: true, baseUrl: "https://files.example.com", auth })).toBeUndefined();
  });
});

const roots = { docs: { path: "docs" } };
const problems = (profiles: unknown, options = {}) => venueProblems({ profiles, file: { roots } }, options);
const on = (more: object, profile = "jettson") => ({ mine: { profile, root: "docs", ...more } });

describe("a profile is refused", () => {
  test.each<[string, unknown, readonly unknown[]]>([
    [
      "on a root that there is not",
      { mine: { profile: "jettson", root: "dosc" } },
      ["'profiles.mine.root' names a root that does not exist: dosc"],
    ],
    ...["file", "ucan", "auth", "dlfs", "drive"].map((name): [string, unknown, readonly unknown[]] => [
      `under the name of an adapter, ${name}`,
      { [name]: { profile: "jettson", root: "docs" } },
      [`'profiles.${name}' must not be the name of an adapter`],
    ]),
    ["without a root", { mine: { profile: "jettson" } }, [expect.stringContaining("'profiles.mine.root' is missing")]],
    ["that is unknown", on({}, "jetson"), [`'profiles.mine.profile' must be "jettson" or "everruns"`]],
    [
      "in a variant that there is not",
      on({ variant: "v2" }, "everruns"),
      [`'profiles.mine.variant' must be "strict" or "0.50"`],
    ],
    [
      "with edits that only another variant rebases",
      on({ onStale: "rebase" }, "everruns"),
      [`'profiles.mine.onStale' must be "reject", or variant "0.50"`],
    ],
    ["with what only another has", on({ alias: "/w" }), ["'profiles.mine.alias' is only for everruns"]],
    ["with an alias of two names", on({ alias: "/a/b" }, "everruns"), [expect.stringContaining("profiles.mine.alias")]],
  ])("%s", (_name, profiles, expected) => {
    expect(problems(profiles)).toEqual(expected);
  });

  test.each(["..", "../a", "a/../b", "/", ".", "//a", "a\\b", "a\0", ".venue-files/x", "C:/a"])(
    "with the prefix %j",
    (prefix) => {
      expect(problems(on({ prefix }))).toEqual([
        "'profiles.mine.prefix' must be a path of a directory below the root, such as sessions/1",
      ]);
    },
  );

  test.each(["Mine", "1st", "a b", "a.b", "a".repeat(33)])("under the name %j, which no adapter can have", (name) => {
    expect(problems({ [name]: { profile: "jettson", root: "docs" } })).toEqual([
      expect.stringContaining("has an invalid name"),
    ]);
  });

  test.each([
    ["uid", 0],
    ["gid", 0],
    ["driver", "docker"],
    ["scratchBytes", 0],
    ["extraMounts", [{ path: "/a", at: "/b/../c" }]],
    ["limits.nproc", 0],
    ["unsafe", "yes"],
  ])("with shell.%s %j", (key, value) => {
    expect(problems(on({ shell: at(key, value) }))).toEqual([expect.stringContaining(`'profiles.mine.shell.${key}`)]);
  });
});

test("commands without a guard are refused beside a root that must keep what is deleted", () => {
  const keeping = { docs: roots.docs, kept: { path: "kept", journal: "on", trash: "required" } };
  const found = (shell: object, among: object) => venueProblems({ profiles: on({ shell }), file: { roots: among } });
  expect(found({ unsafe: true }, keeping)).toEqual([
    `'profiles.mine.shell.unsafe' must be false: its commands could empty the trash, and root 'kept' has trash: "required"`,
  ]);
  expect(found({ unsafe: false }, keeping)).toEqual([]);
  expect(found({ unsafe: true }, { ...keeping, kept: { path: "kept", journal: "on" } })).toEqual([]);
});

describe("a profile is taken", () => {
  test("on a root of the command line, and on the root that is there where none is configured", () => {
    expect(problems({ mine: { profile: "jettson", root: "x" } }, { extraRoots: { x: { path: "/x" } } })).toEqual([]);
    expect(venueProblems({ profiles: { mine: { profile: "jettson", root: "tmp" } } })).toEqual([]);
  });

  test("with its prefix in one form, and all of the shell that is not given", () => {
    const profiles = on({ prefix: "/a//./b/", shell: {} });
    expect(parseConfig({ profiles, file: { roots } }, { baseDir: "/" }).profiles).toEqual(
      on({ prefix: "a/b", shell: DEFAULT_SHELL }),
    );
  });
});
