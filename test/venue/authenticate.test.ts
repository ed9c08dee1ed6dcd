import { createHash } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import { type Log, silentLog } from "../../src/core/log.js";
import { type AuthenticatorOptions, createAuthenticator } from "../../src/venue/authenticate.js";
import { alice, bob, clock, delegation, identityToken, NOW, venue } from "../ucan/tokens.js";

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
  clock,
};

const authenticate = (header: string, changes: Partial<AuthenticatorOptions> = {}) =>
  createAuthenticator({ ...options, ...changes })(header);

const OPERATOR = { caller: { did: venue.did, authentication: "local-token", isOperator: true } };
const CI = {
  caller: { did: `${venue.did}:token:ci`, authentication: "static-token", isOperator: false, tokenCaps: caps },
};
const ALICE = { caller: { did: alice.did, authentication: "identity", isOperator: false } };
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
    ["that is a UCAN for the venue", `Bearer ${delegation({ claims: { aud: venue.did } })}`],
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
    expect(byVenue).toEqual({ caller: { did, authentication: "identity", isOperator: true } });
    expect(authenticate(`Bearer ${LOCAL}`, { identity, operatorDid })).toEqual({ caller: { ...OPERATOR.caller, did } });
  });

  test("of a venue with two DIDs is written to by the one it shows", () => {
    const token = `Bearer ${identityToken({ claims: { aud: venue.did } })}`;
    expect(authenticate(token, { identity })).toEqual(INVALID);
    const granted = `Bearer ${delegation({ claims: { aud: venue.did } })}`;
    expect(authenticate(granted, { identity })).toEqual(INVALID);
  });
});

test("why a token was refused is logged, without anything of it", () => {
  const lines: string[] = [];
  const log: Log = { ...silentLog, debug: (fields, text) => lines.push(JSON.stringify({ ...fields, text })) };
  const judge = createAuthenticator({ ...options, log });
  for (const claims of [{ exp: 1 }, { aud: bob.did }, { att: [] }]) judge(`Bearer ${identityToken({ claims })}`);
  judge(`Bearer ${identityToken()}`);
  judge(`Bearer ${STATIC}x`);
  const reasons = ["expired", "wrong_audience", "not_an_identity", "malformed"];
  expect(lines).toEqual(reasons.map((reason) => `{"reason":"${reason}","text":"Bearer token refused"}`));
});
