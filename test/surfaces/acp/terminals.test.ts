import { symlinkSync } from "node:fs";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { FileAdapterError } from "../../../src/core/errors/errors.js";
import { tooManyDenied } from "../../../src/core/errors/texts.js";
import type { ExecRequest, Sandbox, SandboxExit, SandboxProcess } from "../../../src/core/ports/sandbox.js";
import { AcpClientFs } from "../../../src/surfaces/acp/client-fs.js";
import type { AcpAdapter } from "../../../src/surfaces/acp/files/files.js";
import type { AcpOptions } from "../../../src/surfaces/acp/options.js";
import type { AcpAuditRecord } from "../../../src/surfaces/acp/review/audit.js";
import { useAcp } from "./ground.js";
import { type LocalAgent, localAgent } from "./local.js";

const { ground, at } = useAcp({ roots: { other: { temp: true } } });

/** A command that does what the test says. */
interface FakeRun {
  readonly request: ExecRequest;
  readonly signal: AbortSignal | undefined;
  output: string | Uint8Array;
  kills: number;
  exit(status: Partial<SandboxExit>): void;
}

let runs: FakeRun[];
let refuse: (() => never) | undefined;
/** How the trial ends. */
let tried: number;
let acp: AcpClientFs;
let agent: LocalAgent;

const sandbox = (available = true): Sandbox => ({
  name: "none",
  shows: "host",
  probe: async () => ({ available, network: false, realBinaries: false }),
  run: () => {
    throw new Error("not asked for");
  },
});

const exec: AcpAdapter["exec"] = async (request, { signal }): Promise<SandboxProcess> => {
  refuse?.();
  let end: (exit: SandboxExit) => void = () => {};
  const exited = new Promise<SandboxExit>((resolve) => {
    end = resolve;
  });
  const run: FakeRun = {
    request,
    signal,
    output: "",
    kills: 0,
    exit: (status) => end({ exitCode: 0, signal: null, timedOut: false, truncated: false, ...status }),
  };
  // Whether commands run at all is tried once.
  if (request.argv[0] === "true") run.exit({ exitCode: tried });
  else runs.push(run);
  return {
    started: Promise.resolve(),
    exited,
    output: () => {
      const combined = typeof run.output === "string" ? Buffer.from(run.output) : run.output;
      return { stdout: combined, stderr: Buffer.alloc(0), combined, truncated: combined.length > 5 };
    },
    kill: async () => {
      run.kills++;
      run.exit({ exitCode: null, signal: "SIGKILL" });
      await exited;
    },
  };
};

const newFs = (options: Partial<AcpOptions> = {}, parts: Partial<AcpAdapter> = { exec }): AcpClientFs =>
  new AcpClientFs({
    adapter: { invoke: ground.adapter.invoke, ...parts },
    mounts: [{ root: "r" }, { root: "other", prefix: "/other" }],
    terminals: { sandbox: sandbox() },
    ...options,
  });

beforeEach(async () => {
  runs = [];
  refuse = undefined;
  tried = 0;
  acp = newFs();
  agent = await localAgent(acp, "s", { cwd: at("work"), additionalDirectories: ["/other"] });
});

beforeEach(() => {
  ground.mkdir("work/sub");
  ground.put("work/file", "");
});

const create = (params: object = {}) => agent.ask("terminal/create", { command: "make", ...params });
async function started(params: object = {}): Promise<{ id: string; run: FakeRun }> {
  const { result, error } = await create(params);
  expect(error).toBeUndefined();
  const run = runs.at(-1);
  if (run === undefined) throw new Error("nothing was run");
  return { id: String(result?.["terminalId"]), run };
}
const ask = (method: string, terminalId: string) => agent.ask(`terminal/${method}`, { terminalId });
const unknown = (terminalId: string) => ({
  error: { code: -32002, message: expect.any(String), data: { terminalId } },
});

