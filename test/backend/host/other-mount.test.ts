import fs from "node:fs";
import { basename, dirname, join } from "node:path";
import { afterEach, expect, jest, test } from "@jest/globals";
import { inArena } from "../../jail/arena.js";
import { withFiles } from "../../jail/files.js";

const nameInto = { renameSync: fs.renameSync, linkSync: fs.linkSync };

/** Names do not go between the staging directory and the rest of the root, as if that were a bind mount. */
function separateStaging(): void {
  const isStaged = (path: fs.PathLike) => basename(fs.realpathSync(dirname(String(path)))) === ".venue-files";
  for (const call of ["renameSync", "linkSync"] as const) {
    jest.spyOn(fs, call).mockImplementation((from, to) => {
      if (isStaged(from) === isStaged(to)) return nameInto[call](from, to);
      throw Object.assign(new Error("EXDEV"), { code: "EXDEV", syscall: call });
    });
  }
}

afterEach(() => {
  jest.restoreAllMocks();
});

test("copies reach a directory that nothing can be renamed into from the staging directory", () =>
  inArena(async ({ root, file, insideNow }) => {
    file("old", "old");
    file("tree/deep/file", "deep");
    fs.chmodSync(join(root, "old"), 0o640);
    separateStaging();
    await withFiles(root, async (files) => {
      for (const [operation, input] of [
        ["copy", { path: "old", to: "new" }],
        ["copy", { path: "old", to: "a/b/new", parents: true }],
        ["copy", { path: "old", to: "tree/deep/file", overwrite: true }],
        ["copy", { path: "tree", to: "c/tree", recursive: true, parents: true }],
      ] as const) {
        expect(await files.invoke(operation, input)).toMatchObject({ files: 1 });
      }
      await expect(files.invoke("copy", { path: "new", to: "old" })).rejects.toMatchObject({ code: "ALREADY_EXISTS" });
    });
    for (const path of ["new", "a/b/new", "tree/deep/file", "c/tree/deep/file"]) {
      expect([path, fs.readFileSync(join(root, path), "utf8")]).toEqual([path, "old"]);
    }
    expect(fs.statSync(join(root, "new")).mode & 0o777).toBe(0o640);
    expect(Object.keys(insideNow()).filter((path) => path.includes("venue-files"))).toEqual([]);
  }));
