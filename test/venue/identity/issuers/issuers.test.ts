import { generateKeyPairSync, sign as signBytes } from "node:crypto";
import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { base64url, CompactSign, SignJWT } from "jose";
import type { Clock } from "../../../../src/core/clock.js";
import type { Log } from "../../../../src/core/ports/log.js";
import { IssuerKeys, KeysGone } from "../../../../src/venue/identity/issuers/keys.js";
import type { Sent } from "../../../surfaces/http/client.js";
import { httpRequestOf } from "../../../surfaces/mcp/raw.js";
import { steadyMs, until } from "../../../until.js";
import { type Claims, type KeyPair, keyPair, nowSeconds, sign, TestIssuer } from "./issuer.js";
import { ALL, IssuerVenue } from "./issuer-venue.js";

describe("rules", () => {
  const here = new IssuerVenue();
  const keys: Record<string, KeyPair> = {};
  beforeAll(async () => {
    keys["ES256"] = await keyPair("ES256", "1");
    for (const alg of ["EdDSA", "Ed25519", "RS256", "PS256", "ES384"]) keys[alg] = await keyPair(alg, alg);
    keys["other"] = await keyPair("ES256", "1");
    keys["forEncryption"] = withMembers(await keyPair("ES256", "enc"), { use: "enc" });
    keys["forSigning"] = withMembers(await keyPair("ES256", "ops"), { key_ops: ["sign"] });
    keys["forOther"] = withMembers(await keyPair("RS256", "alg"), { alg: "PS256" });
    here.issuer.keys = Object.entries(keys).flatMap(([name, key]) => (name === "other" ? [] : [key]));
    await here.open({ requiredClaims: ["client_id"] });
  });
  afterAll(() => here.close());

  const withMembers = ({ privateKey, jwk }: KeyPair, members: Claims): KeyPair => ({
    privateKey,
    jwk: { ...jwk, ...members },
  });
  const keyOf = (name: string): KeyPair => {
    const key = keys[name];
    if (key === undefined) throw new Error(`No key ${name}`);
    return key;
  };
  const right = (): Claims => ({ iss: here.issuer.url, aud: here.resource, client_id: "c" });
  const signedBy = (name: string, claims: Claims = {}, header: Claims = {}) =>
    sign(keyOf(name), { ...right(), ...claims }, header);
  const token = (claims: Claims = {}, header: Claims = {}) => signedBy("ES256", claims, header);

  describe("a token is taken", () => {
    test.each<[string, () => Promise<string>]>([
      ["as it should be", () => token()],
      ["with the resource among its audiences", () => token({ aud: ["https://elsewhere.example", here.resource] })],
      ["without typ", () => token({}, { typ: undefined })],
      ["as a JWT", () => token({}, { typ: "JWT" })],
      ["as application/at+jwt", () => token({}, { typ: "application/at+jwt" })],
      ["that begins within the skew", () => token({ nbf: nowSeconds() + 20, iat: nowSeconds() + 20 })],
      ["that has ended within the skew", () => token({ exp: nowSeconds() - 10 })],
      ["without iat", () => token({ iat: undefined })],
      ["for 24 hours", () => token({ exp: nowSeconds() + 24 * 3600 })],
      ["without kid, where one of the keys fits", () => token({}, { kid: undefined })],
      ["by EdDSA", () => signedBy("EdDSA")],
      ["by Ed25519", () => signedBy("Ed25519")],
      ["by RS256", () => signedBy("RS256")],
      ["by PS256", () => signedBy("PS256")],
    ])("%s", async (_what, make) => {
      expect(await here.read(await make())).toBe(200);
    });
  });

  /** Signed by a secret: the public key, as text. */
  const byHmac = () =>
    new SignJWT({ ...right(), sub: "ann", exp: nowSeconds() + 600 })
      .setProtectedHeader({ alg: "HS256", typ: "at+jwt", kid: "1" })
      .sign(new TextEncoder().encode(JSON.stringify(keyOf("ES256").jwk)));

  const unsigned = (header: Claims) =>
    [
      { typ: "at+jwt", kid: "1", ...header },
      { ...right(), sub: "ann", exp: nowSeconds() + 600 },
    ]
      .map((part) => base64url.encode(JSON.stringify(part)))
      .join(".");

  /** A token with another key in its header, which has signed it. */
  async function withKeyInHeader(name: "jwk" | "jku" | "x5u"): Promise<string> {
    const { jwk } = keyOf("other");
    const value = name === "jwk" ? jwk : `${here.issuer.url}/${name}`;
    const { issuer } = here;
    issuer.serve(`/${name}`, (_request, response) => void response.end(JSON.stringify({ keys: [jwk] })));
    return sign(keyOf("other"), right(), { [name]: value });
  }

  describe("each rule refuses a token that breaks it alone", () => {
    test.each<[string, () => Promise<string>]>([
      ["iss: another", () => token({ iss: "https://elsewhere.example" })],
      ["iss: with a slash more", () => token({ iss: `${here.issuer.url}/` })],
      ["iss: none", () => token({ iss: undefined })],
      ["aud: another", () => token({ aud: "https://elsewhere.example/mcp" })],
      ["aud: the venue without its path", () => token({ aud: here.url })],
      ["aud: with a slash more", () => token({ aud: `${here.resource}/` })],
      ["aud: none", () => token({ aud: undefined })],
      ["exp: none", () => token({ exp: undefined })],
      ["exp: past", () => token({ exp: nowSeconds() - 60 })],
      ["exp: a text", () => token({ exp: `${nowSeconds() + 600}` })],
      ["exp: more than 24 hours ahead", () => token({ exp: nowSeconds() + 24 * 3600 + 60 })],
      ["nbf: ahead", () => token({ nbf: nowSeconds() + 60 })],
      ["iat: ahead", () => token({ iat: nowSeconds() + 60 })],
      ["iat: a text", () => token({ iat: "now" })],
      ["sub: none", () => token({ sub: undefined })],
      ["sub: empty", () => token({ sub: "" })],
      ["sub: a number", () => token({ sub: 7 })],
      ["a required claim: none", () => token({ client_id: undefined })],
      ["cnf: there", () => token({ cnf: { jkt: "x" } })],
      ["typ: of an identity token's logout", () => token({}, { typ: "logout+jwt" })],
      ["typ: of a proof", () => token({}, { typ: "dpop+jwt" })],
      ["typ: a number", () => token({}, { typ: 1 })],
      ["crit: known to the signer", () => token({}, { crit: ["exp"], exp: 1 })],
      ["crit: known to jose", () => token({}, { crit: ["b64"], b64: true })],
      ["crit: unknown", () => token({}, { crit: ["x"], x: true })],
      ["alg: none", async () => `${unsigned({ alg: "none" })}.`],
      ["alg: none, with a signature", async () => `${unsigned({ alg: "none" })}.${(await token()).split(".")[2]}`],
      ["alg: by a shared secret", byHmac],
      ["alg: not one of ours", () => signedBy("ES384")],
      ["signature: of another key of the same id", () => signedBy("other")],
      [
        "signature: of another token",
        async () => [unsigned({ alg: "ES256" }), (await token()).split(".")[2]].join("."),
      ],
      ["kid: unknown", () => token({}, { kid: "unknown" })],
      ["kid: of another key", () => signedBy("ES256", {}, { kid: "RS256" })],
      ["the key's use: for encryption", () => signedBy("forEncryption")],
      ["the key's key_ops: not for verifying", () => signedBy("forSigning")],
      ["the key's alg: another", () => signedBy("forOther", {}, { alg: "RS256" })],
      ["jwk in the header", () => withKeyInHeader("jwk")],
      ["jku in the header", () => withKeyInHeader("jku")],
      ["x5u in the header", () => withKeyInHeader("x5u")],
      [
        "claims that are no object",
        () =>
          new CompactSign(new TextEncoder().encode("[]"))
            .setProtectedHeader({ alg: "ES256", kid: "1", typ: "at+jwt" })
            .sign(keyOf("ES256").privateKey),
      ],
    ])("%s", async (_rule, make) => {
      const response = await here.run(await make(), "file:read", { root: "docs", path: "a.txt" });
      expect(response.status).toBe(401);
      expect(response.headers.get("www-authenticate")).toBe(
        `Bearer error="invalid_token", scope="files:read", resource_metadata="${here.url}/.well-known/oauth-protected-resource/mcp"`,
      );
      expect(here.issuer.paths).not.toContain("/jku");
      expect(here.issuer.paths).not.toContain("/x5u");
    });

    test("a key of RSA with fewer than 2048 bits", async () => {
      const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 1024 });
      const jwk = { ...publicKey.export({ format: "jwk" }), kty: "RSA", kid: "short", alg: "RS256", use: "sig" };
      const other = new IssuerVenue();
      other.issuer.keys = [keyOf("RS256"), { jwk, privateKey: keyOf("RS256").privateKey }];
      await other.open();
      const claims = { iss: other.issuer.url, aud: other.resource };
      expect(await other.read(await sign(keyOf("RS256"), claims))).toBe(200);
      // jose signs with no such key.
      const text = [
        { alg: "RS256", typ: "at+jwt", kid: "short" },
        { ...claims, sub: "ann", exp: nowSeconds() + 600 },
      ]
        .map((part) => base64url.encode(JSON.stringify(part)))
        .join(".");
      const signature = base64url.encode(signBytes("sha256", Buffer.from(text), privateKey));
      expect(await other.read(`${text}.${signature}`)).toBe(401);
      await other.close();
    });
  });

  test("the configuration narrows algorithms, and names audiences in place of the venue's address", async () => {
    const other = new IssuerVenue();
    other.issuer.keys = [keyOf("ES256"), keyOf("RS256")];
    await other.open({ algorithms: ["RS256"], audience: ["api://files", "api://more"] });
    const by = (name: string, aud: unknown) => sign(keyOf(name), { iss: other.issuer.url, aud });
    const tokens = [
      by("RS256", "api://more"),
      by("ES256", "api://more"),
      by("RS256", other.resource),
      by("RS256", "api://"),
    ];
    const statuses: number[] = [];
    for (const token of tokens) statuses.push(await other.read(await token));
    expect(statuses).toEqual([200, 401, 401, 401]);
    await other.close();
  });
});

