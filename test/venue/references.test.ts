import { describe, expect, test } from "@jest/globals";
import { approvalsOf, asked } from "./operations/approval/approval-calls.js";
import { useGround } from "./operations/fixture.js";

const ground = useGround();
const { issue, decide, mcp } = approvalsOf(ground);

/** An agent of Alice's, with the rights of her own. */
async function agentOfAlice(): Promise<{ readonly bearer: string }> {
  const caps = [
    { with: "file://", can: "crud" },
    { with: "dlfs://notes/", can: "crud" },
  ];
  return { bearer: (await issue({ label: "agent", caps }, { as: ground.alice })).token };
}

describe("over MCP", () => {
  test("with one root, only dlfs:// and the full name of a drive are references", async () => {
    const hers = { path: "hers", owner: ground.alice.did };
    await ground.open({ file: { roots: { hers } }, drives: { store: { path: "drives" } } });
    const { bearer } = await agentOfAlice();
    await mcp(bearer, "file_write", { path: "dlfs/notes/a", content: "in the root", parents: true });
    expect((await ground.call("file:read", { root: "hers", path: "dlfs/notes/a" }, { bearer })).output).toMatchObject({
      content: "in the root",
    });
    await mcp(bearer, "file_create", { path: "dlfs://notes/a", content: { inline: "in the drive" } });
    for (const path of ["dlfs://notes/a", `${ground.alice.did}/dlfs/notes/a`]) {
      expect(await mcp(bearer, "file_read", { path })).toContain("in the drive");
      expect((await ground.call("file:read", { path }, { bearer })).output).toMatchObject({ content: "in the drive" });
    }
    expect(await mcp(bearer, "file_read", { path: "dlfs/notes/a" })).toContain("in the root");
    expect(await mcp(bearer, "file_move", { from: "dlfs://notes/a", to: "b" })).toContain(
      `${ground.alice.did}/dlfs/notes/b`,
    );
    expect(await mcp(bearer, "file_move", { from: "dlfs/notes/a", to: "b" })).toContain("file://hers/b");
  });

  test("with several roots, all are", async () => {
    await ground.open({
      file: { roots: { hers: { path: "hers", owner: ground.alice.did }, tmp: { temp: true } } },
      drives: { store: { path: "drives" } },
    });
    const { bearer } = await agentOfAlice();
    for (const path of ["dlfs/notes/a", "file://hers/b", "file:/hers/c"]) {
      await mcp(bearer, "file_write", { path, content: "of a reference" });
      expect(await mcp(bearer, "file_read", { path })).toContain("of a reference");
      expect((await ground.call("file:read", { path }, { bearer })).output).toMatchObject({
        content: "of a reference",
      });
    }
    expect(await mcp(bearer, "file_read", { path: "b" })).toContain("'root' is required");
  });
});

test.each([
  ["file://mine/a", { root: "mine", path: "a" }],
  ["dlfs/notes/a", { path: "dlfs://notes/a" }],
])("a person who is asked about %s is told its place, and allows that alone", async (path, same) => {
  const mine = { dlfs: "notes", approve: { for: ["all" as const] } };
  await ground.open({ file: { roots: { mine } }, drives: { store: { path: "drives" } } });
  await ground.call("file:write", { root: "mine", path: "a", content: "one" }, { as: ground.alice });
  const agent = await agentOfAlice();
  const own = { bearer: (await issue({ label: "page" }, { as: ground.alice })).token };
  const { approvalId, effect } = asked(await ground.call("file:write", { path, content: "two" }, agent));
  expect(effect).toMatchObject([{ path: "a", action: "overwrite" }]);
  const shown = (await ground.call("approval:get", { id: approvalId }, own)).output;
  expect(shown).toMatchObject({ effect: [{ root: "mine", path: "a", action: "overwrite" }] });
  expect((await decide(approvalId, own)).output).toMatchObject({ state: "once" });
  const brings = { content: "two", approval: approvalId };
  for (const elsewhere of [path.replace(/a$/, "b"), "dlfs/other/a"])
    expect((await ground.call("file:write", { path: elsewhere, ...brings }, agent)).errorCode).toMatch(
      /^(?:APPROVAL|CAPABILITY)_DENIED$/,
    );
  expect(await ground.call("file:write", { ...same, ...brings }, agent)).toMatchObject({ output: { created: false } });
  const again = await ground.call("file:write", { path, ...brings }, agent);
  expect(again).toMatchObject({ errorCode: "APPROVAL_DENIED" });
});

