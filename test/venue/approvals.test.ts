import { existsSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "@jest/globals";
import type { VenueConfigInput } from "../../src/index.js";
import { run, send } from "../surfaces/http/client.js";
import { ALL, type Asked, approvalsOf, asked, WRITE } from "./operations/approval/approval-calls.js";
import { type CallOptions, type Person, useGround } from "./operations/fixture.js";

const ground = useGround();

describe("approvals", () => {
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
      const put = (body: string, headers: Record<string, string> = {}, place = "api/v1/files") =>
        send(`${ground.venue.url}/${place}/docs/sub/a.txt`, { token: agent.bearer, method: "PUT", body, headers });
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
});

describe("approvals by other surfaces", () => {
  const { issue, decide, logIn, mcp } = approvalsOf(ground);

  type Profiles = NonNullable<VenueConfigInput["profiles"]>;

  /** An agent of Alice's, with the rights of her own. */
  async function agentOfAlice(caps: readonly object[]): Promise<CallOptions> {
    return { bearer: (await issue({ label: "agent", caps }, { as: ground.alice })).token };
  }

  describe("a drive that asks a person", () => {
    const NOTE = { path: "a.txt", content: "one" };
    const CAPS = [
      { with: "file://mine/", can: "*" },
      { with: "dlfs://notes/", can: "*" },
    ];

    test.each([
      ["file:write", { root: "mine" }],
      ["dlfs:write", { drive: "notes" }],
    ])("asks its maker, and nobody who only has a drive of that name: %s", async (operation, place) => {
      const mine = { dlfs: "notes", approve: { for: ["overwrite" as const] } };
      await ground.open({ file: { roots: { mine } }, drives: { store: { path: "drives" } } });
      for (const as of [ground.alice, ground.bob]) {
        expect((await ground.call("dlfs:create-drive", { drive: "notes" }, { as })).error).toBeUndefined();
        expect((await ground.call(operation, { ...place, ...NOTE }, { as })).error).toBeUndefined();
      }
      const agent = await agentOfAlice(CAPS);
      const change = { ...place, ...NOTE, content: "two" };
      const { approvalId, effect } = asked(await ground.call(operation, change, agent));
      expect(effect).toMatchObject([{ path: "a.txt", action: "overwrite" }]);
      for (const call of ["approval:get", "approval:wait"]) {
        const answer = await ground.call(
          call,
          { id: approvalId, ...(call === "approval:wait" ? { waitMs: 1 } : {}) },
          {
            as: ground.bob,
          },
        );
        expect(answer.errorCode).toBe("CAPABILITY_DENIED");
      }
      expect((await decide(approvalId, { as: ground.bob })).errorCode).toBe("CAPABILITY_DENIED");
      expect((await ground.call("approval:list", {}, { as: ground.bob })).output).toMatchObject({ approvals: [] });
      const operator = { bearer: await logIn() };
      expect((await ground.call("approval:get", { id: approvalId }, operator)).output).not.toHaveProperty("diff");
      // The one who made the agent's token is too close; another token of hers that names the ability is not.
      expect((await decide(approvalId, { as: ground.alice })).errorCode).toBe("CAPABILITY_DENIED");
      const session = (await issue({ label: "page" }, { as: ground.alice })).token;
      expect(await decide(approvalId, { bearer: session })).toMatchObject({ output: { state: "once" } });
      expect((await ground.call(operation, { ...change, approval: approvalId }, agent)).error).toBeUndefined();
      const read = operation.replace("write", "read");
      expect((await ground.call(read, { ...place, path: "a.txt" }, agent)).output).toMatchObject({ content: "two" });
    });
  });

  describe("a profile on a root that asks a person", () => {
    const jettson = { profile: "jettson", root: "tmp", prefix: "a", shell: { driver: "just-bash" } } as const;
    const open = async (profiles: Profiles = { work: jettson }) => {
      await ground.open({
        profiles,
        mcp: { includeAdapters: ["work"] },
        file: { roots: { tmp: { temp: true, approve: { for: ["all"] } } } },
      });
      const caps = [
        { with: "file://tmp/", can: "*" },
        { with: "file://tmp/", can: "exec/run" },
      ];
      return { bearer: (await issue({ label: "agent", caps })).token };
    };
    const allow = async (text: string): Promise<string> => {
      const id = /approval: "([0-9a-f]{32})"/.exec(text.replaceAll("\\", ""))?.[1] ?? "none";
      expect(await decide(id, { bearer: await logIn() })).toMatchObject({ output: { state: "once" } });
      return id;
    };
    const contentOf = async (path: string) =>
      (await ground.byOperator("file:read", { root: "tmp", path })).output?.["content"];

    test("says what to do next, without its prefix, and takes the approval beside its arguments", async () => {
      const agent = await open();
      const write = { path: "f", content: "1" };
      const { output } = await ground.call("work:jettson_files_write", write, agent);
      expect(output["error"]).toContain("A person has to allow this");
      expect(JSON.stringify(output)).not.toContain("a/f");
      const id = await allow(String(output["error"]));
      const other = await ground.call("work:jettson_files_write", { ...write, content: "2", approval: id }, agent);
      expect(other.output["error"]).toContain("A person has to allow this");
      expect((await ground.call("work:jettson_files_write", { ...write, approval: id }, agent)).output).toMatchObject({
        path: "f",
      });
      expect(await contentOf("a/f")).toBe("1");
      const used = await ground.call("work:jettson_files_write", { ...write, approval: id }, agent);
      expect(used.output).toHaveProperty("error");
    });

    test("asks before it runs a command, about that command, and about all that it changes at once", async () => {
      const agent = await open();
      const run = (command: string, more: object = {}) =>
        mcp(agent.bearer, "work_jettson_shell_run", { command, ...more });
      const text = await run("echo 1 > x; echo 2 > y");
      const pending = (await ground.call("approval:list", {}, agent)).output as { approvals: Asked[] };
      expect(pending.approvals[0]?.effect).toMatchObject([
        { action: "exec", path: "a", command: expect.stringContaining("echo 1 > x") },
      ]);
      const id = await allow(text);
      expect(await run("echo evil > x", { approval: id })).toContain("A person has to allow this");
      expect(await contentOf("a/x")).toBeUndefined();
      expect(await run("echo 1 > x; echo 2 > y", { approval: id })).not.toContain("A person has to allow");
      expect([await contentOf("a/x"), await contentOf("a/y")]).toEqual(["1\n", "2\n"]);
      expect(await run("cat x", { approval: id })).toContain("A person has to allow this");
    });
  });
});

describe("approvals and links", () => {
  const { issue, decide, logIn } = approvalsOf(ground);
  const there = (path: string): string | undefined => {
    const place = join(ground.base, "docs", path);
    if (!existsSync(place)) return undefined;
    return statSync(place).isDirectory() ? "folder" : readFileSync(place, "utf8");
  };
  const put = (path: string, text: string) => writeFileSync(join(ground.base, "docs", path), text);
  const link = (target: string, path: string) => symlinkSync(target, join(ground.base, "docs", path));
  const crud = { with: "file://docs/", can: "crud" };
  const onPub = { with: "file://docs/pub/", can: "approve" };
  const files = () => ({ f: there("priv/f"), victim: there("priv/victim") });
  const untouched = { f: "secret\n", victim: "victim\n" };

  let person: CallOptions = {};
  /** May change everything, and approve in `pub`. */
  let agent: CallOptions = {};
  const call = (operation: string, input: object, by = agent) => ground.call(operation, { root: "docs", ...input }, by);

  beforeEach(async () => {
    for (const name of ["pub", "priv"]) mkdirSync(join(ground.base, "docs", name));
    put("pub/p", "one\n");
    put("priv/f", untouched.f);
    put("priv/victim", untouched.victim);
    link("../priv", "pub/ld");
    link("../priv/f", "pub/lf");
    await ground.open({ file: { roots: { docs: { path: "docs", approve: { for: ["all"] } } } } });
    agent = { bearer: (await issue({ label: "agent", caps: [crud, onPub] })).token };
    person = { bearer: await logIn() };
  });

  describe("whoever may approve in one folder", () => {
    test("is not asked there", async () => {
      expect((await call("file:write", { path: "pub/p", content: "two\n" })).error).toBeUndefined();
      expect((await call("file:move", { path: "pub/p", to: "pub/q" })).error).toBeUndefined();
      expect((await call("file:delete", { path: "pub/q" })).error).toBeUndefined();
    });

    test("is asked about a patch that changes other folders too", async () => {
      const patch = [
        ...["*** Begin Patch", "*** Update File: pub/p", "@@", "-one", "+two", "*** Update File: priv/f", "@@"],
        ...["-secret", "+evil", "*** Delete File: priv/victim", "*** End Patch", ""],
      ].join("\n");
      const { approvalId, effect } = asked(await call("file:patch", { patch }));
      expect(effect).toMatchObject([{ path: "pub/p" }, { path: "priv/f" }, { path: "priv/victim", action: "delete" }]);
      expect([files(), there("pub/p")]).toEqual([untouched, "one\n"]);
      await decide(approvalId, person);
      expect((await call("file:patch", { patch, approval: approvalId })).error).toBeUndefined();
      expect(files()).toEqual({ f: "evil\n", victim: undefined });
    });

    test("is asked about a move out of it, and into it", async () => {
      const out = { path: "pub/p", to: "priv/f", overwrite: true };
      expect(asked(await call("file:move", out)).effect).toMatchObject([{ action: "move" }, { action: "overwrite" }]);
      asked(await call("file:move", { path: "priv/f", to: "pub/f" }));
      expect(files()).toEqual(untouched);
    });

    test.each<[string, string, object]>([
      ["a write", "file:write", { path: "pub/lf", content: "evil\n" }],
      ["a write into a folder", "file:write", { path: "pub/ld/f", content: "evil\n" }],
      ["a new file", "file:write", { path: "pub/ld/new", content: "evil\n" }],
      ["an edit", "file:edit", { path: "pub/ld/f", oldText: "secret", newText: "evil" }],
      ["an append", "file:append", { path: "pub/lf", content: "evil\n" }],
      ["a folder", "file:mkdir", { path: "pub/ld/new" }],
      ["a copy", "file:copy", { path: "pub/p", to: "pub/ld/new" }],
      ["a deletion", "file:delete", { path: "pub/ld/f" }],
      ["a move from there", "file:move", { path: "pub/ld/f", to: "pub/f" }],
      ["a move to there", "file:move", { path: "pub/p", to: "pub/ld/f", overwrite: true }],
      ["a patch", "file:patch", { patch: "*** Begin Patch\n*** Delete File: pub/ld/f\n*** End Patch\n" }],
    ])("is asked about what links lead to: %s", async (_title, operation, input) => {
      const { approvalId, effect } = asked(await call(operation, input));
      const real = expect.stringMatching(/^priv\/(f|new)$/);
      expect(effect).toContainEqual(
        expect.objectContaining(effect.some(({ toReal }) => toReal) ? { toReal: real } : { real }),
      );
      expect([files(), there("priv/new")]).toEqual([untouched, undefined]);
      await decide(approvalId, person);
      expect((await call(operation, { ...input, approval: approvalId })).error).toBeUndefined();
      expect([files(), there("priv/new")]).not.toEqual([untouched, undefined]);
    });

    test("may remove and rename a link there: what it leads to stays", async () => {
      const narrow = [{ ...crud, with: "file://docs/pub/" }, onPub];
      const inPub = { bearer: (await issue({ label: "in pub", caps: narrow })).token };
      expect((await call("file:move", { path: "pub/lf", to: "pub/lg" }, inPub)).error).toBeUndefined();
      expect((await call("file:delete", { path: "pub/lg" }, inPub)).error).toBeUndefined();
      expect((await call("file:delete", { path: "pub/ld" }, inPub)).error).toBeUndefined();
      expect(files()).toEqual(untouched);
    });

    test("neither decides about what links lead to, nor is shown it", async () => {
      const reads = { ...onPub, can: "crud/read" };
      const decider = { bearer: (await issue({ label: "decider", caps: [onPub, reads] })).token };
      const other = { bearer: (await issue({ label: "other", caps: [crud] })).token };
      const edit = { oldText: "secret", newText: "evil" };
      const { approvalId } = asked(await call("file:edit", { path: "pub/ld/f", ...edit }, other));
      expect((await ground.call("approval:get", { id: approvalId }, decider)).errorCode).toBe("CAPABILITY_DENIED");
      expect((await ground.call("approval:list", {}, decider)).output["approvals"]).toEqual([]);
      expect((await decide(approvalId, decider)).errorCode).toBe("CAPABILITY_DENIED");
      const here = asked(await call("file:edit", { path: "pub/p", oldText: "one", newText: "two" }, other));
      expect((await decide(here.approvalId, decider)).output).toMatchObject({ state: "once" });
      // Who may approve everything is not thereby one who may read everything.
      const blind = { bearer: (await issue({ label: "blind", caps: [{ ...crud, can: "approve" }, reads] })).token };
      const { output } = await ground.call("approval:get", { id: approvalId }, blind);
      expect(output["effect"]).toMatchObject([{ path: "pub/ld/f", real: "priv/f", action: "edit" }]);
      expect(output).not.toHaveProperty("diff");
    });
  });

  test("an approval holds only while links lead where they did", async () => {
    mkdirSync(join(ground.base, "docs/else"));
    put("else/f", untouched.f);
    const input = { path: "pub/ld/f", content: "evil\n" };
    const { approvalId } = asked(await call("file:write", input));
    await decide(approvalId, person);
    rmSync(join(ground.base, "docs/pub/ld"));
    link("../else", "pub/ld");
    expect(await call("file:write", { ...input, approval: approvalId })).toMatchObject({
      errorData: { reason: "changed" },
    });
    expect([files(), there("else/f")]).toEqual([untouched, untouched.f]);
  });
});

describe("approvals in two roots", () => {
  const { issue, decide, logIn } = approvalsOf(ground);
  const MOVE = { root: "docs", path: "sub/a.txt", toRoot: "archive", to: "a.txt", overwrite: true };
  const ALL = ["docs", "archive"].map((root) => ({ with: `file://${root}/`, can: "*" }));

  const there = (place: string): string | undefined => {
    const path = join(ground.base, place);
    return existsSync(path) ? readFileSync(path, "utf8") : undefined;
  };
  const untouched = { from: "docs", to: "old\n" };
  const places = () => ({ from: there("docs/sub/a.txt"), to: there("archive/a.txt") });

  type Both<T> = { readonly docs?: T; readonly archive?: T };

  async function open(owners: Both<Person> = {}, asks: Both<readonly ("delete" | "all")[]> = {}): Promise<CallOptions> {
    mkdirSync(join(ground.base, "archive"));
    writeFileSync(join(ground.base, "archive/a.txt"), "old\n");
    const root = (name: "docs" | "archive") => ({
      ...{ path: name, approve: { for: asks[name] ?? ["all" as const] } },
      ...(owners[name] === undefined ? {} : { owner: owners[name].did }),
    });
    await ground.open({ file: { roots: { docs: root("docs"), archive: root("archive") } } });
    return { bearer: (await issue({ label: "agent", caps: ALL })).token };
  }

  describe("a call that two roots ask about", () => {
    let agent: CallOptions = {};
    let person: CallOptions = {};
    const move = (more: object = {}) => ground.call("file:move", { ...MOVE, ...more }, agent);

    beforeEach(async () => {
      agent = await open();
      person = { bearer: await logIn() };
    });

    test("is asked about once, with all that it does in both", async () => {
      const { approvalId, effect } = asked(await move());
      expect(effect).toMatchObject([
        { path: "sub/a.txt", action: "move", before: { type: "file", size: 4 } },
        { root: "archive", path: "a.txt", action: "overwrite", before: { type: "file", size: 4 } },
      ]);
      expect(places()).toEqual(untouched);
      // Called too early, with the approval or without, it is the same one that has to be waited for.
      expect(asked(await move({ approval: approvalId })).approvalId).toBe(approvalId);
      expect(asked(await move()).approvalId).toBe(approvalId);
      const { output } = await ground.call("approval:get", { id: approvalId }, person);
      expect(output["effect"]).toMatchObject([{ root: "docs" }, { root: "archive" }]);
      await decide(approvalId, person);
      expect((await move({ approval: approvalId })).error).toBeUndefined();
      expect(places()).toEqual({ from: undefined, to: "docs" });
      writeFileSync(join(ground.base, "docs/sub/a.txt"), "docs");
      writeFileSync(join(ground.base, "archive/a.txt"), "old\n");
      expect(await move({ approval: approvalId })).toMatchObject({ errorData: { reason: "used" } });
      expect(places()).toEqual(untouched);
    });

    test.each(["docs/sub/a.txt", "archive/a.txt"])("is not done when %s has changed in between", async (changed) => {
      const { approvalId } = asked(await move());
      await decide(approvalId, person);
      writeFileSync(join(ground.base, changed), "somebody else\n");
      const before = places();
      expect(await move({ approval: approvalId })).toMatchObject({ errorData: { reason: "changed" } });
      expect(places()).toEqual(before);
    });

    test("of a folder shows the folder and what it replaces", async () => {
      const { approvalId, effect } = asked(await move({ path: "sub", to: "sub" }));
      expect(effect).toMatchObject([
        { path: "sub", action: "move", before: { type: "directory", entries: 1 } },
        { root: "archive", path: "sub", action: "create", after: { type: "directory" } },
      ]);
      expect(there("archive/sub/a.txt")).toBeUndefined();
      await decide(approvalId, person);
      expect((await move({ path: "sub", to: "sub", approval: approvalId })).error).toBeUndefined();
      expect([there("docs/sub/a.txt"), there("archive/sub/a.txt")]).toEqual([undefined, "docs"]);
    });

    test("is not asked about where it is refused anyway", async () => {
      expect(await move({ overwrite: false })).toMatchObject({ errorCode: "ALREADY_EXISTS" });
      expect((await ground.call("approval:list", {}, person)).output["approvals"]).toEqual([]);
    });

    test("needs who may decide on both", async () => {
      const half = { bearer: (await issue({ label: "half", caps: [{ with: "file://docs/", can: "approve" }] })).token };
      const { approvalId } = asked(await move());
      expect((await decide(approvalId, half)).errorCode).toBe("CAPABILITY_DENIED");
      expect(await decide(approvalId, person)).toMatchObject({ output: { state: "once" } });
    });
  });

  test("a move is asked about for what is taken away, where the other root asks about other changes only", async () => {
    const agent = await open({}, { archive: ["delete"] });
    const person = { bearer: await logIn() };
    const move = (more: object = {}) => ground.call("file:move", { ...MOVE, ...more }, agent);
    const { approvalId, effect } = asked(await move());
    expect(effect).toMatchObject([{ path: "sub/a.txt", action: "move" }]);
    expect(effect).toHaveLength(1);
    expect(places()).toEqual(untouched);
    await decide(approvalId, person);
    expect((await move({ approval: approvalId })).error).toBeUndefined();
    expect(places()).toEqual({ from: undefined, to: "docs" });
  });

  describe("a call on roots of two owners", () => {
    test("needs the word of each, for what is theirs, and shows no more to them", async () => {
      const { alice, bob, carol } = ground;
      await open({ docs: alice, archive: bob });
      const caps = (root: string) => [{ with: `file://${root}/`, can: "crud" }];
      const ucans = await Promise.all([alice.grant(carol, caps("docs")), bob.grant(carol, caps("archive"))]);
      const agent = { as: carol, ucans: ucans.map(({ token }) => token) };
      const move = (more: object = {}) => ground.call("file:move", { ...MOVE, ...more }, agent);
      const { approvalId: first } = asked(await move());
      expect((await decide(first, { as: bob })).errorCode).toBe("CAPABILITY_DENIED");
      expect(await decide(first, { as: alice })).toMatchObject({ output: { state: "once" } });
      const { approvalId: second } = asked(await move({ approval: first }));
      expect((await decide(second, { as: alice })).errorCode).toBe("CAPABILITY_DENIED");
      const { output } = await ground.call("approval:get", { id: second }, { as: bob });
      expect(output["effect"]).toMatchObject([{ root: "archive", path: "a.txt" }]);
      expect(output).not.toHaveProperty("diff");
      expect(await decide(second, { as: bob })).toMatchObject({ output: { state: "once" } });
      expect((await move({ approval: second })).error).toBeUndefined();
      expect(places()).toEqual({ from: undefined, to: "docs" });
    });
  });

  test("whoever may decide on the first twenty changes of a call only decides on none of it", async () => {
    await ground.open({ file: { roots: { docs: { path: "docs", approve: { for: ["overwrite"] } } } } });
    const names = Array.from({ length: 20 }, (_, index) => `sub/${index}.txt`);
    for (const name of [...names, "other.txt"]) writeFileSync(join(ground.base, "docs", name), "one\n");
    const changes = [...names, "other.txt"].map((name) => `*** Update File: ${name}\n@@\n-one\n+two\n`);
    const patch = `*** Begin Patch\n${changes.join("")}*** End Patch\n`;
    const agent = { bearer: (await issue({ label: "agent", caps: ALL })).token };
    const { approvalId, effect, more } = asked(await ground.call("file:patch", { root: "docs", patch }, agent));
    expect(effect).toHaveLength(20);
    const person = { bearer: await logIn() };
    const { output } = await ground.call("approval:get", { id: approvalId }, person);
    expect([more, output]).toMatchObject([1, { effect: { length: 20 }, more: 1 }]);
    const caps = [{ with: "file://docs/sub/", can: "approve" }];
    const half = { bearer: (await issue({ label: "half", caps })).token };
    expect((await decide(approvalId, half)).errorCode).toBe("CAPABILITY_DENIED");
    expect(await decide(approvalId, person)).toMatchObject({ output: { state: "once" } });
  });

  test("a difference that is too long says that it is cut to whoever decides", async () => {
    await ground.open({ file: { roots: { docs: { path: "docs", approve: { for: ["overwrite"] } } } } });
    const agent = { bearer: (await issue({ label: "agent", caps: ALL })).token };
    const person = { bearer: await logIn() };
    const names = ["a", "b", "c", "d", "e", "f"].map((name) => `sub/${name}.txt`);
    for (const name of names) writeFileSync(join(ground.base, "docs", name), "one\n");
    const long = (lines: number) => "harmless\n".repeat(lines);
    const diffOf = async (operation: string, input: object) => {
      const { approvalId, diff } = asked(await ground.call(operation, { root: "docs", ...input }, agent));
      expect((await ground.call("approval:get", { id: approvalId }, person)).output["diff"]).toBe(diff);
      return diff ?? "";
    };
    const write = (lines: number) => diffOf("file:write", { path: "sub/a.txt", content: `${long(lines)}evil\n` });
    const cut = "\\ The difference goes on: it is cut here\n";
    expect(await write(10)).toMatch(/\+evil\n$/);
    const one = await write(10_000);
    expect(one).not.toContain("evil");
    expect(one.endsWith(`+harmless\n${cut}`)).toBe(true);
    const sections = names.map((name) => `*** Update File: ${name}\n@@\n-one\n${"+harmless\n".repeat(1500)}+evil\n`);
    const all = await diffOf("file:patch", { patch: `*** Begin Patch\n${sections.join("")}*** End Patch\n` });
    expect(all.match(/\+evil\n/g)).toHaveLength(4);
    expect(all.endsWith(`\n${cut}`)).toBe(true);
  });
});
