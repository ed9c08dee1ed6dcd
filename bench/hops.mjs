#!/usr/bin/env node
// How much of our code one call enters: files, functions and calls, from modules that are not bundled. Each call is warm (the fourth
// of its kind) but for the command line, which is a process of its own.
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { transform } from "esbuild";
import { connectRaw } from "./clients.mjs";
import { textOf } from "./expect.mjs";
import { runBench, table } from "./harness.mjs";
import { JSON_TYPE, send } from "./http.mjs";
import { temporaryDirectory } from "./lifetime.mjs";
import { started } from "./processes.mjs";

const PROJECT = fileURLToPath(new URL("../", import.meta.url));
const FLAGS = ["--preserve-symlinks", "--import", new URL("servers/count.mjs", import.meta.url).href];
const WARM_CALLS = 3;
const FILES = { "docs/a.txt": "Hello there\n", "docs/b.txt": "b\n", "docs/c.txt": "a: number 0\n..\n" };

const folder = temporaryDirectory(FILES);
const docs = join(folder, "docs");
const env = { ...process.env, HOME: folder, XDG_STATE_HOME: join(folder, "state") };

/** The package, each module a file of its own. @returns path of its program */
async function unbundled() {
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

/** @param ask tells the program to count @param call makes the call of that number @returns what the fourth one enters */
async function warm(ask, call) {
  for (let number = 0; number < WARM_CALLS; number++) await call(number);
  // What earlier calls left to do.
  await sleep(300);
  await ask("start");
  await call(WARM_CALLS);
  return ask("take");
}

async function overHttp(program) {
  const config = join(folder, "venue.json5");
  const file = { roots: { docs: { path: docs } } };
  const options = { port: 0, stateDir: join(folder, "state"), webdav: { enabled: true }, file };
  writeFileSync(config, JSON.stringify(options));
  const server = await started([...FLAGS, program, "serve", "--config", config], { cwd: folder, env });
  const authorization = `Bearer ${readFileSync(join(folder, "state/local-token"), "utf8").trim()}`;
  const url = (path) => new URL(path, server.url);
  const body = JSON.stringify({ operation: "v/ops/file/read", input: { root: "docs", path: "a.txt" } });
  const invoke = () => send(url("/api/v1/invoke"), { body, headers: { ...JSON_TYPE, authorization } });
  const put = (number) =>
    send(url("/dav/docs/b.txt"), { method: "PUT", body: `text ${number}\n`, headers: { authorization } });
  const rows = {
    "HTTP file:read, 12 bytes": await warm(server.ask, invoke),
    "WebDAV PUT, overwrite, journal on": await warm(server.ask, put),
  };
  await server.stop();
  return rows;
}

async function overStdio(program) {
  const args = [...FLAGS, program, "mcp", "--root", `docs=${docs}`];
  const server = await connectRaw(args, { cwd: folder, env, stdio: ["pipe", "pipe", "inherit", "ipc"] });
  const ask = async (message) => {
    server.child.send(message);
    return (await once(server.child, "message"))[0];
  };
  const edit = async (number) => {
    const edits = [{ oldText: `number ${number}`, newText: `number ${number + 1}` }];
    textOf(await server.tool("file_edit", { path: "c.txt", edits }), "file_edit");
  };
  const rows = { "MCP stdio file_edit, 14 bytes": await warm(ask, edit) };
  await server.close();
  return rows;
}

function onCommandLine(program) {
  const out = join(folder, "hops.json");
  const args = [...FLAGS, program, "ls", "docs:", "--root", `docs=${docs}`];
  execFileSync(process.execPath, args, { cwd: folder, env: { ...env, VENUE_FILES_HOPS: out }, stdio: "ignore" });
  return { "CLI ls docs:, cold process": JSON.parse(readFileSync(out, "utf8")) };
}

async function measureHops({ values, report }) {
  const program = await unbundled();
  const rows = { ...(await overHttp(program)), ...(await overStdio(program)), ...onCommandLine(program) };
  const lines = Object.entries(rows).map(([what, files]) => {
    const sum = (key) => files.reduce((total, file) => total + file[key], 0);
    report.measured.push({ what, files });
    return [what, files.length, sum("functions"), sum("calls")];
  });
  process.stdout.write(table([["one call", "files", "functions", "calls"], ...lines]));
  if (!values.chain) return;
  for (const [what, files] of Object.entries(rows)) {
    process.stdout.write(`\n${what}\n`);
    for (const { file, functions, calls } of files) process.stdout.write(`  ${file} (${functions}, ${calls})\n`);
  }
}

await runBench([{ name: "hops", run: measureHops }], {
  own: { chain: { type: "boolean", default: false, help: "print the files" } },
});
