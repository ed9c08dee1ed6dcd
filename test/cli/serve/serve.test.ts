import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, existsSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { describeWhere, needs } from "../../needs.js";
import { invoke, run as runHttp, sendAsIs } from "../../surfaces/http/client.js";
import { EVERYDAY } from "../../surfaces/mcp/everyday.js";
import { mcpClient } from "../../surfaces/mcp/sessions.js";
import { CLI, cleanUp, makeFolder, type Running, run, serve, start, tempRootsIn } from "../process.js";

afterAll(cleanUp);

describe("a venue that serves", () => {
  const hasCurl = spawnSync("curl", ["--version"]).status === 0;
  if (!hasCurl) console.warn("Skipped: the lines to paste are not run, there is no curl here");
  const testWithCurl = hasCurl ? test : test.skip;

  const lineToPaste = (served: Running): string => /Try it\n {2}(.*)\n/.exec(served.stdout())?.[1] ?? "";
  const paste = (line: string): unknown => JSON.parse(execFileSync("sh", ["-c", line], { encoding: "utf8" }));

  function mcpUrl(served: Running): string {
    const text = /MCP client configuration\n([\s\S]*?)\n\nStop/.exec(served.stdout())?.[1] ?? "";
    const { mcpServers } = JSON.parse(text) as { mcpServers: Record<string, { type: string; url: string }> };
    const [configured] = Object.values(mcpServers);
    expect(configured?.type).toBe("http");
    return configured?.url ?? "";
  }

  describe("serve without any configuration", () => {
    let served: Awaited<ReturnType<typeof serve>>;
    const started = () => served.stdout();

    test("listens on a free port of localhost, and says which", async () => {
      served = await serve([]);
      expect(served.url).toMatch(/^http:\/\/localhost:[1-9]\d*$/);
      const status = await fetch(`${served.url}/api/v1/status`);
      expect(await status.json()).toMatchObject({ status: "OK", url: served.url, name: "venue-files" });
    });

    test("shows its DID, the root tmp and what anybody may do there", async () => {
      const status = await fetch(`${served.url}/api/v1/status`);
      const { did } = (await status.json()) as { did: string };
      expect(started()).toContain(`\nDID ${did}\n`);
      expect(started()).toContain("\n  tmp  temp  read-write  anonymous callers: read, write, delete\n");
    });

    testWithCurl("prints a line that works when pasted", async () => {
      expect(paste(lineToPaste(served))).toMatchObject({
        status: "COMPLETE",
        output: { written: 5, created: true },
      });
    });

    test("tells where the operator's token is, which stays the same, but shows it to a terminal only", async () => {
      const file = join(served.tmp, ".local/state/venue-files/local-token");
      const token = readFileSync(file, "utf8").trim();
      expect(token).toMatch(/^\S{43}$/);
      expect(started()).toContain(`The token in ${file} acts as the operator`);
      const again = await serve([], { tmp: served.tmp });
      expect(readFileSync(file, "utf8")).toBe(`${token}\n`);
      await again.stop();
      expect(started() + served.stderr() + again.stdout() + again.stderr()).not.toContain(token);
    });

    test("prints a client configuration that a real MCP client can use", async () => {
      expect(mcpUrl(served)).toBe(`${served.url}/mcp`);
      const client = await mcpClient(served);
      expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(EVERYDAY);
      await client.close();
    });

    test.each<NodeJS.Signals>(["SIGTERM", "SIGINT"])("ends at %s with 0, without its temp roots", async (signal) => {
      const other = signal === "SIGTERM" ? served : await serve([]);
      expect(tempRootsIn(other.tmp)).toHaveLength(2);
      const ended = await other.stop(signal);
      expect(ended).toMatchObject({ status: 0, signal: null });
      expect(ended.stdout).toMatch(/Stop with Ctrl-C\.\nStopped\.\n$/);
      expect(tempRootsIn(other.tmp)).toEqual([]);
    });
  });

  describe("serve with a host root", () => {
    testWithCurl("prints a line that looks and changes nothing", async () => {
      const folder = makeFolder({ "docs/hello.txt": "mine" });
      const served = await serve(["--root", "docs=docs"], { cwd: folder });
      expect(served.stdout()).toContain("\n  docs  host  read-write  anonymous callers: read\n");
      expect(paste(lineToPaste(served))).toMatchObject({
        status: "COMPLETE",
        output: { tree: "docs/\n\thello.txt\n" },
      });
      expect(readdirSync(join(folder, "docs"))).toEqual(["hello.txt"]);
      expect(readFileSync(join(folder, "docs/hello.txt"), "utf8")).toBe("mine");
      await served.stop();
    });

    testWithCurl("of which only parts may be read prints a line that works", async () => {
      const folder = makeFolder({
        "docs/pub/a.txt": "a",
        "c.json5": `{ auth: { localToken: false, public: { caps: [{ with: "file://docs/pub/", can: "crud/read" }] } },
        file: { roots: { docs: "docs" } } }`,
      });
      const served = await serve(["--config", "c.json5"], { cwd: folder });
      expect(paste(lineToPaste(served))).toMatchObject({ status: "COMPLETE", output: { roots: [{ name: "docs" }] } });
      await served.stop();
    });

    test("warns of roots inside each other, and serves", async () => {
      const folder = makeFolder({ "docs/sub/a.txt": "a" });
      const served = await serve(["--root", "docs=docs", "--root", "sub=docs/sub:ro"], { cwd: folder });
      expect(served.stderr()).toBe("Warning: Root 'sub' lies inside root 'docs' and can be reached through it\n");
      await served.stop();
    });
  });

  describe("serve where nobody is served", () => {
    testWithCurl.each([
      ["without a local token looks at the status", "localToken: false,", { status: "OK" }],
      ["with one acts as the operator", "", { status: "COMPLETE", output: { created: true } }],
    ])("the line %s", async (_what, token, answer) => {
      const folder = makeFolder({ "c.json5": `{ auth: { ${token} public: { enabled: false } } }` });
      const served = await serve(["--config", "c.json5"], { cwd: folder });
      expect(served.stdout()).toContain("anonymous callers: refused\n");
      expect(paste(lineToPaste(served))).toMatchObject(answer);
      expect((await fetch(`${served.url}/api/v1/operations`)).status).toBe(401);
      await served.stop();
    });
  });

  describe("serve off loopback", () => {
    test("starts once it has been said who is served, and lets strangers only read", async () => {
      const folder = makeFolder({ "c.json5": `{ hostname: "0.0.0.0", auth: { public: { enabled: true } } }` });
      const served = await serve(["--config", "c.json5"], { cwd: folder });
      expect(served.url).toMatch(/^http:\/\/0\.0\.0\.0:\d+$/);
      expect(served.stdout()).toContain("\n  tmp  temp  read-write  anonymous callers: read\n");
      await served.stop();
    });
  });

  test("a signal during the start leaves no temp root either", async () => {
    const starting = start(["mcp"]);
    while (tempRootsIn(starting.tmp).length === 0) await new Promise((resolve) => setTimeout(resolve, 2));
    expect((await starting.stop()).status).toBe(0);
    expect(tempRootsIn(starting.tmp)).toEqual([]);
  });

  test("version and help go to standard output", async () => {
    const { version } = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8")) as {
      version: string;
    };
    expect(await run(["--version"])).toEqual({ status: 0, signal: null, stdout: `${version}\n`, stderr: "" });
    const help = await run(["serve", "--help"]);
    expect(help).toMatchObject({ status: 0, stderr: "" });
    expect(help.stdout).toContain("--port N");
  });
});

