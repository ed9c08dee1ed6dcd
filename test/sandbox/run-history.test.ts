import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { useShell } from "./ground.js";
import { changesBy, told } from "./run-history.js";

const ground = useShell({ journal: true, shell: { driver: "just-bash" } });

describe("what a shell in JavaScript has changed", () => {
  test("is one group of the operations that it called, and is taken back whole", async () => {
    ground.put("edited", "1\n");
    ground.put("deleted", "2");
    const context = { session: "s1", surface: "mcp" };
    const changes = await changesBy(ground, () =>
      ground.sh("echo 2 >> edited; echo 3 >> edited; rm deleted; mkdir d; echo x > d/y", { context }),
    );
    expect(changes.map(told)).toEqual(expect.arrayContaining(["now edited", "was deleted", "new d", "new d/y"]));
    expect(new Set(changes.map(({ op }) => op)).has("delete")).toBe(true);
    expect([...new Set(changes.map(({ group }) => group))]).toEqual([expect.stringMatching(/^g/)]);
    expect([...new Set(changes.map(({ via, undoable }) => `${via} ${undoable}`))]).toEqual(["s1 true"]);
    await ground.adapter.invoke("file:undo", { last: 1 }, context);
    expect(readFileSync(join(ground.dir, "edited"), "utf8")).toBe("1\n");
    expect(readFileSync(join(ground.dir, "deleted"), "utf8")).toBe("2");
    expect(existsSync(join(ground.dir, "d"))).toBe(false);
  });

  test("is another group for each command", async () => {
    const changes = await changesBy(ground, async () => {
      await ground.sh("echo 1 > a");
      await ground.sh("echo 1 > b");
    });
    expect(new Set(changes.map(({ group }) => group)).size).toBe(2);
  });
});
