import { expect, test } from "@jest/globals";
import { useGround } from "../fixture.js";
import { ALL, approvalsOf, asked, WRITE } from "./approval-calls.js";

const ground = useGround();
const { issue, logIn, open } = approvalsOf(ground);

test("what is there is shown to those who may read or decide, by etag, size or otherwise", async () => {
  await open();
  const writer = { bearer: (await issue({ caps: [{ ...ALL, can: "crud/write" }] })).token };
  const remover = { bearer: (await issue({ caps: [{ ...ALL, can: "crud/delete" }] })).token };
  const plain = { root: "docs", path: "sub/a.txt", action: "edit", before: { type: "file" }, after: { type: "file" } };
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
