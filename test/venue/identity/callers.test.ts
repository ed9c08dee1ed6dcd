import { createHash } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { Client } from "@modelcontextprotocol/client";
import { attribute } from "../../../src/core/call/attribute.js";
import type { Caller } from "../../../src/core/call/caller.js";
import type { SurfaceContext } from "../../../src/core/ports/adapter.js";
import { type Log, silentLog } from "../../../src/core/ports/log.js";
import type { VenueConfigInput } from "../../../src/index.js";
import { tokenId } from "../../../src/ucan/token/id.js";
import { createPublicKeys } from "../../../src/ucan/verify/public-keys.js";
import { type AuthenticatorOptions, createAuthenticator } from "../../../src/venue/identity/authenticate.js";
import { openIdentity } from "../../../src/venue/identity/identity.js";
import { didDocument } from "../../../src/venue/identity/open-access.js";
import { send } from "../../surfaces/http/client.js";
import { closeSessions, mcpClient } from "../../surfaces/mcp/sessions.js";
import { alice, bob, type Changes, clock, delegation, identityToken, NOW, venue } from "../../ucan/tokens.js";
import { revoking, verifierBy } from "../../ucan/verify/judge.js";
import { DOCS, operator, secondsFromNow, UcanVenue } from "./ucan-venue.js";

const LOCAL = "local".padEnd(43, "L");
const STATIC = "static".padEnd(40, "S");
const caps = [{ with: "file://docs/", can: "crud/read" }];
const hash = (token: string): Buffer => createHash("sha256").update(token).digest();

const options: AuthenticatorOptions = {
  identity: { did: venue.did, keyDid: venue.did },
  operatorDid: venue.did,
  localToken: LOCAL,
  staticTokens: [
    { name: "ci", sha256: hash(STATIC), did: `${venue.did}:token:ci`, caps },
    { name: "bob", sha256: hash(`${STATIC}=`), did: bob.did, caps: [] },
  ],
  rules: { clockSkew: 30, maxIdentityLifetime: 3600, acceptUnboundIdentity: false },
  keys: createPublicKeys(),
  revocations: revoking(),
  verifier: verifierBy(),
  clock,
};

const authenticate = (header: string, changes: Partial<AuthenticatorOptions> = {}) =>
  createAuthenticator({ ...options, ...changes }).authenticate(header);

/** What is revoked, for either kind of token. */
const whenRevoked = (...entries: string[]): Partial<AuthenticatorOptions> => ({
  revocations: revoking(...entries),
  verifier: verifierBy({ revocations: revoking(...entries) }),
});

const idOf = (token: string): string => tokenId(token.slice(0, token.lastIndexOf(".")));

/** A UCAN of Alice for the venue, with changes. */
const invocation = ({ claims, ...changes }: Changes = {}): string =>
  delegation({ ...changes, claims: { aud: venue.did, exp: NOW + 300, ...claims } });

/** Alice, restricted by such a token. */
const narrowed = (token: string) => ({
  ...{ did: alice.did, authentication: "ucan", isOperator: false, identityTokens: [token] },
  narrowedTo: `${alice.did} ${idOf(token)}`,
});

const OPERATOR = { caller: { did: venue.did, authentication: "local-token", isOperator: true } };
const CI = {
  caller: {
    ...{ did: `${venue.did}:token:ci`, authentication: "static-token", isOperator: false, tokenCaps: caps },
    credential: { kind: "static-token", sha256: hash(STATIC).toString("hex") },
  },
};
/** By which an identity token is known; which one it is, a test of its own says. */
const credential = { kind: "identity", id: expect.any(String) };
const ALICE = { caller: { did: alice.did, authentication: "identity", isOperator: false, credential } };
const INVALID = { refused: "invalid_token" };
const UNSUPPORTED = { refused: "unsupported_scheme" };

describe("a bearer", () => {
  test("of the local token is the operator", () => {
    expect(authenticate(`Bearer ${LOCAL}`)).toEqual(OPERATOR);
  });

  test("of a static token is whom that stands for, with its capabilities", () => {
    expect(authenticate(`Bearer ${STATIC}`)).toEqual(CI);
    expect(authenticate(`Bearer ${STATIC}=`)).toMatchObject({ caller: { did: bob.did, tokenCaps: [] } });
  });

  test("of an identity token is its issuer", () => {
    expect(authenticate(`Bearer ${identityToken()}`)).toEqual(ALICE);
    const { caller } = { caller: undefined, ...authenticate(`Bearer ${identityToken()}`) };
    expect(caller?.credential).toEqual({ kind: "identity", id: idOf(identityToken()) });
  });

  test("of a UCAN for the venue is its issuer, known by that token", () => {
    const token = invocation();
    expect(authenticate(`Bearer ${token}`)).toEqual({ caller: narrowed(token) });
  });

  test.each(["bearer ", "BEARER ", "Bearer   "])("may say so by %j", (scheme) => {
    expect(authenticate(scheme + LOCAL)).toEqual(OPERATOR);
    expect(authenticate(scheme + identityToken())).toEqual(ALICE);
  });
});

