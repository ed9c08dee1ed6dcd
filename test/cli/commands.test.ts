import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:http";
import module from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { parseRootArgument } from "../../src/cli/arguments/root.js";
import { simulateSystem } from "../../src/core/system.js";
import { unfitAsRoot } from "../../src/jail/mounts.js";
import { invoke } from "../surfaces/http/client.js";
import { runHere } from "./in-process.js";
import {
  CLI,
  cleanUp,
  type Finished,
  makeFolder,
  type Running,
  run,
  start,
  startNode,
  tempRootsIn,
} from "./process.js";

afterAll(cleanUp);

const folder = makeFolder({
  "docs/a.txt": "a",
  "text.json5": "hello",
  "mistakes.json5": `{
    port: "80",
    nme: "x",
    mcp: { tools: "some" }, auth: { public: { caps: [{ with: "docs", can: "read" }] } },
    file: { rootz: {}, roots: { "bad name": "." } },
  }`,
  "open.json5": `{ hostname: "0.0.0.0" }`,
  "no-such-host.json5": `{ hostname: "no-such-host.invalid", auth: { public: { enabled: true } } }`,
  "no-audit.json5": `{ audit: { file: "nowhere/audit.jsonl" } }`,
  "no-log.json5": `{ log: { file: "nowhere/venue.log" } }`,
  "no-mcp.json5": "{ mcp: false }",
  "tmp.json5": "{ file: { roots: { tmp: { temp: true } } } }",
  "no-list.json5": `{ with: "file://", can: "crud" }`,
});

const fails = (line: string): Promise<Finished> => run(line.split(" "), { cwd: folder });
/** The same without a process of its own, for the many that only say something else. */
const failsHere = (line: string): Promise<Finished> => runHere(line.split(" "), { cwd: folder });
const nothing = { signal: null, stdout: "" };

describe("64, wrong usage:", () => {
  test.concurrent.each<[string, string]>([
    ["serve --prt 1", "Unknown option '--prt' - did you mean '--port'?"],
    ["sevre --port 1", "Unknown command 'sevre' - did you mean 'serve'?"],
    [
      "call file:stat {oops",
      `The input of 'call' is neither JSON nor JSON5: invalid end of input at 1:6. Quote it: '{"root":"tmp","path":"a.txt"}'`,
    ],
  ])("%s", async (line, message) => {
    const help = line.startsWith("sevre") ? "--help" : `help ${line.split(" ")[0]}`;
    expect(await fails(line)).toEqual({ ...nothing, status: 64, stderr: `${message}\nSee: venue-files ${help}\n` });
  });
});

test("a group of commands without one of them leads to its help", async () => {
  for (const [group, topic] of [
    ["key", "key"],
    ["audit", "audit verify"],
  ] as const) {
    const { status, stderr } = await failsHere(group);
    expect([status, stderr]).toEqual([64, expect.stringMatching(new RegExp(`\nSee: venue-files help ${topic}\n$`))]);
  }
});

describe("66, a file that cannot be read:", () => {
  test.each<[string, string]>([
    ["serve --config nope.json5", `Cannot read "nope.json5": no such file`],
    ["mcp --config sub/nope.json5", `Cannot read "nope.json5": no such file`],
    ["call file:roots --config docs", `Cannot read "docs": it is a directory`],
    ["mcp --caps nope.json5", `Cannot read "nope.json5": no such file`],
    ["call file:roots --caps docs", `Cannot read "docs": it is a directory`],
  ])("%s", async (line, message) => {
    const run = line.startsWith("serve") ? fails : failsHere;
    expect(await run(line)).toEqual({ ...nothing, status: 66, stderr: `${message}\n` });
  });
});

