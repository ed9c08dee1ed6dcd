import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect } from "@jest/globals";
import { assembleAdapter } from "../../../src/adapter/adapter.js";
import { findMasks } from "../../../src/backend/host/masks.js";
import { parseFileConfig } from "../../../src/config/load.js";
import { CallScope } from "../../../src/core/call/scope.js";
import { systemClock } from "../../../src/core/clock.js";
import { runIo } from "../../../src/core/io.js";
import type { Access } from "../../../src/core/ports/backend.js";
import { openShared } from "../../../src/database/shared-database.js";
import { mintUcan, newSeed, signingKeyFromSeed } from "../../../src/index.js";
import { Jail } from "../../../src/jail/jail.js";
import { Locks } from "../../../src/jail/staging/locks.js";
import { compileDeny } from "../../../src/path/deny.js";
import { cleanUp, run } from "../../cli/process.js";
import { startRacer } from "../../jail/races/start-racer.js";
import { needs } from "../../needs.js";
import { stagedIn } from "../../staged.js";
import { until } from "../../until.js";
import { bwrapHere, isRoot, OWNER, useShell } from "../ground.js";
import { changesBy, told } from "../run-history.js";

afterAll(cleanUp);
const { possible, reason } = await bwrapHere();
const test = needs(possible, reason);

