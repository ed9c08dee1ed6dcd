import { describe, expect, test } from "@jest/globals";
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
  ]);
  accepts({ storage: {} }, { storage: { content: "file", path: "a" } });
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
