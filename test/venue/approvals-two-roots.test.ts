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

async function open(owners: { readonly docs?: Person; readonly archive?: Person } = {}): Promise<CallOptions> {
  mkdirSync(join(ground.base, "archive"));
  writeFileSync(join(ground.base, "archive/a.txt"), "old\n");
  const root = (name: "docs" | "archive") => ({
    ...{ path: name, approve: { for: ["all" as const] } },
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

  test("is done with one approval, which shows all that it does", async () => {
    const first = asked(await move());
    expect(first.effect).toMatchObject([{ path: "sub/a.txt", action: "move" }]);
    await decide(first.approvalId, person);
    const second = asked(await move({ approval: first.approvalId }));
    expect(second.approvalId).not.toBe(first.approvalId);
    expect(second.effect).toMatchObject([
      { path: "sub/a.txt", action: "move" },
      { path: "a.txt", action: "overwrite", before: { type: "file", size: 4 } },
    ]);
    expect(places()).toEqual(untouched);
    await decide(second.approvalId, person);
    expect((await move({ approval: second.approvalId })).error).toBeUndefined();
    expect(places()).toEqual({ from: undefined, to: "docs" });
    expect((await move({ approval: second.approvalId })).error).toBeDefined();
  });

  test("is asked about once more for the second root, and both approvals are used up", async () => {
    const { approvalId: first } = asked(await move());
    await decide(first, person);
    const { approvalId: second } = asked(await move({ approval: first }));
    expect(await move({ approval: first })).toMatchObject({ errorData: { reason: "used" } });
    // Called too early, with the approval or without, it is the same one that has to be waited for.
    expect(asked(await move({ approval: second })).approvalId).toBe(second);
    expect(asked(await move()).approvalId).toBe(second);
    await decide(second, person);
    expect((await move({ approval: second })).error).toBeUndefined();
    writeFileSync(join(ground.base, "docs/sub/a.txt"), "docs");
    writeFileSync(join(ground.base, "archive/a.txt"), "old\n");
    expect(await move({ approval: second })).toMatchObject({ errorData: { reason: "used" } });
    expect(places()).toEqual(untouched);
  });

  test.each(["docs/sub/a.txt", "archive/a.txt"])("is not done when %s has changed in between", async (changed) => {
    const { approvalId: first } = asked(await move());
    await decide(first, person);
    const { approvalId: second } = asked(await move({ approval: first }));
    await decide(second, person);
    writeFileSync(join(ground.base, changed), "somebody else\n");
    const before = places();
    expect(await move({ approval: second })).toMatchObject({ errorData: { reason: "changed" } });
    expect(places()).toEqual(before);
  });
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
  const { approvalId, effect } = asked(await ground.call("file:patch", { root: "docs", patch }, agent));
  expect(effect).toHaveLength(20);
  const caps = [{ with: "file://docs/sub/", can: "approve" }];
  const half = { bearer: (await issue({ label: "half", caps })).token };
  expect((await decide(approvalId, half)).errorCode).toBe("CAPABILITY_DENIED");
  expect(await decide(approvalId, { bearer: await logIn() })).toMatchObject({ output: { state: "once" } });
});
