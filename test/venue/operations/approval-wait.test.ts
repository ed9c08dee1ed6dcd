import { expect, test } from "@jest/globals";
import { ALL, approvalsOf, asked, WRITE } from "./approval-calls.js";
import { useGround } from "./fixture.js";

const ground = useGround();
const { issue, decide, logIn, open } = approvalsOf(ground);

test("answers as soon as somebody has decided, and when the time is over", async () => {
  await open();
  const agent = { bearer: (await issue({ caps: [ALL] })).token };
  const { approvalId: id } = asked(await ground.call("file:write", WRITE, agent));
  expect((await ground.call("approval:wait", { id, waitMs: 10 }, agent)).output).toMatchObject({ state: "pending" });
  const waiting = ground.call("approval:wait", { id }, agent);
  await decide(id, { bearer: await logIn() }, "deny");
  expect((await waiting).output).toMatchObject({ state: "denied" });
  expect((await ground.call("approval:wait", { id }, agent)).output).toMatchObject({ state: "denied" });
});