describe("masks", () => {
  const NO_ACCESS: Omit<Access, "place" | "scope"> = {
    verb: "exec",
    real() {},
    create() {},
    require() {},
    holds: () => true,
  };
  const ground = useShell({ root: { deny: ["@secrets", "private", "config/keys/*", "config/**/token"] } });

  describe("what a root denies", () => {
    test("is empty in the eyes of a command, at any depth and however it is named", async () => {
      ground.put(".env", "SECRET");
      ground.put("a/b/.env.local", "SECRET");
      ground.put("private/file", "SECRET");
      ground.put("config/keys/one", "SECRET");
      ground.put("a/open", "open");
      const raw = Buffer.concat([Buffer.from(`${ground.dir}/a/`), Buffer.of(0xff), Buffer.from(".pem")]);
      writeFileSync(raw, "SECRET");
      if (isRoot) chownSync(raw, OWNER, OWNER);
      const ran = await ground.sh("find . -type f | sort; grep -r . . ; cat a/*.pem; ls private");
      expect(ran.stdout).not.toContain("SECRET");
      expect(ran.stdout).toContain("./a/open:open");
      expect(ran.stdout.split("\n").slice(0, 5)).toEqual([
        "./.env",
        "./a/b/.env.local",
        "./a/open",
        expect.stringContaining(".pem"),
        "./config/keys/one",
      ]);
    });

    test("cannot be written, removed, linked or moved, nor can what its pattern names above it", async () => {
      ground.put("config/keys/one", "SECRET");
      ground.put("a/b/.env", "SECRET");
      const attempts = [
        ...["echo x > a/b/.env", "rm a/b/.env", "mv a/b/.env x", "ln a/b/.env x", "chmod 666 a/b/.env"],
        ...["mv config x", "mv config/keys a/", "rm -rf a"],
      ];
      const ran = await ground.sh(
        attempts.map((attempt, index) => `(${attempt}) 2>/dev/null && echo ${index}`).join("; "),
      );
      expect(ran.stdout).toBe("");
      expect(readFileSync(join(ground.dir, "a/b/.env"), "utf8")).toBe("SECRET");
      expect(readFileSync(join(ground.dir, "config/keys/one"), "utf8")).toBe("SECRET");
      // What stands beside it is not kept from it.
      expect((await ground.sh("echo y > a/b/c && mv a/b/c config/d && cat config/d")).stdout).toBe("y\n");
    });

    test("is as empty where a directory above it has got another name, which its pattern does not count on", async () => {
      ground.put("a/b/.env", "SECRET");
      expect((await ground.sh("mv a/b a/c && mv a x && cat x/c/.env && ls -A x/c")).stdout).toBe(".env\n");
      expect((await ground.sh("cat x/c/.env")).stdout).toBe("");
      const read = ground.adapter.invoke("file:read", { root: "r", path: "x/c/.env" }, {});
      await expect(read).rejects.toMatchObject({ code: "DENIED_BY_POLICY" });
    });

    test("is not written either where the view is read-only", async () => {
      ground.put("a/.env", "SECRET");
      const context = { caps: [{ with: "file://r/", can: "exec/run" }] };
      expect((await ground.sh("cat a/.env; touch a/x 2>/dev/null || echo refused", { context })).stdout).toBe(
        "refused\n",
      );
    });

    test("keeps commands from being run when it is too much to hide, until some of it is deleted", async () => {
      for (let index = 0; index < 1000; index++) ground.put(`many/${index % 10}/${index}.key`, "SECRET");
      expect((await ground.sh("cat many/*/*.key | wc -c")).stdout).toBe("0\n");
      for (let index = 0; index < 7; index++) ground.put(`more/${index}/.env`);
      await expect(ground.sh("true")).rejects.toMatchObject({
        code: "DENIED_BY_POLICY",
        message: "too many denied entries to hide: 1007, limit 1000",
        data: { root: "r", path: "", denied: 1007, limit: 1000 },
      });
      // No operation on this root gets at what is denied, but one on another root without the policy does, as on a venue that runs.
      const refused = ground.adapter.invoke("file:delete", { root: "r", path: "more", recursive: true }, {});
      await expect(refused).rejects.toMatchObject({ code: "DENIED_BY_POLICY" });
      const config = join(ground.outside, "clean.json5");
      writeFileSync(config, JSON.stringify({ file: { roots: { clean: { path: ground.dir } } } }));
      const input = { root: "clean", path: "more", recursive: true, permanent: true };
      const call = await run(["call", "--config", config, "file:delete", JSON.stringify(input)]);
      expect(call).toMatchObject({ status: 0, stdout: expect.stringContaining('"deleted":true') });
      expect((await ground.sh("echo again")).stdout).toBe("again\n");
    });

    test("cannot be mounted as a prefix", async () => {
      ground.put("private/file", "SECRET");
      const mounts = [{ root: "r", prefix: "private", at: "/workspace" }];
      await expect(ground.sh("true", { mounts })).rejects.toMatchObject({ code: "DENIED_BY_POLICY" });
    });
  });

  describe("what the adapter prepares", () => {
    test("is seen by no command, whether it was there before or comes while it runs", async () => {
      const running = await ground.adapter.exec(
        ground.request(
          "echo on; while [ ! -e stop ]; do ls -AR . | grep -v '^total' ; ls -A .venue-files; sleep 0.01; done",
        ),
      );
      while (running.output().stdout.length === 0) await sleep(5);
      const body = {
        async *chunks() {
          yield Buffer.from("half");
          await until(() => readdirSync(join(ground.dir, ".venue-files")).length > 1);
          // Time for the command to look.
          await sleep(100);
          yield Buffer.from("whole");
        },
      };
      await ground.adapter.transfers.upload({ root: "r", path: "up" }, { chunks: body.chunks() }, {});
      ground.put("stop");
      expect(await running.exited).toMatchObject({ exitCode: 0 });
      const seen = new Set(Buffer.from(running.output().stdout).toString().trim().split("\n"));
      expect(
        [...seen].filter((line) => !["on", ".:", "", ".venue-files", "./.venue-files:", "up", "stop"].includes(line)),
      ).toEqual([]);
    });

    test("is left alone by a command, and nothing of a run stays", async () => {
      ground.put(".venue-files-x/y", "prepared");
      const ran = await ground.sh(
        "touch .venue-files/x; rm -rf .venue-files .venue-files-x; ls .venue-files-x; exit 0",
      );
      expect([ran.stdout, ran.exitCode]).toEqual(["", 0]);
      expect(readFileSync(join(ground.dir, ".venue-files-x/y"), "utf8")).toBe("prepared");
      expect(stagedIn(ground.dir) ?? []).toEqual([]);
    });
  });

  describe("what one command leaves behind keeps no other from being run", () => {
    const masksOf = async (deny: readonly string[] = ["@secrets", "private", "config/**/token"]) => {
      const place = { root: "r", path: "" };
      const scope = new CallScope({ clock: systemClock, timeoutMs: 60_000 });
      const policy = compileDeny(deny, { foldsCase: false });
      const jail = new Jail({ path: ground.dir, readOnly: true, crossDevice: false, io: "sync" }, new Locks());
      const denies = { denies: policy.deniesEntry, anchors: policy.anchors };
      const access: Access = { ...NO_ACCESS, place, scope, policy: denies };
      try {
        const { masks } = await runIo(findMasks(jail, jail.top, access, { isWritable: true }));
        return masks
          .map(({ kind, path }) => ({ kind, path: Buffer.from(path).toString() }))
          .filter(({ path }) => path !== ".venue-files");
      } finally {
        await jail.close();
      }
    };

    const nest = (name: string, levels: number, last = "true") =>
      ground.sh(
        `bash -c 'ten=$(printf "${name}/%.0s" $(seq 10)); for _ in $(seq ${levels / 10}); do mkdir -p $ten && cd $ten || exit 1; done; ${last}'`,
      );

    test("by 1,500 nested directories, of which none is hidden for its depth", async () => {
      expect((await nest("d", 1500)).exitCode).toBe(0);
      expect(await masksOf()).toEqual([]);
      expect((await ground.sh(`find . -name d | wc -l; echo still`)).stdout).toBe("1500\nstill\n");
      await ground.adapter.invoke("file:delete", { root: "r", path: "d", recursive: true }, {});
      expect(existsSync(join(ground.dir, "d"))).toBe(false);
    });

    test("by denied entries far down: each costs one mask, and its pattern's directories", async () => {
      const far = Array(300).fill("d").join("/");
      for (let index = 0; index < 20; index++) ground.put(`${far}/${index}/.env`, "SECRET");
      expect(await masksOf()).toHaveLength(20);
      ground.put(`config/${far}/token`, "SECRET");
      const masks = await masksOf();
      expect(masks.filter(({ kind }) => kind === "pin")).toEqual([{ kind: "pin", path: "config" }]);
      expect(masks).toHaveLength(22);
      const ran = await ground.sh(
        "find . -type f -exec cat {} +; mv config x 2>/dev/null || mv config/d x 2>/dev/null || echo kept",
      );
      expect(ran.stdout).toBe("kept\n");
    });

    test("by paths that are longer than the system takes", async () => {
      const name = "n".repeat(200);
      expect((await nest(name, 30, "echo SECRET > .env")).exitCode).toBe(0);
      expect(await masksOf()).toEqual([{ kind: "directory", path: Array(15).fill(name).join("/") }]);
      expect((await ground.sh("grep -r SECRET . ; echo still")).stdout).toBe("still\n");
      execFileSync("rm", ["-rf", join(ground.dir, name)]);
    });

    test("by a pattern that names many directories: what is too much is hidden with a directory that holds it", async () => {
      for (let index = 0; index < 200; index++) ground.put(`a${index}/keys/x`, "SECRET");
      const masks = await masksOf(["*/keys/*"]);
      expect(masks.filter(({ kind }) => kind === "pin")).toHaveLength(128);
      expect(masks.filter(({ kind }) => kind !== "pin")).toHaveLength(200);
      expect(masks.filter(({ kind, path }) => kind === "directory" && !path.includes("/"))).toHaveLength(136);
    });

    test("by reserved names, of which more than there ever are of ours are not hidden, but what is denied in them is", async () => {
      const make = "touch $(seq -f .venue-files-%g 6000); mkdir in; cd in; mkdir $(seq -f .venue-files-%g 300)";
      expect((await ground.sh(make)).exitCode).toBe(0);
      for (let index = 1; index <= 300; index++) ground.put(`in/.venue-files-${index}/.env`, "SECRET");
      const masks = await masksOf();
      expect(masks.filter(({ path }) => !path.endsWith(".env"))).toHaveLength(256);
      expect((await ground.sh("cat in/.venue-files-*/.env; ls .venue-files; echo still")).stdout).toBe("still\n");
    });

    test("by a directory that nobody may look into", async () => {
      ground.put("shut/in/.env", "SECRET");
      ground.put("half/in/.env", "SECRET");
      expect((await ground.sh("chmod 600 half; chmod 000 shut; true")).exitCode).toBe(0);
      expect((await ground.sh("cat shut/in/.env half/in/.env 2>/dev/null; echo still")).stdout).toBe("still\n");
    });
  });
});

