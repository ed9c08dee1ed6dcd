import { spawnSync } from "node:child_process";
import fs, { readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { afterAll, afterEach, describe, expect, jest, test } from "@jest/globals";
import { mapErrors } from "../../../src/backend/host/root.js";
import { runIo } from "../../../src/core/io.js";
import { CLI, cleanUp, makeFolder } from "../../cli/process.js";
import { inArena } from "../../jail/arena.js";
import { withFiles } from "../../jail/files.js";
import { describeWhere } from "../../needs.js";

afterEach(() => {
  jest.restoreAllMocks();
});
afterAll(cleanUp);

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

const folder = makeFolder({ "f.txt": "x\n", "d/g.txt": "y\n" });
const READ_ONLY = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && shift && exec "$@"';
const mounted = (...command: string[]) =>
  spawnSync("unshare", ["-rm", "sh", "-c", READ_ONLY, "sh", folder, ...command], {
    encoding: "utf8",
    env: { PATH: process.env["PATH"], HOME: makeFolder() },
  });

describeWhere(mounted("true").status === 0, "no file system can be mounted here")(
  "a file system that is read-only",
  () => {
    test.each<[string, object]>([
      ["write", { path: "new.txt", content: "n" }],
      ["write", { path: "f.txt", content: "n" }],
      ["write", { path: "a/b.txt", content: "n", parents: true }],
      ["edit", { path: "f.txt", edits: [{ oldText: "x", newText: "z" }] }],
      ["append", { path: "f.txt", content: "n" }],
      ["mkdir", { path: "m" }],
      ["delete", { path: "f.txt" }],
      ["delete", { path: "d", recursive: true }],
      ["move", { path: "f.txt", to: "d/f.txt" }],
      ["copy", { path: "f.txt", to: "d/f.txt" }],
    ])("is named by %s %j, and is no matter of permissions", (operation, input) => {
      const { stderr, status } = mounted(
        ...[process.execPath, CLI, "call", `file:${operation}`, JSON.stringify({ root: "r", ...input })],
        ...["--root", `r=${folder}`],
      );
      expect(status).toBe(1);
      const { errorCode, error } = JSON.parse(stderr.trim().split("\n").at(-1) ?? "");
      expect(errorCode).toBe("READ_ONLY_ROOT");
      expect(error).toContain("is mounted read-only. Write elsewhere, or have it mounted for writing");
      expect(readFileSync(join(folder, "f.txt"), "utf8")).toBe("x\n");
    });
  },
);

describe("what the system refuses", () => {
  test.each([
    ["EROFS", "READ_ONLY_ROOT"],
    ["EACCES", "PERMISSION_DENIED"],
    ["EPERM", "PERMISSION_DENIED"],
  ])("%s is %s", (errno, code) => {
    const work = mapErrors({ root: "r", path: "a" }, failing(errno));
    expect(() => runIo(work)).toThrow(expect.objectContaining({ code }));
  });
});

function* failing(code: string): Generator<never, void, never> {
  throw Object.assign(new Error(code), { code, errno: -1, syscall: "open" });
}
