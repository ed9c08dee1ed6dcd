import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { useGround } from "./ground.js";

describe("file:purge", () => {
  const ground = useGround({ journal: true });
  const { run, fail } = ground;

  test("removes what was kept for good, and leaves an entry of it", async () => {
    ground.put("f", "old");
    await run("write", { path: "f", content: "new" });
    const { id } = await run("delete", { path: "f" });
    expect(await run("purge", { ids: [id ?? ""] })).toEqual({ purged: 1 });
    expect(await fail("undo", { id })).toMatchObject({ code: "NOT_SUPPORTED", data: { reason: "purged" } });
    expect(await run("purge", { path: "f" })).toEqual({ purged: 1 });
    const { entries } = await run("history", { limit: 4 });
    expect(entries.map(({ op, path, undoable }) => [op, path, undoable])).toEqual([
      ["purge", "f", false],
      ["purge", "", false],
      ["delete", "f", false],
      ["write", "f", false],
    ]);
    expect(existsSync(join(ground.dir, ".venue-files", "trash"))).toBe(false);
    expect(await run("purge", { all: true })).toEqual({ purged: 0 });
  });

  test("needs the right to delete, on each path", async () => {
    ground.put("x/f", "1");
    const { id = "" } = await run("delete", { path: "x/f" });
    const caps = (can: string, path: string) => ({ caps: [{ with: `file://r/${path}`, can }] });
    const reads = caps("crud/read", "x");
    expect((await fail("purge", { ids: [id] }, reads)).code).toBe("CAPABILITY_DENIED");
    expect((await fail("purge", { path: "x" }, reads)).code).toBe("CAPABILITY_DENIED");
    expect((await fail("purge", { ids: [id] }, caps("crud", "y"))).code).toBe("NOT_FOUND");
    expect((await fail("purge", { all: true }, caps("crud", "x"))).code).toBe("CAPABILITY_DENIED");
    expect((await fail("purge", {})).code).toBe("INVALID_INPUT");
    expect(await run("purge", { ids: [id] }, caps("crud", "x"))).toEqual({ purged: 1 });
  });
});

describe("file:purge where everything deleted is kept", () => {
  const ground = useGround({
    journal: true,
    root: { trash: "required", journal: "on" },
    publicCaps: [{ with: "file://r/", can: "crud" }],
  });

  test("is for the operator alone", async () => {
    ground.put("f", "1");
    await ground.run("delete", { path: "f" });
    const somebody = { callerDID: "did:key:z6MkSomebody" };
    expect((await ground.fail("purge", { all: true }, somebody)).code).toBe("DENIED_BY_POLICY");
    expect(await ground.run("purge", { all: true })).toEqual({ purged: 1 });
  });
});

describe("file:purge where a person is asked about deletions", () => {
  const ground = useGround({ journal: true, root: { journal: "on", approve: { for: ["delete"] } } });
  const agent = { surface: "mcp" };

  test("asks as a deletion does, and removes nothing before", async () => {
    ground.put("x/f", "1");
    const { id = "" } = await ground.run("delete", { path: "x/f" });
    for (const input of [{ ids: [id] }, { path: "x" }, { all: true }]) {
      const { code, data } = await ground.fail("purge", input, agent);
      expect(code).toBe("APPROVAL_REQUIRED");
      const [path] = "ids" in input ? ["x/f"] : "path" in input ? ["x"] : [""];
      expect(data).toMatchObject({ root: "r", effect: [{ path, action: "delete" }] });
    }
    expect(existsSync(join(ground.dir, ".venue-files", "trash"))).toBe(true);
    expect(await ground.run("purge", { all: true })).toEqual({ purged: 1 });
  });
});
