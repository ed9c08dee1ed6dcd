import { existsSync, statSync } from "node:fs";
import { request } from "node:http";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { needs } from "../../needs.js";
import { cleanUp, makeFolder, type Running, run, start } from "../process.js";

afterAll(cleanUp);

const onUnix = needs(process.platform !== "win32", "there are no Unix sockets on Windows");

function statusOver(socketPath: string, headers: Record<string, string> = {}): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request({ socketPath, path: "/api/v1/status", headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .once("error", reject)
      .end();
  });
}

const ready = (running: Running) => running.until(/Stop with Ctrl-C/);
const closed = (server: Server) => new Promise<void>((resolve) => server.close(() => resolve()));

describe("a Unix socket", () => {
  const config = { "venue.json5": '{ listen: { socket: "./venue.sock" } }' };

  onUnix("is for its owner alone, and serves like a loopback address", async () => {
    const folder = makeFolder(config);
    const served = start(["serve", "--config", "venue.json5"], { cwd: folder });
    await ready(served);
    const path = join(folder, "venue.sock");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(await statusOver(path)).toBe(200);
    expect(await statusOver(path, { host: "evil.example" })).toBe(403);
    await served.stop();
    expect(existsSync(path)).toBe(false);
  });

  onUnix("that a killed process left is taken over", async () => {
    const folder = makeFolder(config);
    const killed = start(["serve", "--config", "venue.json5"], { cwd: folder });
    await ready(killed);
    await killed.stop("SIGKILL");
    const served = start(["serve", "--config", "venue.json5"], { cwd: folder });
    await ready(served);
    expect(await statusOver(join(folder, "venue.sock"))).toBe(200);
    await served.stop();
  });

  onUnix("that somebody answers on is left alone, and ends with 69", async () => {
    const folder = makeFolder(config);
    const path = join(folder, "venue.sock");
    const other = createServer().listen(path);
    const { status, stderr } = await run(["serve", "--config", "venue.json5"], { cwd: folder });
    expect([status, stderr]).toEqual([69, `Cannot listen on ${path}: the socket is in use\n`]);
    expect(existsSync(path)).toBe(true);
    await closed(other);
  });

  onUnix("is never made over a file", async () => {
    const folder = makeFolder({ ...config, "venue.sock": "precious" });
    const { status } = await run(["serve", "--config", "venue.json5"], { cwd: folder });
    expect(status).toBe(69);
    expect(statSync(join(folder, "venue.sock")).size).toBe(8);
  });
});

describe("several venues", () => {
  test("are served by one process, each with its own name", async () => {
    const folder = makeFolder({
      "venue.json5": '{ venues: [{ name: "one", port: 0 }, { name: "two", listen: { socket: "two.sock" } }] }',
    });
    const served = start(["serve", "--config", "venue.json5"], { cwd: folder });
    await ready(served);
    const [, url = ""] = /listens on (http\S+)/.exec(served.stdout()) ?? [];
    expect(await (await fetch(`${url}/api/v1/status`)).json()).toMatchObject({ name: "one" });
    expect(await statusOver(join(folder, "two.sock"))).toBe(200);
    expect(await served.stop()).toMatchObject({ status: 0 });
  });

  test("start all, or none when one of them cannot", async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const address = other.address();
    const port = typeof address === "object" ? address?.port : undefined;
    const folder = makeFolder({
      "venue.json5": `{ venues: [{ listen: { socket: "one.sock" } }, { name: "two", hostname: "127.0.0.1", port: ${port} }] }`,
    });
    const { status, stdout, stderr } = await run(["serve", "--config", "venue.json5"], { cwd: folder });
    expect([status, stdout]).toEqual([69, ""]);
    expect(stderr).toBe(`Cannot listen on 127.0.0.1:${port}: the port is in use. Choose another with --port\n`);
    expect(existsSync(join(folder, "one.sock"))).toBe(false);
    await closed(other);
  });

  test.each([["mcp"], ["call", "file:roots"]])("are too many for %s", async (...args) => {
    const folder = makeFolder({ "venue.json5": "{ venues: [{ port: 1 }, { port: 2 }] }" });
    const { status, stderr } = await run([...args, "--config", "venue.json5"], { cwd: folder });
    expect([status, stderr]).toEqual([78, "This command needs a configuration with one venue, not several\n"]);
  });
});