// A console of Windows that is closed: Node tells it as SIGHUP there, and the system ends the process a little later.
const SYSTEM = 'Object.defineProperty(process, "platform", { value: "win32" })';
const AS_WINDOWS = `--import=data:text/javascript,${encodeURIComponent(SYSTEM)}`;

test("serve ends in order when its console is closed", async () => {
  const config = { port: 0, stateDir: "./state", file: { roots: { tmp: { temp: true } } } };
  const folder = makeFolder({ "venue.json5": JSON.stringify(config) });
  const temp = makeFolder();
  const announced = () => readdirSync(join(folder, "state"), { recursive: true }).map(String);
  const env = { NODE_OPTIONS: AS_WINDOWS, TEMP: temp };
  const venue = start(["serve", "--config", "venue.json5"], { cwd: folder, env });
  await venue.until(/Stop with Ctrl-C/);
  expect(tempRootsIn(temp)).not.toEqual([]);
  expect(announced()).toContainEqual(expect.stringMatching(/running\.json$/));
  expect(await venue.stop("SIGHUP")).toMatchObject({ status: 0, signal: null });
  expect(tempRootsIn(temp)).toEqual([]);
  expect(announced()).not.toContainEqual(expect.stringMatching(/running\.json$/));
});

const onUnix = needs(process.platform !== "win32", "there are no Unix sockets on Windows");

