import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import type { Capability } from "../../../../src/core/call/capability.js";
import { type CallOptions, newPerson, now, READ_DOCS, useGround } from "../fixture.js";

const ground = useGround();
const IN_SUB: Capability = { with: "file://docs/sub/", can: "crud/read" };
const HERS: Capability = { with: "file://hers/sub/", can: "crud/read" };
const NOT_YOURS = {
  status: "FAILED",
  errorCode: "CAPABILITY_DENIED",
  error:
    "Capability denied: ucan:revoke requires an issuer in the token's chain, or the operator, without narrower capabilities. " +
    "Retrying the same call will not succeed - the denial is structural.",
  errorData: { structural: true, operation: "ucan:revoke" },
};

const revoke = (input: object, options: CallOptions = {}) => ground.call("ucan:revoke", input, options);
const byOperator = (input: object, options: CallOptions = {}) =>
  revoke(input, { ...options, bearer: ground.venue.localToken });
const list = () =>
  readFileSync(join(ground.base, "state/revocations"), "utf8")
    .split("\n")
    .filter((line) => line !== "");

/** The operator gives to Alice, who gives to Bob. */
async function chain() {
  const lead = await ground.key.grant(ground.alice, [READ_DOCS], { lifetimeSeconds: 900 });
  const given = await ground.alice.grant(ground.bob, [IN_SUB], { proofs: [lead.token] });
  return { lead, given };
}

const isOver = async (token: string, root = "docs") => {
  expect(await ground.reads(ground.bob, token, root)).toMatchObject({ errorData: { reasons: ["revoked"] } });
};
const works = async (token: string, root = "docs") => {
  expect(await ground.reads(ground.bob, token, root)).toMatchObject({ status: "COMPLETE" });
};

describe("a token is revoked, also where it was used before,", () => {
  test("by the operator, who names it or what it rests on", async () => {
    await ground.open();
    const { lead, given } = await chain();
    const other = await ground.alice.grant(ground.bob, [IN_SUB], { proofs: [lead.token] });
    await works(given.token);
    await works(other.token);
    expect(await byOperator({ id: given.id })).toMatchObject({ output: { revoked: true, id: given.id } });
    await isOver(given.token);
    await works(other.token);
    expect(await byOperator({ id: lead.id })).toMatchObject({ status: "COMPLETE" });
    await isOver(other.token);
    expect(list()).toEqual([given.id, lead.id]);
  });

  test("by the operator, who shows it", async () => {
    await ground.open();
    const { given } = await chain();
    expect(await byOperator({ token: given.token })).toMatchObject({ output: { revoked: true, id: given.id } });
    await isOver(given.token);
  });

  test("by the operator, who names whoever signed it", async () => {
    await ground.open();
    const { given } = await chain();
    expect(await byOperator({ id: ground.alice.did })).toMatchObject({ output: { id: ground.alice.did } });
    await isOver(given.token);
    // What was given to Alice is still the operator's word, but she cannot show who she is any more.
    expect(list()).toEqual([ground.alice.did]);
  });

  test.each<[string, "id" | "token"]>([
    ["names it", "id"],
    ["shows it", "token"],
  ])("by each issuer in its chain, who %s", async (_how, how) => {
    await ground.open();
    const { given } = await chain();
    await works(given.token);
    const input = { [how]: given[how] };
    expect(await revoke(input, { as: ground.alice })).toMatchObject({ output: { revoked: true, id: given.id } });
    await isOver(given.token);
  });

  test("by the owner of a root, who gave away a part of it", async () => {
    await ground.open();
    const lead = await ground.alice.grant(ground.carol, [HERS], { lifetimeSeconds: 900 });
    const given = await ground.carol.grant(ground.bob, [HERS], { proofs: [lead.token] });
    await works(given.token, "hers");
    expect(await revoke({ token: given.token }, { as: ground.alice })).toMatchObject({ status: "COMPLETE" });
    await isOver(given.token, "hers");
  });

  test.each<[string, "id" | "token"]>([
    ["names it", "id"],
    ["shows it", "token"],
  ])("by whom the venue signed it for, who %s", async (_how, how) => {
    await ground.open({ auth: { grants: [{ did: ground.carol.did, ...READ_DOCS }] } });
    const issued = await ground.call("ucan:issue", { aud: ground.bob.did, att: [IN_SUB] }, { as: ground.carol });
    const { id, token } = issued.output;
    expect(await revoke({ [how]: issued.output[how] }, { as: ground.bob })).toMatchObject(NOT_YOURS);
    expect(await revoke({ [how]: issued.output[how] }, { as: ground.carol })).toMatchObject({ output: { id } });
    await isOver(String(token));
  });

  test("by who signed a proof on whose strength the venue signed it", async () => {
    await ground.open();
    const { given } = await chain();
    const to = { aud: ground.carol.did, att: [IN_SUB], prf: [given.token] };
    const issued = await ground.call("ucan:issue", to, { as: ground.bob });
    const { id } = issued.output;
    expect(await revoke({ id }, { as: ground.alice })).toMatchObject({ output: { revoked: true, id } });
    const token = String(issued.output["token"]);
    expect(await ground.reads(ground.carol, token)).toMatchObject({ errorData: { reasons: ["revoked"] } });
  });

  test("once, however often it is said", async () => {
    await ground.open();
    const { given } = await chain();
    for (const who of [ground.alice, ground.key, ground.alice]) {
      expect(await revoke({ token: given.token }, { as: who })).toMatchObject({ status: "COMPLETE" });
    }
    expect(list()).toEqual([given.id]);
  });

  test.each<[string, () => object]>([
    ["before it begins", () => ({ nbf: now() + 50 })],
    ["after its end", () => ({ exp: now() - 50 })],
    ["when it lives too long", () => ({ exp: now() + 1e9 })],
  ])("%s, since only the signature says whose it is", async (_when, claims) => {
    await ground.open();
    const token = ground.says(ground.alice, { aud: ground.bob.did, att: [HERS], ...claims() });
    expect(await revoke({ token }, { as: ground.alice })).toMatchObject({ status: "COMPLETE" });
    expect(list()).toHaveLength(1);
  });
});

