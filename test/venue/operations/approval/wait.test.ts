import { expect, test } from "@jest/globals";
import { invoke, send } from "../../../surfaces/http/client.js";
import { useGround } from "../fixture.js";
import { ALL, approvalsOf, asked, WRITE } from "./approval-calls.js";

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

test("a stream of a job ends upon the revocation of the token that opened it", async () => {
  await open();
  const agent = await issue({ caps: [ALL] });
  const { approvalId: id } = asked(await ground.call("file:write", WRITE, { bearer: agent.token }));
  const { url } = ground.venue;
  const started = await invoke(url, { operation: "approval:wait", input: { id } }, agent.token);
  const job = (await started.json()) as { id: string; status: string };
  expect(job.status).toBe("STARTED");
  const stream = await send(`${url}/api/v1/jobs/${job.id.slice(2)}/sse`, { token: agent.token });
  const reader = stream.body?.getReader();
  const ended = (async () => {
    while ((await reader?.read())?.done === false);
  })().catch(() => {});
  await ground.byOperator("auth:revoke", { id: agent.id });
  await ended;
  await decide(id, { bearer: await logIn() }, "deny");
});