describe("a bearer token that is wrong is never anonymous, but refused", () => {
  const rows: readonly [string, string][] = [
    ["with nothing behind it", "Bearer"],
    ["with spaces behind it", "Bearer  "],
    ["with two tokens", `Bearer ${LOCAL} ${LOCAL}`],
    ["with a comma behind it", `Bearer ${LOCAL},`],
    ["with a tab before it", `Bearer\t${LOCAL}`],
    ["with a line break behind it", `Bearer ${LOCAL}\n`],
    ["in quotes", `Bearer "${LOCAL}"`],
    ["that nobody knows", "Bearer unknown"],
    ["that is one character short", `Bearer ${LOCAL.slice(0, -1)}`],
    ["that is one character long", `Bearer ${LOCAL}L`],
    ["in other letters", `Bearer ${LOCAL.toLowerCase()}`],
    ["that is a hash", `Bearer ${hash(STATIC).toString("hex")}`],
    ["that is too large", `Bearer ${"x".repeat(8193)}`],
    ["that has ended", `Bearer ${identityToken({ claims: { exp: NOW - 30 } })}`],
    ["that lives too long", `Bearer ${identityToken({ claims: { exp: NOW + 3631 } })}`],
    ["that is signed by another", `Bearer ${identityToken().slice(0, -86)}${identityToken({ by: bob }).slice(-86)}`],
    ["that is for another venue", `Bearer ${identityToken({ claims: { aud: bob.did } })}`],
    ["that is for nobody in particular", `Bearer ${identityToken({ claims: { aud: undefined } })}`],
    ["that names another's key", `Bearer ${identityToken({ header: { kid: bob.multikey } })}`],
    ["that is a UCAN for the venue and lives too long", `Bearer ${invocation({ claims: { exp: NOW + 3631 } })}`],
    ["that is a UCAN and names another's key", `Bearer ${invocation({ header: { kid: bob.multikey } })}`],
    ["that is a UCAN for nobody in particular", `Bearer ${invocation({ claims: { aud: undefined } })}`],
  ];
  test.each(rows)("%s", (_what, header) => {
    expect(authenticate(header)).toEqual(INVALID);
  });

  test("when there is no local token and no static one", () => {
    const none = { localToken: undefined, staticTokens: [] };
    expect(authenticate(`Bearer ${LOCAL}`, none)).toEqual(INVALID);
    expect(authenticate(`Bearer ${STATIC}`, none)).toEqual(INVALID);
    expect(authenticate(`Bearer ${identityToken()}`, none)).toEqual(ALICE);
  });
});

test.each(["", " ", "Basic YTpi", `Bearer2 ${LOCAL}`, `Token ${LOCAL}`, LOCAL, `"Bearer" ${LOCAL}`, "Negotiate"])(
  "another scheme is not supported: %j",
  (header) => {
    expect(authenticate(header)).toEqual(UNSUPPORTED);
  },
);

describe("the rules for identity tokens", () => {
  test("are those that are set", () => {
    const unbound = `Bearer ${identityToken({ claims: { aud: undefined } })}`;
    expect(authenticate(unbound, { rules: { ...options.rules, acceptUnboundIdentity: true } })).toEqual(ALICE);
    const old = `Bearer ${identityToken({ claims: { exp: NOW - 10 } })}`;
    expect(authenticate(old)).toEqual(ALICE);
    expect(authenticate(old, { rules: { ...options.rules, clockSkew: 10 } })).toEqual(INVALID);
    const lasting = `Bearer ${identityToken({ claims: { exp: NOW + 331 } })}`;
    expect(authenticate(lasting)).toEqual(ALICE);
    expect(authenticate(lasting, { rules: { ...options.rules, maxIdentityLifetime: 300 } })).toEqual(INVALID);
  });
});

describe("a delegation is no credential", () => {
  test("and whom it is for is told", () => {
    expect(authenticate(`Bearer ${delegation()}`)).toEqual({ ...INVALID, delegatedTo: bob.did });
  });

  test("also to the one it is for, and to the operator", () => {
    expect(authenticate(`Bearer ${delegation()}`, { operatorDid: bob.did })).toEqual({
      ...INVALID,
      delegatedTo: bob.did,
    });
    expect(authenticate(`Bearer ${delegation({ by: venue })}`)).toEqual({ ...INVALID, delegatedTo: bob.did });
  });

  test("and a wrong signature is told nothing", () => {
    expect(authenticate(`Bearer ${delegation().slice(0, -86)}${delegation({ by: bob }).slice(-86)}`)).toEqual(INVALID);
  });
});

