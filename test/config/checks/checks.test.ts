import { describe, expect, test } from "@jest/globals";
import { parseGrant } from "../../../src/authz/grant.js";
import { parseConfig, parseConfigs } from "../../../src/config/load.js";
import type { VenueConfigInput } from "../../../src/config/types.js";
import { venueProblems } from "../problems.js";

const SEED = "0a".repeat(32);

/** Each case is right but for what its problems name. */
const refuses = (cases: readonly (readonly [unknown, ...string[]])[]): void => {
  test.each(cases.map(([value, ...problems]) => [value, problems] as const))("refused: %j", (value, problems) => {
    expect(venueProblems(value)).toEqual(problems);
  });
};

const accepts = (...cases: readonly VenueConfigInput[]): void => {
  test.each(cases.map((value) => [value]))("accepted: %j", (value) => {
    expect(venueProblems(value)).toEqual([]);
  });
};

describe("keys that exclude one another", () => {
  refuses([
    [{ seed: SEED, seedFile: "seed" }, "'seed' and 'seedFile' cannot both be set"],
    [{ listen: { socket: "s" }, hostname: "localhost" }, "'listen' and 'hostname' cannot both be set"],
    [{ listen: { socket: "s" }, port: 8080 }, "'listen' and 'port' cannot both be set"],
    [
      { listen: { socket: "s" }, hostname: "::1", port: 0 },
      "'listen' and 'hostname' cannot both be set",
      "'listen' and 'port' cannot both be set",
    ],
  ]);
  accepts({ seed: SEED }, { seedFile: "seed" }, { listen: { socket: "s" } });
});

describe("a Unix socket", () => {
  // In bytes, from the top of the file system; "/base/" is part of it.
  const longest = process.platform === "linux" ? 107 : 103;
  const tooLong = `'listen.socket' is too long for a socket: at most ${longest} bytes as an absolute path`;
  refuses([
    [{ listen: {} }, "'listen.socket' is missing: expected a path that is not empty"],
    [
      { listen: { host: "127.0.0.1", port: 8080 } },
      "Unknown config key 'listen.host'",
      "Unknown config key 'listen.port'",
      "'listen.socket' is missing: expected a path that is not empty. 'listen' means: A Unix socket to listen on, in place of hostname and port",
    ],
    [{ listen: { socket: `/${"s".repeat(longest)}` } }, tooLong],
    [{ listen: { socket: "s".repeat(longest - 5) } }, tooLong],
    [{ listen: { socket: `/${"é".repeat(54)}` } }, tooLong],
  ]);
  accepts({ listen: { socket: `/${"s".repeat(longest - 1)}` } }, { listen: { socket: "s".repeat(longest - 6) } });
});

describe("URLs that only look like one", () => {
  const host = "must be a URL with a host that can exist";
  const origin = "must be an origin with a host that can exist";
  const exact = "must be an exact origin such as https://app.example.com, without a path";
  refuses([
    [{ baseUrl: "https://a.example:99999" }, `'baseUrl' ${host}`],
    [{ baseUrl: "https://a b.example".replace(" ", "%20") }, `'baseUrl' ${host}`],
    [{ corsOrigins: ["https://a.example", "https://[::1"] }, `'corsOrigins[1]' ${origin}`],
    [{ corsOrigins: ["https://a.example:port"] }, `'corsOrigins[0]' ${origin}`],
    [{ corsOrigins: ["https://a.example/"] }, `'corsOrigins[0]' ${exact}`],
    [{ corsOrigins: ["https://a.example/b"] }, `'corsOrigins[0]' ${exact}`],
    [{ corsOrigins: ["https://user@a.example"] }, `'corsOrigins[0]' ${exact}`],
    [{ corsOrigins: ["a.example", "null", "*"] }, ...[0, 1, 2].map((index) => `'corsOrigins[${index}]' ${exact}`)],
    [{ corsOrigins: [5] }, `'corsOrigins[0]' ${exact}, not a number`],
  ]);
});

