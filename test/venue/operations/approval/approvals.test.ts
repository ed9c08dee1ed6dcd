import { beforeEach, describe, expect, test } from "@jest/globals";
import { invoke, send } from "../../../surfaces/http/client.js";
import { type CallOptions, useGround } from "../fixture.js";
import { ALL, type ApproveRule, approvalsOf, asked, WRITE } from "./approval-calls.js";

const ground = useGround();

describe("who may decide", () => {
  const { issue, textOf, logIn, decide, open, mcp } = approvalsOf(ground);

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

describe("approval:get", () => {
  const { issue, logIn, open } = approvalsOf(ground);

  test("what is there is shown to those who may read or decide, by etag, size or otherwise", async () => {
    await open();
    const writer = { bearer: (await issue({ caps: [{ ...ALL, can: "crud/write" }] })).token };
    const remover = { bearer: (await issue({ caps: [{ ...ALL, can: "crud/delete" }] })).token };
    const plain = {
      root: "docs",
      path: "sub/a.txt",
      action: "edit",
      before: { type: "file" },
      after: { type: "file" },
    };
    const { root: _, ...inError } = plain;
    const edit = {
      root: "docs",
      patch: "*** Begin Patch\n*** Update File: sub/a.txt\n@@\n-one\n+1\n two\n*** End Patch\n",
    };
    const added = asked(await ground.call("file:append", { root: "docs", path: "sub/a.txt", content: "x" }, writer));
    const edited = asked(await ground.call("file:patch", edit, writer));
    const removed = asked(await ground.call("file:delete", { root: "docs", path: "sub", recursive: true }, remover));
    expect(added.effect).toEqual([inError]);
    expect(edited.effect).toEqual([{ ...inError, action: "overwrite" }]);
    expect(removed.effect).toEqual([{ path: "sub", action: "delete", before: { type: "directory" } }]);
    const effectFor = async (by: object) =>
      (await ground.call("approval:get", { id: added.approvalId }, by)).output["effect"];
    expect(await effectFor(writer)).toEqual([plain]);
    const decider = { bearer: (await issue({ caps: [{ ...ALL, can: "approve" }] })).token };
    for (const by of [decider, { bearer: await logIn() }]) {
      expect(await effectFor(by)).toMatchObject([{ before: { etag: expect.any(String), size: 8 } }]);
    }
  });

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
});

describe("approval:list", () => {
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
});

describe("approval:wait", () => {
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
});
