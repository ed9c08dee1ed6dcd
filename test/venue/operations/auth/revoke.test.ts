import { beforeEach, describe, expect, test } from "@jest/globals";
import { accessOf, SUB } from "../access-calls.js";
import { useGround } from "../fixture.js";

const ground = useGround();
const { issue, revoke, statusWith } = accessOf(ground);

describe("a token", () => {
  beforeEach(() => ground.open({ auth: { grants: [{ did: ground.bob.did, ...SUB }] } }));

  test("ends at once when it is revoked, by its maker, by itself or by the operator", async () => {
    for (const by of ["maker", "itself", "operator"]) {
      const { token, id } = await issue({ caps: [SUB] }, { as: ground.bob });
      const options =
        by === "maker" ? { as: ground.bob } : { bearer: by === "itself" ? token : ground.venue.localToken };
      const answer = await ground.call("auth:revoke", { id }, options);
      expect(answer).toMatchObject({ output: { revoked: true, id } });
      expect(await statusWith(token)).toBe(401);
    }
  });

  test("is neither seen nor revoked by others, and cannot be told from none", async () => {
    const { token, id } = await issue({ caps: [SUB] }, { as: ground.bob });
    const other = await issue({ caps: [SUB] }, { as: ground.alice });
    const texts = new Set<string>();
    for (const wanted of [id, "0".repeat(32)]) {
      for (const options of [{ as: ground.alice }, { bearer: other.token }, {}]) {
        const answer = await ground.call("auth:revoke", { id: wanted }, options);
        expect(answer.errorCode).toBe("CAPABILITY_DENIED");
        texts.add(answer.error);
      }
    }
    expect(texts.size).toBe(1);
    expect(await statusWith(token)).toBe(200);
    for (const options of [{ as: ground.alice }, { bearer: other.token }, {}]) {
      expect(JSON.stringify((await ground.call("auth:list", {}, options)).output)).not.toContain(id);
    }
    const mine = (await ground.call("auth:list", { kind: "access" }, { as: ground.bob })).output;
    expect(mine).toMatchObject({ complete: true, entries: [{ id, label: "test", by: ground.bob.did, grants: [SUB] }] });
  });

  test("is revoked by its DID like a static token", async () => {
    const { token, did } = await issue({ caps: [SUB] });
    await ground.byOperator("ucan:revoke", { id: did });
    expect(await statusWith(token)).toBe(401);
  });

  test("that signs out ends alone", async () => {
    const first = await issue({});
    const made = await issue({ caps: [SUB] }, { bearer: first.token });
    expect(await revoke(first.id, first.token, { keep: true })).toMatchObject({ output: { revoked: true } });
    expect(await statusWith(first.token)).toBe(401);
    expect(await statusWith(made.token)).toBe(200);
    await revoke(first.id, ground.venue.localToken);
    expect(await statusWith(made.token)).toBe(401);
  });

  test("of no known form is no id", async () => {
    expect(await revoke("../x", ground.venue.localToken)).toMatchObject({ errorCode: "INVALID_INPUT" });
  });
});