describe('corsOrigins "*"', () => {
  const problem =
    "'corsOrigins' must not be \"*\" where callers without credentials are served, unless 'auth.public.caps' says what they may do";
  const caps = [{ with: "file://", can: "crud/read" }];
  refuses([
    [{ corsOrigins: "*" }, problem],
    [{ corsOrigins: "*", listen: { socket: "s" } }, problem],
    [{ corsOrigins: "*", baseUrl: "http://localhost:8080" }, problem],
    [{ corsOrigins: "*", auth: { public: { enabled: true } } }, problem],
    [{ corsOrigins: "*", auth: { public: { enabled: true } }, hostname: "0.0.0.0" }, problem],
    // What is wrong itself says nothing about who is served.
    [{ corsOrigins: "*", hostname: 5 }, "'hostname' must be a host name or an IP address, not a number"],
    [{ corsOrigins: "*", auth: 5 }, "'auth' must be an object, not 5"],
    [
      { corsOrigins: "*", auth: { public: { enabled: "no" } } },
      "'auth.public.enabled' must be true or false, not a string",
    ],
    [{ corsOrigins: "*", auth: { public: { caps: 5 } } }, "'auth.public.caps' must be an array, not 5"],
    [
      { corsOrigins: "*", baseUrl: "a.example" },
      "'baseUrl' must be an http or https URL without credentials, query or fragment",
    ],
  ]);
  accepts(
    { corsOrigins: "*", auth: { public: { enabled: false } } },
    { corsOrigins: "*", auth: { public: { caps } } },
    { corsOrigins: "*", auth: { public: { caps: [] } } },
    { corsOrigins: "*", auth: { public: { enabled: true, caps } }, hostname: "0.0.0.0" },
    // These do not start until auth.public.enabled is set.
    { corsOrigins: "*", hostname: "0.0.0.0" },
    { corsOrigins: "*", trustProxy: true },
    { corsOrigins: "*", baseUrl: "https://a.example" },
  );
});

describe("the identity of a venue", () => {
  const stranger = "must not be the DID of callers without credentials";
  refuses([
    [{ did: "did:key:z6Mkx" }, "'did' is a did:key, so its key must be known: set 'seed' or 'seedFile'"],
    [{ did: "did:key:z6Mkx", seed: "00" }, "'seed' must be 64 hex digits"],
    [{ did: "did:key:z6Mkx", seedFile: "" }, "'seedFile' must be a path that is not empty"],
    [{ did: "did:web:a", operator: "did:web:a:public" }, `'operator' ${stranger}`],
    [{ operator: "did:key:z6Mkx:public" }, `'operator' ${stranger}`],
  ]);
  accepts(
    { did: "did:web:a" },
    { did: "did:key:z6Mkx", seed: SEED },
    { did: "did:key:z6Mkx", seedFile: "seed" },
    { did: "did:web:a", operator: "did:web:a" },
    { did: "did:web:a", operator: "did:web:b:public" },
  );
});

