import { describe, expect, test } from "@jest/globals";
import type { Capability } from "../../../../src/core/call/capability.js";
import { type Person, READ_DOCS, useGround } from "../fixture.js";

const ground = useGround();
const PUBLIC: Capability = { with: "file://tmp/", can: "crud/read" };
const HERS: Capability = { with: "file://hers/sub/", can: "crud/read" };
const STATIC = "static-token-static-token-static-token";

const whoami = async (options?: Parameters<typeof ground.call>[2]) =>
  (await ground.call("auth:whoami", {}, options)).output;

describe("auth:whoami tells", () => {
  test("a caller without credentials what everybody may do, and no more names", async () => {
    await ground.open();
    const answer = await ground.call("auth:whoami");
    expect(answer.output).toEqual({
      did: `${ground.venue.did}:public`,
      authentication: "public",
      operator: false,
      venue: ground.venue.did,
      grants: [PUBLIC],
      grantsTruncated: false,
    });
    expect(JSON.stringify(answer)).not.toMatch(/hers|docs/);
  });

  test("the operator, by the local token and by its key", async () => {
    await ground.open();
    const said = {
      did: ground.venue.did,
      operator: true,
      grants: ["*", "approve"].map((can) => ({ with: "file://", can })),
    };
    const byToken = (await ground.byOperator("auth:whoami")).output;
    expect(byToken).toMatchObject({ ...said, authentication: "local-token" });
    expect(await whoami({ as: ground.key })).toMatchObject({ ...said, authentication: "identity" });
  });

  test("the operator that is not the venue", async () => {
    await ground.open({ operator: ground.carol.did });
    expect(await whoami({ as: ground.carol })).toMatchObject({ did: ground.carol.did, operator: true });
    expect(await whoami({ as: ground.key })).toMatchObject({
      did: ground.venue.did,
      operator: false,
      grants: [PUBLIC],
    });
  });

  test("the owner of a root", async () => {
    await ground.open();
    expect(await whoami({ as: ground.alice })).toEqual({
      did: ground.alice.did,
      authentication: "identity",
      operator: false,
      venue: ground.venue.did,
      grants: [{ with: "file://hers/", can: "*" }, { with: "file://hers/", can: "approve" }, PUBLIC],
      grantsTruncated: false,
    });
  });

  test("whoever the configuration gives something", async () => {
    await ground.open({ auth: { grants: [{ did: ground.bob.did, ...READ_DOCS }] } });
    expect(await whoami({ as: ground.bob })).toMatchObject({ grants: [READ_DOCS, PUBLIC] });
    expect(await whoami({ as: ground.carol })).toMatchObject({ grants: [PUBLIC] });
  });

  test("whoever brings proofs, for which public rights do not count", async () => {
    await ground.open();
    const { token } = await ground.alice.grant(ground.bob, [HERS]);
    expect(await whoami({ as: ground.bob, ucans: [token] })).toMatchObject({ grants: [HERS] });
    expect(await whoami({ as: ground.carol, ucans: [token] })).toMatchObject({ grants: [] });
  });

  test("whoever has a static token", async () => {
    await ground.open({
      auth: { tokens: [{ name: "ci", token: { file: ground.secret("ci.token", STATIC) }, caps: [READ_DOCS] }] },
    });
    expect(await whoami({ bearer: STATIC })).toMatchObject({
      did: `${ground.venue.did}:token:ci`,
      authentication: "static-token",
      operator: false,
      grants: [READ_DOCS, PUBLIC],
    });
  });

  test("whoever is narrowed what is left", async () => {
    await ground.open();
    const bearer = ground.venue.localToken;
    expect(await whoami({ bearer, caps: [READ_DOCS] })).toMatchObject({ operator: true, grants: [READ_DOCS] });
    expect(await whoami({ bearer, caps: [] })).toMatchObject({ operator: true, grants: [] });
  });

  test("whoever is known by a UCAN until when, and holds them to its list", async () => {
    await ground.open();
    const { token, expiresAt } = await ground.alice.grant(ground.venue.did, [HERS], { lifetimeSeconds: 120 });
    const said = { did: ground.alice.did, authentication: "ucan", grants: [HERS], expires: expiresAt };
    expect(await whoami({ bearer: token })).toMatchObject(said);
    // Among the tokens of a call without a bearer it says the same.
    expect(await whoami({ ucans: [token] })).toMatchObject(said);
  });

  test("whoever is named as two that it is nobody", async () => {
    await ground.open();
    const tokens = [ground.alice, ground.bob].map((person) => person.grant(ground.venue.did, [HERS]));
    const ucans = (await Promise.all(tokens)).map(({ token }) => token);
    expect(await whoami({ ucans })).toMatchObject({ did: `${ground.venue.did}:public`, grants: [] });
  });

  test("of many grants the first twenty", async () => {
    const grants = Array.from({ length: 21 }, (_, i) => ({
      did: ground.bob.did,
      with: `file://docs/${i}/`,
      can: "crud",
    }));
    await ground.open({ auth: { grants: grants.slice(1), public: { caps: [] } } });
    expect(await shownTo(ground.bob)).toEqual([20, false]);
    await ground.venue.close();
    await ground.open({ auth: { grants, public: { caps: [] } } });
    expect(await shownTo(ground.bob)).toEqual([20, true]);
  });
});

async function shownTo(person: Person): Promise<unknown[]> {
  const { grants, grantsTruncated } = await whoami({ as: person });
  return [Array.isArray(grants) && grants.length, grantsTruncated];
}

test("auth:whoami takes no input", async () => {
  await ground.open();
  expect(await ground.call("auth:whoami", { did: "x" })).toMatchObject({
    errorCode: "INVALID_INPUT",
    error: "Unknown field 'did'. Known fields: none",
  });
});
