import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { approvalsOf, asked } from "./operations/approval/approval-calls.js";
import { type CallOptions, type Person, useGround } from "./operations/fixture.js";

const ground = useGround();
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
