import { existsSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { approvalsOf, asked } from "./operations/approval/approval-calls.js";
import { type CallOptions, useGround } from "./operations/fixture.js";

const ground = useGround();
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