test.each([["dlfs/notes/x"], ["dlfs/notes/deep/part/a"]])(
  "where a person is asked about a directory of a drive alone, %s is asked about by its place in the drive",
  async (path) => {
    const part = { dlfs: "notes", subpath: "deep/part", approve: { for: ["all" as const] } };
    await ground.open({ file: { roots: { part } }, drives: { store: { path: "drives" } } });
    await ground.call("file:mkdir", { root: "part", path: "", parents: true }, { as: ground.alice });
    const drive = `${ground.alice.did}/dlfs/notes`;
    const agent = await agentOfAlice();
    const ofPart = [{ with: "file://part/", can: "approve" }];
    const narrow = { bearer: (await issue({ label: "of a part", caps: ofPart }, { as: ground.alice })).token };
    const own = { bearer: (await issue({ label: "page" }, { as: ground.alice })).token };
    for (const [operation, place] of [
      ["file:write", { path }],
      ["dlfs:write", { drive: "notes", path: path.replace("dlfs/notes/", "") }],
    ] as const) {
      const call = { ...place, content: operation, parents: true };
      const { approvalId } = asked(await ground.call(operation, call, agent));
      const { output } = await ground.call("approval:get", { id: approvalId }, own);
      expect(output).toMatchObject({ effect: [{ root: drive, path: path.replace("dlfs/notes/", "") }] });
      for (const by of [{ as: ground.bob }, agent, ...(path.endsWith("x") ? [narrow] : [])])
        expect((await decide(approvalId, by)).errorCode).toBe("CAPABILITY_DENIED");
      expect((await decide(approvalId, own)).output).toMatchObject({ state: "once" });
      const made = await ground.call(operation, { ...call, approval: approvalId }, agent);
      expect(made.errorCode).toBeUndefined();
    }
    // Whoever may decide is not asked, by any name.
    const direct = await ground.call("file:write", { path, content: "by Alice" }, { as: ground.alice });
    expect(direct).toMatchObject({ output: { created: false } });
  },
);

test("where all of a drive asks too, it is what a person is asked about", async () => {
  const approve = { for: ["all" as const] };
  const roots = { part: { dlfs: "notes", subpath: "deep", approve }, mine: { dlfs: "notes", approve } };
  await ground.open({ file: { roots }, drives: { store: { path: "drives" } } });
  const agent = await agentOfAlice();
  const { approvalId } = asked(await ground.call("file:write", { path: "dlfs/notes/a", content: "" }, agent));
  const own = { bearer: (await issue({ label: "page" }, { as: ground.alice })).token };
  expect((await ground.call("approval:get", { id: approvalId }, own)).output).toMatchObject({
    effect: [{ root: "mine", path: "a" }],
  });
});

test("bytes in a drive of another come with the answer, since WebDAV has no such place", async () => {
  await ground.open({ webdav: true, drives: { store: { path: "drives" } } });
  const drive = `${ground.alice.did}/dlfs/notes`;
  await ground.call("file:write", { path: `${drive}/a`, bytes: "AP8B" }, { as: ground.alice });
  const { token } = await ground.alice.grant(ground.bob, [{ with: drive, can: "crud/read" }]);
  const { output } = await ground.call("file:read", { path: `${drive}/a` }, { as: ground.bob, ucans: [token] });
  expect(output).toMatchObject({ encoding: "base64", content: "AP8B" });
  expect(output).not.toHaveProperty("url");
});

test("a ticket is for a file of a drive too, by the rights of who asked for it", async () => {
  await ground.open({ drives: { store: { path: "drives" } } });
  const drive = `${ground.alice.did}/dlfs/my notes`;
  const place = { path: `${drive}/a b` };
  const { token } = await ground.alice.grant(ground.bob, [{ with: drive, can: "crud" }]);
  for (const [by, path] of [
    [{ as: ground.alice }, "dlfs/my notes/a b"],
    [{ as: ground.bob, ucans: [token] }, place.path],
  ] as const) {
    const upload = (await ground.call("file:transfer", { path, direction: "upload" }, by)).output;
    const sent = await fetch(String(upload["href"]), { method: "PUT", body: path });
    expect(sent.status).toBeLessThan(300);
    const { href } = (await ground.call("file:transfer", { path, direction: "download" }, by)).output;
    expect(await (await fetch(String(href))).text()).toBe(path);
    expect((await fetch(String(href).replace("a%20b", "a%20c"))).status).toBe(403);
    expect((await fetch(String(href).replace(/\?.*$/, ""))).status).toBeGreaterThanOrEqual(400);
  }
  expect((await ground.call("file:transfer", { ...place, direction: "download" }, { as: ground.bob })).errorCode).toBe(
    "CAPABILITY_DENIED",
  );
});

describe("changes are watched", () => {
  test.each([
    ["by a reference to a drive", { path: "dlfs/notes/deep" }, "deep/part/a"],
    ["by the full name of a drive", { path: "OWN/deep" }, "deep/part/a"],
    ["in a directory of a drive that is a root", { root: "part" }, "a"],
  ])("%s", async (_how, place, path) => {
    const roots = { mine: { dlfs: "notes" }, part: { dlfs: "notes", subpath: "deep/part" } };
    await ground.open({ file: { roots }, drives: { store: { path: "drives" } } });
    const by = { as: ground.alice };
    await ground.call("file:mkdir", { root: "mine", path: "deep/part", parents: true }, by);
    const own = `${ground.alice.did}/dlfs/notes`;
    const at = "path" in place ? { path: place.path.replace("OWN", own) } : place;
    const { output: first } = await ground.call("file:watch", at, by);
    expect(first).toMatchObject({ events: [] });
    await ground.call("file:write", { root: "mine", path: "outside", content: "x" }, by);
    await ground.call("file:write", { path: "file://mine/deep/part/a", content: "x" }, by);
    await ground.call("file:write", { root: "mine", path: "deep/part/a", content: "x" }, { as: ground.bob });
    const { output } = await ground.call("file:watch", { ...at, cursor: first["cursor"], waitMs: 2000 }, by);
    expect(output).toMatchObject({ events: [{ path, type: "created" }], overflow: false });
    await ground.call("file:create", { path: "file://part/b" }, by);
    const { output: next } = await ground.call("file:watch", { ...at, cursor: output["cursor"], waitMs: 2000 }, by);
    expect(next).toMatchObject({ events: [{ path: path.replace(/a$/, "b"), type: "created" }] });
  });
});
