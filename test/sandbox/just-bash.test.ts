import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { assembleAdapter } from "../../src/adapter/adapter.js";
import { parseFileConfig } from "../../src/config/load.js";
import { createMemoryDrives } from "../../src/venue/start/drives.js";
import { useShell } from "./ground.js";

const ground = useShell({
  root: { deny: [".env"], protect: ["@git"], quota: { bytes: 50_000 } },
  roots: { fixed: { temp: true, readOnly: true } },
  shell: { driver: "just-bash" },
});

describe("a shell in JavaScript", () => {
  test("says that it has no programs of the host", async () => {
    expect(await ground.sandbox.probe()).toEqual({ available: true, network: false, realBinaries: false });
    expect(await ground.sh("git status")).toMatchObject({ exitCode: 127 });
  });

  test("works on the files of the root, each touch an operation", async () => {
    ground.put("a/b", "one\ntwo\n");
    const ran = await ground.sh(
      "cd a && grep -n two b | tee c && wc -l < b && mkdir -p d/e && mv c d/e/ && cp -r d f && rm b && ls -R . && pwd; exit 4",
    );
    expect(ran).toMatchObject({ exitCode: 4, signal: null, stderr: "", timedOut: false });
    expect(ran.stdout).toContain("2:two\n2\n");
    expect(ran.stdout).toContain("/workspace/a\n");
    expect(readFileSync(join(ground.dir, "a/f/e/c"), "utf8")).toBe("2:two\n");
    const operations = ground.audit.map(({ operation }) => operation);
    expect(operations.at(-1)).toBe("file:exec");
    expect(operations).toEqual(
      expect.arrayContaining(["file:read", "file:write", "file:move", "file:copy", "file:delete"]),
    );
  });

  test("makes a folder that is called as the root where it says", async () => {
    const ran = await ground.sh("mkdir -p r/in && echo a > r/in/x && cp r/in/x r/y && ls r");
    expect(ran).toMatchObject({ stdout: "in\ny\n", stderr: "" });
    expect(readFileSync(join(ground.dir, "r/y"), "utf8")).toBe("a\n");
  });

  test("says what went wrong as a system would", async () => {
    ground.put("a/b", "one");
    const ran = await ground.sh("cat none; rmdir a; ls nothing; ln -s /etc/passwd x; cd a/b; mkdir a; echo $?");
    expect(ran.stdout).toBe("1\n");
    const said = ran.stderr.toLowerCase();
    for (const text of [
      "cat: none: no such file",
      "not empty",
      "nothing: no such file",
      "ln: ",
      "a/b: not a dir",
      "exists",
    ]) {
      expect(said).toContain(text);
    }
  });

  test("goes no further than a redirection that is refused, and keeps what it has written", async () => {
    ground.put(".env", "SECRET");
    const ran = await ground.sh("echo before; echo x > .env; echo after");
    expect(ran).toMatchObject({ stdout: "before\n", exitCode: 1 });
    expect(ran.stderr).toContain("permission denied, open '/workspace/.env'");
    expect(readFileSync(join(ground.dir, ".env"), "utf8")).toBe("SECRET");
  });

  test("may read what is protected, and not change it", async () => {
    ground.put("a/.git/config", "[core]");
    const ran = await ground.sh("cat a/.git/config; rm -rf a; mv a b; echo x > a/.git/hook; ls -A a/.git");
    expect(ran.stdout).toBe("[core]");
    const last = await ground.sh("mv a/.git g; cp a/.git/config a/.git/copy; ls -A a/.git");
    expect(last.stdout).toBe("config\n");
    expect(readFileSync(join(ground.dir, "a/.git/config"), "utf8")).toBe("[core]");
  });

  test("sees nothing but what its caller may, and nothing of the host", async () => {
    ground.put(".env", "SECRET");
    ground.put("in/file", "there");
    writeFileSync(join(ground.outside, "file"), "SECRET");
    symlinkSync(join(ground.outside, "file"), join(ground.dir, "out"));
    const all = await ground.sh(`cat .env out ${ground.outside}/file /etc/passwd; ls -A; cat in/file`);
    expect(all.stdout).toBe("in\nout\nthere");
    const context = {
      caps: [
        { with: "file://r/", can: "exec/run" },
        { with: "file://r/in", can: "crud/read" },
      ],
    };
    const some = await ground.sh("cat in/file; echo x > in/file; echo y > z; ls", { context });
    expect([some.stdout, readFileSync(join(ground.dir, "in/file"), "utf8")]).toEqual(["there", "there"]);
  });

  test("changes nothing in a read-only root, and no more than there is room for", async () => {
    const mounts = [{ root: "fixed", at: "/workspace" }];
    expect(await ground.sh("echo x > a", { mounts })).toMatchObject({
      stdout: "",
      stderr: expect.stringMatching(/read-only/i),
    });
    const ran = await ground.sh("echo small > c; ls; printf '%60000s' x > b; echo after");
    expect(ran.stderr).toMatch(/quota/i);
    expect(ran.stdout).toBe("c\n");
  });

  test("keeps bytes as they are", async () => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index));
    writeFileSync(join(ground.dir, "a"), bytes);
    expect(await ground.sh("cat a > b; cat a >> b; cp a c")).toMatchObject({ exitCode: 0, stderr: "" });
    expect(readFileSync(join(ground.dir, "b"))).toEqual(Buffer.concat([bytes, bytes]));
    expect(readFileSync(join(ground.dir, "c"))).toEqual(bytes);
  });

  test("takes a program and its arguments as they are", async () => {
    const argv = ["printf", "%s|", "a b", "$HOME", "'"];
    expect((await ground.sh("", { argv })).stdout).toBe("a b|$HOME|'|");
  });

  test("has the environment that it is given, and no memory of the command before", async () => {
    expect((await ground.sh("x=1; cd /tmp; echo $HOME $LANG; echo y > z; cat z")).stdout).toBe(
      "/workspace C.UTF-8\ny\n",
    );
    expect((await ground.sh("echo [$x]; pwd; ls /tmp")).stdout).toBe("[]\n/workspace\n");
  });

  test("is ended when its time is over, or its caller wants that, also in a loop without end", async () => {
    for (const command of ["echo on; sleep 60", "echo on; while true; do while true; do :; done; done"]) {
      const ran = await ground.sh(command, { timeoutMs: 300 });
      expect([ran.timedOut, ran.signal === "SIGKILL"]).toEqual([ran.exitCode === null, ran.exitCode === null]);
    }
    expect(await ground.sh("sleep 60", { timeoutMs: 200 })).toMatchObject({
      timedOut: true,
      exitCode: null,
      signal: "SIGKILL",
    });
    const process = await ground.adapter.exec(ground.request("sleep 60"));
    await process.kill();
    expect(await process.exited).toMatchObject({ timedOut: false, exitCode: null, signal: "SIGKILL" });
    await expect(ground.sh("true", { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "ABORTED" });
  });

  test("has its output cut at the limit", async () => {
    const ran = await ground.sh("for i in 1 2 3 4 5 6 7 8 9; do printf 'ééééé'; done", { outputBytes: 51 });
    expect([ran.stdout, ran.truncated]).toEqual(["é".repeat(25), true]);
  });

  test("works on drives, of whoever calls", async () => {
    const config = parseFileConfig({ roots: { d: { dlfs: "work" } } }, { baseDir: ground.home });
    const adapter = await assembleAdapter(config, {
      ...{ discloseHostPaths: false, drives: createMemoryDrives() },
      capabilities: { grants: [{ did: "did:key:zOne", with: "file://", can: "*" }] },
    });
    const context = { callerDID: "did:key:zOne" };
    const run = async (command: string, prefix?: string) => {
      const mounts = [{ root: "d", at: "/workspace", ...(prefix === undefined ? {} : { prefix }) }];
      const process = await adapter.exec(ground.request(command, { mounts }), context);
      const { exitCode } = await process.exited;
      return [
        exitCode,
        Buffer.from(process.output().stdout).toString(),
        Buffer.from(process.output().stderr).toString(),
      ];
    };
    try {
      expect(await run("mkdir a; echo one > a/b; cat a/b; ls -l a | wc -l")).toEqual([0, "one\n2\n", ""]);
      expect(await run("cat b; echo two > c", "a")).toEqual([0, "one\n", ""]);
      expect(await run("echo new > file; cat file", "made/here")).toEqual([0, "new\n", ""]);
      expect(await run("cat a/c made/here/file")).toEqual([0, "two\nnew\n", ""]);
    } finally {
      await adapter.close();
    }
  });
});