describe("78, an invalid configuration:", () => {
  const rootForm = "expected PATH or NAME=PATH, for example --root docs=./docs or --root ./docs:ro";
  test.each<[string, string]>([
    ["serve --config text.json5", "text.json5:1:1: not valid JSON5: invalid character 'h'"],
    ["serve --root docs=", `Cannot read --root 'docs=': ${rootForm}`],
    ["serve --root docs=docs --root docs=.", "Root 'docs' is given twice by --root"],
    ["serve --config tmp.json5 --root tmp=docs", "Root 'tmp' is given twice: in the config and by --root"],
    ["serve --root docs=nope", `Root 'docs' does not exist or cannot be reached: ${folder}/nope`],
    ["mcp --root docs=docs/a.txt", `Root 'docs' is not a directory: ${folder}/docs/a.txt`],
    ["call file:roots --root all=/", "Root 'all' cannot be a root: it is the whole file system: /"],
    [
      "serve --config open.json5",
      "open.json5:1:3: Refusing to start: '0.0.0.0' is not a loopback address. Set auth.public.enabled to true or false explicitly.",
    ],
    [
      "call file:roots --config no-audit.json5",
      `no-audit.json5:1:12: 'audit.file' cannot be opened: its folder does not exist: ${folder}/nowhere/audit.jsonl`,
    ],
    [
      "serve --config no-log.json5",
      `no-log.json5:1:10: 'log.file' cannot be opened: its folder does not exist: ${folder}/nowhere/venue.log`,
    ],
    ["mcp --config no-mcp.json5", "no-mcp.json5:1:3: MCP is switched off: 'mcp' is false"],
    ["mcp --caps text.json5", "text.json5:1:1: not valid JSON5: invalid character 'h'"],
    [
      "mcp --caps no-list.json5",
      `"no-list.json5" must hold a list such as [{ with: "file://docs/", can: "crud/read" }]`,
    ],
  ])("%s", async (line, message) => {
    expect(await failsHere(line)).toEqual({ ...nothing, status: 78, stderr: `${message}\n` });
  });

  test("every mistake of a file at once", async () => {
    const { status, stdout, stderr } = await failsHere("serve --config mistakes.json5");
    expect({ status, stdout }).toEqual({ status: 78, stdout: "" });
    for (const mistake of [
      "Unknown config key 'nme' - did you mean 'name'?",
      '\'mcp.tools\' must be "default" or "full"',
      "'port' must be an integer from 0 to 65535, not a string",
      "Unknown config key 'file.rootz' - did you mean 'roots'?",
      "'auth.public.caps[0]' grants nothing",
      "'file.roots.bad name'",
    ]) {
      expect(stderr.split("\n").filter((line) => line.includes(mistake))).toHaveLength(1);
    }
  });

  test("every wrong --root at once", async () => {
    const { status, stderr } = await failsHere("call file:roots --root =a --root b=");
    expect(status).toBe(78);
    expect(stderr.match(/^Cannot read --root '(?:=a|b=)'/gm)).toHaveLength(2);
  });

  test.concurrent("every root that cannot be opened at once, and no temp root stays behind", async () => {
    const tmp = makeFolder({ "c.json5": `{ file: { roots: { t: { temp: true }, a: "no", b: "nor" } } }` });
    const { status, stderr } = await run(["serve", "--config", "c.json5"], { cwd: tmp, tmp });
    expect(status).toBe(78);
    expect(stderr.match(/^c\.json5:1:(?:39|48): Root '[ab]' does not exist/gm)).toHaveLength(2);
    expect(tempRootsIn(tmp)).toEqual([]);
  });

  test.concurrent("a temp folder that others could look into", async () => {
    const tmp = makeFolder({ [`venue-files-${process.geteuid?.()}/x`]: "" });
    chmodSync(`${tmp}/venue-files-${process.geteuid?.()}`, 0o755);
    const { status, stderr } = await run(["call", "file:roots"], { tmp });
    expect(status).toBe(78);
    expect(stderr).toContain("is in the way. Remove it, or set TMPDIR to a directory of your own");
  });
});

describe("69, an address that is not to be had:", () => {
  const taken = (): Promise<Server> =>
    new Promise((resolve) => {
      const server = createServer();
      server.listen(0, "127.0.0.1", () => resolve(server));
    });

  test.concurrent("a port in use, and no temp root stays behind", async () => {
    const server = await taken();
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const tmp = makeFolder();
    try {
      expect(await run(["serve", "--port", `${port}`], { tmp })).toEqual({
        ...nothing,
        status: 69,
        stderr: `Cannot listen on localhost:${port}: the port is in use. Choose another with --port\n`,
      });
      expect(tempRootsIn(tmp)).toEqual([]);
    } finally {
      server.close();
    }
  });

  test("a host that does not exist", async () => {
    const { status, stdout, stderr } = await failsHere("serve --config no-such-host.json5 --port 0");
    expect({ status, stdout }).toEqual({ status: 69, stdout: "" });
    // Which of the two depends on whether a name server can be asked.
    expect(stderr).toMatch(
      /^Cannot listen on no-such-host\.invalid:0: (?:no such host name|the host name cannot be looked up)\n$/,
    );
  });
});

