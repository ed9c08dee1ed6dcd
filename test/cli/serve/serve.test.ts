import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { EVERYDAY } from "../../surfaces/mcp/everyday.js";
import { cleanUp, makeFolder, type Running, run, serve, start, tempRootsIn } from "../process.js";

afterAll(cleanUp);

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
    const client = new Client({ name: "test", version: "1" });
    await client.connect(new StreamableHTTPClientTransport(new URL(mcpUrl(served))));
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
