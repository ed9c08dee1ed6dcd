import { expect, test } from "@jest/globals";
import { type CallOptions, useGround } from "../fixture.js";
import { ALL, approvalsOf, asked, WRITE } from "./approval-calls.js";

const ground = useGround();
const { issue, decide, logIn, open } = approvalsOf(ground);

test("each sees what it asked for, and whoever may decide sees all", async () => {
  await open();
  const agents = await Promise.all(["one", "two"].map((label) => issue({ label, caps: [ALL] })));
  const ids: string[] = [];
  for (const { token } of agents) {
    ids.push(asked(await ground.call("file:write", WRITE, { bearer: token })).approvalId);
  }
  const listed = async (bearer: string | undefined, input: object = {}) => {
    const { approvals } = (await ground.call("approval:list", input, { bearer })).output as {
      approvals: { id: string }[];
    };
    return approvals.map(({ id }) => id);
  };
  expect(await listed(agents[0]?.token)).toEqual([ids[0]]);
  const person = await logIn();
  expect(await listed(person)).toEqual([...ids].reverse());
  expect((await ground.call("approval:list", { limit: 1 }, { bearer: person })).output).toMatchObject({
    ...{ complete: false, reason: "limit", approvals: [{ id: ids[1] }] },
  });
  await decide(ids[0] ?? "", { bearer: person }, "deny");
  expect(await listed(person)).toEqual([ids[1]]);
  expect(await listed(person, { state: "all" })).toEqual([...ids].reverse());
  expect(await listed(undefined)).toEqual([]);
});

test("a UCAN that narrows its DID sees what was asked for with it, and asks for itself", async () => {
  await ground.open({
    auth: { grants: [{ did: ground.bob.did, with: "file://docs/", can: "crud" }] },
    file: { roots: { docs: { path: "docs", approve: { for: ["all"] } } } },
  });
  const narrow = (await ground.bob.grant(ground.venue, [{ with: "file://docs/sub/", can: "crud" }])).token;
  const ask = async (by: CallOptions) => asked(await ground.call("file:write", WRITE, by)).approvalId;
  const idOf = async (id: string, by: CallOptions) => (await ground.call("approval:get", { id }, by)).output?.["id"];
  const [whole, own] = [{ as: ground.bob }, { bearer: narrow }];
  const [first, second] = [await ask(whole), await ask(own)];
  expect(second).not.toBe(first);
  expect([await ask(whole), await ask(own)].toSorted()).toEqual([first, second].toSorted());
  expect([
    await idOf(first, own),
    await idOf(second, own),
    await idOf(first, whole),
    await idOf(second, whole),
  ]).toEqual([...[undefined, second, first, second]]);
});
