import { execFileSync, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { unpackExtension } from "@anthropic-ai/mcpb";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { cleanUp, type Finished, makeFolder, startNode } from "../cli/process.js";
import { needs } from "../needs.js";

afterAll(cleanUp);
const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));

// What somebody gets who installs the tarball, without network and without any install script, and follows the README.
describe("an installation", () => {
  const npm = (folder: string, ...args: string[]) => spawnSync("npm", args, { cwd: folder, encoding: "utf8" });

  /** A folder into which the tarball is installed from npm's cache alone. */
  function install(): { readonly folder: string; readonly said: string; readonly status: number | null } {
    const folder = makeFolder({ "package.json": '{ "private": true }' });
    execFileSync("npm", ["pack", "--ignore-scripts", "--pack-destination", folder], { cwd: PACKAGE, stdio: "ignore" });
    const tarball = readdirSync(folder).find((name) => name.endsWith(".tgz")) ?? "";
    const flags = ["--offline", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=warn"];
    const { status, stdout, stderr } = npm(folder, "install", ...flags, `./${tarball}`);
    return { folder, said: stdout + stderr, status };
  }

  const { folder, said, status } = install();
  const isCached = !/ENOTCACHED/.test(said);
  const test = needs(isCached, "npm has not all dependencies in its cache: install the package once with a network");
  const program = join(folder, "node_modules/venue-files/dist/cli.js");

  function run(args: readonly string[], cwd: string): Promise<Finished> {
    const running = startNode([program, ...args], { cwd });
    running.child.stdin.end();
    return running.ended;
  }

  test("it installs offline, without scripts, and npm has nothing to say of the version of Node", () => {
    expect({ status, said }).toMatchObject({ status: 0, said: expect.not.stringMatching(/EBADENGINE|deprecated/) });
    expect(existsSync(join(folder, "node_modules/.bin/venue-files"))).toBe(true);
  });

  test("native libraries are there without their scripts", async () => {
    const { status, stdout } = await run(["doctor"], folder);
    expect(status).toBe(0);
    expect(stdout).toMatch(/ok +koffi/);
    expect(stdout).toMatch(/ok +lmdb/);
  });

  test("'init' writes the entry of a client, which starts a server that has the folder", async () => {
    const project = makeFolder({ "hello.txt": "hello", ".env": "SECRET=1" });
    const done = await run(["init", project, "--for", "claude-code", "--yes"], project);
    expect(done).toMatchObject({ status: 0, stderr: "" });
    const { command, args } = JSON.parse(readFileSync(join(project, ".mcp.json"), "utf8")).mcpServers.files;
    expect([command, args[0]]).toEqual([process.execPath, program]);
    const server = startNode(args, { cwd: project });
    const send = (id: number, method: string, params: object) =>
      server.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    const clientInfo = { name: "client", version: "1" };
    send(1, "initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
    send(2, "tools/call", { name: "file_read", arguments: { path: "hello.txt" } });
    expect((await server.until(/^.*"id":2[,}].*$/m))[0]).toContain("hello");
    send(3, "tools/call", { name: "file_read", arguments: { path: ".env" } });
    expect((await server.until(/^.*"id":3[,}].*$/m))[0]).not.toContain("SECRET");
    await server.stop();
  });

  test("the library and its other entries load", async () => {
    const names = ["venue-files", "venue-files/drive", "venue-files/acp", "venue-files/backend-suite"];
    const text = `for (const name of ${JSON.stringify(names)}) console.log(Object.keys(await import(name)).length > 0);`;
    const done = await startNode(["--input-type=module", "--eval", text], { cwd: folder }).ended;
    expect(done).toMatchObject({ status: 0, stdout: "true\n".repeat(names.length) });
  });
});

// `npm install`, `npm pack` and installing from Git in a fresh clone build the package.
describe("preparation", () => {
  const clones: string[] = [];
  afterEach(() => {
    for (const clone of clones.splice(0)) rmSync(clone, { recursive: true });
  });

  /** A clone with one small source file, and the scripts of this package. */
  function clone({ hasCompiler = true, hasSources = true } = {}): string {
    const folder = mkdtempSync(join(tmpdir(), "venue-files-clone-"));
    clones.push(folder);
    const { name, version, type, scripts } = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8"));
    // What the build does beside compiling is not the question here.
    const packed = {
      name,
      version,
      type,
      files: ["dist"],
      scripts: { ...scripts, build: "tsc -p tsconfig.build.json" },
    };
    const files = { "package.json": JSON.stringify(packed) };
    const config = { compilerOptions: { outDir: "dist", rootDir: "src", types: [] }, include: ["src"] };
    const sources = { "src/cli.ts": "export const one: number = 1;\n", "tsconfig.build.json": JSON.stringify(config) };
    mkdirSync(join(folder, hasSources ? "src" : "empty"));
    for (const [path, text] of Object.entries({ ...files, ...(hasSources ? sources : {}) })) {
      writeFileSync(join(folder, path), text);
    }
    if (hasCompiler) symlinkSync(join(PACKAGE, "node_modules"), join(folder, "node_modules"));
    return folder;
  }

  const npm = (folder: string, ...args: string[]): string =>
    execFileSync("npm", args, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });

  test("packing a clone builds it", () => {
    const folder = clone();
    const output = npm(folder, "pack", "--dry-run", "--json");
    const [{ files }] = JSON.parse(output.slice(output.indexOf("["))) as [{ files: readonly { path: string }[] }];
    expect(files.map(({ path }) => path)).toContain("dist/cli.js");
  });

  test("a source that does not compile stops it", () => {
    const folder = clone();
    writeFileSync(join(folder, "src/cli.ts"), 'export const one: number = "x";\n');
    expect(() => npm(folder, "run", "prepare")).toThrow();
  });

  test.each([
    ["the compiler is missing, as with --omit=dev", { hasCompiler: false }],
    ["the sources are missing, as in a step that only installs", { hasSources: false }],
  ])("nothing happens where %s", (_, options) => {
    const folder = clone(options);
    npm(folder, "run", "prepare");
    expect(existsSync(join(folder, "dist"))).toBe(false);
  });
});