describe("a terminal", () => {
  test("runs a command on the directories of its session", async () => {
    const { run } = await started({ args: ["-j", "2"], env: [{ name: "MODE", value: "fast" }], cwd: at("work/sub") });
    expect(run.request).toMatchObject({
      argv: ["make", "-j", "2"],
      cwd: at("work/sub"),
      mounts: [
        { root: "r", prefix: "work", at: at("work") },
        { root: "other", at: "/other" },
      ],
      env: { MODE: "fast", LANG: "C.UTF-8", HOME: at("work/sub"), PATH: expect.stringContaining("/usr/bin") },
      outputBytes: 1_048_576,
      keep: "tail",
      timeoutMs: 3_600_000,
    });
    expect((await started()).run.request).toMatchObject({ argv: ["make"], cwd: at("work") });
    expect((await started({ cwd: null, args: null, env: null, outputByteLimit: null })).run.request.cwd).toBe(
      at("work"),
    );
  });

  test("answers with its output, and how it ended", async () => {
    const { id, run } = await started();
    run.output = "so far";
    expect(await ask("output", id)).toEqual({ result: { output: "so far", truncated: true } });
    const waiting = ask("wait_for_exit", id);
    run.exit({ exitCode: 3 });
    expect(await waiting).toEqual({ result: { exitCode: 3, signal: null } });
    run.output = Buffer.from([0xef, 0xbb, 0xbf, 0x61, 0xff]);
    expect(await ask("output", id)).toEqual({
      result: { output: "\ufeffa\ufffd", truncated: false, exitStatus: { exitCode: 3, signal: null } },
    });
    expect(await ask("wait_for_exit", id)).toEqual({ result: { exitCode: 3, signal: null } });
  });

  test("that is killed is still known, one that is released is not", async () => {
    const { id, run } = await started();
    expect(await ask("kill", id)).toEqual({ result: {} });
    expect(await ask("wait_for_exit", id)).toEqual({ result: { exitCode: null, signal: "SIGKILL" } });
    expect(await ask("release", id)).toEqual({ result: {} });
    for (const method of ["output", "wait_for_exit", "kill", "release"])
      expect(await ask(method, id)).toEqual(unknown(id));
    const second = await started();
    expect(await ask("release", second.id)).toEqual({ result: {} });
    expect([run.kills, second.run.kills]).toEqual([2, 1]);
  });

  test("is another session's business no more than an invented one", async () => {
    const { id } = await started();
    const other = await localAgent(acp, "other", { cwd: at("work") });
    for (const terminalId of [id, "term-0"]) {
      expect(await other.ask("terminal/output", { terminalId })).toEqual(unknown(terminalId));
    }
  });

  test.each([
    [{ env: [{ name: "PATH", value: "/x" }] }],
    [{ env: [{ name: "LD_PRELOAD", value: "/x" }] }],
    [{ env: [{ name: "NODE_OPTIONS", value: "/x" }] }],
    [{ env: [{ name: "A=B", value: "/x" }] }],
    [{ env: [{ name: "", value: "/x" }] }],
    [{ env: [{ name: "A", value: "\0" }] }],
    [{ env: [{ name: "A" }] }],
    [{ args: [1] }],
    [{ args: "x" }],
    [{ command: 1 }],
    [{ command: "" }],
    [{ command: "a\0b" }],
    [{ args: ["a\0b"] }],
    [{ outputByteLimit: -1 }],
    [{ outputByteLimit: 1.5 }],
    [{ cwd: "/etc" }],
    [{ cwd: "work" }],
    [{ cwd: `${"/x".repeat(3)}/../..` }],
  ])("is not made with %j", async (params) => {
    expect(await create(params)).toEqual({ error: expect.objectContaining({ code: -32602 }) });
    expect(runs).toHaveLength(0);
  });

  test("is not made in a directory that is not there", async () => {
    const cwd = at("work/none");
    expect((await create({ cwd })).error).toMatchObject({ code: -32002, data: { uri: cwd } });
    expect((await create({ cwd: at("work/file") })).error).toMatchObject({ data: { reason: "not_a_directory" } });
    symlinkSync("..", at("work/up"));
    expect((await create({ cwd: at("work/up") })).error).toMatchObject({ data: { reason: "outside_roots" } });
    expect(runs).toHaveLength(0);
  });

  test("keeps as much output as was asked for, and 10 MB at most", async () => {
    expect((await started({ outputByteLimit: 5 })).run.request.outputBytes).toBe(5);
    expect((await started({ outputByteLimit: 2 ** 40 })).run.request.outputBytes).toBe(10_485_760);
  });

  test("is one of eight that run at once", async () => {
    const all = await Promise.all(Array.from({ length: 10 }, () => create()));
    expect(all.filter(({ error }) => error?.code === -32602)).toHaveLength(2);
    runs[0]?.exit({});
    await ask("wait_for_exit", String(all[0]?.result?.["terminalId"]));
    expect((await create()).error).toBeUndefined();
  });

  test("that ended long ago is forgotten first", async () => {
    const ids: string[] = [];
    for (let index = 0; index < 34; index++) {
      const { id, run } = await started();
      run.exit({});
      await ask("wait_for_exit", id);
      ids.push(id);
    }
    expect(await ask("output", String(ids[0]))).toEqual(unknown(String(ids[0])));
    expect((await ask("output", String(ids.at(-1)))).error).toBeUndefined();
  });

  test("waits no longer than its request", async () => {
    const { id } = await started();
    const cancelling = new AbortController();
    const waiting = agent.ask("terminal/wait_for_exit", { terminalId: id }, { cancellationSignal: cancelling.signal });
    cancelling.abort();
    expect(await waiting).toEqual({ error: { code: -32800, message: "Request cancelled" } });
    expect(await ask("output", id)).toEqual({ result: { output: "", truncated: false } });
  });

  test("goes with its agent, and with its session", async () => {
    const { run } = await started();
    const second = await localAgent(acp, "second", { cwd: at("work") });
    await second.ask("terminal/create", { command: "make" });
    await acp.closeSession("second");
    expect(runs.at(-1)?.kills).toBe(1);
    expect(run.kills).toBe(0);
    agent.close();
    await new Promise<void>((resolve) => setImmediate(resolve));
    expect(run.kills).toBe(1);
  });

  test("goes when all is closed, and none is made after that", async () => {
    const { run } = await started();
    await acp.close();
    expect(run.kills).toBe(1);
    expect((await create()).error).toMatchObject({ code: -32800 });
    expect(runs.at(-1)?.kills).toBe(1);
  });

  test("is not made where exec refuses", async () => {
    await create();
    refuse = () => {
      throw new FileAdapterError("CAPABILITY_DENIED", "text", {
        required: { with: "file://r/", can: "exec/run" },
        have: [],
        denied_by: ["agent_caps"],
      });
    };
    expect(await create()).toEqual({
      error: {
        code: -32003,
        message: "Permission denied",
        data: { required: { with: "file://r/", can: "exec/run" }, held: [] },
      },
    });
  });
});