const statusOver = async (socketPath: string, headers: Record<string, string> = {}): Promise<number> =>
  (await sendAsIs({ socketPath }, { path: "/api/v1/status", headers })).status;

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

const OLD_TOKEN = "old-token-old-token-old-token-old-token";
const NEW_TOKEN = "new-token-new-token-new-token-new-token";

interface Parts {
  roots: string;
  token: string;
  caps?: string;
  name?: string;
}

/** What the configuration says, as JSON5. */
const configOf = ({ roots, token, caps, name }: Parts): string => `{
  name: "${name ?? "first"}", port: 0, file: { roots: { ${roots} } },
  auth: {
    tokens: [{ name: "ci", token: { file: "${token}" }, caps: [{ with: "file://", can: "crud" }] }],
    ${caps === undefined ? "" : `public: { caps: ${caps} },`}
  },
}`;

const BOTH = `tmp: { temp: true }, docs: "docs"`;

describe("SIGHUP", () => {
  let folder: string;
  let served: Running & { url: string };
  const reload = async (config: string, outcome: RegExp) => {
    writeFileSync(join(folder, "venue.json5"), config);
    served.child.kill("SIGHUP");
    await served.until(outcome, "stderr");
  };
  const call = async (operation: string, input: object, token?: string) => {
    const response = await invoke(served.url, { operation, input, wait: true }, token);
    const job = (await response.json()) as { status?: string; errorCode?: string; output?: unknown };
    return response.status === 201 ? (job.errorCode ?? job.output) : response.status;
  };

  beforeAll(async () => {
    folder = makeFolder({
      "docs/a.txt": "alpha",
      "more/b.txt": "beta",
      "old.token": OLD_TOKEN,
      "new.token": `${NEW_TOKEN}\n`,
      "venue.json5": configOf({ roots: BOTH, token: "old.token" }),
    });
    served = await serve(["--config", "venue.json5"], { cwd: folder });
    await call("file:write", { root: "tmp", path: "kept.txt", content: "kept" }, OLD_TOKEN);
  });

  test("takes over changed roots, tokens and rights, and keeps what has not changed", async () => {
    const roots = `tmp: { temp: true }, more: "more"`;
    const caps = `[{ with: "file://more/", can: "crud/read" }]`;
    await reload(configOf({ roots, token: "new.token", caps }), /configuration reloaded/);
    expect(await call("file:read", { root: "more", path: "b.txt" })).toMatchObject({ content: "beta" });
    expect(await call("file:read", { root: "docs", path: "a.txt" }, NEW_TOKEN)).toBe("UNKNOWN_ROOT");
    expect(await call("file:read", { root: "tmp", path: "kept.txt" })).toBe("CAPABILITY_DENIED");
    expect(await call("file:read", { root: "tmp", path: "kept.txt" }, NEW_TOKEN)).toMatchObject({ content: "kept" });
    expect(await call("file:roots", {}, OLD_TOKEN)).toBe(401);
  });

  test("keeps the files of a temp root that is only set differently", async () => {
    const roots = `tmp: { temp: true, readOnly: true }, more: "more"`;
    await reload(configOf({ roots, token: "new.token" }), /configuration reloaded[\s\S]*configuration reloaded/);
    expect(await call("file:read", { root: "tmp", path: "kept.txt" }, NEW_TOKEN)).toMatchObject({ content: "kept" });
    expect(await call("file:write", { root: "tmp", path: "x", content: "" }, NEW_TOKEN)).toBe("READ_ONLY_ROOT");
  });

  test.each([
    ["is no JSON5", "{ file: "],
    ["has an unknown key", `{ rootz: {} }`],
    ["has a root that is not there", configOf({ roots: `gone: "gone", tmp: { temp: true }`, token: "new.token" })],
    ["has a token that is not there", configOf({ roots: BOTH, token: "no.token" })],
  ])("with a file that %s changes nothing and says so, without paths", async (_what, config) => {
    const before = served.stderr().length;
    await reload(config, new RegExp(`^[\\s\\S]{${before}}[\\s\\S]*not reloaded`));
    expect(served.stderr().slice(before)).not.toContain(folder);
    expect(await call("file:read", { root: "more", path: "b.txt" }, NEW_TOKEN)).toMatchObject({ content: "beta" });
    expect(await call("file:read", { root: "tmp", path: "kept.txt" }, NEW_TOKEN)).toMatchObject({ content: "kept" });
  });

  test("names changed keys that need a new start", async () => {
    const config = configOf({ roots: BOTH, token: "new.token", name: "second" });
    await reload(config, /"keys":\["name"\][^\n]*changed keys that need a new start/);
    expect(await (await fetch(`${served.url}/api/v1/status`)).json()).toMatchObject({ name: "first" });
  });

  test("keeps drives as they were at the start, and says so", async () => {
    const before = served.stderr().length;
    const config = configOf({ roots: BOTH, token: "new.token" }).replace(
      /\}$/,
      "drives: { staleMs: 5, limits: { maxEntries: 9 } } }",
    );
    await reload(
      config,
      new RegExp(`^[\\s\\S]{${before}}[\\s\\S]*"drives\\.limits"[^\\n]*changed keys that need a new start`),
    );
    expect(served.stderr().slice(before)).toContain('"drives.staleMs"');
  });

  test("says in the log where the mistake is", async () => {
    const config = `{\n  name: "first",\n  file: { roots: { docs: { path: "docs", readOnly: 7 } } },\n}`;
    await reload(config, /"at":\["venue\.json5:3:\d+"\][^\n]*configuration not reloaded/);
    await reload(`{\n  name: "first",,\n}`, /"at":\["venue\.json5:2:\d+"\][^\n]*configuration not reloaded/);
  });

  test("never puts a token into the log", () => {
    expect(served.stderr()).not.toMatch(/new-token|old-token/);
  });
});

