import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { run, send } from "../surfaces/http/client.js";
import { ALL, type Asked, approvalsOf, asked, WRITE } from "./operations/approval/approval-calls.js";
import { type CallOptions, useGround } from "./operations/fixture.js";

const ground = useGround();
const { issue, textOf, logIn, decide, open } = approvalsOf(ground);

describe("a change that a person has to allow", () => {
  let agent: CallOptions = {};
  let person: CallOptions = {};
  const write = (more: object = {}) => ground.call("file:write", { ...WRITE, ...more }, agent);

  beforeEach(async () => {
    await open();
    agent = { bearer: (await issue({ label: "agent", caps: [ALL] })).token };
    person = { bearer: await logIn() };
  });

  test("changes nothing, says what it would do, and is done once it is allowed, once", async () => {
    const { approvalId, effect, diff, expires } = asked(await write());
    expect(textOf("sub/a.txt")).toBe("one\ntwo\n");
    expect(effect).toEqual([
      {
        ...{ path: "sub/a.txt", action: "overwrite" },
        before: { type: "file", etag: expect.any(String), sha256: expect.any(String), size: 8 },
        after: { type: "file", etag: expect.any(String), sha256: expect.any(String), size: 4 },
      },
    ]);
    expect(diff).toContain("-one\n-two\n+new\n");
    expect(expires - Date.now()).toBeGreaterThan(9 * 60_000);
    expect((await ground.call("approval:list", {}, person)).output).toMatchObject({
      approvals: [{ id: approvalId, state: "pending", operation: "file:write" }],
    });
    expect((await ground.call("approval:get", { id: approvalId }, person)).output).toMatchObject({ diff });
    const waiting = ground.call("approval:wait", { id: approvalId, waitMs: 20_000 }, agent);
    expect(await decide(approvalId, person, "once", { note: "fine" })).toMatchObject({ output: { state: "once" } });
    expect((await waiting).output).toMatchObject({ state: "once", note: "fine", by: ground.venue.did });
    expect(textOf("sub/a.txt")).toBe("one\ntwo\n");
    expect(await write({ approval: approvalId })).toMatchObject({ status: "COMPLETE" });
    expect(textOf("sub/a.txt")).toBe("new\n");
    writeFileSync(join(ground.base, "docs/sub/a.txt"), "one\ntwo\n");
    expect(await write({ approval: approvalId })).toMatchObject({
      errorCode: "APPROVAL_DENIED",
      errorData: { reason: "used" },
    });
  });

  test("shows what an append adds to a file in UTF-16", async () => {
    const text = Buffer.from("\ufeffé\n", "utf16le");
    writeFileSync(join(ground.base, "docs/sub/a.txt"), text);
    const add = (more: object = {}) =>
      ground.call("file:append", { root: "docs", path: "sub/a.txt", content: "x", ...more }, agent);
    const { approvalId, effect } = asked(await add());
    expect(effect).toMatchObject([{ action: "edit", before: { size: 6 }, after: { size: 2 } }]);
    await decide(approvalId, person, "once");
    expect(await add({ approval: approvalId })).toMatchObject({ output: { appended: 2, size: 8 } });
    expect(readFileSync(join(ground.base, "docs/sub/a.txt"), "utf16le")).toBe("\ufeffé\nx");
  });

  test("is 403 at the endpoint that answers errors, and no other caller's business", async () => {
    const response = await run(ground.venue.url, "file:write", WRITE, agent.bearer);
    expect(response.status).toBe(403);
    const { errorData } = (await response.json()) as { errorData: Asked };
    const other = { bearer: (await issue({ label: "other", caps: [ALL] })).token };
    for (const operation of ["approval:get", "approval:wait", "approval:decide"]) {
      const more = operation === "approval:decide" ? { decision: "once" } : {};
      const texts = new Set<string>();
      for (const id of [errorData.approvalId, "0".repeat(32)]) {
        const answer = await ground.call(operation, { id, ...more }, other);
        expect(answer.errorCode).toBe("CAPABILITY_DENIED");
        texts.add(answer.error);
      }
      expect(texts.size).toBe(1);
    }
    expect((await ground.call("approval:list", {}, other)).output).toEqual({ approvals: [], complete: true });
    const used = await ground.call("file:write", { ...WRITE, approval: errorData.approvalId }, other);
    expect(used).toMatchObject({ errorData: { reason: "other_input" } });
  });

  test("that was denied stays undone", async () => {
    const { approvalId } = asked(await write());
    await decide(approvalId, person, "deny", { note: "no" });
    expect(await write({ approval: approvalId })).toMatchObject({ errorData: { reason: "denied" } });
    expect(textOf("sub/a.txt")).toBe("one\ntwo\n");
  });

  test("is asked about once, however often it is called, and decided once", async () => {
    const first = asked(await write());
    expect(asked(await write()).approvalId).toBe(first.approvalId);
    expect(asked(await write({ approval: first.approvalId })).approvalId).toBe(first.approvalId);
    const both = await Promise.all([decide(first.approvalId, person), decide(first.approvalId, person, "deny")]);
    expect(both.map(({ status }) => status).sort()).toEqual(["COMPLETE", "FAILED"]);
    expect(both.find(({ status }) => status === "FAILED")?.errorCode).toBe("CONFLICT");
  });

  test.each([
    ["other content", { content: "evil\n" }],
    ["another path", { path: "sub/b.txt" }],
    ["another option", { parents: true }],
  ])("is not done with %s", async (_title, change) => {
    writeFileSync(join(ground.base, "docs/sub/b.txt"), "b");
    const { approvalId } = asked(await write());
    await decide(approvalId, person);
    expect(await write({ ...change, approval: approvalId })).toMatchObject({ errorData: { reason: "other_input" } });
    expect([textOf("sub/a.txt"), textOf("sub/b.txt")]).toEqual(["one\ntwo\n", "b"]);
  });

  test("is not done when the file has changed in between", async () => {
    const { approvalId } = asked(await write());
    await decide(approvalId, person);
    writeFileSync(join(ground.base, "docs/sub/a.txt"), "somebody else\n");
    expect(await write({ approval: approvalId })).toMatchObject({ errorData: { reason: "changed" } });
    expect(textOf("sub/a.txt")).toBe("somebody else\n");
  });

  test.each<[string, string, object, object]>([
    ["delete", "file:delete", { root: "docs", path: "sub/a.txt" }, { action: "delete" }],
    ["delete of a tree", "file:delete", { root: "docs", path: "sub", recursive: true }, { before: { entries: 1 } }],
    ["edit", "file:edit", { root: "docs", path: "sub/a.txt", oldText: "one", newText: "1" }, { action: "edit" }],
    [
      "patch",
      "file:patch",
      { root: "docs", patch: "*** Begin Patch\n*** Update File: sub/a.txt\n@@\n-one\n+1\n two\n*** End Patch\n" },
      { action: "overwrite" },
    ],
    ["append", "file:append", { root: "docs", path: "sub/a.txt", content: "x" }, { action: "edit" }],
    ["move", "file:move", { root: "docs", path: "sub/a.txt", to: "b.txt" }, { action: "move", to: "b.txt" }],
    [
      "move to another root",
      "file:move",
      { root: "docs", path: "sub/a.txt", toRoot: "tmp", to: "b" },
      { action: "move" },
    ],
    [
      "copy over a file",
      "file:copy",
      { root: "docs", path: "c.txt", to: "sub/a.txt", overwrite: true },
      { action: "overwrite" },
    ],
  ])("is each of its kind: %s", async (_title, operation, input, effect) => {
    writeFileSync(join(ground.base, "docs/c.txt"), "c");
    const caps = [ALL, { with: "file://tmp/", can: "*" }];
    const bearer = { bearer: (await issue({ label: "agent", caps })).token };
    const before = await ground.byOperator("file:tree", { root: "docs", path: "" });
    const { approvalId, effect: effects } = asked(await ground.call(operation, input, bearer));
    expect(effects[0]).toMatchObject(effect);
    expect((await ground.byOperator("file:tree", { root: "docs", path: "" })).output).toEqual(before.output);
    expect((await ground.byOperator("file:list", { root: "tmp", path: "" })).output).toMatchObject({ entries: [] });
    await decide(approvalId, person);
    const done = await ground.call(operation, { ...input, approval: approvalId }, bearer);
    expect(done.error).toBeUndefined();
  });

  test("is asked of PUT and WebDAV too, by their headers", async () => {
    const headers = { authorization: `Bearer ${agent.bearer}` };
    const put = (body: string, more: Record<string, string> = {}, place = "api/v1/files") =>
      fetch(`${ground.venue.url}/${place}/docs/sub/a.txt`, { method: "PUT", body, headers: { ...headers, ...more } });
    const first = await put("new\n");
    expect(first.status).toBe(403);
    const { errorCode, errorData } = (await first.json()) as { errorCode: string; errorData: Asked };
    expect(errorCode).toBe("APPROVAL_REQUIRED");
    expect(errorData.diff).toContain("+new");
    await decide(errorData.approvalId, person);
    const allowed = { "venue-approval": errorData.approvalId };
    expect((await put("evil\n", allowed)).status).toBe(403);
    expect(textOf("sub/a.txt")).toBe("one\ntwo\n");
    expect((await put("new\n", {}, "dav")).status).toBe(403);
    expect((await put("new\n", allowed)).status).toBe(204);
    expect(textOf("sub/a.txt")).toBe("new\n");
  });

  test("is asked of whoever asked for a ticket over MCP, though the operator's own", async () => {
    const { mcp } = approvalsOf(ground);
    await ground.venue.close();
    const docs = { path: "docs", approve: { for: ["overwrite" as const] } };
    await ground.open({ mcp: { tools: "full" }, file: { roots: { docs } } });
    const href = /"href":"([^"]+)"/.exec(
      (
        await mcp(ground.venue.localToken, "file_transfer", { root: "docs", path: "sub/a.txt", direction: "upload" })
      ).replaceAll("\\", ""),
    )?.[1];
    const response = await fetch(String(href), { method: "PUT", body: "evil" });
    expect(response.status).toBe(403);
    expect(textOf("sub/a.txt")).toBe("one\ntwo\n");
  });

  test("is not asked about where a precondition refuses it", async () => {
    for (const condition of [{ ifNoneMatch: "*" }, { ifMatch: "aaaaaaaa" }]) {
      expect(await write(condition)).toMatchObject({ errorCode: "CONFLICT" });
    }
  });

  test("has nothing to ask where nothing is there, and two that create one file ask for the second", async () => {
    const create = (content: string) => ground.call("file:write", { root: "docs", path: "n.txt", content }, agent);
    const answers = await Promise.all([create("1"), create("2"), create("3")]);
    expect(answers.filter(({ status }) => status === "COMPLETE")).toHaveLength(1);
    expect(answers.filter(({ errorCode }) => errorCode === "APPROVAL_REQUIRED")).toHaveLength(2);
  });
});

