import { expect, test } from "@jest/globals";
import { useGround } from "../fixture.js";
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
