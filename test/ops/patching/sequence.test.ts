import { chmodSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import type { FileInputs } from "../../../src/schema/types.js";
import { useGround } from "../ground.js";

type Changes = NonNullable<FileInputs["file:patch"]["changes"]>;
const patchOf = (...lines: readonly string[]): string => ["*** Begin Patch", ...lines, "*** End Patch", ""].join("\n");

describe("sections of file:patch, one after the other", () => {
  const ground = useGround();
  const run = (input: Omit<FileInputs["file:patch"], "root">) => ground.run("patch", input);
  const text = (path: string): string => ground.get(path).toString();

  test("change one file twice, each finding what the one before has left", async () => {
    ground.put("f", "a\nb\nc\n");
    const patch = patchOf(
      ...["*** Update File: f", "@@", "-a", "+A", "*** Update File: ./f", "@@", " A", "-b", "+B"],
      ...["*** Update File: f", "@@", "-c", "+C"],
    );
    const { files, applied, diff } = await run({ patch });
    expect([files.map(({ path, action }) => [path, action]), applied, text("f")]).toEqual([
      ...[[["f", "modify"]], 3, "A\nB\nC\n"],
    ]);
    expect(diff).toBe("--- f\n+++ f\n@@ -1,3 +1,3 @@\n-a\n-b\n-c\n+A\n+B\n+C\n");
  });

  test("delete and add a file: it is changed, and keeps its mode", async () => {
    ground.put("f", "old\n");
    chmodSync(join(ground.dir, "f"), 0o755);
    const { files } = await run({ patch: patchOf("*** Delete File: f", "*** Add File: f", "+new") });
    expect(files).toMatchObject([{ path: "f", action: "modify" }]);
    expect([text("f"), statSync(join(ground.dir, "f")).mode & 0o777]).toEqual(["new\n", 0o755]);
  });

  test("delete a link and add a file of its name: what it leads to stays", async () => {
    ground.put("real", "r\n");
    symlinkSync("real", join(ground.dir, "l"));
    await run({ patch: patchOf("*** Delete File: l", "*** Add File: l", "+new") });
    expect([text("real"), text("l")]).toEqual(["r\n", "new\n"]);
  });

  test("make a folder of a file, by deletion and by a move", async () => {
    ground.put("config", "x\n");
    await run({ patch: patchOf("*** Delete File: config", "*** Add File: config/base", "+y") });
    expect(text("config/base")).toBe("y\n");
    ground.put("lib", "a\r\nb\n");
    await run({ patch: patchOf("*** Update File: lib", "*** Move to: lib/index", "@@", " a", "-b", "+B") });
    expect(text("lib/index")).toBe("a\r\nB\n");
  });

  test("go on with what others have moved and made", async () => {
    ground.put("a", "1\n2\n");
    ground.put("d/x", "x\n");
    const changes: Changes = [
      { op: "move", path: "a", to: "b" },
      { op: "edit", path: "b", edits: [{ oldText: "1", newText: "one" }] },
      { op: "move", path: "b", to: "c" },
      { op: "write", path: "a", content: "again" },
      { op: "edit", path: "a", edits: [{ oldText: "again", newText: "new" }] },
      { op: "write", path: "gone", content: "g" },
      { op: "delete", path: "gone" },
      { op: "delete", path: "d/x" },
      { op: "delete", path: "d" },
      { op: "write", path: "d", content: "a file now" },
    ];
    const { files } = await run({ changes });
    expect(files.map(({ path, from, action }) => [action, path, from])).toEqual([
      ["move", "c", "a"],
      ["add", "a", undefined],
      ["delete", "d/x", undefined],
      ["delete", "d", undefined],
      ["add", "d", undefined],
    ]);
    expect([text("c"), text("a"), text("d"), ground.names().toSorted()]).toEqual([
      ...["one\n2\n", "new", "a file now", ["a", "c", "d"]],
    ]);
  });

  test("tell a caller without the right to read nothing by taking back each other's changes", async () => {
    const caps = [{ with: "file://r", can: "crud/write" }];
    const there = patchOf("*** Update File: f", "@@", "-secret", "+x");
    const back = patchOf("*** Update File: f", "@@", "-x", "+secret").split("\n").slice(1);
    const failures = [];
    for (const content of ["secret\n", "other\n"]) {
      ground.put("f", content);
      const patch = [...there.split("\n").slice(0, -2), ...back].join("\n");
      failures.push(await ground.fail("patch", { patch }, { caps }));
    }
    expect(failures[0]).toMatchObject({ code: "CAPABILITY_DENIED", data: { required: { can: "crud/read" } } });
    expect(failures[1]).toEqual(failures[0]);
  });
});
