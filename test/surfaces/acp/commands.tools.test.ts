import { existsSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect } from "@jest/globals";
import { DEFAULT_SHELL } from "../../../src/core/ports/sandbox.js";
import { createSandbox } from "../../../src/sandbox/create.js";
import { AcpClientFs } from "../../../src/surfaces/acp/client-fs.js";
import { needs } from "../../needs.js";
import { bwrapHere, useShell } from "../../sandbox/ground.js";
import { localAgent } from "./local.js";
import { connectAgent, SDKS, type TestAgent } from "./stage.js";

const { possible, reason } = await bwrapHere();
const test = needs(possible, reason);
const ground = useShell();

describe.each(SDKS)("commands of an agent on SDK %s", (sdk) => {
  let agent: TestAgent;
  let session: string;
  beforeAll(async () => {
    const acp = new AcpClientFs({
      adapter: ground.adapter,
      mounts: [{ root: "r", prefix: ground.dir }],
      terminals: { sandbox: ground.sandbox },
    });
    if (!possible) return;
    agent = connectAgent(acp, sdk);
    session = await agent.newSession({ cwd: join(ground.dir, "work") });
  });
  afterAll(() => agent?.stop());

  const ask = (method: string, params: object) => agent.ask(session, `terminal/${method}`, params);
  async function sh(script: string, params: object = {}): Promise<{ output: unknown; status: unknown }> {
    const { result, error } = await ask("create", { command: "/bin/sh", args: ["-c", script], ...params });
    if (error !== undefined) return { output: error, status: undefined };
    const { terminalId } = result ?? {};
    const status = (await ask("wait_for_exit", { terminalId })).result;
    const output = (await ask("output", { terminalId })).result;
    expect(output).toMatchObject({ exitStatus: status });
    await ask("release", { terminalId });
    return { output: output?.["output"], status };
  }

  test("are offered, and find the files where the agent knows them", async () => {
    expect((await agent.greeting(session))?.["initialize"]).toMatchObject({ clientCapabilities: { terminal: true } });
    ground.put("work/file", "content");
    const path = join(ground.dir, "work/file");
    expect(await sh(`pwd; cat ${path}; echo made > new`)).toEqual({
      output: `${join(ground.dir, "work")}\ncontent`,
      status: { exitCode: 0, signal: null },
    });
    const read = await agent.ask(session, "fs/read_text_file", { path: join(ground.dir, "work/new") });
    expect(read).toEqual({ result: { content: "made\n" } });
  });

  test("see nothing but the directories of their session", async () => {
    ground.put("work/file", "mine");
    ground.put("other/file", "of another session");
    const script = `cat ${join(ground.dir, "other/file")} ../other/file 2>/dev/null; ls ${ground.dir}; ls ${ground.home}`;
    expect((await sh(script)).output).toBe("work\nroot\n");
  });

  test("are not run in a directory that reads are refused in, since it is a link", async () => {
    ground.put("other/file", "of another session");
    rmSync(join(ground.dir, "work"), { recursive: true, force: true });
    symlinkSync("other", join(ground.dir, "work"));
    const refused = { code: -32602, data: { path: expect.any(String), reason: "outside_roots" } };
    const read = await agent.ask(session, "fs/read_text_file", { path: join(ground.dir, "work/file") });
    expect(read.error).toMatchObject(refused);
    expect(await sh("cat file")).toMatchObject({ output: refused });
  });

  test("are not run by a shell unless they are one", async () => {
    const { result } = await ask("create", { command: "printf", args: ["%s", "$HOME; echo"] });
    await ask("wait_for_exit", result ?? {});
    expect((await ask("output", result ?? {})).result).toMatchObject({ output: "$HOME; echo", truncated: false });
  });

  test("keep the end of a long output, in whole characters", async () => {
    const { result } = await ask("create", { command: "printf", args: ["x%s", "äöü"], outputByteLimit: 5 });
    await ask("wait_for_exit", result ?? {});
    expect((await ask("output", result ?? {})).result).toMatchObject({ output: "öü", truncated: true });
  });

  test("that are killed say by what, and are still known", async () => {
    const { result } = await ask("create", { command: "sleep", args: ["600"] });
    const waiting = ask("wait_for_exit", result ?? {});
    expect(await ask("kill", result ?? {})).toEqual({ result: {} });
    expect(await waiting).toEqual({ result: { exitCode: null, signal: "SIGKILL" } });
    expect((await ask("output", result ?? {})).result).toMatchObject({ exitStatus: { signal: "SIGKILL" } });
  });

  test("that cannot be found end like any other", async () => {
    const { result } = await ask("create", { command: "no-such-program" });
    expect((await ask("wait_for_exit", result ?? {})).result).toMatchObject({ exitCode: expect.any(Number) });
  });
});

describe("a command in a root in which nothing is ever to be written", () => {
  test.each(["bwrap", "just-bash"] as const)("reads, and changes nothing, by %s", async (driver) => {
    const sandbox = await createSandbox({ ...DEFAULT_SHELL, driver });
    const acp = new AcpClientFs({
      adapter: ground.adapter,
      mounts: [{ root: "r", prefix: ground.dir }],
      terminals: { sandbox },
      approve: ({ kind }) => (kind === "write" ? "reject_always" : "allow"),
    });
    try {
      ground.put("file", "kept");
      const agent = await localAgent(acp, "s", { cwd: ground.dir });
      await agent.ask("fs/write_text_file", { path: join(ground.dir, "file"), content: "x" });
      const script = "cat file; echo x > file; echo x > new; rm file; mkdir made";
      const created = await agent.ask("terminal/create", { command: "/bin/bash", args: ["-c", script] });
      const { terminalId } = created.result ?? {};
      await agent.ask("terminal/wait_for_exit", { terminalId });
      const { result } = await agent.ask("terminal/output", { terminalId });
      expect(result?.["output"]).toMatch(/kept/);
      expect(readFileSync(join(ground.dir, "file"), "utf8")).toBe("kept");
      expect(["new", "made"].map((name) => existsSync(join(ground.dir, name)))).toEqual([false, false]);
    } finally {
      await acp.close();
    }
  });
});
