import {
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect } from "@jest/globals";
import { assembleAdapter } from "../../../src/adapter/adapter.js";
import { parseFileConfig } from "../../../src/config/load.js";
import { startRacer } from "../../jail/races/start-racer.js";
import { needs } from "../../needs.js";
import { bwrapHere, isRoot, OWNER, useShell } from "../ground.js";

const { possible, reason } = await bwrapHere();
const test = needs(possible, reason);
const ground = useShell({
  root: { quota: { bytes: 100_000 } },
  roots: {
    tmp: { temp: true },
    drive: { dlfs: "d" },
    guarded: { temp: true, protect: ["@git", "@clients"], deny: ["*.pem"] },
  },
});

const at = (root: string, prefix?: string, place = "/workspace") => ({
  root,
  at: place,
  ...(prefix === undefined ? {} : { prefix }),
});

describe("a mounted directory", () => {
  test("is all that is seen of its root", async () => {
    ground.put("a/b/file", "1");
    ground.put("secret", "2");
    const ran = await ground.sh("cat file; ls -A .. ; cat ../secret ../../secret", { mounts: [at("r", "a/b")] });
    expect(ran.stdout.startsWith("1")).toBe(true);
    expect(ran.stdout).not.toContain("secret");
  });

  test.each([
    ["r", 600],
    ["guarded", 600],
    ["r", 2000],
  ])("of %s is rid of a tree of %d levels by rm -rf", async (root, levels) => {
    const script = `mkdir top && cd top && for i in $(seq ${levels}); do mkdir d && cd d || exit 1; done; echo x > f`;
    const mounts = [at(root)];
    expect(await ground.sh(script, { mounts })).toMatchObject({ exitCode: 0, stderr: "" });
    expect(await ground.sh("rm -rf top && ls", { mounts })).toMatchObject({ exitCode: 0, stdout: "", stderr: "" });
  });

  test("is made by the first command that may write, and is an empty one for others", async () => {
    const context = { caps: [{ with: "file://r/", can: "exec/run" }] };
    const mounts = [at("r", "new/one")];
    expect((await ground.sh("ls -A; touch a 2>/dev/null || echo refused", { context, mounts })).stdout).toBe(
      "refused\n",
    );
    expect(existsSync(join(ground.dir, "new"))).toBe(false);
    expect((await ground.sh("touch a; ls -A", { mounts })).stdout).toBe("a\n");
    expect(existsSync(join(ground.dir, "new/one/a"))).toBe(true);
  });

  test("is none where a link leads out of the root, or a file stands", async () => {
    symlinkSync(ground.outside, join(ground.dir, "out"));
    mkdirSync(join(ground.outside, "sub"));
    ground.put("file");
    for (const [prefix, code] of [
      ["out", "SYMLINK_ESCAPE"],
      ["out/sub", "SYMLINK_ESCAPE"],
      ["file", "NOT_A_DIRECTORY"],
      ["../x", "PATH_ESCAPES_ROOT"],
    ]) {
      await expect(ground.sh("true", { mounts: [at("r", prefix)] })).rejects.toMatchObject({ code });
    }
  });

  test("may stand in another one, each at its own place", async () => {
    ground.put("a/file", "1");
    ground.put("a/in/file", "2");
    const mounts = [at("r", "a/in", "/one/in/deep"), at("r", "a", "/one")];
    const ran = await ground.sh("cat /one/file /one/in/file /one/in/deep/file; echo 3 > /one/in/deep/made; pwd", {
      mounts,
      cwd: "/one/in",
    });
    expect([ran.stdout, ran.stderr]).toEqual(["122/one/in\n", ""]);
    expect(readFileSync(join(ground.dir, "a/in/made"), "utf8")).toBe("3\n");
  });

  test("is the one that was found, whatever takes its name meanwhile", async () => {
    for (const name of ["real", "fake"]) mkdirSync(join(ground.dir, name));
    if (isRoot) for (const name of ["real", "fake"]) chownSync(join(ground.dir, name), OWNER, OWNER);
    writeFileSync(join(ground.dir, "real/which"), "inside");
    writeFileSync(join(ground.outside, "which"), "OUTSIDE");
    // Now a directory of the root, now a link that leads out of it.
    symlinkSync(ground.outside, join(ground.dir, "link"));
    const racer = await startRacer(ground.dir, "real", "link");
    const seen = new Set<string>();
    try {
      for (let round = 0; round < 40; round++) {
        seen.add(
          await ground.sh("cat which", { mounts: [at("r", "real")] }).then(
            ({ stdout }) => stdout,
            ({ code }) => String(code),
          ),
        );
      }
    } finally {
      await racer.stop();
    }
    expect(seen).not.toContain("OUTSIDE");
    for (const outcome of seen) expect(["inside", "SYMLINK_ESCAPE", "NOT_SUPPORTED"]).toContain(outcome);
  }, 20_000);
});

