import { execFileSync } from "node:child_process";
import fs, { chmodSync, linkSync, mkdirSync, readlinkSync, rmSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, jest, test } from "@jest/globals";
import { NativeSource } from "../../src/jail/native/calls.js";
import { contentSuite } from "./content/content-suite.js";
import { failure, useGround } from "./ground.js";
import { asNobody, testFixed, whileFixed } from "./rights.js";

contentSuite("write");

describe("file:write", () => {
  const ground = useGround();
  const modeOf = (path: string): number => statSync(join(ground.dir, path)).mode & 0o7777;
  const inodeOf = (path: string): number => statSync(join(ground.dir, path)).ino;

  test("makes a file, then replaces all of it", async () => {
    expect(await ground.run("write", { path: "a", content: "long content" })).toMatchObject({
      written: 12,
      created: true,
    });
    expect(await ground.run("write", { path: "a", content: "x" })).toMatchObject({ written: 1, created: false });
    expect(ground.get("a").toString()).toBe("x");
    expect(ground.names()).toEqual(["a"]);
  });

  test("makes missing directories where that is asked for", async () => {
    const write = { path: "a/b/c", content: "x", parents: true };
    expect(await ground.run("write", write)).toMatchObject({ written: 1, created: true });
    expect(await ground.run("write", write)).toMatchObject({ written: 1, created: false });
    expect(ground.get("a/b/c").toString()).toBe("x");
  });

  test("puts a new file in place of the old one, so that nobody sees half of it", async () => {
    ground.put("a", "old");
    const before = inodeOf("a");
    await ground.run("write", { path: "a", content: "new" });
    expect(inodeOf("a")).not.toBe(before);
  });

  test("writes what a link leads to, and leaves the link", async () => {
    ground.put("dir/file", "old");
    symlinkSync("dir/file", join(ground.dir, "link"));
    expect(await ground.run("write", { path: "link", content: "new" })).toMatchObject({ written: 3, created: false });
    expect(ground.get("dir/file").toString()).toBe("new");
    expect(readlinkSync(join(ground.dir, "link"))).toBe("dir/file");
  });

  test("keeps permission bits, but not those that lend rights", async () => {
    ground.put("a");
    for (const [mode, kept] of [
      [0o640, 0o640],
      [0o755, 0o755],
      [0o4755, 0o755],
      [0o1600, 0o600],
    ] as const) {
      chmodSync(join(ground.dir, "a"), mode);
      await ground.run("write", { path: "a", content: "x" });
      expect(modeOf("a").toString(8)).toBe(kept.toString(8));
    }
  });

  test("gives a new file the usual bits", async () => {
    await ground.run("write", { path: "a", content: "x" });
    ground.put("usual");
    expect(modeOf("a")).toBe(modeOf("usual"));
  });

  test("leaves the other names of a hard-linked file alone", async () => {
    ground.put("a", "old");
    linkSync(join(ground.dir, "a"), join(ground.outside, "b"));
    await ground.run("write", { path: "a", content: "new" });
    expect(execFileSync("cat", [join(ground.outside, "b")], { encoding: "utf8" })).toBe("old");
  });

  test("is refused on a FIFO, at once", async () => {
    execFileSync("mkfifo", [join(ground.dir, "pipe")]);
    const expected = failure("NOT_A_FILE", "Not a regular file: pipe", "pipe");
    expect(await ground.fail("write", { path: "pipe", content: "x" })).toEqual(expected);
    expect(await ground.fail("append", { path: "pipe", content: "x" })).toEqual(expected);
  });

  test("is refused where the process may not write", async () => {
    const failed = await asNobody(ground.dir, () => ground.fail("write", { path: "new", content: "x" }));
    expect(failed).toEqual(failure("PERMISSION_DENIED", "Permission denied: r:new", "new"));
    expect(ground.names()).toEqual([]);
  });

  testFixed("is refused on a file that the process may not write, though its directory would allow it", async () => {
    ground.put("fixed", "old");
    const failed = await whileFixed(join(ground.dir, "fixed"), () =>
      ground.fail("write", { path: "fixed", content: "x" }),
    );
    expect(failed).toEqual(failure("PERMISSION_DENIED", "Permission denied: r:fixed", "fixed"));
    expect(ground.get("fixed").toString()).toBe("old");
  });

  test("of a parent outside the grant makes nothing", async () => {
    const caps = [{ with: "file://r/a/b", can: "crud/write" }];
    const failed = await ground.fail("write", { path: "a/b/c", content: "x", parents: true }, { caps });
    expect(failed.data["required"]).toEqual({ with: "file://r/a", can: "crud/write" });
    expect(ground.names()).toEqual([]);
  });

  test("over a file of which another process makes a directory meanwhile tells of that, and leaves nothing", async () => {
    jest.spyOn(NativeSource.prototype, "calls", "get").mockReturnValue(undefined);
    ground.put("turned");
    const own = join(ground.dir, "turned");
    const rename = fs.renameSync;
    jest.spyOn(fs, "renameSync").mockImplementation((from, to) => {
      if (String(to).endsWith("/turned") && statSync(own).isFile()) {
        rmSync(own);
        mkdirSync(own);
      }
      rename(from, to);
    });
    try {
      expect((await ground.fail("write", { path: "turned", content: "x" })).code).toBe("IS_A_DIRECTORY");
    } finally {
      jest.restoreAllMocks();
    }
    expect(ground.names()).toEqual(["turned"]);
    expect(ground.names("turned")).toEqual([]);
  });

  test("of what another file holds leaves that file closed where nothing can be staged", async () => {
    jest.spyOn(NativeSource.prototype, "calls", "get").mockReturnValue(undefined);
    ground.put("from", "content");
    const left = new Set<number>();
    const ENOSPC = { code: "ENOSPC", errno: -28, syscall: "open" };
    const { openSync, closeSync } = fs;
    jest.spyOn(fs, "openSync").mockImplementation((path, flags, mode) => {
      if ((Number(flags) & fs.constants.O_CREAT) !== 0) throw Object.assign(new Error("injected"), ENOSPC);
      const fd = openSync(path, flags, mode);
      // An entry that was found is opened for reading by its handle.
      if (/\/(?:from|fd\/\d+)$/.test(String(path))) left.add(fd);
      return fd;
    });
    jest.spyOn(fs, "closeSync").mockImplementation((fd) => {
      left.delete(fd);
      closeSync(fd);
    });
    try {
      const failed = await ground.fail("write", { path: "to", asset: "file://r/from" });
      expect(failed.code).toBe("NO_SPACE");
      expect([...left]).toEqual([]);
    } finally {
      jest.restoreAllMocks();
    }
  });

  test("of a million characters comes back the same", async () => {
    const content = "0123456789abcdé\n".repeat(70_000);
    await ground.run("write", { path: "big", content });
    expect((await ground.run("read", { path: "big" })).content).toBe(content);
  });
});