describe("what needs no approval", () => {
  const small = { root: "docs", path: "sub/a.txt", content: "x" };

  test("is what stays within 'over'", async () => {
    await open({ for: ["all"], over: { bytes: 8, entries: 1 } });
    const agent = { bearer: (await issue({ caps: [ALL] })).token };
    expect(await ground.call("file:write", small, agent)).toMatchObject({ status: "COMPLETE" });
    const long = { ...small, path: "long.txt", content: "123456789" };
    asked(await ground.call("file:write", long, agent));
    asked(await ground.call("file:delete", { root: "docs", path: "sub", recursive: true }, agent));
  });

  test("counts the larger of what goes and what comes, and what is not known as more", async () => {
    await open({ for: ["all"], over: { bytes: 1024, entries: 10 } });
    const bearer = (await issue({ caps: [ALL] })).token;
    const call = (operation: string, input: object) => ground.call(operation, { root: "docs", ...input }, { bearer });
    const put = (path: string, size: number) => writeFileSync(join(ground.base, "docs", path), "x".repeat(size));
    put("empty", 0);
    put("small", 1000);
    put("large", 5000);
    for (const [name, files, size] of [
      ["few", 3, 300],
      ["many", 12, 0],
      ["heavy", 3, 500],
    ] as const) {
      mkdirSync(join(ground.base, "docs", name));
      for (let index = 0; index < files; index += 1) put(`${name}/${index}`, size);
    }
    const copyOf = (path: string, more: object = {}) =>
      call("file:copy", { path, to: `${path}-copy`, recursive: true, ...more });
    for (const path of ["small", "few"]) expect((await copyOf(path)).error).toBeUndefined();
    const sizes = { large: { size: 5000 }, many: { entries: 12 }, heavy: { entries: 3, size: 1500 } };
    for (const [path, after] of Object.entries(sizes)) {
      expect(asked(await copyOf(path)).effect).toMatchObject([{ path: `${path}-copy`, action: "create", after }]);
      expect(existsSync(join(ground.base, "docs", `${path}-copy`))).toBe(false);
    }
    asked(await copyOf("large", { to: "empty", overwrite: true }));
    asked(await call("file:write", { path: "empty", content: "x".repeat(5000) }));
    const destination = `${ground.venue.url}/dav/docs/many-dav`;
    const response = await send(`${ground.venue.url}/dav/docs/many`, {
      token: bearer,
      method: "COPY",
      headers: { destination },
    });
    expect([response.status, existsSync(join(ground.base, "docs/many-dav"))]).toEqual([403, false]);
    const person = { bearer: await logIn() };
    const { approvalId } = asked(await copyOf("many"));
    await decide(approvalId, person);
    expect((await copyOf("many", { approval: approvalId })).error).toBeUndefined();
    expect(existsSync(join(ground.base, "docs/many-copy/11"))).toBe(true);
    // The journal brings back a content whose size the gate does not see.
    expect((await ground.byOperator("file:delete", { root: "docs", path: "large" })).error).toBeUndefined();
    const { output } = await ground.byOperator("file:trash", { root: "docs" });
    const [entry] = output["entries"] as { id: string }[];
    asked(await call("file:undo", { ids: [entry?.id] }));
  });

  test("is what the operator, an owner and whoever holds the ability does, but not by MCP", async () => {
    await ground.open({
      auth: { grants: [{ did: ground.bob.did, ...ALL }] },
      file: { roots: { docs: { path: "docs", owner: ground.alice.did, approve: { for: ["all"] } } } },
    });
    expect(await ground.byOperator("file:write", small)).toMatchObject({ status: "COMPLETE" });
    expect(await ground.call("file:write", small, { as: ground.alice })).toMatchObject({ status: "COMPLETE" });
    asked(await ground.call("file:write", small, { as: ground.bob }));
    const { approvalId } = asked(
      await ground.call("file:delete", { root: "docs", path: "sub/a.txt" }, { as: ground.bob }),
    );
    expect(await decide(approvalId, { as: ground.alice })).toMatchObject({ output: { state: "once" } });
  });

  test("a field 'approval' in a call that changes nothing is unknown, and elsewhere it is a string", async () => {
    await open();
    const read = { root: "docs", path: "sub/a.txt", approval: "x" };
    expect(await ground.byOperator("file:read", read)).toMatchObject({ errorCode: "INVALID_INPUT" });
    expect(await ground.byOperator("file:write", { ...small, approval: 7 })).toMatchObject({
      errorCode: "INVALID_INPUT",
    });
  });
});