test("a command that is refused for what would have to be hidden says how much that is", async () => {
  refuse = undefined;
  await create();
  refuse = () => {
    throw tooManyDenied({ root: "r", path: "work" }, 1001, 1000);
  };
  expect((await create()).error).toEqual({
    code: -32003,
    message: "too many denied entries to hide: 1001, limit 1000",
    data: { path: at("work"), reason: "policy" },
  });
});

test("the audit of a terminal names its command, and counts its output", async () => {
  const audit: AcpAuditRecord[] = [];
  acp = newFs({ onAudit: (record) => audit.push(record) });
  agent = await localAgent(acp, "s", { cwd: at("work") });
  const { id, run } = await started({ args: ["x".repeat(300)] });
  run.output = "four";
  await ask("output", id);
  await ask("kill", id);
  await ask("output", "none");
  const common = { sessionId: "s", time: expect.any(Number), ms: expect.any(Number) };
  expect(audit).toEqual([
    {
      ...{ ...common, method: "terminal/create", root: "r", path: "work", bytes: 0, outcome: "OK" },
      command: `make ${"x".repeat(195)}`,
    },
    { ...common, method: "terminal/output", bytes: 4, outcome: "OK" },
    { ...common, method: "terminal/kill", bytes: 0, outcome: "OK" },
    { ...common, method: "terminal/output", bytes: 0, outcome: "UNKNOWN_TERMINAL" },
  ]);
});

describe("approval of a command", () => {
  test("is asked before it is run, and kept apart from that of writes", async () => {
    const asked: unknown[] = [];
    acp = newFs({
      approve: ({ signal, ...request }) => {
        asked.push(request);
        return request.kind === "terminal" ? "reject_always" : "allow";
      },
    });
    agent = await localAgent(acp, "s", { cwd: at("work") });
    const rejected = { error: { code: -32003, message: "Rejected", data: { path: at("work"), reason: "rejected" } } };
    expect(await create({ args: ["all"], env: [{ name: "A", value: "b" }] })).toEqual(rejected);
    expect(await create()).toEqual(rejected);
    expect(await agent.ask("fs/write_text_file", { path: at("work/x"), content: "" })).toEqual({ result: {} });
    expect(runs).toHaveLength(0);
    expect(asked).toEqual([
      { kind: "terminal", sessionId: "s", command: "make", args: ["all"], env: { A: "b" }, path: at("work") },
      expect.objectContaining({ kind: "write" }),
    ]);
  });
});

test("what is never to be written in a root is not written by commands either", async () => {
  acp = newFs({ approve: ({ kind }) => (kind === "write" ? "reject_always" : "allow_always") });
  agent = await localAgent(acp, "s", { cwd: at("work"), additionalDirectories: ["/other"] });
  const readOnly = async () => (await started()).run.request.mounts.map((mount) => mount.readOnly ?? false);
  expect(await readOnly()).toEqual([false, false]);
  await agent.ask("fs/write_text_file", { path: at("work/x"), content: "" });
  expect(await readOnly()).toEqual([true, false]);
  const another = await localAgent(acp, "another", { cwd: at("work") });
  await another.ask("terminal/create", { command: "make" });
  expect(runs.at(-1)?.request.mounts[0]?.readOnly).toBeUndefined();
});

describe("terminals are offered", () => {
  test("only with a sandbox that works, an adapter that runs, and the right to", async () => {
    const terminal = async (acpFs: AcpClientFs) => (await acpFs.capabilities()).terminal;
    expect(await terminal(newFs())).toBe(true);
    expect(await terminal(newFs({ terminals: { sandbox: sandbox(false) } }))).toBe(false);
    expect(await terminal(newFs({}, {}))).toBe(false);
    tried = 1;
    expect(await terminal(newFs())).toBe(false);
    tried = 0;
    const rights = (holds: boolean) => () => ({ allows: () => holds });
    expect(await terminal(newFs({}, { exec, rights: rights(false) }))).toBe(false);
    expect(await terminal(newFs({}, { exec, rights: rights(true) }))).toBe(true);
    const none = await localAgent(newFs({}, {}), "s", { cwd: at("work") });
    expect((await none.ask("terminal/create", { command: "x" })).error).toMatchObject({ code: -32601 });
  });
});
