import { execFileSync } from "node:child_process";
import { chownSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect } from "@jest/globals";
import { findMasks } from "../../../src/backend/host/masks.js";
import { CallScope } from "../../../src/core/call/scope.js";
import { systemClock } from "../../../src/core/clock.js";
import { runIo } from "../../../src/core/io.js";
import type { Access } from "../../../src/core/ports/backend.js";
import { Jail } from "../../../src/jail/jail.js";
import { Locks } from "../../../src/jail/staging/locks.js";
import { compileDeny } from "../../../src/path/deny.js";
import { cleanUp, run } from "../../cli/process.js";
import { needs } from "../../needs.js";
import { stagedIn } from "../../staged.js";
import { bwrapHere, isRoot, OWNER, useShell } from "../ground.js";

const NO_ACCESS: Omit<Access, "place" | "scope"> = {
  verb: "exec",
  real() {},
  create() {},
  require() {},
  holds: () => true,
};

const { possible, reason } = await bwrapHere();
const test = needs(possible, reason);
afterAll(cleanUp);
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
        await sleep(100);
        expect(readdirSync(join(ground.dir, ".venue-files")).length).toBeGreaterThan(1);
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
    const ran = await ground.sh("touch .venue-files/x; rm -rf .venue-files .venue-files-x; ls .venue-files-x; exit 0");
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
