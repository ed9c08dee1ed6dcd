import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect } from "@jest/globals";
import { needs } from "../needs.js";
import { bwrapHere, isRoot, OWNER, useShell } from "./ground.js";

const { possible, reason } = await bwrapHere();
const test = needs(possible, reason);
const ground = useShell({ root: { deny: ["@secrets", "private", "config/keys/*"] } });

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

  test("cannot be written, removed, linked or moved, nor can what it stands in", async () => {
    ground.put("config/keys/one", "SECRET");
    ground.put("a/b/.env", "SECRET");
    const attempts = [
      ...["echo x > a/b/.env", "rm a/b/.env", "mv a/b/.env x", "ln a/b/.env x", "chmod 666 a/b/.env"],
      ...["mv a x", "mv a/b x", "mv config x", "mv config/keys a/", "rm -rf a"],
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

  test("is not written either where the view is read-only", async () => {
    ground.put("a/.env", "SECRET");
    const context = { caps: [{ with: "file://r/", can: "exec/run" }] };
    expect((await ground.sh("cat a/.env; touch a/x 2>/dev/null || echo refused", { context })).stdout).toBe(
      "refused\n",
    );
  });

  test("keeps commands from being run when it is too much to hide", async () => {
    mkdirSync(join(ground.dir, "many"));
    for (let index = 0; index < 1000; index++) writeFileSync(join(ground.dir, `many/${index}.key`), "");
    expect((await ground.sh("cat many/*.key | wc -c")).stdout).toBe("0\n");
    ground.put("one.key");
    await expect(ground.sh("true")).rejects.toMatchObject({
      code: "DENIED_BY_POLICY",
      message: 'Cannot run a command in "/": denied by policy of root "r". Do not retry',
    });
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
    const staged = join(ground.dir, ".venue-files");
    expect(existsSync(staged) ? readdirSync(staged) : []).toEqual([]);
  });
});