test("SIGHUP changes all of several venues, or none of them", async () => {
  const config = (first: string, second: string): string => `{ venues: [
    { name: "one", port: 0, file: { roots: { ${first} } } },
    { name: "two", port: 0, file: { roots: { ${second} } } },
  ] }`;
  const folder = makeFolder({
    "docs/a.txt": "alpha",
    "venue.json5": config(`docs: "docs"`, `tmp: { temp: true }`),
  });
  const served = start(["serve", "--config", "venue.json5"], { cwd: folder });
  await served.until(/Stop with Ctrl-C/);
  const urls = [...served.stdout().matchAll(/listens on (\S+)\n/g)].map(([, url]) => url);
  const rootsOf = async (url = "") => {
    const job = (await (await invoke(url, { operation: "file:roots", wait: true })).json()) as Job;
    return job.output.roots.map(({ name }) => name);
  };
  const reload = async (text: string, outcome: RegExp) => {
    writeFileSync(join(folder, "venue.json5"), text);
    served.child.kill("SIGHUP");
    await served.until(outcome, "stderr");
    return [await rootsOf(urls[0]), await rootsOf(urls[1])];
  };
  expect(await reload(config(`other: "docs"`, `gone: "gone"`), /not reloaded/)).toEqual([["docs"], ["tmp"]]);
  const both = /configuration reloaded[\s\S]*configuration reloaded/;
  expect(await reload(config(`other: "docs"`, `more: "docs"`), both)).toEqual([["other"], ["more"]]);
  await served.stop();
});

test("SIGHUP has the audit go on in a new file where the old one was renamed", async () => {
  const config = `{ port: 0, seedFile: "seed", audit: { file: "audit.jsonl" }, file: { roots: { tmp: { temp: true } } } }`;
  const folder = makeFolder({ "venue.json5": config });
  const served = await serve(["--config", "venue.json5"], { cwd: folder });
  const file = join(folder, "audit.jsonl");
  const call = () => runHttp(served.url, "file:roots", {});
  const calls = (path: string) => readFileSync(path, "utf8").match(/"operation":"file:roots"/g)?.length ?? 0;
  await call();
  while (calls(file) === 0) await new Promise(setImmediate);
  renameSync(file, `${file}-1`);
  served.child.kill("SIGHUP");
  await served.until(/configuration reloaded/, "stderr");
  await call();
  await served.stop();
  expect([`${file}-1`, file].map(calls)).toEqual([1, 1]);
});

interface Job {
  readonly output: { readonly roots: readonly { readonly name: string }[] };
}

// What `serve` tells systemd, through a `systemd-notify` that writes down what it is given; and the unit of deploy/.
const DEPLOY = fileURLToPath(new URL("../../../deploy/", import.meta.url));
const UNIT = join(DEPLOY, "venue-files.service");

