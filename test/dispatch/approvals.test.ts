import { expect, test } from "@jest/globals";
import type { EntryChange } from "../../src/core/ports/changes/change.js";
import { dispatchOn } from "./fake.js";

const CREATED: EntryChange = {
  ...{ action: "created", kind: "file", path: ["f"], before: null },
  after: { size: 1, modified: 0, sha256: "0".repeat(64) },
};

test.each([
  ["delete", "elsewhere", undefined],
  ["all", "elsewhere", "CONFLICT"],
  ["all", "looked-at", "APPROVAL_REQUIRED"],
] as const)("a root that asks about %s, with links that lead %s when it looks", async (asks, seen, code) => {
  const made: string[] = [];
  const { call } = dispatchOn({
    approve: { for: [asks], minutes: 10 },
    backend: {
      // The link has been turned since the backend arrived.
      stat: (_path, access) => void access.real([seen, "f"]),
      async write(path, _body, _options, access) {
        access.real(["looked-at", "f"]);
        await access.approve?.([{ change: CREATED, at: { path, access } }]);
        made.push("f");
        return { bytes: 1, created: true };
      },
    },
  });
  const answer = call("write", { path: "link/f", content: "x" }, { surface: "mcp" });
  if (code === undefined) expect(await answer).toMatchObject({ created: true });
  else await expect(answer).rejects.toMatchObject({ code });
  expect(made).toEqual(code === undefined ? ["f"] : []);
});

test("whatever a precondition refuses is not asked about", async () => {
  const { call } = dispatchOn({ approve: { for: ["all"], minutes: 10 } });
  await call("write", { path: "f", content: "x" });
  for (const condition of [{ ifMatch: "aaaaaaaa" }, { ifNoneMatch: "*" }]) {
    const answer = call("write", { path: "f", content: "y", ...condition }, { surface: "mcp" });
    await expect(answer).rejects.toMatchObject({ code: "CONFLICT" });
  }
});