describe("141, nobody reads the output any more:", () => {
  /** Runs a command whose output is closed before it writes. */
  async function unread(line: string): Promise<Finished> {
    const { child, ended } = start(line.split(" "), { cwd: folder });
    child.stdout.destroy();
    return await ended;
  }

  test.each(["tree d: --root d=.", "grep a d: --root d=.", `call file:roots --root d=.`])(
    "%s ends without a word",
    async (line) => {
      expect(await unread(line)).toEqual({ ...nothing, status: 141, stderr: "" });
    },
  );

  test("but serve goes on, and ends well", async () => {
    const { child, ended, until } = start(["serve", "--port", "0", "--root", "d=."], { cwd: folder });
    await until(/listens on/);
    child.stdout.destroy();
    child.kill("SIGTERM");
    expect(await ended).toMatchObject({ status: 0, stderr: "" });
  });
});

// Neither koffi nor lmdb: where npm could not install them, or omitted what is optional.
const WITHOUT = fileURLToPath(new URL("without-natives.cjs", import.meta.url));
const LIBRARY = new URL("../../dist/index.js", import.meta.url).href;
const makeVenue = (more: object = {}, roots: object = {}): string =>
  makeFolder({
    "docs/a.txt": "hello\n",
    "outside.txt": "secret",
    "venue.json5": JSON.stringify({
      ...{ port: 0, stateDir: "./state", ...more },
      file: { roots: { docs: "./docs", ...roots } },
    }),
  });

