// The program on Windows: folders in several spellings, the entries of clients, a closed console, files that others hold, no database.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { parse as parseJsonc } from "jsonc-parser";
import { parse as parseToml } from "smol-toml";
import { parse as parseYaml } from "yaml";
import { CLIENTS } from "../../../src/cli/init/clients.js";
import { createFileAdapter } from "../../../src/index.js";
import { CLI, cleanUp, start, startNode } from "./process.js";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "venue-files-test-"));
});
afterAll(async () => {
  await cleanUp();
  rmSync(folder, { recursive: true, force: true });
});

async function run(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const running = start(args, { cwd: folder, env });
  running.child.stdin.end();
  return running.ended;
}

function configured(name: string, config: object): string {
  const path = join(folder, `${name}.json5`);
  writeFileSync(path, JSON.stringify({ port: 0, ...config }));
  return path;
}

describe("a folder has one identity, however it is spelled", () => {
  const spelled = (path: string) => [
    path,
    path.toUpperCase(),
    path.toLowerCase(),
    path.replaceAll("\\", "/"),
    `\\\\?\\${path}`,
  ];

  test("the state folder lies in no root", async () => {
    const home = join(folder, "Home");
    mkdirSync(join(home, "State"), { recursive: true });
    for (const path of spelled(home)) {
      const config = configured("state", { stateDir: join(home, "State"), file: { roots: { home: { path } } } });
      const { status, stderr } = await run(["check", "--config", config]);
      expect([path, status, stderr]).toEqual([path, 78, expect.stringMatching(/state/i)]);
    }
  });

  test("'call' reaches the folder by each of them", async () => {
    const root = join(folder, "Spelled");
    mkdirSync(root);
    writeFileSync(join(root, "a.txt"), "reached");
    for (const path of spelled(root)) {
      const config = configured("root", { file: { roots: { r: { path, journal: "off" } } } });
      const input = JSON.stringify({ root: "r", path: "a.txt" });
      const { status, stdout } = await run(["call", "file:read", input, "--config", config]);
      expect([path, status, stdout]).toEqual([path, 0, expect.stringContaining("reached")]);
    }
  });
});

test("no directory is copied into a root that lies in it, however it is spelled", async () => {
  const outer = join(folder, "Outer");
  const inner = join(outer, "dir", "deep");
  mkdirSync(inner, { recursive: true });
  const adapter = await createFileAdapter({ roots: { outer, inner } });
  for (const path of ["dir", "DIR", "dir/deep"]) {
    const input = { root: "outer", path, to: "new", toRoot: "inner" };
    const refused = { code: "INVALID_INPUT", message: "'to' lies inside 'path'" };
    await expect(adapter.invoke("file:copy", { ...input, recursive: true })).rejects.toMatchObject(refused);
    await expect(adapter.invoke("file:move", input)).rejects.toMatchObject(refused);
  }
  expect(existsSync(join(inner, "new"))).toBe(false);
  await adapter.close();
});

describe("'init' writes an entry that starts the server", () => {
  const parse = { json: (text: string) => parseJsonc(text) as unknown, toml: parseToml, yaml: parseYaml };

  test.each(Object.keys(CLIENTS))("%s", async (name) => {
    const client = CLIENTS[name as keyof typeof CLIENTS];
    if (client === undefined) throw new Error(name);
    const project = join(folder, `project of ${name}`);
    const home = join(folder, `home of ${name}`);
    mkdirSync(project);
    mkdirSync(home);
    writeFileSync(join(project, "hello.txt"), "hello");
    const env = { USERPROFILE: home, APPDATA: join(home, "AppData", "Roaming"), HOME: home };
    const done = await run(["init", project, "--for", name, "--yes"], env);
    expect(done).toMatchObject({ status: 0, stderr: "" });
    const platform = { system: "win32" as const, home, env, isFolder: existsSync };
    const file = client.file(project, platform);
    expect(existsSync(file)).toBe(true);
    const text = readFileSync(file, "utf8");
    const servers = client.keys.reduce(
      (at: unknown, key) => (at as Record<string, unknown>)[key],
      parse[client.format](text),
    );
    const [entry] = Object.values(servers as Record<string, Record<string, unknown>>);
    const line = entry?.["command"] ?? entry?.["cmd"];
    const [command, ...args] = Array.isArray(line) ? line : [line, ...((entry?.["args"] as string[]) ?? [])];
    expect(command).toBe(process.execPath);
    expect(await answerOf(args as string[], home)).toContain("hello");
  });

  /** What a server that is started by an entry answers to a read. */
  async function answerOf(args: readonly string[], home: string): Promise<string> {
    const server = startNode(args, { cwd: home, env: { USERPROFILE: home } });
    const send = (id: number, method: string, params: object) =>
      server.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    const clientInfo = { name: "client", version: "1" };
    send(1, "initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
    send(2, "tools/call", { name: "file_read", arguments: { path: "hello.txt" } });
    const [answer] = await server.until(/^.*"id":2[,}].*$/m);
    await server.stop();
    return answer;
  }
});

