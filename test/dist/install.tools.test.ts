// What somebody gets who installs the tarball, without network and without any install script, and follows the README.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect } from "@jest/globals";
import { cleanUp, type Finished, makeFolder, startNode } from "../cli/process.js";
import { needs } from "../needs.js";

const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));
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

afterAll(cleanUp);

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