describe("outside issuers", () => {
  const issuer = (url: string, others: object = {}) => ({ issuer: url, map: [{ when: {}, caps: [] }], ...others });
  const issuers = (...all: object[]) => ({ auth: { issuers: all } });
  const url = "a URL by https://, or by http:// on this machine";
  const at = "'auth.issuers[0]";
  refuses([
    [
      issuers({}),
      `${at}.issuer' is missing: expected ${url}, without query`,
      `${at}.map' is missing: expected an array that is not empty`,
    ],
    [issuers(issuer("https://a.example/?b")), `${at}.issuer' must be ${url}, without query`],
    [issuers(issuer("https://me@a.example")), `${at}.issuer' must be ${url}, without query`],
    [issuers(issuer("http://a.example")), `${at}.issuer' must be ${url}`],
    [issuers(issuer("https://a.example", { jwks: "http://192.168.0.1/" })), `${at}.jwks' must be ${url}`],
    [issuers(issuer("https://[")), `${at}.issuer' must be ${url}`],
    [issuers(issuer("https://a.example"), issuer("https://a.example")), "'auth.issuers[1].issuer' is named twice"],
    [issuers(issuer("https://a.example", { map: [] })), `${at}.map' must be an array that is not empty`],
    [
      issuers(issuer("https://a.example", { map: [{ when: { a: 1 }, caps: [] }] })),
      `${at}.map[0].when.a' must be a string, not a number`,
    ],
    [
      issuers(issuer("https://a.example", { algorithms: ["HS256"] })),
      `${at}.algorithms[0]' must be "ES256" or "EdDSA" or "Ed25519" or "RS256" or "PS256"`,
    ],
  ]);
  accepts(
    { auth: { issuers: [issuer("https://a.example"), issuer("https://a.example/")] } },
    { auth: { issuers: [issuer("http://127.0.0.1:1/", { jwks: "http://localhost:2/keys" })] } },
  );
});

describe("static tokens", () => {
  const token = (name: unknown, others: object = {}) => ({ name, token: { env: "TOKEN" }, caps: [], ...others });
  const tokens = (...all: unknown[]) => ({ auth: { tokens: all } });
  const where = "'auth.tokens[0].token'";
  const oneOf = `${where} must have exactly one of 'env', 'file' and 'sha256'`;
  const rootName = "a letter or digit, then at most 62 letters, digits, '.', '_' or '-'";
  const did = "a DID such as did:key:z6Mk… or did:web:example.com";
  const operator = "'auth.tokens[0].did' must not be the operator of the venue";
  refuses([
    [tokens({}), ...missing("name", rootName), ...missing("token", "an object"), ...missing("caps", "an array")],
    [tokens(5), "'auth.tokens[0]' must be an object, not a number"],
    [tokens(token("a b")), `'auth.tokens[0].name' must be ${rootName}`],
    [tokens(token("x".repeat(64))), `'auth.tokens[0].name' must be ${rootName}`],
    [tokens(token("__proto__")), `'auth.tokens[0].name' must be ${rootName}`],
    [tokens(token("a"), token("A"), token("a")), "'auth.tokens[0].name' and 'auth.tokens[2].name' are the same"],
    [tokens(token("a", { token: {} })), oneOf],
    [tokens(token("a", { token: { env: "A", file: "b" } })), oneOf],
    [tokens(token("a", { token: { env: "A", sha256: SEED } })), oneOf],
    [tokens(token("a", { token: "s3cr3t" })), `${where} must be an object, not a string`],
    [tokens(token("a", { token: 1234 })), `${where} must be an object, not a number`],
    [tokens(token("a", { token: { env: "MY TOKEN" } })), envName("")],
    [tokens(token("a", { token: { env: 5 } })), envName(", not a number")],
    [tokens(token("a", { token: { env: "" } })), envName("")],
    [tokens(token("a", { token: { file: "" } })), "'auth.tokens[0].token.file' must be a path that is not empty"],
    [tokens(token("a", { token: { sha256: "ab" } })), "'auth.tokens[0].token.sha256' must be 64 hex digits"],
    [
      tokens(token("a", { token: { sha: "ab" } })),
      "Unknown config key 'auth.tokens[0].token.sha' - did you mean 'sha256'?",
    ],
    [tokens(token("a", { did: "me" })), `'auth.tokens[0].did' must be ${did}`],
    [tokens(token("a", { caps: "crud" })), "'auth.tokens[0].caps' must be an array, not a string"],
    [{ ...tokens(token("a", { did: "did:web:op" })), operator: "did:web:op" }, operator],
    [{ ...tokens(token("a", { did: "did:web:v" })), did: "did:web:v" }, operator],
    [
      { ...tokens(token("a", { did: "did:web:v:public" })), did: "did:web:v" },
      "'auth.tokens[0].did' must not be the DID of callers without credentials",
    ],
  ]);
  test.each([{ path: "a" }, { temp: true }])("refused: the DID of the owner of a root, %j", (root) => {
    const mine = token("a", { did: "did:web:me" });
    const both = { ...root, owner: "did:web:me" };
    expect(
      venueProblems({ ...tokens(token("b"), mine), file: { roots: { free: root, docs: both, more: both } } }),
    ).toEqual(["docs", "more"].map((name) => `'auth.tokens[1].did' must not be that of 'file.roots.${name}.owner'`));
  });

  test("accepted: several with names of their own, and DIDs that are no operator's", () => {
    const value = {
      ...tokens(token("a"), token("A"), token("a.b", { did: "did:web:v" }), token("c", { did: "did:web:v" })),
      operator: "did:web:op",
      did: "did:web:v",
    };
    expect(venueProblems(value)).toEqual([]);
  });

  function missing(key: string, expected: string): string[] {
    return [`'auth.tokens[0].${key}' is missing: expected ${expected}`];
  }
  function envName(found: string): string {
    return `'auth.tokens[0].token.env' must be the name of an environment variable${found}`;
  }
});