describe("the operator", () => {
  const byKey = (changes: Partial<AuthenticatorOptions>, by = alice) =>
    authenticate(`Bearer ${identityToken({ by, claims: { aud: changes.identity?.did ?? venue.did } })}`, changes);

  test("is known by its own key, and by the local token under its own DID", () => {
    const changes = { operatorDid: alice.did };
    expect(byKey(changes)).toEqual({ caller: { ...ALICE.caller, isOperator: true } });
    expect(byKey(changes, bob)).toMatchObject({ caller: { did: bob.did, isOperator: false } });
    expect(byKey(changes, venue)).toMatchObject({ caller: { did: venue.did, isOperator: false } });
    expect(authenticate(`Bearer ${LOCAL}`, changes)).toEqual({ caller: { ...OPERATOR.caller, did: alice.did } });
  });

  const identity = { did: "did:web:example.org", keyDid: venue.did };
  test.each(["did:web:example.org", venue.did])("is the venue under both its DIDs, configured as %s", (operatorDid) => {
    const did = "did:web:example.org";
    const byVenue = byKey({ identity, operatorDid }, venue);
    expect(byVenue).toEqual({ caller: { did, authentication: "identity", isOperator: true, credential } });
    expect(authenticate(`Bearer ${LOCAL}`, { identity, operatorDid })).toEqual({ caller: { ...OPERATOR.caller, did } });
  });

  test("of a venue with two DIDs is written to by the one it shows", () => {
    const token = `Bearer ${identityToken({ claims: { aud: venue.did } })}`;
    expect(authenticate(token, { identity })).toEqual(INVALID);
    expect(authenticate(`Bearer ${invocation()}`, { identity })).toEqual(INVALID);
  });

  const everything = [{ with: "file://", can: "*" }];
  test.each<[string, unknown, boolean]>([
    ["has no list", [], true],
    ["has everything in its list", everything, true],
    ["has everything in its list, with limits", [{ with: "file://", can: "*", nb: {} }], false],
    ["has every file in its list", [{ with: "file://", can: "crud" }], false],
    ["has one folder in its list", [{ with: "file://docs/", can: "crud/read" }], false],
    ["has what is not ours in its list", [{ with: "my:*", can: "*" }], false],
  ])("known by a UCAN that %s sees what is others': %s", (_what, att, isOperator) => {
    const token = invocation({ claims: { att } });
    expect(authenticate(`Bearer ${token}`, { operatorDid: alice.did })).toMatchObject({
      caller: { did: alice.did, isOperator },
    });
    expect(authenticate(`Bearer ${token}`)).toMatchObject({ caller: { isOperator: false } });
  });
});

describe("what was revoked is refused", () => {
  const tokens: readonly [string, string][] = [
    ["identity token", identityToken()],
    ["UCAN", invocation()],
  ];
  test.each(tokens)("a bearer's %s, and any of its issuer's", (_kind, token) => {
    expect(authenticate(`Bearer ${token}`, whenRevoked(idOf(token)))).toEqual(INVALID);
    expect(authenticate(`Bearer ${token}`, whenRevoked(alice.did))).toEqual(INVALID);
    expect(authenticate(`Bearer ${token}`, whenRevoked(bob.did))).toMatchObject({ caller: { did: alice.did } });
  });

  test("but the local token is signed by nobody", () => {
    expect(authenticate(`Bearer ${LOCAL}`, whenRevoked(venue.did))).toEqual(OPERATOR);
  });

  test("a static token, by its DID and by its name below the venue", () => {
    const byName = `${venue.did}:token:`;
    for (const [token, name, did] of [
      [STATIC, "ci", undefined],
      [`${STATIC}=`, "bob", bob.did],
    ] as const) {
      for (const revoked of [`${byName}${name}`, ...(did === undefined ? [] : [did])]) {
        expect(authenticate(`Bearer ${token}`, whenRevoked(revoked))).toEqual(INVALID);
      }
      const others = whenRevoked(`${byName}other`, `${byName}${name}x`, `did:web:x:token:${name}`, alice.did);
      expect(authenticate(`Bearer ${token}`, others)).toHaveProperty("caller.authentication", "static-token");
    }
  });

  test("a static token of a venue with two names, under either", () => {
    const identity = { did: "did:web:example.org", keyDid: venue.did };
    for (const name of [identity.did, identity.keyDid]) {
      const changes = { identity, ...whenRevoked(`${name}:token:bob`) };
      expect(authenticate(`Bearer ${STATIC}=`, changes)).toEqual(INVALID);
      expect(authenticate(`Bearer ${STATIC}`, changes)).toEqual(CI);
    }
  });
});

