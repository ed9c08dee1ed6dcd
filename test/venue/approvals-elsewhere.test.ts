import { describe, expect, test } from "@jest/globals";
import type { VenueConfigInput } from "../../src/index.js";
import { type Asked, approvalsOf, asked } from "./operations/approval/approval-calls.js";
import { type CallOptions, useGround } from "./operations/fixture.js";

const ground = useGround();
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