describe("who owns a root", () => {
  const rooted = (owner: unknown) => ({ file: { roots: { "a.b": "a", docs: { path: "b", owner } } } });
  const stranger = "'file.roots.docs.owner' must not be the DID of callers without credentials";
  const did = "a DID such as did:key:z6Mk… or did:web:example.com";
  refuses([
    [rooted("me"), `'file.roots.docs.owner' must be ${did}`],
    [rooted(5), `'file.roots.docs.owner' must be ${did}, not a number`],
    [{ ...rooted("did:web:v:public"), did: "did:web:v" }, stranger],
    // The DID of the key is not known yet, but of this form there is nothing else.
    [rooted("did:key:z6Mkx:public"), stranger],
    [{ ...rooted("did:key:z6Mkx:public"), did: "did:web:v" }, stranger],
  ]);
  accepts(
    rooted("did:key:z6Mkx") as VenueConfigInput,
    { ...rooted("did:web:v"), did: "did:web:v" } as VenueConfigInput,
    { ...rooted("did:web:w:public"), did: "did:web:v" } as VenueConfigInput,
    { ...rooted("did:web:o"), operator: "did:web:o" } as VenueConfigInput,
  );
});

describe("grants by DID", () => {
  const grants = (...all: unknown[]) => ({ auth: { grants: all } });
  const grant = (did: unknown) => ({ did, with: "file://tmp/", can: "crud" });
  const place = "'auth.grants[0].did'";
  const did = "a DID such as did:key:z6Mk… or did:web:example.com";
  refuses([
    [grants(5), "'auth.grants[0]' must be an object, not 5"],
    [grants({ with: "file://", can: "crud" }), `${place} is missing: expected ${did}`],
    [grants(grant("me")), `${place} must be ${did}`],
    [grants(grant(null)), `${place} must be ${did}, not null`],
    [
      { ...grants(grant("did:web:v:public")), did: "did:web:v" },
      `${place} must not be the DID of callers without credentials`,
    ],
    [grants(grant("did:key:z6Mkx:public")), `${place} must not be the DID of callers without credentials`],
  ]);
  accepts(
    grants() as VenueConfigInput,
    grants(grant("did:key:z6Mkx"), grant("did:key:z6Mkx"), grant("did:web:w")) as VenueConfigInput,
    // Who has everything anyway.
    { ...grants(grant("did:web:o")), operator: "did:web:o" } as VenueConfigInput,
  );

  test("wrong in several ways are all reported, with what else is wrong about rights", () => {
    const isGrant = (value: unknown) => JSON.stringify(value) === '{"with":"file://tmp/","can":"crud"}';
    const value = {
      did: "did:web:v",
      auth: {
        grants: [grant("did:web:v:public"), { did: "did:web:a", with: "tmp", can: "crud" }, grant("did:web:a")],
        tokens: [{ name: "a", token: { env: "A" }, did: "did:web:o", caps: [] }],
        ucan: { maxLifetime: 0 },
      },
      file: { roots: { a: { path: "a", owner: "did:web:o" }, b: { path: "b", owner: "did:web:v:public" } } },
    };
    expect([...venueProblems(value, { isGrant })].sort()).toEqual(
      [
        "'auth.ucan.maxLifetime' must be an integer from 1 to 3155760000, not 0",
        "'auth.grants[0].did' must not be the DID of callers without credentials",
        `'auth.grants[1]' grants nothing: expected 'with' to be a resource such as "file://docs/" and 'can' an ability such as "crud/read"`,
        "'auth.tokens[0].did' must not be that of 'file.roots.a.owner'",
        "'file.roots.b.owner' must not be the DID of callers without credentials",
      ].sort(),
    );
  });
});