describe("a token is not revoked", () => {
  test("by its audience, a stranger or nobody in particular; of one that is unknown they are told the same", async () => {
    await ground.open();
    const { given } = await chain();
    await works(given.token);
    const unknown = "A".repeat(43);
    for (const who of [{ as: ground.bob }, { as: ground.carol }, {}]) {
      for (const input of [{ id: given.id }, { token: given.token }, { id: unknown }, { id: ground.alice.did }]) {
        const { error, errorCode, errorData } = await revoke(input, who);
        expect({ status: "FAILED", error, errorCode, errorData }).toEqual({
          ...NOT_YOURS,
          errorData: {
            ...{ structural: true, retryable: false, operation: "ucan:revoke" },
            ...{ denied_by: ["authority"], reasons: ["not_covered"] },
          },
        });
      }
    }
    await works(given.token);
  });

  test("by a DID, except by the operator, not even by whose it is", async () => {
    await ground.open();
    expect(await revoke({ id: ground.alice.did }, { as: ground.alice })).toMatchObject(NOT_YOURS);
  });

  test("by an issuer of a proof that is not for whoever shows it", async () => {
    await ground.open();
    const { given } = await chain();
    const strangers = await ground.carol.grant(newPerson(), [READ_DOCS], { lifetimeSeconds: 900 });
    const prf = [given.token, strangers.token];
    const token = ground.says(ground.bob, { aud: ground.alice.did, att: [IN_SUB], prf });
    expect(await revoke({ token }, { as: ground.carol })).toMatchObject(NOT_YOURS);
    expect(await revoke({ token }, { as: ground.bob })).toMatchObject({ status: "COMPLETE" });
  });

  test("by whom somebody else than the venue says it was signed for", async () => {
    await ground.open();
    const { given } = await chain();
    const fct = [{ "venue-files": { for: ground.carol.did, via: [] } }];
    const token = ground.says(ground.bob, { aud: ground.alice.did, att: [IN_SUB], prf: [given.token], fct });
    expect(await revoke({ token }, { as: ground.carol })).toMatchObject(NOT_YOURS);
  });

  test("by who claims to have signed it", async () => {
    await ground.open();
    const { given } = await chain();
    const [header, payload] = given.token.split(".");
    const forged = `${header}.${payload}.${Buffer.alloc(64, 1).toString("base64url")}`;
    expect(await revoke({ token: forged }, { as: ground.alice })).toMatchObject(NOT_YOURS);
    await works(given.token);
  });

  test("when it gives nothing here, so that strangers cannot fill the list", async () => {
    await ground.open();
    const { token } = await ground.carol.grant(ground.bob, [READ_DOCS]);
    expect(await revoke({ token }, { as: ground.carol })).toMatchObject(NOT_YOURS);
  });

  test("by others than the operator once the list is long", async () => {
    await ground.open();
    const { given } = await chain();
    await byOperator({ id: "A".repeat(43) });
    const entries = Array.from({ length: 10_000 }, (_, index) => `did:web:host-${index}.example.com\n`);
    appendFileSync(join(ground.base, "state/revocations"), entries.join(""));
    expect(await revoke({ token: given.token }, { as: ground.alice })).toMatchObject({
      errorCode: "CAPABILITY_DENIED",
      errorData: { reasons: ["too_large"] },
    });
    expect(await byOperator({ token: given.token })).toMatchObject({ status: "COMPLETE" });
    await isOver(given.token);
  });

  test("by an agent that was given less than its principal has", async () => {
    await ground.open();
    const { given } = await chain();
    const caps = [{ with: "file://", can: "crud" }];
    expect(await byOperator({ id: given.id }, { caps })).toMatchObject(NOT_YOURS);
    expect(await byOperator({ id: given.id }, { caps: [] })).toMatchObject(NOT_YOURS);
    expect(await revoke({ token: given.token }, { as: ground.alice, caps })).toMatchObject(NOT_YOURS);
    const session = await ground.key.grant(ground.venue.did, [READ_DOCS]);
    expect(await revoke({ id: given.id }, { bearer: session.token })).toMatchObject(NOT_YOURS);
    expect(await byOperator({ id: given.id }, { caps: [{ with: "file://", can: "*" }] })).toMatchObject({
      status: "COMPLETE",
    });
  });

  test.each<[string, object, string, string]>([
    ["when neither is given", {}, "Exactly one of 'id' and 'token' is required", "/id"],
    [
      "when both are given",
      { id: "A".repeat(43), token: "x" },
      "Only one of 'id' and 'token' may be supplied",
      "/token",
    ],
    ["by what is no id", { id: "A".repeat(42) }, "'id' must be the id of a token, or a DID", "/id"],
    ["by more than one line", { id: `did:x:y\n${"A".repeat(43)}` }, "'id' must be the id of a token, or a DID", "/id"],
    ["by half a megabyte", { id: `did:x:${"y".repeat(500_000)}` }, "'id' must be the id of a token, or a DID", "/id"],
    ["by what is no token", { token: "x" }, "'token' cannot be read: malformed", "/token"],
  ])("%s", async (_what, input, error, pointer) => {
    await ground.open();
    expect(await byOperator(input)).toMatchObject({ errorCode: "INVALID_INPUT", error, errorData: { pointer } });
  });
});

test("a revocation outlives the venue", async () => {
  await ground.open();
  const { given } = await chain();
  await byOperator({ id: given.id });
  await ground.venue.close();
  await ground.open();
  await isOver(given.token);
});

test("the record of ucan:revoke hides the token, and its audit says who revoked what", async () => {
  await ground.open();
  const { given } = await chain();
  const answer = await revoke({ token: given.token }, { as: ground.alice });
  expect(answer.input).toEqual({ token: "HIDDEN" });
  await revoke({ id: given.id }, { as: ground.bob });
  const said = (await ground.auditRecords()).map(({ caller, resource, outcome }) => [caller, resource, outcome]);
  expect(said).toEqual([
    [ground.alice.did, `ucan:${given.id}`, "OK"],
    [ground.bob.did, `ucan:${given.id}`, "CAPABILITY_DENIED"],
  ]);
});