describe("keys", () => {
  const METADATA = "/.well-known/oauth-authorization-server";
  const DISCOVERY = "/.well-known/openid-configuration";
  const MINUTE = 60_000;

  let issuer: TestIssuer;
  let now = 0;
  let reasons: unknown[] = [];
  const clock: Clock = { nowMs: () => now, monotonicMs: () => now };
  const log = { warn: ({ reason }: { reason: unknown }) => void reasons.push(reason) } as unknown as Log;
  const keysOf = (jwks?: string) => new IssuerKeys({ issuer: issuer.url, jwks, clock, log });
  const found = async (keys: IssuerKeys, kid: unknown = "1") => {
    try {
      return (await keys.findFor(kid)).length;
    } catch (error) {
      if (!(error instanceof KeysGone)) throw error;
      return error.retryAfterMs;
    }
  };
  /** How often a path was asked for since the last question. */
  const asked = (path: string) => issuer.paths.splice(0).filter((one) => one === path).length;

  beforeEach(async () => {
    [now, reasons] = [1_000_000, []];
    issuer = await new TestIssuer().listen();
  });
  afterEach(() => issuer.close());

  describe("the keys of an issuer", () => {
    test("are found by its metadata, and kept for ten minutes", async () => {
      const keys = keysOf();
      expect([await found(keys), await found(keys), asked("/jwks")]).toEqual([1, 1, 1]);
      now += 10 * MINUTE - 1;
      expect([await found(keys), asked("/jwks")]).toEqual([1, 0]);
      now += 1;
      issuer.keys = [await keyPair("ES256", "2")];
      expect([await found(keys, "2"), asked("/jwks")]).toEqual([1, 1]);
    });

    test("are found by OpenID Connect Discovery where there are no other metadata", async () => {
      issuer.serve(METADATA, (_request, response) => void response.writeHead(404).end());
      issuer.serve(DISCOVERY, (_request, response) => {
        response.end(JSON.stringify({ issuer: issuer.url, jwks_uri: `${issuer.url}/jwks` }));
      });
      expect(await found(keysOf())).toBe(1);
      expect(issuer.paths).toEqual([METADATA, DISCOVERY, "/jwks"]);
    });

    test("are asked for where the configuration says, and nowhere else", async () => {
      expect(await found(keysOf(`${issuer.url}/jwks`))).toBe(1);
      expect(issuer.paths).toEqual(["/jwks"]);
    });

    test("are found below the path of an issuer, in both places", async () => {
      const keys = new IssuerKeys({ issuer: `${issuer.url}/realms/a/`, clock, log });
      await found(keys);
      expect(issuer.paths).toEqual([
        "/.well-known/oauth-authorization-server/realms/a",
        "/realms/a/.well-known/openid-configuration",
      ]);
    });

    test("are read again for one that is unknown, each 30 seconds at most", async () => {
      const keys = keysOf();
      expect([await found(keys, "2"), asked("/jwks")]).toEqual([0, 1]);
      issuer.keys.push(await keyPair("ES256", "2"));
      now += 30_000 - 1;
      expect([await found(keys, "2"), asked("/jwks")]).toEqual([0, 0]);
      now += 1;
      expect([await found(keys, "2"), asked("/jwks")]).toEqual([1, 1]);
      for (const kid of ["3", "4", "5"]) expect(await found(keys, kid)).toBe(0);
      expect(asked("/jwks")).toBe(0);
    });

    test("hold for an hour while the issuer is gone, which is asked each 30 seconds at most, and then no more", async () => {
      const keys = keysOf();
      await found(keys);
      const [text = ""] = (await keys.findFor("1")).map((key) => key.text);
      issuer.serve("/jwks", (_request, response) => void response.writeHead(500).end());
      now += 10 * MINUTE;
      expect([await found(keys), await found(keys), asked("/jwks")]).toEqual([1, 1, 2]);
      now += 50 * MINUTE - 1;
      expect([await found(keys), keys.holds(text), asked("/jwks")]).toEqual([1, true, 1]);
      now += 1;
      expect([await found(keys), keys.holds(text)]).toEqual([30_000 - 1, false]);
      now += 30_000;
      issuer.own.clear();
      expect([await found(keys), keys.holds(text)]).toEqual([1, true]);
    });

    test("that are taken back hold no more after the next read", async () => {
      const keys = keysOf();
      const [text = ""] = (await keys.findFor("1")).map((key) => key.text);
      issuer.keys = [await keyPair("ES256", "1")];
      now += 10 * MINUTE;
      await keys.refresh();
      expect(keys.holds(text)).toBe(false);
    });

    test("are read once for all calls that wait, and those beyond 64 are sent away", async () => {
      let go = () => {};
      issuer.serve("/jwks", (_request, response) => {
        go = () => void response.end(issuer.jwks);
      });
      const keys = keysOf();
      const waiting = Array.from({ length: 70 }, () => found(keys));
      expect(await Promise.all(waiting.slice(64))).toEqual(Array(6).fill(1000));
      while (asked("/jwks") === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      go();
      expect(await Promise.all(waiting.slice(0, 64))).toEqual(Array(64).fill(1));
      expect(asked("/jwks")).toBe(0);
    });

    test("that are malformed are left out, and spoil no other", async () => {
      const [key] = issuer.keys;
      const keys = [5, null, {}, { kty: "oct", k: "c2VjcmV0", kid: "1" }, { kty: 7, kid: "1" }, key?.jwk];
      issuer.serve("/jwks", (_request, response) => void response.end(JSON.stringify({ keys })));
      const read = await keysOf().findFor("1");
      const fits = await Promise.allSettled(
        read.map(async ({ find }) => find({ alg: "ES256", kid: "1" }, { payload: "", signature: "" })),
      );
      expect(fits.filter(({ status }) => status === "fulfilled").length).toBe(1);
    });
  });

  describe("keys are not read", () => {
    /** Away: by a host name that the configuration does not name, though it is this very machine. */
    const elsewhere = (host: string) => `http://${host}:${new URL(issuer.url).port}/jwks`;

    test.each<[string, unknown, () => void]>([
      ["a redirect", "it is answered with status 302", () => redirect("/jwks", "/other")],
      ["what is larger than 512 KiB", "it is larger than 524288 bytes", () => send("/jwks", huge())],
      [
        "what is compressed",
        "it is compressed",
        () => send("/jwks", gzipSync(issuer.jwks), { "content-encoding": "gzip" }),
      ],
      ["no JSON", "it is not JSON", () => send("/jwks", "<html>")],
      ["no set", "it is no set of keys", () => send("/jwks", "[]")],
      [
        "metadata of another issuer",
        "its metadata name another issuer; it is answered with status 404",
        () => metadata({ issuer: "https://other.example" }),
      ],
      [
        "metadata of the issuer with a slash",
        "its metadata name another issuer; it is answered with status 404",
        () => metadata({ issuer: `${issuer.url}/` }),
      ],
      [
        "metadata without keys",
        "its metadata name no URL of keys by HTTPS; it is answered with status 404",
        () => metadata({ jwks_uri: undefined }),
      ],
      [
        "metadata with keys by HTTP",
        "its metadata name no URL of keys by HTTPS; it is answered with status 404",
        () => metadata({ jwks_uri: "http://a.example/" }),
      ],
      [
        "keys at a loopback name that is not named",
        "its address is private",
        () => metadata({ jwks_uri: elsewhere("localhost") }),
      ],
      [
        "keys at a loopback address that is not named",
        "its address is refused",
        () => metadata({ jwks_uri: elsewhere("127.0.0.2") }),
      ],
      ["keys at a private address", "its address is refused", () => metadata({ jwks_uri: "https://10.0.0.1/" })],
      [
        "keys at an address of the link",
        "its address is refused",
        () => metadata({ jwks_uri: "https://169.254.169.254/" }),
      ],
      ["keys at an address in decimal", "its address is refused", () => metadata({ jwks_uri: "https://3232235521/" })],
      ["keys at IPv6's loopback", "its address is refused", () => metadata({ jwks_uri: "https://[::1]/" })],
      [
        "keys at an IPv4 address in IPv6",
        "its address is refused",
        () => metadata({ jwks_uri: "https://[::ffff:192.168.0.1]/" }),
      ],
      ["keys at one by NAT64", "its address is refused", () => metadata({ jwks_uri: "https://[64:ff9b::a00:1]/" })],
      ["keys at a unique local address", "its address is refused", () => metadata({ jwks_uri: "https://[fd00::1]/" })],
      ["a closed port", "ECONNREFUSED", () => metadata({ jwks_uri: "https://127.0.0.1:1/" })],
    ])("from %s", async (_what, reason, given) => {
      given();
      expect(await found(keysOf())).toBe(30_000);
      expect(reasons).toEqual([reason]);
      expect(issuer.paths).not.toContain("/other");
    });

    const redirect = (path: string, location: string) =>
      issuer.serve(path, (_request, response) => void response.writeHead(302, { location }).end());
    const send = (path: string, body: string | Buffer, headers: Record<string, string> = {}) =>
      issuer.serve(path, (_request, response) => void response.writeHead(200, headers).end(body));
    const huge = () => JSON.stringify({ keys: [], filler: "x".repeat(524_288) });
    const metadata = (given: object) =>
      send(METADATA, JSON.stringify({ issuer: issuer.url, jwks_uri: `${issuer.url}/jwks`, ...given }));

    test.each<[string, (path: string) => void]>([
      ["never answers", (path) => issuer.serve(path, () => {})],
      [
        "never ends its answer",
        (path) =>
          issuer.serve(path, (_request, response) => {
            const timer = setInterval(() => response.write(" "), 100);
            response.once("close", () => clearInterval(timer));
          }),
      ],
    ])("from one that %s, for which nobody waits longer than 5 seconds", async (_what, given) => {
      given("/jwks");
      expect(await steadyMs(async () => expect(await found(keysOf())).toBe(30_000))).toBeLessThan(20_000);
      expect(reasons).toEqual(["no answer within 5 s"]);
    });
  });
});

describe("what ends", () => {
  let here: IssuerVenue;
  beforeEach(() => {
    here = new IssuerVenue();
  });
  afterEach(() => here.close());

  /** Wide of the two seconds that are promised: machines are slow. */
  const SOON_MS = 8000;

  interface Stream {
    /** Whether it has told of a file. */
    tells(name: string): boolean;
    /** Resolves to the last of what came, when nothing more comes. */
    readonly ended: Promise<string>;
  }

  interface Kind {
    readonly request: () => readonly [path: string, sent?: Sent];
    /** How an event tells of a file. */
    readonly telling: (name: string) => string;
    readonly end: RegExp;
  }

  const RESOURCES = ["before.txt", "behind.txt"].map((name) => `venue://docs/${name}`);
  /** What can be followed by a caller of an issuer. */
  const KINDS: readonly (readonly [string, Kind])[] = [
    [
      "events",
      {
        request: () => ["/api/v1/events?topic=files:docs"],
        telling: (name) => `"path":"${name}"`,
        end: /event: end\ndata: \{\}$/,
      },
    ],
    [
      "what is told over MCP",
      {
        request: () => {
          const params = { notifications: { resourceSubscriptions: RESOURCES } };
          const message = httpRequestOf("modern", { id: "news", method: "subscriptions/listen", params });
          return ["/mcp", message];
        },
        telling: (name) => `{"uri":"venue://docs/${name}"`,
        end: /"result":\{.*"io\.modelcontextprotocol\/subscriptionId":"news".*"id":"news"\}$/,
      },
    ],
  ];

  async function follow({ request, telling }: Kind, token: string): Promise<Stream> {
    const response = await here.send(request()[0], token, request()[1]);
    expect(response.status).toBe(200);
    let text = "";
    const read = async () => {
      const decoder = new TextDecoder();
      for await (const part of response.body ?? []) text += decoder.decode(part, { stream: true });
    };
    const ended = read()
      .catch(() => {})
      .then(() => text.trimEnd().split("\n\n").at(-1) ?? "");
    await until(() => text.includes("\n\n"));
    return { tells: (name) => text.includes(telling(name)), ended };
  }

  /** After `end` a stream tells of nothing more, and is over. */
  async function expectEnded(stream: Stream, { end }: Kind, how: () => unknown): Promise<void> {
    await how();
    const ms = await steadyMs(async () => {
      await write("behind.txt");
      expect(await stream.ended).toMatch(end);
    });
    expect(ms).toBeLessThan(SOON_MS);
    expect(stream.tells("behind.txt")).toBe(false);
  }

  const write = (path: string) => here.operate("file:write", { root: "docs", path, content: "" });
  const didOf = async (token: string) =>
    ((await (await here.run(token, "auth:whoami", {})).json()) as { did: string }).did;

  interface Entry {
    readonly kind: string;
    readonly id: string;
    readonly lastUsed?: number;
    readonly revoked?: number;
  }
  const callers = async () => (await here.operate<{ entries: Entry[] }>("auth:list", { kind: "issuer" })).entries;

  describe("a caller that is revoked", () => {
    test.each(KINDS)("is refused at once, and %s end with nothing behind", async (_, kind) => {
      await here.open();
      const [token, other] = [await here.token(), await here.token({ sub: "bob" })];
      const [stream, ofOther] = [await follow(kind, token), await follow(kind, other)];
      await write("before.txt");
      await until(() => stream.tells("before.txt") && ofOther.tells("before.txt"));
      const id = await didOf(token);
      await expectEnded(stream, kind, async () => {
        expect(await here.operate("auth:revoke", { id })).toEqual({
          ...{ revoked: true, id: expect.stringMatching(/:sub:[0-9a-f]{32}$/) },
        });
      });
      expect(await here.read(token)).toBe(401);
      await until(() => ofOther.tells("behind.txt"));
      expect(await here.read(other)).toBe(200);
    });

    test("is so with another token, and after a restart", async () => {
      await here.open();
      const did = await didOf(await here.token());
      await here.operate("auth:revoke", { id: did });
      expect(await here.read(await here.token({ jti: "another" }))).toBe(401);
      await here.stop();
      await here.open();
      expect(await here.read(await here.token())).toBe(401);
      expect(await here.read(await here.token({ sub: "bob" }))).toBe(200);
    });

    test("is revoked by nobody but the operator", async () => {
      await here.open();
      const [token, other] = [await here.token(), await here.token({ sub: "bob" })];
      const id = await didOf(token);
      for (const one of [token, other]) expect((await here.run(one, "auth:revoke", { id })).status).toBe(403);
      expect(await here.read(token)).toBe(200);
    });
  });

  /** Told apart by the beginning of the hash. */
  const labelOf = (did: string) => `${new URL(here.issuer.url).host} ${did.split(":").at(-1)?.slice(0, 8)}`;

  describe("the list of who holds what", () => {
    test("has those who have called, with what they may do and when they did it last", async () => {
      const map = [{ when: {}, caps: [{ with: "file://docs/", can: "crud" }] }];
      await here.open({ map });
      expect(await callers()).toEqual([]);
      const begun = Date.now();
      const did = await didOf(await here.token({ scope: "files:read files:write" }));
      const [entry, ...others] = await callers();
      expect(others).toEqual([]);
      expect(entry).toEqual({
        ...{ kind: "issuer", id: did, did, label: labelOf(did), lastUsed: expect.any(Number) },
        grants: ["crud/read", "crud/write"].map((can) => ({ with: "file://docs/", can })),
      });
      expect(entry?.lastUsed).toBeGreaterThanOrEqual(begun);
      await here.operate("auth:revoke", { id: did });
      expect((await callers())[0]?.revoked).toBeDefined();
    });

    test("has each of them once, and pages of them", async () => {
      await here.open();
      for (const sub of ["ann", "bob", "cid"])
        for (const jti of ["1", "2"]) await here.read(await here.token({ sub, jti }));
      const ids: string[] = [];
      let cursor: string | undefined;
      do {
        const input = { kind: "issuer", limit: 2, ...(cursor === undefined ? {} : { cursor }) };
        const page = await here.operate<{ entries: Entry[]; nextCursor?: string }>("auth:list", input);
        ids.push(...page.entries.map(({ id }) => id));
        cursor = page.nextCursor;
      } while (cursor !== undefined);
      expect([ids.length, new Set(ids).size]).toEqual([3, 3]);
    });
  });

  describe("a token ends", () => {
    test.each(KINDS)("by its jti in the revocation list, with %s, and no other with it", async (_, kind) => {
      writeFileSync(join(here.base, "revoked.txt"), "");
      await here.open({}, { auth: { ucan: { revocations: "revoked.txt" } } });
      const [token, other] = [await here.token({ jti: "onrtac:7-a/b" }), await here.token({ jti: "8" })];
      const stream = await follow(kind, token);
      expect([await here.read(token), await here.read(other)]).toEqual([200, 200]);
      await expectEnded(stream, kind, () =>
        appendFileSync(join(here.base, "revoked.txt"), "jti:onrtac:7-a/b # lost\n"),
      );
      expect([await here.read(token), await here.read(other)]).toEqual([401, 200]);
      await here.operate("ucan:revoke", { id: "jti:8" });
      expect(await here.read(other)).toBe(401);
    });

    test.each(KINDS)("by its caller's DID in the revocation list, with %s", async (_, kind) => {
      writeFileSync(join(here.base, "revoked.txt"), "");
      await here.open({}, { auth: { ucan: { revocations: "revoked.txt" } } });
      const [token, other] = [await here.token({ jti: "7" }), await here.token({ sub: "bob" })];
      const did = await didOf(token);
      const stream = await follow(kind, token);
      await expectEnded(stream, kind, () => appendFileSync(join(here.base, "revoked.txt"), `${did}\n`));
      expect([await here.read(await here.token({ jti: "8" })), await here.read(other)]).toEqual([401, 200]);
    });

    test("by a line that revokes whatever was issued before, also where it does not say when", async () => {
      writeFileSync(join(here.base, "revoked.txt"), "");
      await here.open({}, { auth: { ucan: { revocations: "revoked.txt" } } });
      const [old, unsaid, late] = [{ iat: nowSeconds() - 100 }, { iat: undefined }, {}].map((claims) =>
        here.token(claims),
      );
      appendFileSync(join(here.base, "revoked.txt"), `before:${nowSeconds() - 50}\n`);
      expect(await Promise.all([old, unsaid, late].map(async (one) => here.read(await one)))).toEqual([401, 401, 200]);
    });

    test.each(KINDS)("by its time, with %s", async (_, kind) => {
      await here.open({}, { auth: { clockSkew: 0 } });
      let exp = 0;
      let token = "";
      let stream: Stream | undefined;
      // A busy machine may need all of its time to begin.
      for (let seconds = 6; stream === undefined; seconds *= 2) {
        exp = nowSeconds() + seconds;
        token = await here.token({ exp });
        stream = await follow(kind, token).catch((error: unknown) => {
          if (Date.now() < exp * 1000) throw error;
          return undefined;
        });
      }
      await expectEnded(stream, kind, () => until(() => Date.now() >= exp * 1000));
      expect(await here.read(token)).toBe(401);
    });

    test.each(KINDS)("by a reload without its issuer, with %s, and begins again by one with it", async (_, kind) => {
      await here.open();
      const token = await here.token();
      expect(await here.read(token)).toBe(200);
      const stream = await follow(kind, token);
      await expectEnded(stream, kind, async () => {
        expect(await here.reload({}, { auth: { issuers: [] } })).toEqual([]);
      });
      expect(await here.read(token)).toBe(401);
      expect((await here.send("/.well-known/oauth-protected-resource", undefined)).status).toBe(404);
      await here.reload();
      expect(await here.read(token)).toBe(200);
    });

    test("in part by a reload with another map; one that changes nothing asks the issuer nothing", async () => {
      await here.open();
      const token = await here.token();
      expect(await here.read(token)).toBe(200);
      here.issuer.paths.length = 0;
      await here.reload();
      expect([await here.read(token), here.issuer.paths]).toEqual([200, []]);
      await here.reload({ map: [{ when: { team: "a" }, caps: [ALL] }] });
      expect(await here.read(token)).toBe(403);
    });

    test("not by another key at its issuer, as long as its own is there", async () => {
      await here.open();
      const token = await here.token();
      expect(await here.read(token)).toBe(200);
      const other = await keyPair("ES256", "2");
      here.issuer.keys.push(other);
      expect(await here.read(token)).toBe(200);
      // Unknown so far, and asked for no sooner than 30 seconds after the last time.
      expect(await here.read(await sign(other, { iss: here.issuer.url, aud: here.resource }))).toBe(401);
    });
  });

  test("a reload to issuers is refused where the address is not safe", async () => {
    const plain = { baseUrl: "http://files.example.com", listen: { socket: "s" } };
    await here.open({}, { ...plain, auth: { issuers: [] } });
    expect(() => here.reload({}, plain)).toThrow(/auth\.issuers needs a baseUrl by https/);
  });
});