describe("a quota", () => {
  test("is counted again after each command, and keeps others from being run while it is exceeded", async () => {
    expect((await ground.sh("head -c 60000 /dev/zero > a")).exitCode).toBe(0);
    const quotaOf = async () =>
      (await ground.adapter.invoke("file:roots", {})).roots.find(({ name }) => name === "r")?.quota;
    expect(await quotaOf()).toMatchObject({ usedBytes: 60_000, usedFiles: 1 });
    expect((await ground.sh("head -c 60000 /dev/zero > b")).exitCode).toBe(0);
    expect(await quotaOf()).toMatchObject({ usedBytes: 120_000, usedFiles: 2 });
    await expect(ground.sh("true")).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
    await expect(ground.adapter.invoke("file:write", { root: "r", path: "c", content: "x" })).rejects.toMatchObject({
      code: "QUOTA_EXCEEDED",
    });
    await ground.adapter.invoke("file:delete", { root: "r", path: "b" });
    expect((await ground.sh("rm a; echo ok")).stdout).toBe("ok\n");
    expect(await quotaOf()).toMatchObject({ usedBytes: 0, usedFiles: 0 });
  });
});

describe("a temp root", () => {
  test("belongs to whom commands in it run as, with what the adapter makes before and after", async () => {
    const mounts = [at("tmp")];
    await ground.adapter.invoke("file:write", { root: "tmp", path: "a/before", content: "1", parents: true });
    expect((await ground.sh("echo 2 >> a/before; echo 3 > a/made; cat a/before", { mounts })).stdout).toBe("12\n");
    await ground.adapter.invoke("file:write", { root: "tmp", path: "b/after", content: "4", parents: true });
    expect((await ground.sh("echo 5 >> b/after; mv b/after c; cat c", { mounts })).stdout).toBe("45\n");
    await ground.adapter.invoke("file:write", { root: "tmp", path: "a/made", content: "6" });
    await ground.adapter.invoke("file:delete", { root: "tmp", path: "a", recursive: true });
    expect((await ground.sh("ls -A", { mounts })).stdout.split("\n")).toEqual(expect.arrayContaining(["b", "c"]));
  });

  test("goes with all that commands made in it", async () => {
    const config = parseFileConfig(
      { roots: { t: { temp: true, prefix: "venue-files-shell-gone-" } } },
      { baseDir: ground.home },
    );
    const adapter = await assembleAdapter(config, { discloseHostPaths: true });
    const [root] = adapter.roots;
    const path = root?.hostPath ?? "";
    const process = await adapter.exec(
      ground.request("mkdir -p a/b; chmod 0 a/b; touch c; ln -s / d", { mounts: [at("t")] }),
    );
    expect(await process.exited).toMatchObject({ exitCode: 0 });
    if (isRoot) expect([statSync(path).uid, statSync(join(path, "..")).mode & 0o777]).toEqual([65_534, 0o711]);
    const running = await adapter.exec(ground.request("sleep 77.25", { mounts: [at("t")] }));
    await adapter.close();
    expect(await running.exited).toMatchObject({ signal: "SIGKILL" });
    expect(existsSync(path)).toBe(false);
    await expect(adapter.exec(ground.request("true", { mounts: [at("t")] }))).rejects.toMatchObject({
      code: "ABORTED",
    });
  });
});

test("a root that is no directory has no commands that need one", async () => {
  await expect(ground.sh("true", { mounts: [at("drive")] })).rejects.toMatchObject({
    code: expect.stringMatching(/NOT_SUPPORTED|DRIVE_REQUIRES_AUTH/),
  });
});

test("a sandbox that cannot be set up runs nothing, and tells only the operator why", async () => {
  const closed = join(ground.home, "closed");
  mkdirSync(join(closed, "root"), { recursive: true, mode: 0o700 });
  if (isRoot) chownSync(join(closed, "root"), OWNER, OWNER);
  const config = parseFileConfig({ roots: { closed: { path: join(closed, "root") } } }, { baseDir: ground.home });
  const adapter = await assembleAdapter(config, { discloseHostPaths: true });
  try {
    const running = adapter.exec(
      ground.request("echo ran", { mounts: [at("closed")], cwd: isRoot ? "/workspace" : "/nowhere" }),
    );
    await expect(running).rejects.toMatchObject({
      code: "NOT_SUPPORTED",
      message: "Not supported by this venue: no sandbox available",
    });
    expect(ground.warnings.join()).toContain("a command was not run: bwrap: ");
    expect(readdirSync(join(closed, "root")).filter((name) => name !== ".venue-files")).toEqual([]);
  } finally {
    await adapter.close();
  }
});
