import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { mapErrors } from "../../../src/backend/host/root.js";
import { runIo } from "../../../src/core/io.js";
import { CLI, cleanUp, makeFolder } from "../../cli/process.js";
import { describeWhere } from "../../needs.js";

afterAll(cleanUp);

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