describe("where assets are stored", () => {
  refuses([
    [{ storage: { content: "file" } }, `'storage.path' is missing: content "file" needs it`],
    [{ storage: { content: "file", path: "" } }, "'storage.path' must be a path that is not empty"],
    [{ storage: { content: "memory", path: "a" } }, `'storage.path' is only allowed with content "file"`],
    [{ storage: { path: "a" } }, `'storage.path' is only allowed with content "file"`],
    [{ storage: { content: "s3" } }, `'storage.s3' is missing: content "s3" needs it`],
    [{ storage: { s3: { bucket: "abc" } } }, `'storage.s3' is only allowed with content "s3"`],
  ]);
  accepts({ storage: {} }, { storage: { content: "file", path: "a" } });
  accepts({ storage: { content: "s3", s3: { bucket: "abc" } } });
});

describe("a message", () => {
  const SECRET = "s3cr3t-s3cr3t-s3cr3t-s3cr3t-s3cr3t";
  test.each([
    { seed: SECRET },
    { seed: [SECRET] },
    { seed: { value: 5 } },
    { seed: 3735928559 },
    { baseUrl: `https://me:${SECRET}@a.example` },
    { auth: { tokens: [SECRET] } },
    { auth: { tokens: [3735928559] } },
    { auth: { tokens: [{ name: "a", token: SECRET, caps: [] }] } },
    { auth: { tokens: [{ name: "a", token: 3735928559, caps: [] }] } },
    { auth: { tokens: [{ name: "a", token: { env: SECRET }, caps: [] }] } },
    { auth: { tokens: [{ name: "a", token: { sha256: 3735928559 }, caps: [] }] } },
    { auth: { tokens: [{ name: "a", token: { valeu: SECRET }, caps: [] }] } },
    { operator: SECRET },
  ])("shows no value that may be a secret: %j", (value) => {
    const problems = venueProblems(value);
    expect(problems.length).toBeGreaterThan(0);
    expect(problems.join()).not.toMatch(/s3cr3t|3735928559/);
  });
});

const KEY = `did:key:z6Mk${"k".repeat(44)}`;
const options = { baseDir: "/base", isGrant: (value: unknown) => parseGrant(value) !== undefined };
const warningsOf = (config: VenueConfigInput, others: object = {}) =>
  parseConfig(config, { ...options, ...others }).warnings;
const grant = (resource: string, did = KEY) => ({ did, with: resource, can: "crud/read" });
const nobody = (place: string) =>
  `'${place}' is neither the did:key of an Ed25519 key nor the DID of a token: nobody can prove to be it`;