describe("what a root protects", () => {
  const ground = useShell({ root: { protect: ["@git", "config/keys/*"], deny: [".git/**/token"] } });

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

const DENY = ["@secrets", "private"];
const MANY = "for i in $(seq 1001); do : > $i.key; done";
const BACK =
  "renamed back, or to free names, that this command had renamed: their names are denied by policy, and too many of them";
const told1001 = /^venue-files: 1,001 entries removed that this command made: their names are denied by policy/m;

describe("a command that makes more denied entries than can be hidden", () => {
  const ground = useShell({ root: { deny: DENY } });
  const keysIn = (path = "") => readdirSync(join(ground.dir, path)).filter((name) => name.endsWith(".key"));

  test("does not keep the next from being run: they are removed when it ends, and it is told", async () => {
    const ran = await ground.sh(`echo before >&2; ${MANY}`);
    expect(ran).toMatchObject({ exitCode: 0, stdout: "", stderr: expect.stringMatching(told1001) });
    expect(ran.stderr).toMatch(/^before\n/);
    expect(keysIn()).toEqual([]);
    expect((await ground.sh("echo next")).stdout).toBe("next\n");
  });

  test("loses directories with denied names too, at any depth", async () => {
    const ran = await ground.sh(`mkdir -p a/private/b && cd a/private/b && ${MANY}; cd ../..; mkdir c; cd c; ${MANY}`);
    expect(ran.stderr).toContain("venue-files: 2,004 entries removed");
    expect(readdirSync(join(ground.dir, "a"))).toEqual(["c"]);
    expect(readdirSync(join(ground.dir, "a/c"))).toEqual([]);
  });

  test("deletes nothing that existed before it; what it renamed is visible again, and what was denied stays so", async () => {
    ground.put(".env", "SECRET");
    ground.put("private/old.key", "SECRET");
    ground.put("old/plain", "kept");
    ground.put("old/other", "kept");
    const ran = await ground.sh(
      `${MANY}; mv old/plain old/x.pem; mkdir old/.ssh; mv old/other old/.ssh/; echo x > new`,
    );
    // The directory `.ssh` among them, now that it is empty.
    expect(ran.stderr).toContain("venue-files: 1,002 entries removed that this command made");
    expect(ran.stderr).toContain(`venue-files: 2 entries ${BACK}`);
    expect(keysIn()).toEqual([]);
    expect(readFileSync(join(ground.dir, ".env"), "utf8")).toBe("SECRET");
    expect(readFileSync(join(ground.dir, "private/old.key"), "utf8")).toBe("SECRET");
    for (const path of ["old/plain", "old/other"]) expect(readFileSync(join(ground.dir, path), "utf8")).toBe("kept");
    expect(readFileSync(join(ground.dir, "new"), "utf8")).toBe("x\n");
  });

  test("takes nothing along that another user made meanwhile", async () => {
    const running = await ground.adapter.exec(
      ground.request(`${MANY}; : > made; until [ -e stop ]; do sleep 0.05; done`),
    );
    while (!existsSync(join(ground.dir, "made"))) await new Promise(setImmediate);
    // Root's, where the tests run as root; no command does.
    writeFileSync(join(ground.dir, "root.pem"), "SECRET");
    ground.put("stop");
    await running.exited;
    expect(keysIn()).toEqual([]);
    expect(existsSync(join(ground.dir, "root.pem"))).toBe(isRoot);
  });

  test("keeps them where they can be hidden", async () => {
    expect((await ground.sh("for i in $(seq 1000); do : > $i.key; done")).stderr).toBe("");
    expect(keysIn()).toHaveLength(1000);
    expect((await ground.sh(": > one-more.key")).stderr).toContain(
      "venue-files: 1 entry removed that this command made",
    );
    expect(keysIn()).toHaveLength(1000);
  });

  test("loses them only when the last command in the same directory ends", async () => {
    const waits = await ground.adapter.exec(
      ground.request(": > on; : > own.key; until [ -e stop ]; do sleep 0.05; done"),
    );
    while (!existsSync(join(ground.dir, "on"))) await new Promise(setImmediate);
    expect((await ground.sh(MANY)).stderr).toBe("");
    expect(keysIn()).toHaveLength(1002);
    await expect(ground.sh("true")).rejects.toMatchObject({ code: "DENIED_BY_POLICY", data: { denied: 1002 } });
    ground.put("stop");
    await waits.exited;
    expect(Buffer.from(waits.output().stderr).toString()).toContain("venue-files: 1,002 entries removed");
    expect(keysIn()).toEqual([]);
    expect((await ground.sh("echo next")).stdout).toBe("next\n");
  });

  test("leaves what is in the directory of another command that still runs", async () => {
    ground.put("in/x");
    const mounts = [{ root: "r", prefix: "in", at: "/workspace" }];
    const request = ground.request(": > own.key; : > on; until [ -e stop ]; do sleep 0.05; done", { mounts });
    const waits = await ground.adapter.exec(request);
    while (!existsSync(join(ground.dir, "in/on"))) await new Promise(setImmediate);
    expect((await ground.sh(MANY)).stderr).toMatch(told1001);
    ground.put("in/stop");
    await waits.exited;
    expect([keysIn(), keysIn("in")]).toEqual([[], ["own.key"]]);
  });
});

describe("where changes are recorded", () => {
  const ground = useShell({ journal: true, root: { deny: DENY } });

  test("they go to the trash, and nobody who may not see them is told", async () => {
    const changes = await changesBy(ground, async () => {
      const ran = await ground.sh(`${MANY}; echo KEY > last.key; echo x > new`);
      expect(ran.stderr).toContain("venue-files: 1,002 entries removed");
    });
    expect(changes.map(told)).toEqual(["new new"]);
    expect(changes[0]).toMatchObject({ undoable: true });
    const trash = join(ground.dir, ".venue-files/trash");
    const kept = readdirSync(trash);
    expect(kept).toHaveLength(1002);
    expect(kept.filter((name) => readFileSync(join(trash, name), "utf8") === "KEY\n")).toHaveLength(1);
    await ground.adapter.invoke("file:undo", { group: changes[0]?.group ?? "" });
    expect(existsSync(join(ground.dir, "new"))).toBe(false);
  });

  test("what was renamed has its name back, nothing of it is in the trash, and the history does not tell of it", async () => {
    ground.put(".env", "SECRET");
    ground.put("old/.env", "SECRET");
    for (let index = 0; index <= 1000; index++) ground.put(`many/${index}`, "x");
    const trash = join(ground.dir, ".venue-files/trash");
    const before = existsSync(trash) ? readdirSync(trash).length : 0;
    const changes = await changesBy(ground, async () => {
      const ran = await ground.sh(
        "cd many; for i in $(seq 0 1000); do mv $i $i.key; done; mv ../old ../private; : > new",
      );
      expect(ran.stderr).toMatch(new RegExp(`^venue-files: 1,002 entries ${BACK}`));
    });
    expect(changes.map(told)).toEqual(["new many/new"]);
    expect(readdirSync(join(ground.dir, "many"))).toHaveLength(1002);
    for (const path of [".env", "old/.env"]) expect(readFileSync(join(ground.dir, path), "utf8")).toBe("SECRET");
    expect(existsSync(trash) ? readdirSync(trash).length : 0).toBe(before);
    expect((await ground.sh("cat old/.env; ls many | wc -l")).stdout).toBe("1002\n");
  });
});

describe("a command that renames more than can be hidden to denied names", () => {
  const ground = useShell({ root: { deny: ["@secrets", "private", "config/**/token"] } });
  const namesIn = (path: string) => readdirSync(join(ground.dir, path)).sort();
  const RENAME = 'for f in *; do mv "$f" "$f.key"; done';
  const fill = (path: string, names: readonly string[]) => {
    for (const name of names) ground.put(`${path}/${name}`, name);
  };
  const numbers = Array.from({ length: 1001 }, (_, index) => `${index}`).sort();

  test("does not keep the next from being run: they get their names back", async () => {
    fill("many", numbers);
    const ran = await ground.sh(`cd many; ${RENAME}`);
    expect(ran).toMatchObject({
      exitCode: 0,
      stdout: "",
      stderr: expect.stringContaining(`venue-files: 1,001 entries ${BACK}`),
    });
    expect(namesIn("many")).toEqual(numbers);
    expect(readFileSync(join(ground.dir, "many/17"), "utf8")).toBe("17");
    expect((await ground.sh("cat many/17")).stdout).toBe("17");
  });

  test("nor are directories lost, or what is in them, at any depth", async () => {
    for (const name of numbers) ground.put(`many/${name}/in`, name);
    ground.put("many/0/deep/in", "deep");
    // Each lies in the one before it, and the last holds what was made.
    const nest = "mv many/0/deep many/1; mv many/1 many/0/private; : > a.pem; : > b.pem";
    const ran = await ground.sh(
      `${nest}; mkdir private; cd many; ${RENAME}; cd 0.key/private/deep; ${MANY}; mv ../../../2.key ../../../../private/x`,
    );
    expect(ran.stderr).toContain("venue-files: 1,004 entries removed that this command made");
    expect(namesIn("many")).toEqual(numbers);
    for (const name of numbers) expect(readFileSync(join(ground.dir, "many", name, "in"), "utf8")).toBe(name);
    expect(readFileSync(join(ground.dir, "many/1/deep/in"), "utf8")).toBe("deep");
    expect((await ground.sh("ls many | wc -l")).stdout).toBe("1001\n");
  });

  test("nor where the old names are taken, or their directory is another: they get free ones", async () => {
    fill("many", numbers);
    for (const name of numbers) ground.put(`data/${name}/token`, name);
    const ran = await ground.sh(`cd many; ${RENAME}; echo new > 17; cd ..; mv data config`);
    expect(ran.stderr).toContain(`venue-files: 2,002 entries ${BACK}`);
    expect(readFileSync(join(ground.dir, "many/17"), "utf8")).toBe("new\n");
    const [other = ""] = namesIn("many").filter((name) => name.startsWith("17-"));
    expect(readFileSync(join(ground.dir, "many", other), "utf8")).toBe("17");
    const [token = ""] = namesIn("config/17");
    expect(token).toMatch(/^token-[0-9a-f]{16}$/);
    expect(readFileSync(join(ground.dir, "config/17", token), "utf8")).toBe("17");
    expect((await ground.sh("echo next")).stdout).toBe("next\n");
  });

  test("nor where no path can have the old names, or the new ones", async () => {
    const odd = numbers.map((name) =>
      Buffer.concat([Buffer.from(`${ground.dir}/`), Buffer.of(0xff), Buffer.from(name)]),
    );
    for (const path of odd) {
      writeFileSync(path, "odd");
      if (isRoot) chownSync(path, OWNER, OWNER);
    }
    fill("many", numbers);
    const toOdd = 'for f in *; do mv "$f" "$(printf \'\\377\')$f.key"; done';
    const ran = await ground.sh(`for f in *[0-9]; do mv "$f" "$f.pem"; done; cd many; ${toOdd}`);
    expect(ran.stderr).toContain(`venue-files: 2,002 entries ${BACK}`);
    expect(namesIn("many")).toEqual(numbers);
    expect(namesIn("").filter((name) => name.startsWith("unnamed"))).toHaveLength(1001);
  });

  test("another name of a file that was denied before stays denied", async () => {
    ground.put(".env", "SECRET");
    linkSync(join(ground.dir, ".env"), join(ground.dir, "open"));
    fill("many", numbers);
    await ground.sh(`cd many; ${RENAME}; mv ../open ../x.pem`);
    expect([existsSync(join(ground.dir, ".env")), existsSync(join(ground.dir, "open"))]).toEqual([true, true]);
    expect(namesIn("")).not.toContain("x.pem");
  });

  test("what a program of the host puts there meanwhile stays denied", async () => {
    fill("many", numbers);
    writeFileSync(join(ground.outside, "moved"), "SECRET");
    const running = await ground.adapter.exec(
      ground.request(`cd many; ${RENAME}; : > ../made; until [ -e ../stop ]; do sleep 0.05; done`),
    );
    while (!existsSync(join(ground.dir, "made"))) await new Promise(setImmediate);
    renameSync(join(ground.outside, "moved"), join(ground.dir, "host.pem"));
    ground.put("stop");
    await running.exited;
    expect(namesIn("many")).toEqual(numbers);
    expect(readFileSync(join(ground.dir, "host.pem"), "utf8")).toBe("SECRET");
  });

  test("names are given back by the last of several commands, as the first of them saw them", async () => {
    fill("many", numbers);
    const mounts = [{ root: "r", prefix: "many", at: "/workspace" }];
    const first = await ground.adapter.exec(
      ground.request(
        `for f in ?; do mv $f $f.key; done; : > on; until [ -e stop ]; do sleep 0.05; done; for f in *[0-9]; do mv $f $f.key; done`,
        {
          mounts,
        },
      ),
    );
    while (!existsSync(join(ground.dir, "many/on"))) await new Promise(setImmediate);
    const last = await ground.adapter.exec(ground.request(": > on; until [ -e end ]; do sleep 0.05; done"));
    while (!existsSync(join(ground.dir, "on"))) await new Promise(setImmediate);
    ground.put("many/stop");
    await first.exited;
    expect(namesIn("many")).toContain("7.key");
    ground.put("end");
    await last.exited;
    expect(Buffer.from(last.output().stderr).toString()).toContain(`entries ${BACK}`);
    expect(namesIn("many").filter((name) => /^[0-9]+$/.test(name))).toEqual(numbers);
    expect((await ground.sh("echo next")).stdout).toBe("next\n");
  });
});

describe("mounts", () => {
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
    });
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
});