describe("who is judged again", () => {
  const again = (context: SurfaceContext, changes: Partial<AuthenticatorOptions> = {}) =>
    createAuthenticator({ ...options, ...changes }).rejudge(context);
  const contextOf = (header: string, changes: Partial<AuthenticatorOptions> = {}): SurfaceContext => {
    const { caller } = { caller: undefined, ...authenticate(`Bearer ${header}`, changes) };
    if (caller === undefined) throw new Error("Refused");
    return attribute(caller, undefined, (one) => one).context;
  };

  test("stays who they were as long as nothing was revoked", () => {
    for (const token of [LOCAL, STATIC, `${STATIC}=`, identityToken(), invocation()]) {
      expect(again(contextOf(token))).toEqual(contextOf(token));
    }
    const anybody = { callerDID: `${venue.did}:public`, authentication: "public" } as const;
    expect(again(anybody)).toBe(anybody);
  });

  const gone: readonly [string, string, readonly string[]][] = [
    ["an identity token", identityToken(), [idOf(identityToken()), alice.did]],
    ["a UCAN", invocation(), [idOf(invocation()), alice.did]],
    ["a static token", STATIC, [`${venue.did}:token:ci`]],
    ["a static token with a DID", `${STATIC}=`, [`${venue.did}:token:bob`, bob.did]],
  ];
  test.each(gone)("is nobody once %s was revoked, or its DID", (_what, token, names) => {
    const context = contextOf(token);
    for (const name of names) expect(again(context, whenRevoked(name))).toBeUndefined();
    expect(again(context, whenRevoked("did:web:other"))).toEqual(context);
  });

  test("has what their static token gives now, and nothing once it is gone, changed, or somebody else's", () => {
    const context = contextOf(STATIC);
    const [ci] = options.staticTokens;
    if (ci === undefined) throw new Error("There is one");
    const less = [{ with: "file://docs/less/", can: "crud/read" }];
    expect(again(context, { staticTokens: [{ ...ci, caps: less }] })).toEqual({ ...context, tokenCaps: less });
    expect(again(context, { staticTokens: [] })).toBeUndefined();
    expect(again(context, { staticTokens: [{ ...ci, sha256: hash("another") }] })).toBeUndefined();
    expect(again(context, { staticTokens: [{ ...ci, did: bob.did }] })).toBeUndefined();
  });
});

