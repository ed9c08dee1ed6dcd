import { execFileSync } from "node:child_process";
import { symlinkSync, utimesSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { failure, useGround } from "./ground.js";
import { testFixed, whileFixed } from "./rights.js";

const ground = useGround({ roots: { fixed: { temp: true, readOnly: true } } });

describe("file:stat", () => {
  test("tells type, size, time and type of content of a file", async () => {
    ground.put("notes.md", "grüße");
    utimesSync(join(ground.dir, "notes.md"), 1, 1_700_000_000.25);
    expect(await ground.run("stat", { path: "notes.md" })).toEqual({
      exists: true,
      type: "file",
      size: 7,
      modified: 1_700_000_000_250,
      readOnly: false,
      mime: "text/markdown",
    });
  });

  test("tells no type of content that the name does not tell", async () => {
    ground.put("unknown", Buffer.from("89504e470d0a1a0a", "hex"));
    expect(await ground.run("stat", { path: "unknown" })).not.toHaveProperty("mime");
  });

  test("tells a directory, without a size and whatever its name", async () => {
    ground.put("dir.md/inner", "12345");
    const modified = expect.any(Number);
    const directory = { exists: true, type: "directory", size: 0, modified, readOnly: false };
    expect(await ground.run("stat", { path: "dir.md" })).toEqual(directory);
    expect(await ground.run("stat", { path: "/" })).toEqual(directory);
    expect(await ground.run("stat", { path: "" })).toEqual(directory);
  });

  test("tells a FIFO and a socket without opening them", async () => {
    execFileSync("mkfifo", [join(ground.dir, "pipe.txt")]);
    const server = createServer().listen(join(ground.dir, "socket"));
    await new Promise((resolve) => server.once("listening", resolve));
    try {
      for (const path of ["pipe.txt", "socket"]) {
        const stat = await ground.run("stat", { path });
        expect(stat).toEqual({ exists: true, type: "other", size: 0, modified: expect.any(Number), readOnly: false });
      }
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
  });

  test.each([["none"], ["none/none"], ["file/x"], ["file/x/y"], ["link-to-file/x"]])(
    "says that nothing exists at %s",
    async (path) => {
      ground.put("file");
      symlinkSync("file", join(ground.dir, "link-to-file"));
      expect(await ground.run("stat", { path })).toEqual({ exists: false });
    },
  );

  test("gives the target of a link, and says that there is one", async () => {
    ground.put("dir/file.txt", "123");
    symlinkSync("dir/file.txt", join(ground.dir, "a.md"));
    symlinkSync("a.md", join(ground.dir, "chain"));
    symlinkSync(join(ground.dir, "dir"), join(ground.dir, "absolute"));
    const file = { exists: true, type: "file", size: 3, symlink: true };
    expect(await ground.run("stat", { path: "a.md" })).toMatchObject({ ...file, mime: "text/markdown" });
    expect(await ground.run("stat", { path: "chain" })).toMatchObject(file);
    expect(await ground.run("stat", { path: "absolute" })).toMatchObject({ type: "directory", symlink: true });
  });

  test("says nothing of links on the way", async () => {
    ground.put("dir/file", "123");
    symlinkSync("dir", join(ground.dir, "link"));
    expect(await ground.run("stat", { path: "link/file" })).not.toHaveProperty("symlink");
    expect(await ground.run("stat", { path: "link/none" })).toEqual({ exists: false });
  });

  test("calls everything in a read-only root read-only", async () => {
    const stat = await ground.adapter.invoke("file:stat", { root: "fixed", path: "" });
    expect(stat).toMatchObject({ exists: true, readOnly: true });
  });

  testFixed("tells what the process may not write", async () => {
    ground.put("fixed");
    const stat = await whileFixed(join(ground.dir, "fixed"), () => ground.run("stat", { path: "fixed" }));
    expect(stat).toMatchObject({ type: "file", readOnly: true });
  });
});

describe("file:stat is refused", () => {
  const refused = [
    ["on a link that leads out", "out", failure("SYMLINK_ESCAPE", "Path escapes root via symlink: out", "out")],
    [
      "on a link that leads out to nothing",
      "out-to-nothing",
      failure("SYMLINK_ESCAPE", "Path escapes root via symlink: out-to-nothing", "out-to-nothing"),
    ],
    ["below it", "out/x", failure("SYMLINK_ESCAPE", "Path escapes root via symlink: out/x", "out/x")],
    [
      "on a link to nothing",
      "dangling",
      failure("DANGLING_SYMLINK", "Path resolves through dangling symlink: dangling", "dangling"),
    ],
    ["on a link to itself", "loop", failure("INVALID_PATH", "Invalid path 'loop': too many links", "loop")],
    [
      "on what a write prepares",
      ".venue-files/x",
      failure("INVALID_PATH", "Invalid path '.venue-files/x': reserved name", ".venue-files/x"),
    ],
  ] as const;
  test.each(refused)("%s", async (_, path, expected) => {
    symlinkSync(ground.outside, join(ground.dir, "out"));
    symlinkSync(`${ground.outside}/nothing`, join(ground.dir, "out-to-nothing"));
    symlinkSync("nothing", join(ground.dir, "dangling"));
    symlinkSync("loop", join(ground.dir, "loop"));
    expect(await ground.fail("stat", { path })).toEqual(expected);
  });

  test("without a path", async () => {
    expect(await ground.fail("stat", {})).toEqual({
      code: "INVALID_INPUT",
      message: "'path' is required",
      data: { pointer: "/path", expected: "a value" },
    });
  });
});
