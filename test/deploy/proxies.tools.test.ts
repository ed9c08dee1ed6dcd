// The proxy examples of deploy/, with the real servers on loopback: TLS, HTTP/2, a path prefix, streams, large bodies.

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { connect as connectHttp2 } from "node:http2";
import { type RequestOptions, request } from "node:https";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { cleanUp, makeFolder, type Running, start } from "../cli/process.js";
import { describeWhere } from "../needs.js";
import { send as sendTo } from "../surfaces/http/client.js";

const DEPLOY = fileURLToPath(new URL("../../deploy/", import.meta.url));
const TOKEN = "proxy-test-token-of-32-characters";
const LARGE_BYTES = 200 * 1_048_576;

const has = (program: string, args: readonly string[]): boolean => {
  try {
    execFileSync(program, args, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
};

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}

interface Proxy {
  readonly program: string;
  readonly present: boolean;
  start(folder: string, ports: { venue: number; proxy: number }): ChildProcess;
}

const PROXIES: readonly Proxy[] = [
  {
    program: "caddy",
    present: has("caddy", ["version"]),
    start(folder, { venue, proxy }) {
      const example = readFileSync(join(DEPLOY, "Caddyfile"), "utf8")
        .replace(/^files\.example\.com/m, `https://localhost:${proxy}`)
        .replaceAll("127.0.0.1:8080", `127.0.0.1:${venue}`);
      const local = "{\n\tlocal_certs\n\tskip_install_trust\n\tadmin off\n\tauto_https disable_redirects\n}\n";
      writeFileSync(join(folder, "Caddyfile"), local + example);
      const env = { PATH: process.env["PATH"], HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
      return spawn("caddy", ["run", "--config", "Caddyfile", "--adapter", "caddyfile"], {
        cwd: folder,
        env,
        stdio: "ignore",
      });
    },
  },
  {
    program: "nginx",
    present: has("nginx", ["-v"]) && has("openssl", ["version"]),
    start(folder, { venue, proxy }) {
      const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
      const made = [
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
      ];
      execFileSync("openssl", [...made, "-subj", "/CN=localhost", "-keyout", key, "-out", cert], { stdio: "ignore" });
      const example = readFileSync(join(DEPLOY, "nginx.conf"), "utf8")
        .replace("listen 443 ssl", `listen 127.0.0.1:${proxy} ssl`)
        .replace("server_name files.example.com", "server_name localhost")
        .replace("/etc/ssl/files.example.com.pem", cert)
        .replace("/etc/ssl/files.example.com.key", key)
        .replaceAll("127.0.0.1:8080", `127.0.0.1:${venue}`);
      const temp = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
        (one) => `${one}_temp_path ${folder}/${one};`,
      );
      const http = `access_log off;\n${temp.join("\n")}\n${example}`;
      const top = `daemon off;\npid ${folder}/nginx.pid;\nerror_log ${folder}/error.log;\n`;
      writeFileSync(join(folder, "nginx.conf"), `${top}events {}\nhttp {\n${http}\n}\n`);
      return spawn("nginx", ["-e", `${folder}/error.log`, "-c", join(folder, "nginx.conf")], {
        cwd: folder,
        stdio: "ignore",
      });
    },
  },
];

describeWhere(
  PROXIES.some(({ present }) => present),
  "neither Caddy nor nginx is installed",
).each(PROXIES.filter(({ present }) => present))("behind $program", (proxy) => {
  let venue: Running;
  let direct: string;
  let child: ChildProcess;
  let port: number;

  const ask = (path: string, options: RequestOptions = {}, body?: Iterable<Buffer> | string) =>
    new Promise<{
      status: number;
      headers: NodeJS.Dict<string | string[]>;
      text: () => Promise<string>;
      hash: () => Promise<string>;
    }>((resolve, reject) => {
      const headers = { authorization: `Bearer ${TOKEN}`, ...options.headers };
      const call = request(
        {
          host: "127.0.0.1",
          servername: "localhost",
          port,
          path,
          rejectUnauthorized: false,
          ...options,
          headers: { host: `localhost:${port}`, ...headers },
        },
        (response) => {
          const digest = async () => {
            const hash = createHash("sha256");
            for await (const chunk of response) hash.update(chunk);
            return hash.digest("hex");
          };
          const text = async () => {
            const chunks: Buffer[] = [];
            for await (const chunk of response) chunks.push(chunk);
            return Buffer.concat(chunks).toString();
          };
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text, hash: digest });
        },
      );
      call.on("error", reject);
      if (body === undefined || typeof body === "string") call.end(body);
      else void send(call, body);
    });

  async function send(call: ReturnType<typeof request>, body: Iterable<Buffer>): Promise<void> {
    for (const piece of body) if (!call.write(piece)) await once(call, "drain");
    call.end();
  }

  beforeAll(async () => {
    const folder = makeFolder();
    const venuePort = await freePort();
    port = await freePort();
    direct = `http://127.0.0.1:${venuePort}`;
    writeFileSync(
      join(folder, "venue.json5"),
      JSON.stringify({
        baseUrl: `https://localhost:${port}/files`,
        trustProxy: true,
        webdav: true,
        port: venuePort,
        auth: {
          public: { enabled: false },
          tokens: [{ name: "it", token: { env: "IT" }, caps: [{ with: "file://scratch/", can: "crud" }] }],
        },
        file: { roots: { scratch: { temp: true } } },
      }),
    );
    venue = start(["serve", "--config", join(folder, "venue.json5")], { env: { IT: TOKEN } });
    await venue.until(/Stop with Ctrl-C/);
    child = proxy.start(folder, { venue: venuePort, proxy: port });
    for (let tries = 0; ; tries++) {
      const answer = await ask("/files/healthz").catch(() => undefined);
      if (answer?.status === 200) break;
      if (tries > 200) throw new Error(`${proxy.program} does not answer`);
      await sleep(50);
    }
  });
  afterAll(async () => {
    child?.kill("SIGTERM");
    await cleanUp();
  });

  const json = { "content-type": "application/json" };
  const post = { method: "POST", headers: json };

  test("a call, its job, and every address carry the prefix", async () => {
    const operation = { operation: "v/ops/file/write", input: { root: "scratch", path: "a.txt", content: "hello" } };
    const made = await ask("/files/api/v1/invoke", post, JSON.stringify(operation));
    expect(made.status).toBe(201);
    const { id, status } = JSON.parse(await made.text());
    expect(status).toBe("COMPLETE");
    expect(made.headers["location"]).toBe(`/files/api/v1/jobs/${id.replace(/^0x/, "")}`);
    expect((await ask(String(made.headers["location"]))).status).toBe(200);
    for (const path of ["/files/.well-known/mcp", "/.well-known/mcp/files"]) {
      expect(JSON.parse(await (await ask(path)).text())).toMatchObject({
        server_url: `https://localhost:${port}/files/mcp`,
      });
    }
    const openapi = JSON.parse(await (await ask("/files/openapi.json")).text());
    expect(openapi.servers).toEqual([{ url: `https://localhost:${port}/files` }]);
  });

  test("the listener itself takes calls with and without the prefix", async () => {
    for (const path of ["/files/healthz", "/healthz"]) {
      expect((await fetch(new URL(path, direct))).status).toBe(200);
    }
  });

  test("events of a job come while it runs", async () => {
    const operation = { operation: "v/ops/file/list", input: { root: "scratch" } };
    const { id } = JSON.parse(await (await ask("/files/api/v1/invoke", post, JSON.stringify(operation))).text());
    const events = await ask(`/files/api/v1/jobs/${id}/sse`);
    expect(events.headers["content-type"]).toContain("text/event-stream");
    expect(await events.text()).toContain('"COMPLETE"');
  });

  test("MCP", async () => {
    const hello = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "x", version: "1" } };
    const headers = { ...json, accept: "application/json, text/event-stream" };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: hello });
    const answer = await ask("/files/mcp", { method: "POST", headers }, body);
    expect(await answer.text()).toContain('"serverInfo"');
  });

  test("200 MB go up and come down again", async () => {
    const piece = Buffer.alloc(1_048_576, "venue ");
    const hash = createHash("sha256");
    for (let at = 0; at < LARGE_BYTES; at += piece.length) hash.update(piece);
    const pieces = (function* () {
      for (let at = 0; at < LARGE_BYTES; at += piece.length) yield piece;
    })();
    const put = await ask(
      "/files/api/v1/files/scratch/large.bin",
      { method: "PUT", headers: { "content-length": LARGE_BYTES } },
      pieces,
    );
    expect([put.status, await put.text()]).toEqual([201, expect.anything()]);
    const got = await ask("/files/api/v1/files/scratch/large.bin");
    expect(await got.hash()).toBe(hash.digest("hex"));
  }, 60_000);

  test("WebDAV: hrefs and Destination carry the prefix", async () => {
    await ask("/files/dav/scratch/one.txt", { method: "PUT" }, "hello");
    const listed = await ask("/files/dav/scratch/", { method: "PROPFIND", headers: { depth: "1" } });
    expect(listed.status).toBe(207);
    expect(await listed.text()).toContain("<D:href>/files/dav/scratch/one.txt</D:href>");
    const destination = `https://localhost:${port}/files/dav/scratch/two.txt`;
    const moved = await ask("/files/dav/scratch/one.txt", { method: "MOVE", headers: { destination } });
    expect(moved.status).toBe(201);
    expect(await (await ask("/files/dav/scratch/two.txt")).text()).toBe("hello");
    // Whoever comes by the port itself, beside the proxy, is told of that entrance.
    const listing = { token: TOKEN, method: "PROPFIND", headers: { depth: "1" } };
    const near = await sendTo(new URL("/dav/scratch/", direct).href, listing);
    expect(await near.text()).toContain("<D:href>/dav/scratch/two.txt</D:href>");
  });

  test("HTTP/2", async () => {
    const session = connectHttp2(`https://localhost:${port}`, { rejectUnauthorized: false });
    const stream = session.request({ ":path": "/files/healthz" });
    const [headers] = (await once(stream, "response")) as [{ ":status": number }];
    expect(headers[":status"]).toBe(200);
    session.close();
  });
});