describe("a caller without credentials", () => {
  const anybody: Caller = { did: `${venue.did}:public`, authentication: "public", isOperator: false };
  const name = (ucans: unknown, caller = anybody, changes: Partial<AuthenticatorOptions> = {}) =>
    createAuthenticator({ ...options, ...changes }).nameCaller(caller, ucans);
  const relay = { with: "did:key:zOther", can: "venue/relay" };

  test("is named by a UCAN for the venue", () => {
    const token = invocation();
    const alices = narrowed(token);
    expect(name([token])).toEqual(alices);
    for (const copies of [2, 8]) expect(name(Array(copies).fill(token))).toEqual(alices);
    expect(name([token], anybody, { operatorDid: alice.did })).toMatchObject({ did: alice.did, isOperator: false });
  });

  test("is named by several of one issuer, and known by all of them", () => {
    const tokens = [invocation(), invocation({ claims: { att: [] } })];
    expect(name([tokens[0], delegation(), tokens[1]])).toMatchObject({ did: alice.did, identityTokens: tokens });
    const [one, other] = [tokens, tokens.toReversed()].map((all) => name(all) as Caller);
    expect(one?.narrowedTo).toBe(other?.narrowedTo);
    expect(one?.narrowedTo).not.toBe(narrowed(tokens[0] ?? "").narrowedTo);
    expect(name([tokens[1]])).not.toHaveProperty("narrowedTo");
  });

  test("cannot be several", () => {
    expect(name([invocation(), invocation({ by: bob })])).toBe("ambiguous");
    expect(name([invocation(), invocation({ by: bob, claims: { exp: 1 } })])).toMatchObject({ did: alice.did });
  });

  test("that is the venue is so by either of its names", () => {
    const identity = { did: "did:web:example.org", keyDid: venue.did };
    const token = invocation({ by: venue, claims: { aud: identity.did, att: [] } });
    expect(name([token], anybody, { identity })).toMatchObject({ did: identity.did, isOperator: true });
  });

  const silent: readonly [string, unknown][] = [
    ["none", undefined],
    ["no list", invocation()],
    ["an empty list", []],
    ["what is no text", [invocation(), 1]],
    ["too many", Array.from({ length: 9 }, (_, index) => invocation({ claims: { nnc: `${index}` } }))],
    ["too many copies of one", Array(9).fill(invocation())],
    ["much in all", [invocation(), ...Array.from({ length: 4 }, (_, index) => `${index}${"x".repeat(8191)}`)]],
    ["one that is too large", [`${invocation()}${"A".repeat(8192)}`]],
    ["what is no token", ["a.b.c"]],
    ["an identity token", [identityToken()]],
    ["a delegation to somebody", [delegation()]],
    ["one for another venue", [invocation({ claims: { aud: bob.did } })]],
    ["one that has ended", [invocation({ claims: { exp: NOW - 30 } })]],
    ["one that lives too long", [invocation({ claims: { exp: NOW + 3631 } })]],
    ["one that never ends", [invocation({ claims: { exp: null } })]],
    ["one that another signed", [invocation().slice(0, -86) + invocation({ by: bob }).slice(-86)]],
    ["one that another passes on", [invocation({ claims: { att: [relay] } })]],
    ["one that says so among other things", [invocation({ claims: { att: [{ with: "file://", can: "*" }, relay] } })]],
    ["one that says so oddly", [invocation({ claims: { att: [{ can: "venue/relay" }] } })]],
    [
      "one that says so in a map, with limits",
      [invocation({ claims: { att: undefined, cap: { x: { "venue/relay": [{ until: 1 }] } } } })],
    ],
  ];
  test.each(silent)("stays one with %s", (_what, ucans) => {
    expect(name(ucans)).toBe(anybody);
  });

  test("is not who passes a call on, beside who makes it", () => {
    const passed = invocation({ by: bob, claims: { att: [relay] } });
    expect(name([passed, invocation()])).toMatchObject({ did: alice.did, identityTokens: [invocation()] });
  });

  test("is named by an ability that only looks like passing on", () => {
    for (const can of ["*", "venue", "venue/*", "venue/relay/x", "VENUE/RELAY"]) {
      expect(name([invocation({ claims: { att: [{ with: "x", can }] } })])).toMatchObject({ did: alice.did });
    }
  });

  test("is not named by what was revoked", () => {
    expect(name([invocation()], anybody, whenRevoked(idOf(invocation())))).toBe(anybody);
    expect(name([invocation(), invocation({ by: bob })], anybody, whenRevoked(bob.did))).toMatchObject({
      did: alice.did,
    });
  });

  test("who has credentials is not named by tokens", () => {
    const known: Caller[] = [
      { did: bob.did, authentication: "identity", isOperator: false },
      { did: bob.did, authentication: "static-token", isOperator: false },
      { did: bob.did, authentication: "local-token", isOperator: true },
      { did: bob.did, authentication: "ucan", isOperator: false },
      { did: bob.did, authentication: "key", isOperator: false },
    ];
    for (const caller of known) expect(name([invocation()], caller)).toBe(caller);
  });
});

test("why a token was refused is logged, without anything of it", () => {
  const lines: string[] = [];
  const log: Log = { ...silentLog, debug: (fields, text) => lines.push(JSON.stringify({ ...fields, text })) };
  const { authenticate: judge } = createAuthenticator({ ...options, log });
  for (const claims of [{ exp: 1 }, { aud: bob.did }, { att: [] }]) judge(`Bearer ${identityToken({ claims })}`);
  judge(`Bearer ${identityToken()}`);
  judge(`Bearer ${STATIC}x`);
  const reasons = ["expired", "wrong_audience", "bad_version", "malformed"];
  expect(lines).toEqual(reasons.map((reason) => `{"reason":"${reason}","text":"Bearer token refused"}`));
});