test("a patch that renames the file whose content it replaces asks, where renaming alone does not", async () => {
  await open({ for: ["overwrite"] });
  const bearer = { bearer: (await issue({ label: "agent", caps: [ALL] })).token };
  const patch = (...lines: string[]) => ({
    root: "docs",
    patch: ["*** Begin Patch", "*** Update File: sub/a.txt", ...lines, "*** End Patch", ""].join("\n"),
  });
  const input = patch("*** Move to: b.txt", "@@", "-one", "-two", "+evil");
  const { approvalId, effect, diff } = asked(await ground.call("file:patch", input, bearer));
  expect(effect).toMatchObject([
    { path: "sub/a.txt", action: "move", to: "b.txt" },
    { path: "b.txt", action: "overwrite", before: { type: "file", size: 8 }, after: { size: 5 } },
  ]);
  expect(diff).toContain("-one\n-two\n+evil\n");
  expect(textOf("sub/a.txt")).toBe("one\ntwo\n");
  await decide(approvalId, { bearer: await logIn() });
  expect((await ground.call("file:patch", { ...input, approval: approvalId }, bearer)).error).toBeUndefined();
  expect(textOf("b.txt")).toBe("evil\n");
  const back = { ...patch(), patch: "*** Begin Patch\n*** Update File: b.txt\n*** Move to: c.txt\n*** End Patch\n" };
  expect((await ground.call("file:patch", back, bearer)).error).toBeUndefined();
});
