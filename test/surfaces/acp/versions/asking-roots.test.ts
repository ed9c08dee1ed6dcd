import { beforeEach, expect, test } from "@jest/globals";
import { AcpClientFs } from "../../../../src/surfaces/acp/client-fs.js";
import type { ApprovalAnswer, ApprovalRequest } from "../../../../src/surfaces/acp/review/approval.js";
import { useGround } from "../../../ops/ground.js";
import { type Agent2Connection, connect2 } from "./versions.js";

const ground = useGround({
  root: { approve: { for: ["delete"] } },
  roots: { strict: { temp: true, approve: { for: ["delete"], elicit: false } } },
});

let asked: ApprovalRequest[];
let agent: Agent2Connection;
let session: string;

async function open(answer?: ApprovalAnswer): Promise<void> {
  asked = [];
  const acp = new AcpClientFs({
    adapter: ground.adapter,
    mounts: [{ root: "r" }, { root: "strict", prefix: "/strict" }],
    ...(answer === undefined ? {} : { approve: (request) => (asked.push(request) > 0 ? answer : "reject") }),
  });
  agent = await connect2(acp);
  session = await agent.connection.newSession({ cwd: ground.dir, additionalDirectories: ["/strict"] });
}

const call = async (name: string, root: string, args: object = {}): Promise<string> => {
  const { isError, code } = await agent.call(session, name, { root, path: "file", ...args });
  return isError ? (code ?? "?") : "OK";
};

beforeEach(async () => {
  ground.put("file", "x");
  await ground.adapter.invoke("file:write", { root: "strict", path: "file", content: "x" });
});

test("a root that asks about some changes takes the hook for all of them, once each", async () => {
  await open("allow");
  expect([await call("file_write", "r", { content: "y" }), await call("file_delete", "r")]).toEqual(["OK", "OK"]);
  expect(asked.map((one) => one.kind === "change" && one.operation)).toEqual(["file:write", "file:delete"]);
  expect(ground.audit.findLast(({ operation }) => operation === "file:delete")).toMatchObject({
    operation: "file:delete",
    approvedBy: "client",
  });
  await agent.stop();
});

test("an answer for always does not hold for what the root asks about", async () => {
  await open("allow_always");
  const made = [await call("file_write", "r", { content: "y" }), await call("file_write", "r", { content: "z" })];
  expect([...made, await call("file_delete", "r")]).toEqual(["OK", "OK", "OK"]);
  expect(asked.map((one) => one.kind === "change" && one.operation)).toEqual(["file:write", "file:delete"]);
  await agent.stop();
});

test("a root whose client may not decide refuses what it asks about, and the hook decides the rest", async () => {
  await open("allow");
  expect([await call("file_write", "strict", { content: "y" }), await call("file_delete", "strict")]).toEqual([
    ...["OK", "APPROVAL_REQUIRED"],
  ]);
  expect(asked.map((one) => one.kind === "change" && one.operation)).toEqual(["file:write"]);
  await agent.stop();
});

test("without a hook a root that asks refuses, and others do not", async () => {
  await open();
  expect([await call("file_write", "r", { content: "y" }), await call("file_delete", "r")]).toEqual([
    ...["OK", "APPROVAL_REQUIRED"],
  ]);
  await agent.stop();
});

test("a move between two roots is asked about as one", async () => {
  await open("allow");
  expect(await call("file_move", "r", { toRoot: "strict", to: "moved" })).toMatch(/^OK$/);
  expect(asked).toMatchObject([{ kind: "change", operation: "file:move" }]);
  await agent.stop();
});