describe("a grant for a root that does not exist is pointed out", () => {
  test.each<[string, string]>([
    ["file://docs/", "docs"],
    ["file://docs/a/b", "docs"],
    ["file://Tmp", "Tmp"],
    ["file://t\u{9b}mp/", "t\\u{9b}mp"],
  ])("%s", (resource, name) => {
    expect(warningsOf({ auth: { grants: [grant("file://tmp/"), grant(resource)] } })).toEqual([
      `'auth.grants[1]' names root '${name}', which does not exist`,
    ]);
  });

  test("but not one for every root, or for one of the command line", () => {
    const config = { auth: { grants: [grant("file://"), grant("file://docs/a")] } };
    expect(warningsOf(config, { extraRoots: { docs: { path: "/docs" } } })).toEqual([]);
  });

  test("with its place among several venues", () => {
    const [, second] = parseConfigs({ venues: [{}, { port: 1, auth: { grants: [grant("file://a/")] } }] }, options);
    expect(second?.warnings).toEqual(["'venues[1].auth.grants[0]' names root 'a', which does not exist"]);
  });
});

describe("what is misspelt in a capability is pointed out", () => {
  const roots = { docs: { path: "/docs" }, drive: { dlfs: "drive" } };
  const open = { file: { roots }, drives: { store: "memory" } } as const;
  const CAPS = [
    { with: "file://docs/", can: "crud/raed" },
    { with: "file://docs/", can: "read" },
    { with: "file://dosc/", can: "crud/read" },
  ];
  const ability = (can: string) =>
    `gives nothing: no operation needs '${can}'. Use crud/read, crud/write, crud/delete, crud (all three), exec/run or approve`;
  const told = (place: string, at = "") => [
    `'${place}[0]${at}' ${ability("crud/raed")}`,
    `'${place}[1]${at}' ${ability("read")}`,
    `'${place}[2]${at}' names root 'dosc', which does not exist`,
  ];

  test("of everybody, of a token, and of a grant", () => {
    expect(warningsOf({ ...open, auth: { public: { caps: CAPS } } })).toEqual(told("auth.public.caps"));
    const tokens = [{ name: "ci", token: { env: "CI" }, caps: CAPS }];
    expect(warningsOf({ ...open, auth: { tokens } })).toEqual(told("auth.tokens[0].caps"));
    const grants = CAPS.map((capability) => ({ did: KEY, ...capability }));
    expect(warningsOf({ ...open, auth: { grants } })).toEqual(told("auth.grants"));
  });

  test("and nothing of what means something", () => {
    const all = [
      "*",
      "crud",
      "crud/*",
      "crud/read",
      "crud/read/*",
      "crud/write",
      "crud/delete",
      "exec",
      "exec/run",
      "approve",
    ];
    const caps = ["file://", "file://docs", "file://docs/a/b", "file://drive/x", "dlfs://notes/"].flatMap((resource) =>
      all.map((can) => ({ with: resource, can })),
    );
    const tokens = [{ name: "ci", token: { env: "CI" }, caps }];
    expect(warningsOf({ ...open, auth: { public: { caps }, tokens } })).toEqual([]);
  });
});

describe("a grant for somebody whom nobody can prove to be is pointed out", () => {
  const token = (name: string, did?: string) => ({
    name,
    token: { env: "A" },
    caps: [],
    ...(did === undefined ? {} : { did }),
  });
  const tokens = [token("ci"), token("backup", "did:web:backup.example")];
  test.each<[string, VenueConfigInput]>([
    ["did:web:elsewhere.example", {}],
    ["did:key:z6Mkx", {}],
    [`${KEY}k`, {}],
    [KEY.slice(0, -1), {}],
    [`${KEY.slice(0, -1)}0`, {}],
    ["did:web:v:token:cd", { did: "did:web:v" }],
    ["did:web:w:token:ci", { did: "did:web:v" }],
    ["did:web:v:token:backup", { did: "did:web:v" }],
  ])("%s", (did, config) => {
    expect(warningsOf({ ...config, auth: { tokens, grants: [grant("file://", did)] } })).toEqual([
      nobody("auth.grants[0].did"),
    ]);
  });

  test.each<[string, VenueConfigInput]>([
    [KEY, {}],
    ["did:web:backup.example", {}],
    ["did:web:v:token:ci", { did: "did:web:v" }],
    // Whose DID the venue's will be is not known yet.
    [`${KEY}:token:ci`, {}],
    ["did:web:o", { operator: "did:web:o" }],
    ["did:web:v", { did: "did:web:v" }],
  ])("but not %s", (did, config) => {
    expect(warningsOf({ ...config, auth: { tokens, grants: [grant("file://", did)] } })).toEqual([]);
  });
});

