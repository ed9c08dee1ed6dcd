import fs, { lstatSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, jest, test } from "@jest/globals";
import { failure, useGround } from "./ground.js";
import { asNobody } from "./rights.js";

const ground = useGround();
const gone = { deleted: true, existed: true };

function refusalOf(call: () => void): unknown {
  try {
    return call();
  } catch (error) {
    return (error as NodeJS.ErrnoException).code;
  }
}

describe("file:delete", () => {
  test("removes a file", async () => {
    ground.put("dir/file");
    expect(await ground.run("delete", { path: "dir/file" })).toEqual(gone);
    expect(ground.names("dir")).toEqual([]);
  });

  test("removes what has the name in the end, where another process makes a directory of the file meanwhile", async () => {
    ground.put("turned");
    const unlink = fs.unlinkSync;
    const spy = jest.spyOn(fs, "unlinkSync").mockImplementation((path) => {
      const own = join(ground.dir, "turned");
      if (String(path).endsWith("/turned") && lstatSync(own, { throwIfNoEntry: false })?.isFile() === true) {
        rmSync(own);
        mkdirSync(own);
      }
      unlink(path);
    });
    const deleted = () => ground.run("delete", { path: "turned" });
    try {
      // On macOS the refusal is that of a file which may not be removed; the next call sees the directory.
      if (refusalOf(() => unlink(ground.dir)) === "EPERM") await expect(deleted()).rejects.toThrow("Permission denied");
      expect(await deleted()).toEqual(gone);
    } finally {
      spy.mockRestore();
    }
    expect(ground.names()).toEqual([]);
  });

  test("removes an empty directory, with and without recursive", async () => {
    for (const input of [{}, { recursive: false }, { recursive: true }]) {
      ground.mkdir("dir");
      expect(await ground.run("delete", { path: "dir", ...input })).toEqual(gone);
      expect(ground.names()).toEqual([]);
    }
  });

  test.each([["none"], ["none/none"], ["file/x"], ["file/x/y"]])("is content with nothing at %s", async (path) => {
    ground.put("file");
    expect(await ground.run("delete", { path })).toEqual({ deleted: false, existed: false });
    expect(await ground.run("delete", { path, recursive: true })).toEqual({ deleted: false, existed: false });
    expect(ground.names()).toEqual(["file"]);
  });

  test("removes a directory with everything in it, and nothing that links in it lead to", async () => {
    ground.put("keep/file", "kept");
    writeFileSync(join(ground.outside, "file"), "kept");
    ground.put("dir/a/b/c");
    ground.put("dir/d");
    symlinkSync("../keep", join(ground.dir, "dir/inside"));
    symlinkSync(ground.outside, join(ground.dir, "dir/a/out"));
    symlinkSync("nothing", join(ground.dir, "dir/dangling"));
    writeFileSync(Buffer.concat([Buffer.from(`${ground.dir}/dir/`), Buffer.of(0xff)]), "");
    expect(await ground.run("delete", { path: "dir", recursive: true })).toEqual(gone);
    expect(ground.names()).toEqual(["keep"]);
    expect(ground.names("keep")).toEqual(["file"]);
    expect(readdirSync(ground.outside)).toEqual(["file"]);
  });

  test.each([
    ["to a file", "file"],
    ["to a directory", "dir"],
    ["that leads out", "/etc"],
    ["to nothing", "nothing"],
    ["to itself", "link"],
  ])("removes a link itself: one %s", async (_, target) => {
    ground.put("file", "kept");
    ground.put("dir/inner");
    for (const input of [{}, { recursive: true }]) {
      symlinkSync(target, join(ground.dir, "link"));
      expect(await ground.run("delete", { path: "link", ...input })).toEqual(gone);
      expect(ground.names()).toEqual(["dir", "file"]);
      expect(ground.names("dir")).toEqual(["inner"]);
    }
  });

  test("removes what a link on the way leads to", async () => {
    ground.put("dir/file");
    symlinkSync("dir", join(ground.dir, "link"));
    expect(await ground.run("delete", { path: "link/file" })).toEqual(gone);
    expect(ground.names("dir")).toEqual([]);
    expect(lstatSync(join(ground.dir, "link")).isSymbolicLink()).toBe(true);
  });
});

describe("file:delete is refused, and removes nothing", () => {
  test.each([[""], ["/"], ["."], ["dir/.."], ["./"]])("for the root itself, spelt %p", async (path) => {
    ground.put("dir/file");
    for (const input of [{}, { recursive: true }]) {
      expect(await ground.fail("delete", { path, ...input })).toEqual(
        failure("ROOT_DELETE", "Refusing to delete the root itself", ""),
      );
    }
    expect(ground.names("dir")).toEqual(["file"]);
  });

  const refused = [
    [
      "for a directory that holds something",
      "dir",
      failure("NOT_EMPTY", "Directory not empty: dir (pass recursive: true)", "dir"),
    ],
    [
      "below a link that leads out",
      "out/x",
      failure("SYMLINK_ESCAPE", "Path escapes root via symlink: out/x", "out/x"),
    ],
    [
      "below a link to nothing",
      "dangling/x",
      failure("DANGLING_SYMLINK", "Path resolves through dangling symlink: dangling/x", "dangling/x"),
    ],
    ["outside", "../outside", failure("PATH_ESCAPES_ROOT", "Path escapes root 'r': ../outside", "../outside")],
    [
      "for what a write prepares",
      ".venue-files",
      failure("INVALID_PATH", "Invalid path '.venue-files': reserved name", ".venue-files"),
    ],
  ] as const;
  test.each(refused)("%s", async (_, path, expected) => {
    ground.put("dir/file");
    writeFileSync(join(ground.outside, "x"), "");
    symlinkSync(ground.outside, join(ground.dir, "out"));
    symlinkSync("nothing", join(ground.dir, "dangling"));
    expect(await ground.fail("delete", { path })).toEqual(expected);
    expect(ground.names()).toEqual(["dangling", "dir", "out"]);
    expect(ground.names("dir")).toEqual(["file"]);
    expect(readdirSync(ground.outside)).toEqual(["x"]);
  });

  test("where the process may not write", async () => {
    ground.put("file");
    const failed = await asNobody(ground.dir, () => ground.fail("delete", { path: "file" }));
    expect(failed).toEqual(failure("PERMISSION_DENIED", "Permission denied: r:file", "file"));
    expect(ground.names()).toEqual(["file"]);
  });

  test.each([["true"], [1]])("when recursive is %p", async (recursive) => {
    ground.put("dir/file");
    expect(await ground.fail("delete", { path: "dir", recursive })).toEqual({
      code: "INVALID_INPUT",
      message: "'recursive' must be a boolean",
      data: { pointer: "/recursive", expected: "boolean" },
    });
    expect(ground.names("dir")).toEqual(["file"]);
  });

  test("with the misspelt option named", async () => {
    ground.put("dir/file");
    expect(await ground.fail("delete", { path: "dir", recusive: true })).toEqual({
      code: "INVALID_INPUT",
      message: "Unknown field 'recusive' - did you mean 'recursive'?",
      data: { pointer: "/recusive", expected: "root, path, recursive, permanent, ifMatch, operationId" },
    });
    expect(ground.names("dir")).toEqual(["file"]);
  });
});
