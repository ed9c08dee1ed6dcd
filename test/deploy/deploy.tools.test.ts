import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { connect as connectHttp2 } from "node:http2";
import { type RequestOptions, request } from "node:https";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { cleanUp, makeFolder, type Running, start } from "../cli/process.js";
import { describeWhere } from "../needs.js";
import { freePort } from "../ports.js";
import { send as sendTo } from "../surfaces/http/client.js";
import { steadyMs, until } from "../until.js";

// The image without a container engine: bubblewrap runs what the Dockerfile says, as its user, on a read-only file system,
// without capabilities.
const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));
const DOCKERFILE = readFileSync(join(PACKAGE, "Dockerfile"), "utf8");
const USER = /^USER (\d+):(\d+)$/m.exec(DOCKERFILE)?.slice(1) ?? [];
const STATE = /VENUE_FILES_STATE_DIR=(\S+)/.exec(DOCKERFILE)?.[1] ?? "";
const PORT = await freePort();

const listOf = (instruction: string): readonly string[] =>
  JSON.parse(new RegExp(`^${instruction} (\\[.*\\])$`, "m").exec(DOCKERFILE)?.[1] ?? "[]");
const HEALTH = JSON.parse(/^HEALTHCHECK .* CMD (\[.*\])$/m.exec(DOCKERFILE)?.[1] ?? "[]") as readonly string[];

function hasBubblewrap(): boolean {
  try {
    execFileSync("bwrap", ["--unshare-user", "--ro-bind", "/", "/", "true"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

describeWhere(hasBubblewrap(), "bubblewrap does not work here")("the image", () => {
  const folder = makeFolder();
  const at = (name: string) => join(folder, name);
  let box: readonly string[];

  beforeAll(() => {
    for (const name of ["app", "data", "state", "etc"]) mkdirSync(at(name));
    for (const name of ["data", "state"]) chmodSync(at(name), 0o777);
    chmodSync(folder, 0o755);
    execFileSync("npm", ["pack", "--ignore-scripts", "--silent", "--pack-destination", folder], {
      cwd: PACKAGE,
      stdio: "ignore",
    });
    const [tarball = ""] = readdirSync(folder).filter((name) => name.endsWith(".tgz"));
    execFileSync("tar", ["-xzf", at(tarball), "-C", at("app")]);
    const config = {
      ...{
        hostname: "0.0.0.0",
        port: PORT,
        auth: { public: { enabled: true, caps: [{ with: "file://files/", can: "crud" }] } },
      },
      ...{ file: { roots: { files: "/data" } }, seedFile: `${STATE}/seed` },
    };
    writeFileSync(at("etc/venue.json5"), JSON.stringify(config));
    cpSync(at("etc/venue.json5"), at("etc/first.json5"));
    const [uid = "", gid = ""] = USER;
    const system = ["/usr", "/lib", "/lib64", "/bin", "/etc/ssl"].filter((path) => existsSync(path));
    box = [
      ...[
        "--unshare-user",
        "--uid",
        uid,
        "--gid",
        gid,
        "--unshare-pid",
        "--unshare-ipc",
        "--as-pid-1",
        "--die-with-parent",
      ],
      ...["--cap-drop", "ALL", "--clearenv", "--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin"],
      ...["--setenv", "VENUE_FILES_STATE_DIR", STATE, "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"],
      ...system.flatMap((path) => ["--ro-bind", path, path]),
      ...["--ro-bind", process.execPath, "/opt/node"],
      ...[
        "--ro-bind",
        at("app/package"),
        "/app/venue-files",
        "--ro-bind",
        join(PACKAGE, "node_modules"),
        "/app/node_modules",
      ],
      ...["--ro-bind", at("etc"), "/etc/venue-files", "--bind", at("data"), "/data", "--bind", at("state"), STATE],
      ...["--remount-ro", "/", "--chdir", "/app/venue-files"],
    ];
  });
  afterAll(cleanUp);

  const command = (words: readonly string[]) => [...box, "--", "/opt/node", ...words.slice(1)];
  const run = (words: readonly string[]) => execFileSync("bwrap", command(words), { encoding: "utf8", stdio: "pipe" });

  test("is what was tested: its user is a number, and it needs no shell", () => {
    expect(USER).toEqual(["10001", "10001"]);
    expect(listOf("ENTRYPOINT")).toEqual(["node", "dist/cli.js"]);
    expect(DOCKERFILE).toContain("STOPSIGNAL SIGTERM");
    expect(HEALTH.slice(0, 3)).toEqual(["node", "dist/cli.js", "health"]);
  });

  test("serves, is healthy, reloads, stops within 6 s, and writes only where it may", async () => {
    const child = spawn("bwrap", command([...listOf("ENTRYPOINT"), ...listOf("CMD")]), {
      stdio: ["ignore", "pipe", "pipe"],
    });
    let said = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk) => {
        said += chunk;
      });
    const soon = (done: () => boolean | Promise<boolean>) =>
      until(() => {
        if (child.exitCode !== null) throw new Error(`It has ended: ${said}`);
        return done();
      });
    await soon(() => said.includes("Stop with Ctrl-C"));
    expect(run(HEALTH)).toBe("ok\n");

    const url = `http://127.0.0.1:${PORT}/api/v1/files`;
    const put = (root: string) => fetch(`${url}/${root}/a.txt`, { method: "PUT", body: "hello" });
    expect((await put("files")).status).toBe(201);
    expect(readFileSync(at("data/a.txt"), "utf8")).toBe("hello");
    expect(statSync(at("state/seed")).mode & 0o077).toBe(0);

    const config = JSON.parse(readFileSync(at("etc/first.json5"), "utf8"));
    config.file.roots.more = "/data";
    config.auth.public.caps.push({ with: "file://more/", can: "crud" });
    writeFileSync(at("etc/venue.json5"), JSON.stringify(config));
    const inner = Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8").trim().split(" ")[0]);
    process.kill(inner, "SIGHUP");
    await soon(async () => (await put("more")).status < 300);

    const ms = await steadyMs(async () => {
      process.kill(inner, "SIGTERM");
      await once(child, "exit");
    });
    expect(ms).toBeLessThan(6000);
    expect(said).toContain("Stopped.");
  });

  test("opens to nobody off loopback unless it is said", () => {
    writeFileSync(
      at("etc/venue.json5"),
      JSON.stringify({ hostname: "0.0.0.0", port: PORT, file: { roots: { files: "/data" } } }),
    );
    expect(() => run([...listOf("ENTRYPOINT"), ...listOf("CMD")])).toThrow(/auth\.public\.enabled/);
  });
});

// The proxy examples of deploy/, with the real servers on loopback: TLS, HTTP/2, a path prefix, streams, large bodies.
describe("proxies", () => {
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
      await until(async () => (await ask("/files/healthz").catch(() => undefined))?.status === 200);
    });
    afterAll(async () => {
      child?.kill("SIGTERM");
      await cleanUp();
    });

    const json = { "content-type": "application/json" };
    const post = { method: "POST", headers: json };

    test("a call, its job, and every address carry the prefix", async () => {
      const operation = {
        operation: "v/ops/file/write",
        input: { root: "scratch", path: "a.txt", content: "hello" },
        wait: true,
      };
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
    });

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
});
