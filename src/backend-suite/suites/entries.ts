// Creating and removing entries.

import { existsNotDirectory, notADirectory, notEmpty, parentMissing, rootDelete } from "../../core/errors/texts.js";
import { parsePath } from "../../path/grammar.js";
import { SUITE_ROOT, testAccess } from "../access.js";
import { expectFailure, placeOf } from "../files.js";
import { describe, expect } from "../runner.js";
import type { Scenario } from "../scenario.js";

export function mkdirSuite(scenario: Scenario): void {
  describe("mkdir", () => {
    scenario("makes an empty directory", async ({ files }) => {
      expect(await files.mkdir("dir")).toEqual({ created: true });
      expect(await files.mkdir("dir/sub")).toEqual({ created: true });
      expect(await files.snapshot()).toEqual([
        ["dir", null],
        ["dir/sub", null],
      ]);
    });

    for (const parents of [false, true]) {
      scenario(`leaves an existing directory as it is (parents: ${parents})`, async ({ files }) => {
        await files.write("dir/inner", "x", { parents: true });
        const before = await files.snapshot();
        expect(await files.mkdir("dir", { parents })).toEqual({ created: false });
        expect(await files.snapshot()).toEqual(before);
      });

      scenario(`finds the root there already (parents: ${parents})`, async ({ files }) => {
        expect(await files.mkdir("", { parents })).toEqual({ created: false });
      });

      scenario(`is refused where a file is (parents: ${parents})`, async ({ files }) => {
        await files.write("dir/file", "x", { parents: true });
        await expectFailure(files.mkdir("dir/file", { parents }), existsNotDirectory(placeOf("dir/file")));
        expect(await files.text("dir/file")).toBe("x");
      });

      scenario(`names the file in the way (parents: ${parents})`, async ({ files }) => {
        await files.write("dir/file", "x", { parents: true });
        await expectFailure(files.mkdir("dir/file/a", { parents }), notADirectory(placeOf("dir/file")));
        await expectFailure(files.mkdir("dir/file/a/b/c", { parents }), notADirectory(placeOf("dir/file")));
        expect(await files.text("dir/file")).toBe("x");
      });
    }

    scenario("names the missing parent", async ({ files }) => {
      await expectFailure(files.mkdir("a/b"), parentMissing(placeOf("a")));
      await expectFailure(files.mkdir("a/b/c"), parentMissing(placeOf("a/b")));
      expect(await files.snapshot()).toEqual([]);
    });

    scenario(
      "makes missing parents when told to, and asks for each, but not for the target",
      async ({ backend, files }) => {
        await files.mkdir("dir");
        const access = testAccess({ path: "dir/a/b/c" });
        const made = await backend.mkdir(parsePath(SUITE_ROOT, "dir/a/b/c"), { parents: true }, access);
        expect(made).toEqual({ created: true });
        expect(access.asked.create).toEqual([
          { requested: "dir/a", real: "dir/a" },
          { requested: "dir/a/b", real: "dir/a/b" },
        ]);
        expect((await files.snapshot()).map(([path]) => path)).toEqual(["dir", "dir/a", "dir/a/b", "dir/a/b/c"]);
      },
    );

    scenario("makes paths of many segments", async ({ files, maxDepth }) => {
      const path = Array.from({ length: maxDepth }, (_, index) => `d${index}`).join("/");
      expect(await files.mkdir(path, { parents: true })).toEqual({ created: true });
      expect(await files.stat(path)).toMatchObject({ type: "directory" });
      expect(await files.walk("")).toHaveLength(maxDepth);
      expect(await files.remove("d0", { recursive: true })).toEqual({ existed: true });
    });
  });
}

export function removeSuite(scenario: Scenario): void {
  describe("remove", () => {
    for (const recursive of [false, true]) {
      scenario(`removes a file (recursive: ${recursive})`, async ({ files }) => {
        await files.write("a", "x");
        await files.write("b", "y");
        expect(await files.remove("a", { recursive })).toEqual({ existed: true });
        expect(await files.snapshot()).toEqual([["b", "y"]]);
      });

      scenario(`removes an empty directory (recursive: ${recursive})`, async ({ files }) => {
        await files.mkdir("dir/empty", { parents: true });
        expect(await files.remove("dir/empty", { recursive })).toEqual({ existed: true });
        expect(await files.snapshot()).toEqual([["dir", null]]);
      });

      scenario(`finds nothing where nothing is (recursive: ${recursive})`, async ({ files }) => {
        expect(await files.remove("none", { recursive })).toEqual({ existed: false });
        expect(await files.remove("none/none", { recursive })).toEqual({ existed: false });
      });

      scenario(`finds nothing below a file (recursive: ${recursive})`, async ({ files }) => {
        await files.write("file", "x");
        expect(await files.remove("file/a", { recursive })).toEqual({ existed: false });
        expect(await files.remove("file/a/b", { recursive })).toEqual({ existed: false });
        expect(await files.text("file")).toBe("x");
      });

      scenario(`never removes the root (recursive: ${recursive})`, async ({ files }) => {
        await expectFailure(files.remove("", { recursive }), rootDelete(SUITE_ROOT));
        await files.write("a/b", "x", { parents: true });
        await expectFailure(files.remove("", { recursive }), rootDelete(SUITE_ROOT));
        await expectFailure(files.remove("a/..", { recursive }), rootDelete(SUITE_ROOT));
        expect(await files.text("a/b")).toBe("x");
      });
    }

    scenario("is refused on a directory that holds something", async ({ files }) => {
      await files.write("dir/file", "x", { parents: true });
      await files.mkdir("other/sub", { parents: true });
      const before = await files.snapshot();
      await expectFailure(files.remove("dir"), notEmpty(placeOf("dir")));
      await expectFailure(files.remove("other"), notEmpty(placeOf("other")));
      expect(await files.snapshot()).toEqual(before);
    });

    scenario("removes a directory with all below it, and nothing beside it", async ({ files }) => {
      await files.write("dir/a/b/c", "1", { parents: true });
      await files.write("dir/a/d", "2");
      await files.mkdir("dir/e");
      await files.write("dirx", "3");
      expect(await files.remove("dir", { recursive: true })).toEqual({ existed: true });
      expect(await files.snapshot()).toEqual([["dirx", "3"]]);
      expect(await files.remove("dir", { recursive: true })).toEqual({ existed: false });
    });

    scenario("makes room for another type", async ({ files }) => {
      await files.write("a", "x");
      await files.remove("a");
      await files.mkdir("a");
      await files.write("a/b", "y");
      await files.remove("a", { recursive: true });
      expect(await files.write("a", "z")).toEqual({ bytes: 1, created: true });
      expect(await files.snapshot()).toEqual([["a", "z"]]);
    });
  });
}
