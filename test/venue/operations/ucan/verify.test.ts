import { describe, expect, test } from "@jest/globals";
import { Ajv } from "ajv";
import type { Capability } from "../../../../src/core/call/capability.js";
import { loadOperationSchema } from "../../../../src/schema/load.js";
import { type CallOptions, READ_DOCS, useGround } from "../fixture.js";

const ground = useGround();
const IN_SUB: Capability = { with: "file://docs/sub/", can: "crud/read" };
const HERS: Capability = { with: "file://hers/", can: "crud/read" };
const EVERYWHERE: Capability = { with: "file://", can: "crud/read" };

const verify = async (input: object, options: CallOptions = {}) => {
  const answer = await ground.call("ucan:verify", input, options);
  return answer.output ?? answer;
};
const bearer = () => ({ bearer: ground.venue.localToken });

describe("ucan:verify tells", () => {
  test("anybody what a token is worth, each link", async () => {
    await ground.open();
    const lead = await ground.key.grant(ground.alice, [READ_DOCS], { lifetimeSeconds: 900 });
    const { token, id, expiresAt } = await ground.alice.grant(ground.bob, [IN_SUB], { proofs: [lead.token] });
    const report = {
      valid: true,
      reasons: [],
      grants: [IN_SUB],
      expires: expiresAt,
      chain: [
        {
          ...{ id, issuer: ground.alice.did, audience: ground.bob.did, expires: expiresAt },
          ...{ grants: [IN_SUB], depth: 0, reasons: [] },
        },
        {
          ...{ id: lead.id, issuer: ground.venue.did, audience: ground.alice.did, expires: lead.expiresAt },
          ...{ grants: [READ_DOCS], depth: 1, reasons: [] },
        },
      ],
    };
    for (const who of [bearer(), { as: ground.alice }, { as: ground.bob }, { as: ground.carol }, {}]) {
      expect(await verify({ token }, who)).toEqual(report);
    }
    const validate = new Ajv({ strict: true }).compile(loadOperationSchema("verify", "ucan").output);
    expect([validate(report), validate.errors]).toEqual([true, null]);
  });

  test("what was asked: this on that, for whom", async () => {
    await ground.open();
    const { token } = await ground.key.grant(ground.bob, [IN_SUB]);
    const ask = (more: object) => verify({ token, ...more }, { as: ground.bob });
    expect(await ask({ with: "file://docs/sub/a.txt", can: "crud/read" })).toMatchObject({ valid: true });
    expect(await ask({ with: "file://docs/", can: "crud/read" })).toMatchObject({
      valid: false,
      reasons: ["not_covered"],
    });
    expect(await ask({ aud: ground.bob.did })).toMatchObject({ valid: true });
    expect(await ask({ aud: ground.alice.did })).toMatchObject({ valid: false, reasons: ["wrong_audience"] });
  });

  test("that it has been revoked", async () => {
    await ground.open();
    const { token, id } = await ground.alice.grant(ground.bob, [HERS]);
    expect(await verify({ token }, { as: ground.carol })).toMatchObject({ valid: true, grants: [HERS] });
    await ground.byOperator("ucan:revoke", { id });
    expect(await verify({ token }, { as: ground.carol })).toMatchObject({
      valid: false,
      reasons: ["revoked"],
      grants: [],
    });
  });

  test("that a grant on every root, by somebody who owns only one, is one on theirs", async () => {
    await ground.open();
    const { token } = await ground.alice.grant(ground.bob, [EVERYWHERE]);
    expect(await verify({ token })).toMatchObject({ valid: true, grants: [EVERYWHERE] });
    expect(await verify({ token, ...HERS })).toMatchObject({ valid: true });
    expect(await verify({ token, ...READ_DOCS })).toMatchObject({ valid: false, reasons: ["issuer_not_owner"] });
  });

  test("that a signature is wrong", async () => {
    await ground.open();
    const { token } = await ground.alice.grant(ground.bob, [HERS], { lifetimeSeconds: 600 });
    const [header, payload] = token.split(".");
    const forged = `${header}.${payload}.${Buffer.alloc(64, 1).toString("base64url")}`;
    const wrong = { valid: false, reasons: ["bad_signature"], grants: [] };
    expect(await verify({ token: forged }, { as: ground.bob })).toMatchObject(wrong);
  });

  test("of a root that Alice owns nothing but what one says that is not there", async () => {
    await ground.open();
    const { token } = await ground.key.grant(ground.bob, [EVERYWHERE]);
    const reports = await Promise.all(
      ["hers", "none"].map((root) => verify({ token, with: `file://${root}/`, can: "crud/read" }, { as: ground.bob })),
    );
    expect(reports[0]).toEqual(reports[1]);
    expect(reports[0]).toMatchObject({ valid: false, reasons: ["issuer_not_owner"] });
    expect(await verify({ token, ...READ_DOCS }, { as: ground.bob })).toMatchObject({ valid: true });
  });
});

describe("ucan:verify refuses", () => {
  test.each<[string, object, string, string]>([
    ["no token", {}, "'token' is required", "/token"],
    [
      "a resource without an ability",
      { with: "file://docs/" },
      "'can' is required: 'with' and 'can' are asked",
      "/can",
    ],
    ["an ability without a resource", { can: "crud" }, "'with' is required: 'with' and 'can' are asked", "/with"],
    [
      "what is no capability",
      { with: "docs", can: "crud" },
      "'with' and 'can' must be a resource (file://, dlfs/) and an",
      "/with",
    ],
    ["an audience that is no DID", { aud: "bob" }, "'aud' must be a DID", "/aud"],
    ["a misspelt field", { audience: "did:x:y" }, "Unknown field 'audience'", "/audience"],
  ])("%s", async (what, input, text, pointer) => {
    await ground.open();
    const given = what === "no token" ? input : { token: "x", ...input };
    const answer = await ground.byOperator("ucan:verify", given);
    expect(answer).toMatchObject({ errorCode: "INVALID_INPUT", errorData: { pointer } });
    expect(answer.error.slice(0, text.length)).toBe(text);
  });

  test("to take what is no token for one, which is an answer", async () => {
    await ground.open();
    const none = { valid: false, grants: [], expires: null };
    expect(await verify({ token: "x" }, bearer())).toMatchObject({ ...none, reasons: ["malformed"] });
    expect(await verify({ token: "x".repeat(10_000) }, {})).toMatchObject({
      ...none,
      reasons: ["too_large"],
    });
  });
});

test("neither the record nor the audit of ucan:verify holds the token", async () => {
  await ground.open();
  const { token, id } = await ground.key.grant(ground.bob, [IN_SUB]);
  const answer = await ground.byOperator("ucan:verify", { token });
  expect(answer.input).toEqual({ token: "HIDDEN" });
  const records = await ground.auditRecords();
  expect(records).toEqual([
    expect.objectContaining({ operation: "ucan:verify", resource: `ucan:${id}`, outcome: "OK" }),
  ]);
  for (const text of [JSON.stringify(answer), JSON.stringify(records)]) {
    expect(text).not.toContain(token.split(".")[2]);
  }
});