test.each(["SIGINT", "SIGBREAK", "SIGHUP"])(
  "a server ends in order by %s, which Windows makes of its console",
  async (signal) => {
    const config = configured("serve", {
      stateDir: join(folder, `state-${signal}`),
      file: { roots: { t: { temp: true } } },
    });
    // Wine gives programs without a window no console to close: the event comes from within, once the server has said that it is there.
    const closing = `data:text/javascript,process.stdout.on("resize",()=>{});const{write}=process.stdout;process.stdout.write=function(text,...more){if(String(text).includes("Ctrl-C"))setTimeout(()=>process.emit("${signal}"),1000);return(write.call(this,text,...more))}`;
    const server = startNode(["--import", closing, CLI, "serve", "--config", config], {
      cwd: folder,
    });
    await server.until(/listens on/);
    expect(await server.ended).toMatchObject({ status: 0 });
  },
);

describe("a file that another program has open", () => {
  /** Holds a file for itself alone for so long, as a scanner does. */
  const HOLD = `
    const koffi = require("koffi");
    const kernel = koffi.load("kernel32.dll");
    const create = kernel.func("intptr __stdcall CreateFileW(str16, uint32, uint32, void *, uint32, uint32, intptr)");
    const handle = create(process.argv[1], 0x80000000, 0, null, 3, 0, 0);
    console.log(handle > 0 ? "held" : "failed");
    setTimeout(() => process.exit(0), Number(process.argv[2]));
  `;

  async function whileHeld(path: string, ms: number, work: () => Promise<unknown>): Promise<unknown> {
    const holder = spawn(process.execPath, ["-e", HOLD, path, String(ms)], {
      cwd: dirname(dirname(CLI)),
      env: { ...process.env, NODE_OPTIONS: "" },
    });
    const ended = once(holder, "exit");
    const [said] = (await once(holder.stdout, "data")) as [Buffer];
    expect(String(said).trim()).toBe("held");
    try {
      return await work().catch((error: { code?: string }) => error.code);
    } finally {
      holder.kill();
      await ended;
    }
  }

  test.each([
    ["write", { content: "new" }],
    ["delete", {}],
    ["edit", { oldText: "old", newText: "new" }],
    ["move", { to: "elsewhere.txt" }],
  ])("%s waits until that lets go, or the answer is BUSY and nothing has changed", async (operation, more) => {
    const root = mkdtempSync(join(folder, "held-"));
    const path = join(root, "a.txt");
    const change = async () => {
      // Anew: who has waited in vain waits less the next time.
      const files = await createFileAdapter({ roots: { r: { path: root, journal: "off" } } });
      return files.invoke(`file:${operation}`, { root: "r", path: "a.txt", ...more }).finally(() => files.close());
    };
    writeFileSync(path, "old");
    expect(await whileHeld(path, 60_000, change)).toBe("BUSY");
    expect(readFileSync(path, "utf8")).toBe("old");
    // On a busy machine it may let go too late.
    let changed: unknown;
    for (let tries = 0; tries < 5 && typeof changed !== "object"; tries++) changed = await whileHeld(path, 400, change);
    expect(changed).toEqual(expect.any(Object));
  });
});

describe("without its database", () => {
  test("'doctor' says so, and ends well", async () => {
    const { status, stdout } = await run(["doctor"]);
    expect(status).toBe(0);
    expect(stdout).toMatch(/NOTE +lmdb +cannot be loaded/);
  });

  test("a call says so where the configuration asks for a journal, and is made", async () => {
    const root = join(folder, "journalled");
    mkdirSync(root);
    const config = configured("journal", { file: { roots: { r: { path: root, journal: "on" } } } });
    const input = JSON.stringify({ root: "r", path: "a.txt", content: "new" });
    const { status, stderr } = await run(["call", "file:write", input, "--config", config]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: expect.stringContaining("The journal of a root failed") });
    expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("new");
  });

  test("'check' says what is off", async () => {
    const root = join(folder, "checked");
    mkdirSync(root);
    const config = configured("checked", {
      stateDir: join(folder, "state-checked"),
      file: { roots: { r: { path: root } } },
    });
    const { status, stdout } = await run(["check", "--config", config]);
    expect({ status, stdout }).toEqual({
      status: 0,
      stdout: expect.stringContaining("no journal: its library 'lmdb' cannot be loaded"),
    });
  });
});
