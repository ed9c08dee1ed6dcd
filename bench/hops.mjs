#!/usr/bin/env node
// How much of our code one call enters: files, functions and calls, from modules that are not bundled. Each call is warm (the fourth
// of its kind) but for the command line, which is a process of its own. `--chain` prints the files.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { transform } from "esbuild";
import { CLIENT_INFO, PROTOCOL_VERSION } from "./clients.mjs";
import { adopt, cleanUp, disown, temporaryDirectory } from "./lifetime.mjs";

const PROJECT = fileURLToPath(new URL("../", import.meta.url));
const COUNT = new URL("hops/count.mjs", import.meta.url).href;
const WARM_CALLS = 3;
const { values: options } = parseArgs({ options: { chain: { type: "boolean", default: false } } });

/** The package, each module a file of its own. @returns path of its program */
async function unbundled(folder) {
  const code = join(folder, "dist");
  const isProgram = (name) => name.endsWith(".ts") && !name.endsWith(".d.ts");
  cpSync(join(PROJECT, "dist"), code, { recursive: true, filter: (path) => !path.includes("/dist/bundle") });
  for (const name of readdirSync(join(PROJECT, "src"), { recursive: true, encoding: "utf8" }).filter(isProgram)) {
    const source = readFileSync(join(PROJECT, "src", name), "utf8");
    const { code: text } = await transform(source, { loader: "ts", target: "node20.19" });
    mkdirSync(join(code, name, ".."), { recursive: true });
    writeFileSync(join(code, name.replace(/\.ts$/, ".js")), text);
  }
  for (const name of ["package.json", "schemas", "node_modules"]) symlinkSync(join(PROJECT, name), join(folder, name));
  return join(code, "cli.js");
}

/** A program that counts when it is asked. */
function run(args, folder) {
  const child = spawn(process.execPath, ["--preserve-symlinks", "--import", COUNT, ...args], {
    cwd: folder,
    env: { ...process.env, HOME: folder, XDG_STATE_HOME: join(folder, "state") },
    stdio: ["pipe", "pipe", "inherit", "ipc"],
  });
  adopt(child.pid);
  const ask = async (message) => {
    child.send(message);
    return (await once(child, "message"))[0];
  };
  const stop = async () => {
    child.kill();
    await once(child, "exit");
    disown(child.pid);
  };
  return { child, ask, stop };
}

/** @param call makes the call of that number @returns what the fourth one enters */
async function warm({ ask }, call) {
  for (let number = 0; number < WARM_CALLS; number++) await call(number);
  // What earlier calls left to do.
  await new Promise((resolve) => setTimeout(resolve, 300));
  await ask("start");
  await call(WARM_CALLS);
  return ask("take");
}

async function line(stream, pattern) {
  let text = "";
  for (;;) {
    const match = pattern.exec(text);
    if (match !== null) return match;
    text += (await once(stream, "data"))[0];
  }
}

async function overHttp(program, folder) {
  const config = join(folder, "venue.json5");
  const roots = { docs: { path: join(folder, "docs") } };
  writeFileSync(
    config,
    JSON.stringify({ port: 0, stateDir: join(folder, "state"), webdav: { enabled: true }, file: { roots } }),
  );
  const server = run([program, "serve", "--config", config], folder);
  const [, url] = await line(server.child.stdout, /listens on (http\S+)\n/);
  const token = readFileSync(join(folder, "state/local-token"), "utf8").trim();
  const send = async (path, init) => {
    const answer = await fetch(new URL(path, url), {
      ...init,
      headers: { authorization: `Bearer ${token}`, ...init.headers },
    });
    if (!answer.ok) throw new Error(`${init.method} ${path}: ${answer.status} ${await answer.text()}`);
    await answer.arrayBuffer();
  };
  const json = { method: "POST", headers: { "content-type": "application/json" } };
  const read = { operation: "v/ops/file/read", input: { root: "docs", path: "a.txt" } };
  const rows = {
    "HTTP file:read, 12 bytes": await warm(server, () =>
      send("/api/v1/invoke", { ...json, body: JSON.stringify(read) }),
    ),
    "WebDAV PUT, overwrite, journal on": await warm(server, (number) =>
      send("/dav/docs/b.txt", { method: "PUT", body: `text ${number}\n`, headers: {} }),
    ),
  };
  await server.stop();
  return rows;
}

async function overStdio(program, folder) {
  const server = run([program, "mcp", "--root", `docs=${join(folder, "docs")}`], folder);
  let id = 0;
  const request = async (method, params) => {
    server.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: ++id, method, params })}\n`);
    const [text] = await line(server.child.stdout, new RegExp(`^.*"id":${id}\\b.*$`, "m"));
    if (/"isError":true|"error":/.test(text)) throw new Error(text);
  };
  await request("initialize", { protocolVersion: PROTOCOL_VERSION, capabilities: {}, clientInfo: CLIENT_INFO });
  const edit = (number) => {
    const edits = [{ oldText: `number ${number}`, newText: `number ${number + 1}` }];
    return request("tools/call", { name: "file_edit", arguments: { path: "c.txt", edits } });
  };
  const rows = { "MCP stdio file_edit, 14 bytes": await warm(server, edit) };
  await server.stop();
  return rows;
}

async function inProcess(program, folder) {
  const out = join(folder, "hops.json");
  const args = [
    "--preserve-symlinks",
    "--import",
    COUNT,
    program,
    "ls",
    "docs:",
    "--root",
    `docs=${join(folder, "docs")}`,
  ];
  const env = { ...process.env, HOME: folder, XDG_STATE_HOME: join(folder, "state"), VENUE_FILES_HOPS: out };
  const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ["ignore", "ignore", "inherit"] });
  const [status] = await once(child, "exit");
  if (status !== 0) throw new Error(`ls ended with ${status}`);
  return { "CLI ls docs:, cold process": JSON.parse(readFileSync(out, "utf8")) };
}

try {
  const folder = temporaryDirectory();
  mkdirSync(join(folder, "docs"));
  for (const [name, text] of Object.entries({
    "a.txt": "Hello there\n",
    "b.txt": "b\n",
    "c.txt": "a: number 0\n..\n",
  })) {
    writeFileSync(join(folder, "docs", name), text);
  }
  const program = await unbundled(folder);
  const rows = {
    ...(await overHttp(program, folder)),
    ...(await overStdio(program, folder)),
    ...(await inProcess(program, folder)),
  };
  for (const [title, files] of Object.entries(rows)) {
    const sum = (key) => files.reduce((total, file) => total + file[key], 0);
    process.stdout.write(`${title}: ${files.length} files, ${sum("functions")} functions, ${sum("calls")} calls\n`);
    if (!options.chain) continue;
    for (const { file, functions, calls } of files) process.stdout.write(`  ${file} (${functions}, ${calls})\n`);
  }
} finally {
  cleanUp();
}