// What a release is made of: the bundle for hosts of MCP, started as a host does, and the entry of the registry.
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
const MAX_BYTES = 25_000_000;

describe("the bundle", () => {
  const folder = makeFolder({ "docs/a.txt": "hello" });
  const unpacked = join(folder, "unpacked");

  beforeAll(async () => {
    const file = join(folder, "it.mcpb");
    execFileSync(process.execPath, [join(ROOT, "scripts/release/mcpb.mjs"), file, "--here"], { stdio: "ignore" });
    expect(statSync(file).size).toBeLessThan(MAX_BYTES);
    mkdirSync(unpacked);
    expect(await unpackExtension({ mcpbPath: file, outputDir: unpacked, silent: true })).toBe(true);
  });

  /** Starts the server with what the host puts in for the settings of its user. */
  async function call(settings: Readonly<Record<string, string>>, name: string, args: object): Promise<string> {
    const { server } = JSON.parse(readFileSync(join(unpacked, "manifest.json"), "utf8"));
    const filled = (text: string) =>
      text
        .replace(/\$\{__dirname\}/, () => unpacked)
        .replace(/\$\{user_config\.(\w+)\}/, (whole, key) => settings[key] ?? whole);
    const env = Object.fromEntries(
      Object.entries<string>(server.mcp_config.env).map(([key, text]) => [key, filled(text)]),
    );
    const running = startNode(server.mcp_config.args.map(filled), { env });
    const hello = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "host", version: "1" } };
    running.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: hello })}\n`);
    running.child.stdin.write(
      `${JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/call", params: { name, arguments: args } })}\n`,
    );
    const [line] = await running.until(/^.*"id":2.*$/m);
    await running.stop();
    return line;
  }

  test("is valid, and says the version of the package", () => {
    const { version, manifest_version } = JSON.parse(readFileSync(join(unpacked, "manifest.json"), "utf8"));
    expect({ version, manifest_version }).toEqual({ version: manifest.version, manifest_version: "0.4" });
  });

  test("serves the folders that its user chose", async () => {
    const settings = { folders: join(folder, "docs"), read_only: "false", tools: "default" };
    expect(await call(settings, "file_read", { path: "a.txt" })).toContain("hello");
    expect(await call(settings, "file_write", { path: "b.txt", content: "x" })).not.toContain('isError":true');
    expect(readFileSync(join(folder, "docs/b.txt"), "utf8")).toBe("x");
  });

  test("changes nothing where its user says read only", async () => {
    const settings = { folders: join(folder, "docs"), read_only: "true", tools: "default" };
    expect(await call(settings, "file_write", { path: "c.txt", content: "x" })).toContain("Unknown tool: file_write");
    expect(existsSync(join(folder, "docs/c.txt"))).toBe(false);
  });
});

test("the entry of the registry has what its schema asks for, and the version of the package", () => {
  const script = join(ROOT, "scripts/release/server-json.mjs");
  const entry = JSON.parse(execFileSync(process.execPath, [script, script], { encoding: "utf8" }));
  expect(entry).toMatchObject({
    $schema: expect.stringContaining("/2025-12-11/"),
    name: manifest.mcpName,
    version: manifest.version,
  });
  expect(entry.name).toMatch(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/);
  expect(entry.description.length).toBeLessThanOrEqual(100);
  expect(entry.packages.map(({ registryType }: { registryType: string }) => registryType)).toEqual([
    "npm",
    "oci",
    "mcpb",
  ]);
  for (const one of entry.packages) {
    expect(one).toMatchObject({ identifier: expect.stringMatching(/./), transport: { type: "stdio" } });
    for (const argument of one.packageArguments ?? []) expect(argument.value ?? argument.valueHint).toMatch(/./);
  }
  expect(entry.packages[2].fileSha256).toMatch(/^[0-9a-f]{64}$/);
});