test("serve tells when it is ready, reloads, is alive and stops", async () => {
  const folder = makeFolder({
    "bin/systemd-notify": `#!/bin/sh\necho "$NOTIFY_SOCKET $*" >> "$(dirname "$0")/../told"\n`,
    told: "",
    "venue.json5": "{ port: 0 }",
  });
  chmodSync(join(folder, "bin/systemd-notify"), 0o755);
  const env = {
    PATH: `${join(folder, "bin")}${delimiter}${process.env["PATH"]}`,
    NOTIFY_SOCKET: "/run/it",
    WATCHDOG_USEC: "100000",
  };
  const told = () => readFileSync(join(folder, "told"), "utf8");
  const until = async (pattern: RegExp) => {
    // Below the bound of a test, so that what was told is shown.
    for (let tries = 0; !pattern.test(told()); tries++) {
      if (tries > 1800) throw new Error(`never told: ${pattern}; but:\n${told()}`);
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  };
  const venue = start(["serve", "--config", "venue.json5"], { cwd: folder, env });
  await until(/^\/run\/it --pid=\d+ READY=1 STATUS=Serving http:\/\/localhost:\d+$/m);
  expect(told()).toContain(`--pid=${venue.child.pid} `);
  await until(/ WATCHDOG=1$/m);
  venue.child.kill("SIGHUP");
  await until(/ RELOADING=1 MONOTONIC_USEC=\d+$/m);
  await until(/RELOADING[\s\S]* READY=1 /);
  await venue.stop("SIGTERM");
  expect(told()).toMatch(/ STOPPING=1$/m);
});

function hasSystemd(): boolean {
  try {
    execFileSync("systemd-analyze", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** The unit in a folder of its own, with what an operator puts beside it. */
function installed(...dropIns: string[]): string {
  const folder = makeFolder(
    Object.fromEntries(dropIns.map((name) => [`venue-files.service.d/${name}`, readFileSync(join(DEPLOY, name))])),
  );
  const unit = join(folder, "venue-files.service");
  writeFileSync(unit, readFileSync(UNIT));
  return unit;
}

describeWhere(hasSystemd(), "there is no systemd-analyze")("the unit", () => {
  test.each([
    ["", []],
    [" with commands in a sandbox", ["sandbox.conf"]],
  ])("has nothing that systemd does not know%s", (_with, dropIns) => {
    const verify = ["verify", "--man=no", installed(...dropIns)];
    const { stdout, stderr } = spawnSync("systemd-analyze", verify, { encoding: "utf8" });
    // It reads units of this machine, too.
    expect(`${stdout}${stderr}`.split("\n").filter((line) => line.includes("venue-files"))).toEqual([]);
  });

  test("is as closed as it can be: 2.5 of 10 at most", () => {
    const report = execFileSync("systemd-analyze", ["security", "--offline=yes", UNIT], { encoding: "utf8" });
    const [, level] = /Overall exposure level[^:]*: ([\d.]+)/.exec(report) ?? [];
    expect(Number(level)).toBeLessThanOrEqual(2.5);
  });
});

/** Settings of the unit and of the files beside it, by name; lists that grow are joined. */
const settingsOf = (...names: string[]): Readonly<Record<string, string>> => {
  const found: Record<string, string> = {};
  for (const [, name = "", value = ""] of names
    .map((one) => readFileSync(join(DEPLOY, one), "utf8"))
    .join("\n")
    .matchAll(/^(\w+)=(.*)$/gm)) {
    const grows = /^(?:SystemCallFilter|RestrictAddressFamilies)$/.test(name) && found[name] !== undefined;
    found[name] = grows ? `${found[name]} ${value}` : value;
  }
  return found;
};

test("the unit is told when it listens, has a state of its own, and sees roots alone", () => {
  expect(settingsOf("venue-files.service")).toMatchObject({
    ...{ Type: "notify", DynamicUser: "yes", StateDirectory: "venue-files", ProtectSystem: "strict" },
    ...{ ProtectHome: "tmpfs", NoNewPrivileges: "yes", PrivateTmp: "yes", PrivateDevices: "yes" },
    ...{ RestrictAddressFamilies: "AF_INET AF_INET6 AF_UNIX", SystemCallFilter: "@system-service openat2" },
    ...{ MemoryDenyWriteExecute: "no", LimitNOFILE: "65536", CapabilityBoundingSet: "", RestrictNamespaces: "yes" },
    ...{ WatchdogSec: "60", ExecStart: expect.stringMatching(/ serve --config \/etc\/venue-files\/venue\.json5$/) },
  });
});

test("what allows commands in a sandbox gives namespaces, a /proc that can be mounted, and control groups", () => {
  expect(settingsOf("venue-files.service", "sandbox.conf")).toMatchObject({
    ...{ RestrictNamespaces: "user mnt pid net ipc uts cgroup", SystemCallFilter: "@system-service openat2 @mount" },
    ...{ RestrictAddressFamilies: "AF_INET AF_INET6 AF_UNIX AF_NETLINK", Delegate: "yes", ProtectControlGroups: "no" },
    ...{ ProtectKernelTunables: "no", ProtectKernelLogs: "no", ProcSubset: "all", NoNewPrivileges: "yes" },
  });
});

// What `serve` says where its output is kept, as by systemd or Docker: where the page is and how to sign in, and no secret.
/** Starts `serve` with a configuration that says its port. */
async function serveAt(config: string, env: Record<string, string> = {}): Promise<Running> {
  const running = start(["serve", "--config", config], { env });
  await running.until(/Stop with Ctrl-C/);
  return running;
}

/** Runs what the first line says, as a shell does in another folder. @returns the line, and what comes of it */
function follow({ stdout, tmp }: Running) {
  const said = /^Open (\S+\/workspace\/) with a link from: venue-files (.+)\n/.exec(stdout());
  const [, page = "", command = ""] = said ?? [];
  const { status, stdout: made } = spawnSync("sh", ["-c", `exec "$0" "$1" ${command}`, process.execPath, CLI], {
    ...{ cwd: makeFolder(), encoding: "utf8", env: { PATH: process.env["PATH"], HOME: tmp } },
  });
  return { page, command, status, made };
}

const secretsIn = (text: string): string[] => text.match(/#login=|vft_|Bearer [A-Za-z0-9_-]{20,}/g) ?? [];

test("a venue of one's own names the command alone", async () => {
  const venue = await serve(["--root", `docs=${makeFolder()}`]);
  const { page, command, status, made } = follow(venue);
  expect([page, command, status]).toEqual([`${venue.url}/workspace/`, "link", 0]);
  expect(made).toMatch(new RegExp(`^${venue.url}/workspace/#login=\\S+\\n$`));
  expect(secretsIn(`${venue.stdout()}${venue.stderr()}`)).toEqual([]);
});

test("a service, several venues and a folder of state: the command leads there from anywhere", async () => {
  const one = (name: string) => ({ name, port: 0, file: { roots: { docs: makeFolder() } } });
  const cases: [object, Record<string, string>][] = [
    [one("files"), { STATE_DIRECTORY: `${makeFolder()}:/other` }],
    [{ ...one("files"), stateDir: join(makeFolder(), "it's state") }, {}],
    [{ venues: [one("docs"), one("scratch")] }, {}],
  ];
  for (const [config, env] of cases) {
    const venue = await serveAt(join(makeFolder({ "c.json5": JSON.stringify(config) }), "c.json5"), env);
    const { page, command, status, made } = follow(venue);
    expect([status, made]).toEqual([0, expect.stringContaining(`${page}#login=`)]);
    expect(command).toMatch(/^link --url http:\/\/localhost:\d+ --token \S/);
    expect(secretsIn(`${venue.stdout()}${venue.stderr()}`)).toEqual([]);
  }
});

test("behind a proxy the page is where the proxy is; without a token of the operator there is no command", async () => {
  const proxied = { port: 0, baseUrl: "https://files.test/f", workspace: true };
  const config = (more: object) => join(makeFolder({ "c.json5": JSON.stringify({ ...proxied, ...more }) }), "c.json5");
  const auth = { localToken: true, public: { enabled: false } };
  const venue = await serveAt(config({ auth }));
  const { page, made } = follow(venue);
  expect(page).toBe("https://files.test/f/workspace/");
  expect(made).toMatch(/^https:\/\/files\.test\/f\/workspace\/#login=/);
  const without = await serveAt(config({ auth: { public: { enabled: false } } }));
  expect(without.stdout()).toMatch(/^Open https:\/\/files\.test\/f\/workspace\/\n/);
  const pageless = await serveAt(config({ workspace: false, auth }));
  expect(pageless.stdout()).toMatch(/^venue-files /);
});
