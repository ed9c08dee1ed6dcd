import { describe, expect, test } from "@jest/globals";
import { useGround } from "./ground.js";

describe("file:trash", () => {
  const ground = useGround({ journal: true });
  const { run } = ground;

  test("lists what was deleted and can be brought back, within the rights of the caller", async () => {
    ground.put("a/one", "1");
    ground.put("b/two", "22");
    await run("delete", { path: "a", recursive: true });
    const { id = "" } = await run("delete", { path: "b/two" });
    const { entries, complete } = await run("trash", {});
    expect(entries.map(({ path, kind, size, by }) => [path, kind, size, by])).toEqual([
      ["b/two", "file", 2, "operator"],
      ["a", "directory", undefined, "operator"],
    ]);
    expect([complete, entries[0]?.id]).toEqual([true, id]);
    const caps = { caps: [{ with: "file://r/b", can: "crud/read" }] };
    expect((await run("trash", {}, caps)).entries.map(({ path }) => path)).toEqual(["b/two"]);
    expect((await run("trash", { path: "a" })).entries.map(({ path }) => path)).toEqual(["a"]);
    await run("undo", { id });
    expect((await run("trash", {})).entries.map(({ path }) => path)).toEqual(["a"]);
  });
});