describe("callers with UCANs", () => {
  let here: UcanVenue;
  beforeEach(() => {
    here = new UcanVenue();
  });
  afterEach(async () => {
    await closeSessions();
    await here.close();
  });

  const ucan: UcanVenue["ucan"] = (...parts) => here.ucan(...parts);
  const identity: UcanVenue["identity"] = (...parts) => here.identity(...parts);

  describe("a UCAN as bearer", () => {
    test("is its issuer, who has what its own proofs give", async () => {
      await here.open();
      const grant = ucan(operator, { aud: bob.did, att: [DOCS] });
      const bearer = ucan(bob, { att: [DOCS], prf: [grant] });
      const { job } = await here.call({ bearer });
      expect(job).toMatchObject({ status: "COMPLETE", caller: bob.did, output: { content: "of docs" } });
    });

    test("is its issuer also when its proofs are worth nothing", async () => {
      await here.open();
      const forged = ucan(operator, { aud: bob.did, att: [DOCS] }).slice(0, -86) + ucan(bob).slice(-86);
      for (const prf of [[forged], ["a.b.c"], [ucan(alice, { aud: bob.did, att: [DOCS] })]]) {
        const { status, job } = await here.call({ bearer: ucan(bob, { att: [DOCS], prf }) });
        expect([status, job.caller, job.errorCode]).toEqual([201, bob.did, "CAPABILITY_DENIED"]);
      }
    });

    test("leaves its issuer what it owns, as far as its list goes", async () => {
      await here.open();
      expect(await here.outcome({ bearer: ucan(alice), root: "owned" })).toBe("of owned");
      const list = [{ with: "file://owned/b.txt", can: "crud" }];
      expect(await here.outcome({ bearer: ucan(alice, { att: list }), root: "owned" })).toEqual(
        expect.arrayContaining(["CAPABILITY_DENIED"]),
      );
      expect(await here.outcome({ bearer: ucan(operator) })).toBe("of docs");
      expect(await here.outcome({ bearer: ucan(operator, { att: [{ with: "file://owned/", can: "crud" }] }) })).toEqual(
        expect.arrayContaining(["CAPABILITY_DENIED"]),
      );
    });

    test("lets a delegation to its issuer count", async () => {
      await here.open();
      const grant = ucan(operator, { aud: bob.did, att: [DOCS] });
      expect(await here.outcome({ bearer: ucan(bob), ucans: [grant] })).toBe("of docs");
      expect(await here.outcome({ bearer: identity(bob), ucans: [grant] })).toBe("of docs");
    });

    test.each<[string, () => string]>([
      ["a grant to somebody", () => ucan(operator, { aud: bob.did, att: [DOCS] })],
      ["one with the key of another in it", () => ucan(bob, {}, { kid: alice.multikey })],
      ["one for another venue", () => ucan(bob, { aud: alice.did })],
      ["one that has ended", () => ucan(bob, { exp: secondsFromNow(-31) })],
      ["one that lives too long to say who somebody is", () => ucan(bob, { exp: secondsFromNow(3700) })],
      ["one that says nothing of its version", () => ucan(bob, { ucv: undefined })],
    ])("is refused before there is a job: %s", async (_what, make) => {
      await here.open();
      expect(await here.outcome({ bearer: make() })).toBe(401);
    });

    test.each([
      ["RS256", "z4MXj1wBzi9jUstyPMS4jQqB6KdJaiatPkAtVtGc6bQEQEEsKTic", 256, "an RSA"],
      ["ES256", "zDnaerDaTF5BXEavCrfRZEk316dpbLsfPDZ3WJ5hRTPFU2169", 64, "a P-256"],
      ["ES256K", "zQ3shokFTS3brHcDQrn82RUDfCZESWL1ZdCEJwekUDPQiYBme", 64, "a secp256k1"],
      ["EdDSA", "z6LSeu9HkTHSfLLeUs2nnzUSNedgDUevfNQgQjQC23ZCit6F", 64, "an X25519"],
    ])("by a key of %s is told of which type its issuer is", async (alg, key, bytes, type) => {
      await here.open();
      const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
      const iss = `did:key:${key}`;
      const claims = part({ iss, sub: iss, exp: secondsFromNow(60), iat: secondsFromNow(0) });
      const bearer = `${part({ alg, typ: "JWT" })}.${claims}.${Buffer.alloc(bytes, 1).toString("base64url")}`;
      const { status, job } = await here.call({ bearer });
      const why = `its issuer is ${type} did:key, and only Ed25519 keys are taken`;
      expect([status, job]).toEqual([401, { error: `Invalid or expired token: ${why}` }]);
    });

    test("that is a grant is told where it belongs, and that is no more than it says itself", async () => {
      await here.open();
      const { status, job } = await here.call({ bearer: ucan(operator, { aud: bob.did, att: [DOCS] }) });
      expect([status, job]).toEqual([
        401,
        {
          error: `Invalid or expired token: token is a delegation to ${bob.did}; send it in 'ucans' and authenticate as its audience`,
        },
      ]);
    });
  });

  describe("jobs", () => {
    const status = async (bearer: string, path: string, method = "GET"): Promise<number> =>
      (await send(`${here.venue.url}/api/v1/jobs${path}`, { token: bearer, method })).status;
    const list = async (bearer: string): Promise<unknown> => {
      const response = await send(`${here.venue.url}/api/v1/jobs`, { token: bearer });
      return ((await response.json()) as { items: unknown }).items;
    };

    test.each([
      ["its issuer", alice, "owned", () => identity(alice)],
      ["the operator", operator, "docs", () => here.venue.localToken ?? ""],
    ])("of %s are not shown to a UCAN that gives less, nor touched by it", async (_whose, by, root, whole) => {
      await here.open();
      const { job } = await here.call({ bearer: whole(), root });
      expect(job.output?.content).toBe(`of ${root}`);
      const narrow = ucan(by, { att: [{ with: `file://${root}/b.txt`, can: "crud/read" }] });
      expect(await here.outcome({ bearer: narrow, root })).toContain("CAPABILITY_DENIED");
      for (const path of ["", "/sse"]) expect(await status(narrow, `/${job.id}${path}`)).toBe(403);
      for (const path of ["/cancel", "/delete"]) expect(await status(narrow, `/${job.id}${path}`, "PUT")).toBe(403);
      expect(await list(narrow)).not.toContain(job.id.slice(2));
      expect(await status(whole(), `/${job.id}`)).toBe(200);
    });

    test("made with such a UCAN are that UCAN's, and its issuer's", async () => {
      await here.open();
      const att = [{ with: "file://owned/a.txt", can: "crud/read" }];
      const narrow = ucan(alice, { att });
      const ids = [
        await here.call({ bearer: narrow, root: "owned" }),
        await here.call({ ucans: [narrow], root: "owned" }),
      ];
      const own = ids.map(({ job }) => job.id.slice(2)).reverse();
      expect(await list(narrow)).toEqual(own);
      expect(await list(ucan(alice, { att, nnc: "another" }))).toEqual([]);
      for (const bearer of [identity(alice), ucan(alice)]) expect(await list(bearer)).toEqual(own);
      expect(await status(narrow, `/${own[0]}/delete`, "PUT")).toBe(200);
    });
  });

  describe("UCANs in a call without credentials", () => {
    test("name the caller, to whom the job belongs", async () => {
      await here.open();
      const grant = ucan(operator, { aud: bob.did, att: [DOCS] });
      const { job } = await here.call({ ucans: [ucan(bob, { att: [DOCS], prf: [grant] })] });
      expect(job).toMatchObject({ status: "COMPLETE", caller: bob.did, output: { content: "of docs" } });
      const read = async (token?: string) => (await send(`${here.venue.url}/api/v1/jobs/${job.id}`, { token })).status;
      expect([await read(), await read(identity(alice)), await read(ucan(bob)), await read(identity(bob))]).toEqual([
        ...[403, 403, 200, 200],
      ]);
    });

    test("make a grant to the caller count", async () => {
      await here.open();
      const grant = ucan(operator, { aud: bob.did, att: [DOCS] });
      expect(await here.outcome({ ucans: [ucan(bob), grant] })).toBe("of docs");
      expect(await here.outcome({ ucans: [grant] })).toEqual(["CAPABILITY_DENIED", "wrong_audience"]);
    });

    test("do not name two", async () => {
      await here.open();
      const { status, job } = await here.call({ ucans: [ucan(operator), ucan(alice)] });
      expect([status, job.status, job.caller]).toEqual([201, "FAILED", `${here.venue.did}:public`]);
      expect(job).toMatchObject({ errorCode: "CAPABILITY_DENIED", errorData: { reasons: ["ambiguous_caller"] } });
    });

    test("do not name whoever only passes the call on", async () => {
      await here.open();
      const { job } = await here.call({
        ucans: [ucan(operator, { att: [{ with: here.venue.did, can: "venue/relay" }] })],
      });
      expect(job).toMatchObject({
        status: "FAILED",
        caller: `${here.venue.did}:public`,
        errorCode: "CAPABILITY_DENIED",
      });
    });

    test("change nothing about a caller who has credentials", async () => {
      await here.open();
      const { job } = await here.call({ bearer: identity(bob), ucans: [ucan(operator)] });
      expect(job).toMatchObject({ status: "FAILED", caller: bob.did });
    });
  });

  describe("tokens of a call that cannot be looked at", () => {
    const lists: readonly [string, unknown, string][] = [
      ["a token instead of a list", "a.b.c", "malformed"],
      ["an object", { length: 0 }, "malformed"],
      ["something else among the tokens", ["a.b.c", 1], "malformed"],
      [
        "nine tokens",
        Array(9)
          .fill("a")
          .map((text, index) => `${text}${index}`),
        "too_large",
      ],
      ["much in all", Array.from({ length: 8 }, (_, index) => `${index}${"x".repeat(4096)}`), "too_large"],
      ["a long token", ["x".repeat(8193)], "too_large"],
      ["what is no token", ["x"], "malformed"],
    ];
    test.each(lists)("deny it, with the reason, to whom public access would do: %s", async (_name, ucans, reason) => {
      await here.open({ auth: { public: { enabled: true, caps: [DOCS] } } });
      expect(await here.outcome({})).toBe("of docs");
      expect(await here.outcome({ ucans })).toEqual(["CAPABILITY_DENIED", reason]);
      expect(await here.outcome({ ucans, bearer: identity(bob) })).toEqual(["CAPABILITY_DENIED", reason]);
    });

    test("at the limit are looked at", async () => {
      await here.open();
      const grant = ucan(operator, { aud: bob.did, att: [DOCS] });
      const others = Array.from({ length: 7 }, (_, index) => `${index}${"x".repeat(4000)}`);
      expect(await here.outcome({ ucans: [...others, grant], bearer: identity(bob) })).toBe("of docs");
    });
  });

  describe("a token for no venue in particular", () => {
    const unbound = () => identity(alice, { aud: undefined });
    const asked = async (config: VenueConfigInput) => {
      await here.open(config);
      return here.outcome({ bearer: unbound(), root: "owned" });
    };

    test("is taken on loopback only, unless the configuration says otherwise", async () => {
      expect(await asked({})).toBe("of owned");
      expect(await asked({ auth: { acceptUnboundIdentity: false } })).toBe(401);
      expect(await asked({ trustProxy: true })).toBe(401);
    });

    test("is never a UCAN", async () => {
      await here.open();
      expect(await here.outcome({ bearer: ucan(alice, { aud: undefined }), root: "owned" })).toBe(401);
      expect(await here.outcome({ ucans: [ucan(alice, { aud: undefined })], root: "owned" })).not.toBe("of owned");
    });
  });

  describe("over MCP", () => {
    const connect = (token?: string) => mcpClient({ url: here.venue.url, token });
    const read = (client: Client, ucans?: unknown, root = "docs") =>
      client.callTool({
        name: "file_read",
        arguments: { root, path: "a.txt", ...(ucans === undefined ? {} : { ucans }) },
      });
    const errorOf = (code: string, reasons: readonly string[]) => ({
      isError: true,
      _meta: { "venue-files/error": { errorCode: code, errorData: { reasons } } },
    });

    test("a UCAN as bearer is its issuer, and grants count in arguments", async () => {
      await here.open();
      const client = await connect(ucan(bob));
      expect(await read(client)).toMatchObject({ isError: true });
      const grant = ucan(operator, { aud: bob.did, att: [DOCS] });
      expect(await read(client, [grant])).toMatchObject({
        content: expect.arrayContaining([{ type: "text", text: "of docs" }]),
      });
    });

    test("UCANs in arguments name a caller without credentials, whose job it is", async () => {
      await here.open();
      const client = await connect();
      const answer = await read(client, [ucan(alice)], "owned");
      expect(answer).toMatchObject({ content: expect.arrayContaining([{ type: "text", text: "of owned" }]) });
      const url = `${here.venue.url}/api/v1/jobs/${answer._meta?.["venue-files/job"]}`;
      expect((await fetch(url)).status).toBe(403);
      const job = await send(url, { token: identity(alice) });
      expect(await job.json()).toMatchObject({ status: "COMPLETE", caller: alice.did });
    });

    test("UCANs in arguments do not name two, nor change who has credentials", async () => {
      await here.open();
      const two = [ucan(alice), ucan(operator)];
      expect(await read(await connect(), two)).toMatchObject(errorOf("CAPABILITY_DENIED", ["ambiguous_caller"]));
      const answer = await read(await connect(identity(bob)), [ucan(operator)]);
      expect(answer).toMatchObject({ isError: true });
    });

    test("a bad bearer is refused", async () => {
      await here.open();
      await expect(connect(ucan(operator, { aud: bob.did, att: [DOCS] }))).rejects.toThrow();
    });
  });
});

const SEED = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
const MULTIKEY = "z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw";

test.each([`did:key:${MULTIKEY}`, "did:web:example.org"])(
  "the document of %s names its key and its endpoint",
  (did) => {
    const method = `${did}#${MULTIKEY}`;
    expect(didDocument(openIdentity({ seed: SEED, did }), "https://example.org/base")).toEqual({
      "@context": "https://www.w3.org/ns/did/v1",
      id: did,
      verificationMethod: [{ id: method, type: "Multikey", controller: did, publicKeyMultibase: MULTIKEY }],
      authentication: [method],
      assertionMethod: [method],
      capabilityDelegation: [method],
      capabilityInvocation: [method],
      service: [{ type: "Covia.API.v1", serviceEndpoint: "https://example.org/base/api/v1" }],
    });
  },
);
