import { describe, expect, test } from "@jest/globals";
import { accessOf, SUB } from "../access-calls.js";
import { useGround } from "../fixture.js";

const ground = useGround();
const { issue } = accessOf(ground);

describe("what somebody holds", () => {
  test("is listed beside what the configuration gives, which cannot be revoked", async () => {
    await ground.open({ auth: { grants: [{ did: ground.bob.did, ...SUB }] } });
    const entries = (await ground.byOperator("auth:list")).output["entries"];
    expect(entries).toMatchObject([
      { kind: "owner", label: "operator", did: ground.venue.did },
      { kind: "owner", did: ground.alice.did, grants: [{ with: "file://hers/", can: "*" }] },
      { kind: "config", id: "auth.grants[0]", did: ground.bob.did, grants: [SUB] },
      { kind: "public", id: "auth.public" },
    ]);
    const answer = await ground.byOperator("auth:revoke", { id: "auth.grants[0]" });
    expect(answer).toMatchObject({ errorCode: "NOT_SUPPORTED", error: expect.stringContaining("auth.grants[0]") });
  });

  test("are listed in pages, the newest first", async () => {
    await ground.open();
    const ids: string[] = [];
    for (let count = 0; count < 3; count += 1) ids.unshift((await issue({ caps: [SUB], label: `n${count}` })).id);
    const first = (await ground.byOperator("auth:list", { kind: "access", limit: 2 })).output;
    expect(first).toMatchObject({ complete: false, reason: "limit" });
    const { nextCursor } = first;
    const second = (await ground.byOperator("auth:list", { kind: "access", limit: 2, cursor: nextCursor })).output;
    const all = [first, second].flatMap(({ entries }) => entries as { id: string }[]);
    expect(new Set(all.map(({ id }) => id))).toEqual(new Set(ids));
    expect(second).toMatchObject({ complete: true });
    expect(await ground.byOperator("auth:list", { cursor: "x" })).toMatchObject({ errorCode: "INVALID_INPUT" });
  });
});
