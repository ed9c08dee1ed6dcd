import { beforeEach, describe, expect, test } from "@jest/globals";
import { type CallOptions, useGround } from "../fixture.js";
import { ALL, type ApproveRule, approvalsOf, asked, WRITE } from "./approval-calls.js";

const ground = useGround();
const { issue, textOf, logIn, decide, open, mcp } = approvalsOf(ground);

describe("who may decide", () => {
  const ask = async (by: CallOptions) => asked(await ground.call("file:write", WRITE, by)).approvalId;
  const refusal = (text: string) => ({ errorCode: "CAPABILITY_DENIED", error: expect.stringContaining(text) });
  const APPROVER = [{ with: "file://docs/", can: "approve" }];

  beforeEach(() => open());

  test("a token whose caps name the ability, and none that has everything else", async () => {
    const agent = { bearer: (await issue({ label: "agent", caps: [ALL] })).token };
    const id = await ask(agent);
    const all = { bearer: (await issue({ label: "all", caps: [{ with: "file://", can: "*" }] })).token };
    expect(await decide(id, all)).toMatchObject({ errorCode: "CAPABILITY_DENIED" });
    const elsewhere = [{ with: "file://tmp/", can: "approve" }];
    const other = { bearer: (await issue({ label: "elsewhere", caps: elsewhere })).token };
    expect(await decide(id, other)).toMatchObject({ errorCode: "CAPABILITY_DENIED" });
    const approver = { bearer: (await issue({ label: "approver", caps: APPROVER })).token };
    expect(await decide(id, approver)).toMatchObject({ output: { state: "once" } });
    // Without the right to read, it sees no content.
    expect((await ground.call("approval:get", { id }, approver)).output).not.toHaveProperty("diff");
  });

  test("not the agent itself, though it holds the ability: over MCP it never does, over HTTP it is the same", async () => {
    const agent = { bearer: (await issue({ label: "agent", caps: [ALL, ...APPROVER] })).token };
    const text = await mcp(agent.bearer, "file_write", WRITE);
    const id = /approval: \\"([0-9a-f]{32})/.exec(text)?.[1] ?? "";
    expect(textOf("sub/a.txt")).toBe("one\ntwo\n");
    expect(await decide(id, agent)).toMatchObject(refusal("the credential that made the call"));
    expect(await decide(id, { bearer: await logIn() })).toMatchObject({ output: { state: "once" } });
    await mcp(agent.bearer, "file_write", { ...WRITE, approval: id });
    expect(textOf("sub/a.txt")).toBe("new\n");
  });

  test("not what a model had issued for itself", async () => {
    await ground.venue.close();
    await ground.open({ mcp: { includeAdapters: ["file", "auth", "ucan"] } });
    const own = ground.venue.localToken;
    for (const caps of [undefined, APPROVER]) {
      expect(await mcp(own, "auth_issue", { label: "x", caps })).toContain("CAPABILITY_DENIED");
    }
    const issued = await mcp(own, "ucan_issue", { aud: ground.bob.did, att: APPROVER });
    expect(issued).toContain("CAPABILITY_DENIED");
    expect(await mcp(own, "auth_issue", { label: "x", caps: [ALL] })).toContain("vft_");
  });

  test("not a token or session that was made by the one that asked, nor by who made it", async () => {
    const session = (await issue({ label: "agent's session" })).token;
    const caps = [ALL, ...APPROVER];
    const made = (await issue({ label: "made", caps }, { bearer: session })).token;
    const madeSession = (await issue({ label: "made session" }, { bearer: session })).token;
    const narrowed = { bearer: session, caps: [ALL] };
    const id = await ask(narrowed);
    for (const bearer of [made, madeSession]) {
      expect(await decide(id, { bearer })).toMatchObject(refusal("was made by the one that made the call"));
    }
    expect(await decide(id, { bearer: session })).toMatchObject(refusal("the credential that made the call"));
    const ofMade = await ask({ bearer: made, caps: [ALL] });
    expect(await decide(ofMade, { bearer: session })).toMatchObject(refusal("made the one that made the call"));
  });

  test("a person signed in by a link may for the tokens that were issued there", async () => {
    const person = await logIn();
    const agent = { bearer: (await issue({ label: "agent", caps: [ALL] }, { bearer: person })).token };
    expect(await decide(await ask(agent), { bearer: person })).toMatchObject({ output: { state: "once" } });
  });

  test("the operator by the local token only with the code that the terminal shows", async () => {
    const agent = { bearer: (await issue({ label: "agent", caps: [ALL] })).token };
    const id = await ask(agent);
    const own = { bearer: ground.venue.localToken };
    expect(await decide(id, own)).toMatchObject({ errorCode: "CAPABILITY_DENIED" });
    const { code } = (await ground.call("approval:get", { id }, own)).output;
    expect((await ground.call("approval:get", { id }, agent)).output).not.toHaveProperty("code");
    expect(await decide(id, own, "once", { code })).toMatchObject({ output: { state: "once" } });
  });

  test("not an identity by another token of the same key", async () => {
    await ground.venue.close();
    const approve: ApproveRule = { for: ["all"] };
    await ground.open({
      auth: { grants: [ALL, ...APPROVER].map((one) => ({ did: ground.bob.did, ...one })) },
      file: { roots: { docs: { path: "docs", approve } } },
    });
    const id = await ask({ as: ground.bob, caps: [ALL] });
    expect(await decide(id, { as: ground.bob })).toMatchObject(refusal("the credential that made the call"));
  });
});
