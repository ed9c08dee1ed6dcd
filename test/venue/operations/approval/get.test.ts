import { expect, test } from "@jest/globals";
import { useGround } from "../fixture.js";
import { ALL, approvalsOf, asked, WRITE } from "./approval-calls.js";

const ground = useGround();
const { issue, logIn, open } = approvalsOf(ground);

test("the difference is shown to those who may read, effects to all who may look", async () => {
  await open();
  const writer = { bearer: (await issue({ caps: [{ ...ALL, can: "crud/write" }] })).token };
  const refused = asked(await ground.call("file:write", WRITE, writer));
  expect(refused).not.toHaveProperty("diff");
  const { output } = await ground.call("approval:get", { id: refused.approvalId }, writer);
  expect(output).toMatchObject({
    state: "pending",
    effect: [{ root: "docs", path: "sub/a.txt", action: "overwrite" }],
  });
  expect(output).not.toHaveProperty("diff");
  const reader = { bearer: (await issue({ caps: [ALL] })).token };
  const { approvalId } = asked(await ground.call("file:write", WRITE, reader));
  const person = { bearer: await logIn() };
  expect((await ground.call("approval:get", { id: approvalId }, person)).output["diff"]).toContain("+new");
  expect(await ground.call("approval:get", { id: "none" }, person)).toMatchObject({ errorCode: "CAPABILITY_DENIED" });
});
