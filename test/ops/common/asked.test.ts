import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { ApprovalGate } from "../../../src/dispatch/approvals/approval-gate.js";
import { OPERATIONS } from "../../../src/ops/registry.js";
import { useGround } from "../ground.js";

const AGENT = { surface: "mcp" };
const ALL = { approve: { for: ["all"] } };
const UPDATE = (lines: string): string => `*** Begin Patch\n${lines}\n*** End Patch\n`;

/** A call of each operation that changes something, with the actions that a person is asked about. */
const CALLS: readonly [operation: string, input: object, actions: readonly string[]][] = [
  ["write", { path: "f", content: "new" }, ["overwrite"]],
  ["write", { path: "a/b/new", content: "new", parents: true }, ["create"]],
  ["create", { path: "new", content: { inline: "new" } }, ["create"]],
  ["append", { path: "f", content: "new" }, ["edit"]],
  ["append", { path: "a/b/new", content: "new", parents: true }, ["create"]],
  ["edit", { path: "f", oldText: "one", newText: "two" }, ["edit"]],
  ["mkdir", { path: "a/b", parents: true }, ["create"]],
  ["delete", { path: "f" }, ["delete"]],
  ["delete", { path: "tree", recursive: true }, ["delete"]],
  ["move", { path: "f", to: "a/g", parents: true }, ["move"]],
  ["move", { path: "f", to: "g", overwrite: true }, ["move", "overwrite"]],
  ["move", { path: "tree", toRoot: "other", to: "tree" }, ["move"]],
  ["copy", { path: "f", to: "g", overwrite: true }, ["overwrite"]],
  ["copy", { path: "tree", to: "a/b", recursive: true, parents: true }, ["create"]],
  ["patch", { patch: UPDATE("*** Update File: f\n@@\n-one\n+two") }, ["overwrite"]],
  ["patch", { patch: UPDATE("*** Delete File: f\n*** Add File: a/n\n+n") }, ["delete", "create"]],
  // The second step finds what the first one has left there.
  [
    "patch",
    { patch: UPDATE("*** Update File: f\n*** Move to: h\n@@\n-one\n+two\n*** Delete File: g") },
    ["move", "overwrite", "delete"],
  ],
  ["purge", { path: "gone" }, ["delete"]],
];

describe("a root that asks about everything", () => {
  const ground = useGround({ journal: true, root: { journal: "on", ...ALL }, roots: { other: { temp: true } } });
  const state = () =>
    ["f", "g", "h", "tree/x"].map((path) =>
      existsSync(join(ground.dir, path)) ? ground.get(path).toString() : undefined,
    );

  beforeEach(async () => {
    ground.put("f", "one\n");
    ground.put("g", "g");
    ground.put("h", "h");
    ground.put("tree/x", "x");
    ground.put("gone", "gone");
    await ground.run("delete", { path: "h" });
    await ground.run("delete", { path: "gone" });
  });

  afterEach(() => {
    jest.restoreAllMocks();
  });

  test("has a case for each operation that changes something", () => {
    const changing = OPERATIONS.filter(({ changes, internal }) => changes && internal !== true).map(({ name }) => name);
    expect(new Set([...CALLS.map(([name]) => name), "undo", "restore"])).toEqual(new Set(changing));
  });

  test.each(["undo", "restore"] as const)("%s asks once, and changes nothing", async (operation) => {
    ground.put("kept", "old");
    await ground.run("write", { path: "kept", content: "new" });
    const { entries } = await ground.run("history", { path: "kept", limit: 1 });
    const version = entries[0]?.id ?? "";
    const input = operation === "undo" ? { id: version } : { path: "kept", to: `${version}:before` };
    const ask = jest.spyOn(ApprovalGate.prototype, "pass");
    const { code, data } = await ground.fail(operation, input, AGENT);
    expect([code, data["effect"]]).toMatchObject(["APPROVAL_REQUIRED", [{ path: "kept", action: "overwrite" }]]);
    expect([ask.mock.calls.length, ground.get("kept").toString()]).toEqual([1, "new"]);
  });

  test.each(CALLS)("%s %j asks once, and changes nothing", async (operation, input, actions) => {
    const before = [state(), ground.names()];
    const whenAsked: unknown[] = [];
    const { pass, passOrHold } = ApprovalGate.prototype;
    const ask = jest.spyOn(ApprovalGate.prototype, "pass").mockImplementation(function (this: ApprovalGate, ...given) {
      whenAsked.push([state(), ground.names()]);
      return pass.apply(this, given);
    });
    const hold = jest.spyOn(ApprovalGate.prototype, "passOrHold");
    hold.mockImplementation(function (this: ApprovalGate, ...given) {
      whenAsked.push([state(), ground.names()]);
      return passOrHold.apply(this, given);
    });
    const { code, data } = await ground.fail(operation, input, AGENT);
    expect([code, data["made"]]).toEqual(["APPROVAL_REQUIRED", undefined]);
    expect((data["effect"] as { action: string }[]).map(({ action }) => action)).toEqual(actions);
    expect(ask.mock.calls.length + hold.mock.calls.length).toBe(1);
    expect([...whenAsked, [state(), ground.names()]]).toEqual([before, before]);
    // A copy made in vain is removed behind the answer.
    const end = performance.now() + 10_000;
    while (ground.staged().length > 1 && performance.now() < end)
      await new Promise((resolve) => setTimeout(resolve, 5));
    expect(ground.staged()).toEqual(["trash"]);
  });
});