describe("without its native libraries", () => {
  const start = (folder: string, ...args: string[]): Running =>
    startNode(["--require", WITHOUT, CLI, ...args], { cwd: folder });
  const run = (folder: string, ...args: string[]): Promise<Finished> => {
    const running = start(folder, ...args);
    running.child.stdin.end();
    return running.ended;
  };

  test("one call reads and writes", async () => {
    const folder = makeVenue();
    const call = (operation: string, input: object) =>
      run(folder, "call", "--config", "venue.json5", operation, JSON.stringify({ root: "docs", ...input }));
    // Nobody has asked for a journal, so nothing is wrong.
    expect(await call("file:write", { path: "b.txt", content: "new" })).toMatchObject({ status: 0, stderr: "" });
    expect(readFileSync(join(folder, "docs/b.txt"), "utf8")).toBe("new");
    expect((await call("file:grep", { pattern: "h.llo" })).stdout).toContain("a.txt");
  });

  test("one call says so where the configuration asks for a journal", async () => {
    const folder = makeVenue({}, { docs: { path: "./docs", journal: "on" } });
    const input = JSON.stringify({ root: "docs", path: "b.txt", content: "new" });
    const done = await run(folder, "call", "--config", "venue.json5", "file:write", input);
    expect(done).toMatchObject({ status: 0, stderr: expect.stringContaining("The journal of a root failed") });
  });

  test("the library reads, and finds nothing outside of a root", async () => {
    const folder = makeVenue();
    const program = `
      import { symlinkSync } from "node:fs";
      import { createFileAdapter } from ${JSON.stringify(LIBRARY)};
      symlinkSync("../outside.txt", "docs/link");
      const adapter = await createFileAdapter({ roots: { docs: { path: "docs" } } });
      const read = (path) => adapter.invoke("file:read", { root: "docs", path });
      console.log((await read("a.txt")).content.trim(), await read("link").catch(({ code }) => code));
      await adapter.close();
    `;
    const done = await startNode(["--require", WITHOUT, "--input-type=module", "--eval", program], { cwd: folder })
      .ended;
    expect(done).toMatchObject({ status: 0, stdout: "hello SYMLINK_ESCAPE\n" });
  });

  test("MCP over standard input reads", async () => {
    const running = start(makeVenue(), "mcp", "docs");
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "host", version: "1" } };
    const call = { name: "file_read", arguments: { path: "a.txt" } };
    for (const [id, method, sent] of [
      [1, "initialize", params],
      [2, "tools/call", call],
    ])
      running.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params: sent })}\n`);
    expect((await running.until(/^.*"id":2.*$/m))[0]).toContain("hello");
  });

  test("a venue starts, with its drives in memory; 'check' says what is off", async () => {
    const folder = makeVenue({ drives: { store: "memory" } }, { notes: { dlfs: "notes" } });
    const checked = await run(folder, "check", "--config", "venue.json5");
    expect(checked).toMatchObject({ status: 0 });
    expect(checked.stdout).toContain("handle walk  no journal: its library 'lmdb' cannot be loaded");
    const running = start(folder, "serve", "--config", "venue.json5");
    const [url] = await running.until(/http:\/\/[a-z0-9.]+:\d+/);
    const token = readFileSync(join(folder, "state/local-token"), "utf8").trim();
    const read = { operation: "file:read", input: { root: "docs", path: "a.txt" }, wait: true };
    const answer = await invoke(url, read, token);
    expect(await answer.json()).toMatchObject({ status: "COMPLETE", output: { content: "hello\n" } });
    expect(await running.stop("SIGTERM")).toMatchObject({ status: 0 });
  });

  test.each([
    ["named", { store: { path: "./store" } }],
    ["in the state directory", {}],
  ])("drives on disk, %s, are refused by 'check' and 'serve' alike", async (_where, drives) => {
    const folder = makeVenue({ drives, seedFile: "./seed" }, { notes: { dlfs: "notes" } });
    for (const command of ["check", "serve"])
      expect(await run(folder, command, "--config", "venue.json5")).toMatchObject({
        status: 78,
        stderr: expect.stringContaining("'drives.store' cannot be opened: its library 'lmdb' cannot be loaded."),
      });
  });

  test("'doctor' notes both, and ends with 0", async () => {
    const done = await run(makeFolder(), "doctor");
    expect(done.status).toBe(0);
    expect(done.stdout).toMatch(/NOTE +koffi +cannot be loaded/);
    expect(done.stdout).toMatch(/NOTE +lmdb +cannot be loaded/);
    expect(done.stdout).toMatch(/ok +Jail +handle walk/);
  });
});

const PACKAGE = fileURLToPath(new URL("../../", import.meta.url));
/** Node 20 does not. */
const CAN_KEEP = "enableCompileCache" in module;

/** A copy of the package, as far as `--version` needs it. */
function installed(): string {
  const folder = makeFolder();
  for (const name of ["package.json", "dist/cli.js", "dist/cli/main.js", "dist/bundle"]) {
    cpSync(join(PACKAGE, name), join(folder, name), { recursive: true });
  }
  symlinkSync(join(PACKAGE, "node_modules"), join(folder, "node_modules"));
  return folder;
}

function startIn(folder: string, env: Readonly<Record<string, string>> = {}) {
  const { NODE_COMPILE_CACHE: _, NODE_V8_COVERAGE: __, ...own } = process.env;
  const options = { encoding: "utf8", env: { ...own, ...env } } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(folder, "dist/cli.js"), "--version"], options);
  return { status, stdout, stderr };
}

/** Files of compiled code, with the times of their last change. */
function keptIn(folder: string): Readonly<Record<string, number>> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map(({ parentPath, name }) => join(parentPath, name));
  return Object.fromEntries(paths.map((path) => [path, statSync(path).mtimeMs]));
}

const FINE = { status: 0, stdout: expect.stringMatching(/^venue-files \d|^\d/), stderr: "" };

describe("compiled code of the program", () => {
  test("is kept in the package for the next start, which uses it as it is, and nobody else may write there", () => {
    const folder = installed();
    const kept = join(folder, ".compiled");
    expect(startIn(folder)).toEqual(FINE);
    expect(existsSync(kept)).toBe(CAN_KEEP);
    const first = CAN_KEEP ? keptIn(kept) : {};
    expect(Object.keys(first).length > 1).toBe(CAN_KEEP);
    expect(startIn(folder)).toEqual(FINE);
    expect(CAN_KEEP ? keptIn(kept) : {}).toEqual(first);
    expect(CAN_KEEP ? statSync(kept).mode & 0o777 : 0o700).toBe(0o700);
  });

  test("that cannot be kept stops nothing", () => {
    const folder = installed();
    writeFileSync(join(folder, ".compiled"), "");
    expect(startIn(folder)).toEqual(FINE);
  });

  test("that is damaged is made again", () => {
    const folder = installed();
    const kept = join(folder, ".compiled");
    startIn(folder);
    const files = Object.keys(CAN_KEEP ? keptIn(kept) : {});
    for (const file of files) writeFileSync(file, "damaged");
    expect(startIn(folder)).toEqual(FINE);
    expect(files.filter((file) => statSync(file).size === "damaged".length)).toEqual([]);
  });

  test("is kept nowhere else than where Node is told, and not where Node is told not to", () => {
    const folder = installed();
    const elsewhere = makeFolder();
    expect(startIn(folder, { NODE_COMPILE_CACHE: elsewhere })).toEqual(FINE);
    expect(Object.keys(keptIn(elsewhere)).length > 0).toBe(CAN_KEEP);
    rmSync(join(folder, ".compiled"), { recursive: true, force: true });
    expect(startIn(folder, { NODE_DISABLE_COMPILE_CACHE: "1" })).toEqual(FINE);
    expect(Object.keys(existsSync(join(folder, ".compiled")) ? keptIn(join(folder, ".compiled")) : {})).toEqual([]);
  });

  test("is not kept in a package of another user", () => {
    const folder = installed();
    const description = join(folder, "package.json");
    try {
      chownSync(description, 12_345, 12_345);
    } catch {
      // Only root gives files away; then the package is still one's own.
    }
    const isOwn = statSync(description).uid === process.geteuid?.();
    expect(startIn(folder)).toEqual(FINE);
    expect(existsSync(join(folder, ".compiled"))).toBe(isOwn && CAN_KEEP);
  });
});

// Command lines as Windows writes them. What the system itself does there is tried by `npm run test:windows`.
describe("on Windows", () => {
  let restore = () => {};
  beforeEach(() => {
    restore = simulateSystem("win32");
  });
  afterEach(() => restore());

  describe("--root", () => {
    test.each([
      ["C:\\a=b", undefined, "C:\\a=b", false],
      ["C:\\work\\x=y:ro", undefined, "C:\\work\\x=y", true],
      ["\\\\?\\C:\\x", undefined, "\\\\?\\C:\\x", false],
      ["docs=C:\\a=b", "docs", "C:\\a=b", false],
      ["docs=D:/x:ro", "docs", "D:/x", true],
    ])("%s", (text, name, path, readOnly) => {
      const parsed = parseRootArgument(text, "/cwd");
      expect(parsed.name).toBe(name);
      // The rules of paths are those of the system that runs the test.
      expect([`${parsed.root.path}`.replace("/cwd/", ""), parsed.root.readOnly]).toEqual([path, readOnly]);
    });

    test.each(["C:\\", "c:/", "D:", "/"])("never a whole drive: %s", (path) => {
      expect(unfitAsRoot(path)).toBe("it is the whole file system");
    });
  });

  test("the last word of `get` is a file where it names a drive", async () => {
    const cwd = makeFolder({ "docs/a.txt": "one", "docs/b.txt": "two" });
    const get = (...words: string[]) => runHere(["get", "--root", "w=./docs", ...words], { cwd });
    expect(await get("w:a.txt", "C:\\out.txt")).toMatchObject({ status: 0 });
    expect(readFileSync(join(cwd, "C:\\out.txt"), "utf8")).toBe("one");
    expect(await get("w:a.txt", "w:b.txt")).toMatchObject({ status: 0 });
    expect(readdirSync(cwd).sort()).toEqual(["C:\\out.txt", "a.txt", "b.txt", "docs"]);
  });

  test("`init` shows a client's file that has line ends of Windows as its lines are", async () => {
    const cwd = makeFolder({ "docs/a.txt": "" });
    writeFileSync(join(cwd, ".mcp.json"), '{\r\n  "mcpServers": {\r\n    "other": { "command": "x" }\r\n  }\r\n}\r\n');
    const done = await runHere(["init", "--root", "docs=./docs", "--for", "claude-code", "--print"], { cwd });
    expect(done.status).toBe(0);
    expect(done.stdout).toContain('+    "files": {\n');
    expect(done.stdout).not.toContain("\\u{d}");
  });

  test("`doctor` says nothing of libraries and limits that are for Linux", async () => {
    const { stdout } = await runHere(["doctor"], { cwd: makeFolder() });
    expect(stdout).toMatch(/Jail +real-path check/);
    expect(stdout).not.toMatch(/fast walk|inotify|Open files/);
  });
});