describe("an owner whom nobody can prove to be is pointed out", () => {
  const rooted = (owner: string): VenueConfigInput => ({ file: { roots: { docs: { path: "a", owner } } } });
  test.each<[string, VenueConfigInput]>([
    ["did:web:elsewhere.example", {}],
    ["did:key:z6Mkx", {}],
    ["did:web:v", {}],
  ])("%s", (owner, config) => {
    expect(warningsOf({ ...config, ...rooted(owner) })).toEqual([
      "'file.roots.docs.owner' is not the did:key of an Ed25519 key: nobody can prove to be it",
    ]);
  });

  test("with the type of its key, where that is not taken", () => {
    const is = (type: string) => `is ${type} did:key, and only Ed25519 keys are taken: nobody can prove to be it`;
    const [rsa, p384] = [
      "did:key:zgghBUVkqmWS8e1ioRVp2WN9Vw6x",
      "did:key:z82Lm1MpAkeJcix9K8TMiLd5NMAhnwkjjCBeWHXyu3U4oT2MVJJKXkcVBgjGhnLBn2Kaau9",
    ];
    expect(warningsOf(rooted(rsa))).toEqual([`'file.roots.docs.owner' ${is("an RSA")}`]);
    expect(warningsOf({ auth: { grants: [grant("file://", p384)] } })).toEqual([
      `'auth.grants[0].did' ${is("a P-384")}`,
    ]);
  });

  test.each<[string, VenueConfigInput]>([
    [KEY, {}],
    ["did:web:v", { did: "did:web:v" }],
    ["did:web:o", { operator: "did:web:o" }],
  ])("but not %s", (owner, config) => {
    expect(warningsOf({ ...config, ...rooted(owner) })).toEqual([]);
  });
});

describe("public access that ends at owners is pointed out", () => {
  const owned = { temp: true, owner: KEY } as const;
  const free = { temp: true } as const;
  const warnings = (caps: readonly string[], roots: Record<string, typeof owned | typeof free>, enabled?: boolean) =>
    warningsOf({
      auth: {
        public: {
          caps: caps.map((resource) => ({ with: resource, can: "crud" })),
          ...(enabled === undefined ? {} : { enabled }),
        },
      },
      file: { roots },
    });

  test("where every root has one", () => {
    const expected = ["'auth.public.caps' reach no root: public access ends at an owner, and every root has one"];
    expect(warnings(["file://"], { a: owned })).toEqual(expected);
    expect(warnings(["file://", "file://a/"], { a: owned, b: owned }, true)).toEqual(expected);
  });

  test("where a capability is for one that has one", () => {
    expect(warnings(["file://", "file://free/", "file://mine/in/"], { free, mine: owned })).toEqual([
      "'auth.public.caps[2]' gives nothing: root 'mine' has an owner, and public access ends there",
    ]);
  });

  test.each<[string, readonly string[], boolean | undefined]>([
    ["nothing is given", [], undefined],
    ["it is switched off", ["file://", "file://a/"], false],
  ])("but not where %s", (_, caps, enabled) => {
    expect(warnings(caps, { a: owned }, enabled)).toEqual([]);
  });

  test("and not where it is only the default", () => {
    expect(warningsOf({ file: { roots: { a: owned } } })).toEqual([]);
  });
});
