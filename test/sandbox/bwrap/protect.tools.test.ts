import { readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "@jest/globals";
import { needs } from "../../needs.js";
import { bwrapHere, useShell } from "../ground.js";

const { possible, reason } = await bwrapHere();
const test = needs(possible, reason);
const ground = useShell({ root: { protect: ["@git", "config/keys/*"], deny: [".git/**/token"] } });

describe("what a root protects", () => {
  test("can be read by a command and not changed, at any depth", async () => {
    ground.put(".git/config", "[core]");
    ground.put(".git/hooks/old", "hook");
    ground.put("a/b/.git", "gitdir: elsewhere");
    ground.put("config/keys/one", "key");
    expect((await ground.sh("cat .git/config a/b/.git config/keys/one")).stdout).toBe("[core]gitdir: elsewherekey");
    const attempts = [
      ...["echo x > .git/config", "echo x > .git/hooks/new", "rm -rf .git", "mv .git g", "chmod 777 .git/hooks/old"],
      ...["ln .git/config x && echo x > x", "echo x > a/b/.git", "rm a/b/.git", "mv a/b/.git y", "rm -rf a"],
      ...["echo x > config/keys/one", "mv config c", "mv config/keys k", "mount -o remount,rw .git"],
    ];
    const ran = await ground.sh(
      attempts.map((attempt, index) => `(${attempt}) 2>/dev/null && echo ${index}`).join("; "),
    );
    expect(ran.stdout).toBe("");
    expect(readFileSync(join(ground.dir, ".git/config"), "utf8")).toBe("[core]");
    expect(readdirSync(join(ground.dir, ".git/hooks"))).toEqual(["old"]);
    expect(readFileSync(join(ground.dir, "a/b/.git"), "utf8")).toBe("gitdir: elsewhere");
    expect(readFileSync(join(ground.dir, "config/keys/one"), "utf8")).toBe("key");
    // What stands beside it is not kept from it.
    expect((await ground.sh("echo y > a/b/c && mv a/b/c config/d && cat config/d")).stdout).toBe("y\n");
  });

  test("hides what is denied in it all the same", async () => {
    ground.put(".git/x/token", "SECRET");
    ground.put(".git/config", "[core]");
    const ran = await ground.sh(
      "cat .git/config .git/x/token; echo x > .git/x/y || echo kept; mv .git/x .git/z || echo kept",
    );
    expect(ran.stdout).toBe("[core]kept\nkept\n");
  });

  test("is not reached through a link, and cannot be mounted to be written as a prefix", async () => {
    ground.put(".git/hooks/old", "hook");
    symlinkSync(".git/hooks", join(ground.dir, "hooks"));
    expect((await ground.sh("echo x > hooks/new || echo kept")).stdout).toBe("kept\n");
    for (const prefix of [".git/hooks", "hooks"]) {
      const mounts = [{ root: "r", prefix, at: "/workspace" }];
      await expect(ground.sh("touch x", { mounts })).rejects.toMatchObject({
        code: "DENIED_BY_POLICY",
        message: `Cannot exec "${prefix}": protected by policy of root "r" (may be read, not changed). Do not retry`,
      });
    }
    const mounts = [{ root: "r", prefix: ".git/hooks", at: "/workspace", readOnly: true }];
    expect((await ground.sh("cat old", { mounts })).stdout).toBe("hook");
  });

  test("makes all read-only when it is too much to mount, as a command can bring about, and the error output says so", async () => {
    const most = await ground.sh(
      "for i in $(seq 1000); do mkdir -p many/$i; echo x > many/$i/.git; done; echo y > free",
    );
    expect(most).toMatchObject({ exitCode: 0, stderr: "" });
    expect(await ground.sh("echo z > free; echo z > many/7/.git || cat free many/7/.git")).toMatchObject({
      stdout: "z\nx\n",
    });
    ground.put(".git/x/token", "SECRET");
    const ran = await ground.sh(
      "(echo w > free; rm -rf many; mv many m; mkdir n; echo w > many/7/.git) 2>/dev/null; ls; cat free many/7/.git .git/x/token",
    );
    expect(ran.stdout).toBe("free\nmany\nz\nx\n");
    expect(ran.stderr).toBe(
      "venue-files: nothing could be changed: 1,001 entries are protected, too many to mount read-only one by one, so all was read-only. File operations can change what is not protected\n",
    );
    rmSync(join(ground.dir, ".git"), { recursive: true });
    expect(await ground.sh("echo v > free && cat free")).toMatchObject({ stdout: "v\n", stderr: "" });
  });
});