const [owner, bearer] = [signingKeyFromSeed(newSeed()), signingKeyFromSeed(newSeed())];

const caps = (...list: readonly [string, string][]) => ({
  caps: list.map(([resource, can]) => ({ with: resource, can })),
});
const ALL = caps(["file://r/", "exec/run"], ["file://r/", "crud"]);

describe("a command", () => {
  const ground = useShell({
    roots: { fixed: { temp: true, readOnly: true }, owned: { temp: true, owner: owner.did } },
    capabilities: { operator: "did:example:operator" },
  });

  test.each([
    ["none", caps()],
    ["files alone", caps(["file://", "crud"])],
    ["another root", caps(["file://other/", "exec/run"])],
    ["a part of the root", caps(["file://r/sub", "exec/run"], ["file://r/sub", "*"])],
    ["another ability of that kind", caps(["file://r/", "exec/see"])],
  ])("needs exec/run on the whole root: %s is not enough", async (_what, context) => {
    const mounts = [{ root: "r", prefix: "sub", at: "/workspace" }];
    const failure = ground.sh("echo no", { context, mounts });
    await expect(failure).rejects.toMatchObject({
      code: "CAPABILITY_DENIED",
      data: { required: { with: "file://r/", can: "exec/run" } },
    });
    expect(ground.audit).toMatchObject([
      { operation: "file:exec", outcome: "CAPABILITY_DENIED", command: { start: "echo no" } },
    ]);
  });

  test.each([["exec/run"], ["exec"], ["*"]])("is run by whoever holds %s", async (can) => {
    const context = caps([can === "*" ? "file://" : "file://r/", can]);
    expect((await ground.sh("echo yes", { context })).stdout).toBe("yes\n");
  });

  test.each([
    ["only exec/run", caps(["file://r/", "exec/run"])],
    ["no right to delete", caps(["file://r/", "exec/run"], ["file://r/", "crud/write"])],
    ["rights on a part", caps(["file://r/", "exec/run"], ["file://r/a", "crud"])],
  ])("can change nothing with %s, but reads all", async (_what, context) => {
    ground.put("a", "there");
    const ran = await ground.sh("cat a; touch a b || echo refused", { context });
    expect(ran.stdout).toBe("there refused\n".replace(" ", ""));
    expect((await ground.sh("touch b && echo made", { context: ALL })).stdout).toBe("made\n");
  });

  test("can change nothing in a read-only root", async () => {
    const mounts = [{ root: "fixed", at: "/workspace" }];
    const ran = await ground.sh("ls -A; touch b || echo refused; echo x > /tmp/y && echo scratch", { mounts });
    expect(ran.stdout).toBe("refused\nscratch\n");
  });

  test("holds no open file of the venue, also of what was opened after the sandbox was tried", async () => {
    await ground.sh("true");
    const folder = mkdtempSync(join(tmpdir(), "venue-files-held-"));
    const database = openShared(folder, { maxTables: 1, flush: false });
    try {
      const { stdout } = await ground.sh("ls -l /proc/*/fd; echo listed");
      expect(stdout).toContain("listed");
      expect(stdout).not.toContain("mdb");
    } finally {
      await database.close();
      rmSync(folder, { recursive: true });
    }
  });

  test("leaves one record: who, what, how it ended, how much it said", async () => {
    const command = `echo ${"é".repeat(300)}; exit 4`;
    await ground.sh(command, { context: { callerDID: "did:example:operator" } });
    expect(ground.audit).toEqual([
      {
        ...{ time: expect.any(Number), caller: "did:example:operator", operation: "file:exec", resource: "file://r/" },
        ...{ outcome: "OK", bytes: 601, ms: expect.any(Number), via: expect.any(String), exitCode: 4 },
        command: { sha256: createHash("sha256").update(command).digest("hex"), start: command.slice(0, 200) },
      },
    ]);
  });

  test("is run by a UCAN of the root's owner that says so, and by no other", async () => {
    const mounts = [{ root: "owned", at: "/workspace" }];
    const outcomes: unknown[] = [];
    for (const [resource, can] of [
      ["file://owned/", "exec/run"],
      ["file://owned/", "crud"],
      ["file://owned/sub", "*"],
    ] as const) {
      const { token } = await mintUcan({ key: owner, audience: bearer.did, capabilities: [{ with: resource, can }] });
      const context = { callerDID: bearer.did, ucans: [token] };
      outcomes.push(
        await ground.sh("touch a || echo ran", { mounts, context }).then(
          ({ stdout }) => stdout,
          ({ code }) => code,
        ),
      );
    }
    // It runs, and can change nothing: the token says no more.
    expect(outcomes).toEqual(["ran\n", "CAPABILITY_DENIED", "CAPABILITY_DENIED"]);
    expect(ground.audit[0]).toMatchObject({ caller: bearer.did, proofs: [{ issuer: owner.did }] });
  });

  test("is one of nothing where the root is unknown", async () => {
    await expect(ground.sh("true", { mounts: [{ root: "no", at: "/w" }] })).rejects.toMatchObject({
      code: "UNKNOWN_ROOT",
    });
  });

  test("is found by no other way in", async () => {
    const input = { mounts: [{ root: "r" }] };
    await expect(ground.adapter.invoke("file:exec", input)).rejects.toMatchObject({ code: "UNKNOWN_OPERATION" });
    expect(ground.adapter.operations.map(({ name }) => name)).not.toContain("file:exec");
  });
});
